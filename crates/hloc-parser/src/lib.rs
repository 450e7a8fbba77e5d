//! Reads HLO text into modules.
//!
//! The language is `grammar/hlo.pest`; this crate calls its rules one instruction part at a time,
//! resolves names, gives attributes their types, and keeps the places of all parts for messages. It
//! checks what makes a text a program (names, forms, counts), not shapes: that is the verifier's part.
//!
//! ```
//! let text = "HloModule m  ENTRY e { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }";
//! let source = hloc_diag::Source::new("m.hlo", text).expect("short");
//! let module = hloc_parser::parse(&source).expect("valid");
//! assert_eq!(&*module.entry().root().name, "y");
//! ```

mod attrs;
mod codes;
mod computation;
mod fast;
mod grammar;
mod header;
mod instruction;
mod limits;
mod literal;
mod module;
mod names;
mod operands;
mod shape;
mod split;
mod suggest;
mod tables;
mod values;

pub use codes::{CODES, Code};
use hloc_diag::{Diagnostic, Source};
use hloc_ir::Module;

/// A parsed part, or why there is none.
pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Reads a module: a whole one with or without a header, or a single instruction whose operands
/// (`f32[3] a`) become parameters.
///
/// # Errors
/// What is wrong with the first faulty place, with a code of its own: `syntax-error`, `unexpected-end`,
/// `undefined-name`, `unknown-opcode`, `unknown-attribute`, `literal-elided` and others.
pub fn parse(source: &Source) -> Result<Module, Vec<Diagnostic>> {
    module::parse(source.text()).map_err(|error| vec![*error])
}

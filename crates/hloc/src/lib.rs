//! An embeddable HLO compiler for the host CPU.
//!
//! ```
//! let text = "
//! ENTRY main {
//!   x = f32[3] parameter(0)
//!   y = f32[3] parameter(1)
//!   sum = f32[3] add(x, y)
//!   ROOT root = f32[3] sqrt(sum)
//! }";
//! let executable = hloc::compile(text)?;
//! let x = hloc::Array::from_slice(&[3], &[1.0f32, 4.0, 8.0])?;
//! let y = hloc::Array::from_slice(&[3], &[3.0f32, 5.0, 8.0])?;
//! let results = executable.run(&[x, y])?;
//! assert_eq!(results[0].as_slice::<f32>(), Some(&[2.0, 3.0, 4.0][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`compile`] reads HLO text, verifies it, optimizes it, and emits machine code for this computer; the
//! [`Executable`] it gives may be run by many threads at once. There is no global state: dropping the
//! executable frees its code and memory. [`Compiler`] takes options and gives each stage by itself.
//! [`Executable::profile`] tells where the time of a run goes.
//!
//! A program can build its module instead of writing text, with [`Builder`]:
//!
//! ```
//! use hloc::{Array, Builder, Compiler, ElementType, Shape, numpy};
//!
//! let b = Builder::new("shift");
//! let x = b.parameter(Shape::array(ElementType::F32, &[2, 3]), "x");
//! let row = b.constant(Array::from_slice(&[3], &[10.0f32, 20.0, 30.0])?);
//! let module = b.build(numpy::add(&b, x, row)).expect("the shapes fit");
//! let executable = Compiler::new().compile_module(module)?;
//! let x = Array::from_slice(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let sum = [11.0, 22.0, 33.0, 14.0, 25.0, 36.0];
//! assert_eq!(executable.run(&[x])?[0].as_slice::<f32>(), Some(&sum[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Arrays are dense and row-major; tuples among parameters and results are flattened. What goes wrong
//! is an [`Error`], with the place in the text where there is one.

mod backend;
mod compiler;
mod dynamic;
mod error;
mod executable;
mod format;
mod options;
mod profile;

use std::sync::Once;

pub use backend::Lowered;
pub use compiler::{Compiler, Staged};
pub use error::Error;
pub use executable::{Executable, Parameter, Stats};
pub use format::is_executable;
pub use hloc_diag::{Color, Diagnostic, Severity, Source, Span, render_text};
pub use hloc_ir::builder::{self, Builder, Callee, Value, numpy};
pub use hloc_ir::{ArrayShape, ComparisonDirection, CustomCall, Module, Op, Shape};
pub use hloc_jit::KernelWidth;
pub use hloc_runtime::Runner;
pub use hloc_tensor::{Array, ElementType, TensorError};
pub use options::{
    CompileOptions, CompileTimes, Dialect, PassSelection, StageKind, StageTime, VectorWidth,
};
pub use profile::{
    Profile, ProfileOptions, ProfiledInstruction, ProfiledLoop, ProfiledStep, Roofline, Timing,
    Work,
};

/// Compiles HLO text for this computer, with the default options.
///
/// # Errors
/// [`Error::is_invalid_hlo`] with every mistake in the text, [`Error::is_unsupported`] for what hloc does not
/// compile yet, naming op, element type and place.
///
/// ```
/// let error = hloc::compile("ENTRY e { x = f32[2] parameter(0) ROOT y = f32[3] negate(x) }").unwrap_err();
/// assert!(error.is_invalid_hlo());
/// assert_eq!(error.diagnostics().len(), 1);
/// ```
pub fn compile(text: &str) -> Result<Executable, Error> {
    Compiler::new().compile(text)
}

/// Begins, in a thread of its own, what the first compilation of a process otherwise waits for: tables are built and
/// code is touched for the first time. Returns at once; gains about a millisecond where something else, like reading
/// a file, comes before compiling. Without a second processor it does nothing.
///
/// ```
/// hloc::prepare();
/// let text = std::fs::read_to_string("model.hlo");
/// # drop(text);
/// ```
pub fn prepare() {
    /// A bit of everything that most programs have.
    const SMALL: &str = "
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4,64] parameter(0)
  e = f32[4,64] exponential(x)
  zero = f32[] constant(0)
  ROOT r = f32[4] reduce(e, zero), dimensions={1}, to_apply=sum
}";
    static ONCE: Once = Once::new();
    if options::processors() < 2 {
        return;
    }
    ONCE.call_once(|| {
        let compile = || drop(compile(SMALL));
        // Without a thread the first compilation does it.
        drop(std::thread::Builder::new().spawn(compile));
    });
}

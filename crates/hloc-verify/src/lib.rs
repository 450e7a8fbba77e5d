//! The strict HLO verifier.
//!
//! [`verify`] takes a [`Module`] and gives a [`VerifiedModule`], or every mistake in it at once. What a
//! verified module promises:
//!
//! - operands stand before their users and called computations before their callers, so there is no
//!   recursion and every id can be indexed with;
//! - parameters are numbered densely, names are unique, the root exists;
//! - every shape has a size that fits in an `i64`, at most 64 dimensions, no unbounded one, and a layout
//!   that is a permutation;
//! - every instruction's shape is the one that the rule of its op gives (`hloc_ir::infer_shape`);
//! - the header's layouts and aliases name parts that exist.
//!
//! Every rule has a label, which is the code of its diagnostics; [`CONSTRAINTS`] documents them.

mod annotations;
mod computation;
mod constraints;
mod dialect;
mod header;
mod instruction;
mod lint;
mod once;
mod pairs;
mod precision;
mod report;
mod shapes;

use std::ops::Deref;

use hloc_diag::Diagnostic;
use hloc_ir::Module;

pub use constraints::{CONSTRAINTS, Constraint, explain};
pub use lint::{LINTS, LintOptions, explain_lint, lint, lint_text, lint_with};

/// Which language a module is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// HLO with implicit broadcasting on element-wise ops.
    #[default]
    Hloc,
    /// HLO as XLA takes it.
    Xla,
}

/// What the verifier permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The language.
    pub dialect: Dialect,
    /// Whether the `dimensions` of a `broadcast` may be unsorted, as long as they are unique.
    pub permit_unsorted_broadcast: bool,
}

/// A module that breaks no rule. Only this can be evaluated, passed on or lowered.
#[derive(Clone, Debug)]
pub struct VerifiedModule(Module);

impl VerifiedModule {
    /// The module, for change; what comes of it must be verified again.
    pub fn into_module(self) -> Module {
        self.0
    }
}

impl Deref for VerifiedModule {
    type Target = Module;
    fn deref(&self) -> &Module {
        &self.0
    }
}

/// A module that breaks rules, and which.
#[derive(Debug)]
pub struct Rejected {
    /// The module as it was.
    pub module: Module,
    /// Every mistake, in the order of the module; at most [`MAX_DIAGNOSTICS`] and one that says so.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many mistakes are told at once.
pub const MAX_DIAGNOSTICS: usize = 1000;

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, diagnostic) in self.diagnostics.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            write!(f, "[{}] {}", diagnostic.code, diagnostic.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Rejected {}

/// Checks `module` in hloc's dialect.
///
/// # Errors
/// [`Rejected`] with the module and every mistake in it.
#[expect(clippy::result_large_err, reason = "both sides hold the module")]
pub fn verify(module: Module) -> Result<VerifiedModule, Rejected> {
    verify_with(module, &Options::default())
}

/// Checks `module` as `options` say.
///
/// # Errors
/// [`Rejected`] with the module and every mistake in it.
#[expect(clippy::result_large_err, reason = "both sides hold the module")]
pub fn verify_with(module: Module, options: &Options) -> Result<VerifiedModule, Rejected> {
    let diagnostics = diagnose(&module, options);
    if diagnostics.is_empty() {
        Ok(VerifiedModule(module))
    } else {
        Err(Rejected {
            module,
            diagnostics,
        })
    }
}

/// Every mistake in `module`, in order; none if it is valid. For those who keep the module anyway.
pub fn diagnose(module: &Module, options: &Options) -> Vec<Diagnostic> {
    let mut report = report::Report::new(module);
    let mut verdicts = Vec::with_capacity(module.computations.len());
    computation::check_names(&mut report);
    for (id, _) in module.computations.iter() {
        if report.is_full() {
            break;
        }
        let sound = computation::check(&mut report, id, options, &verdicts);
        verdicts.push(sound);
    }
    once::check(&mut report);
    header::check(&mut report);
    if options.dialect == Dialect::Xla {
        dialect::check_module(&mut report);
    }
    report.finish()
}

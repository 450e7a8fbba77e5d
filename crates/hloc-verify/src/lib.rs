//! The strict HLO verifier.
//!
//! [`verify`] takes a [`Module`] and gives a [`VerifiedModule`] or every mistake in it at once.

use std::ops::Deref;

use hloc_diag::Diagnostic;
use hloc_ir::{Module, ShapeContext, infer_shape};

/// Which language the text is held to.
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
    /// The module, for change; what comes back must be verified again.
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
    /// Every mistake, in the order of the module.
    pub diagnostics: Vec<Diagnostic>,
}

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
/// [`Rejected`] with every mistake.
pub fn verify(module: Module) -> Result<VerifiedModule, Rejected> {
    verify_with(module, &Options::default())
}

/// Checks `module` as `options` say.
///
/// # Errors
/// [`Rejected`] with every mistake.
pub fn verify_with(module: Module, options: &Options) -> Result<VerifiedModule, Rejected> {
    let _ = options;
    let mut diagnostics = Vec::new();
    for computation in module.computations.values() {
        for instruction in computation.instructions.values() {
            let operands = computation.operand_shapes(instruction);
            let context = ShapeContext {
                op: &instruction.op,
                operands: &operands,
                computations: &module.computations,
                declared: Some(&instruction.shape),
            };
            if let Err(broken) = infer_shape(&context) {
                let message = format!("`{}` {}", instruction.name, broken.message);
                diagnostics.push(Diagnostic::error(
                    broken.constraint,
                    message,
                    instruction.origin.span(),
                ));
            }
        }
    }
    if diagnostics.is_empty() {
        Ok(VerifiedModule(module))
    } else {
        Err(Rejected {
            module,
            diagnostics,
        })
    }
}

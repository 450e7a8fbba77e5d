//! What a pass is, and the list of all passes.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{Module, Name};
use hloc_verify::VerifiedModule;

use crate::{
    ArgmaxSplit, CallInline, ConstantFold, Cse, Dce, Fusion, LegalizeBitcast, LegalizeBroadcast,
    LegalizeDynamic, LegalizeOps, Simplify, WhileUnroll,
};

/// A rewrite of a whole module that keeps its results.
pub trait Pass: Send + Sync {
    /// The name on the command line: `dce`.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// The rewritten module, or `None` if there was nothing to do; `None` exactly if the printed text
    /// would be the same.
    ///
    /// # Errors
    /// [`PassError`] if the pass itself fails; programs that it cannot improve are no error.
    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError>;
}

/// Why a pipeline could not be made or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// A pass made a module that breaks the rules: a mistake in hloc, not in the program.
    #[error("pass `{pass}` broke the module: {}", join(diagnostics))]
    Broke {
        /// The pass.
        pass: &'static str,
        /// What the verifier found.
        diagnostics: Vec<Diagnostic>,
        /// The text of the module that the pass was given.
        module_text_before: String,
    },
    /// A pass found that its own reasoning was wrong, before it made a module: a mistake in hloc.
    #[error("pass `{pass}`: {message}")]
    Internal {
        /// The pass.
        pass: &'static str,
        /// What it found.
        message: String,
        /// The text of the module that the pass was given.
        module_text_before: String,
    },
    /// The program uses an op in a way that the pass has no rule for: a limit of hloc.
    #[error("`{instruction}`: {opcode} is not supported here: {reason}")]
    Unsupported {
        /// The pass.
        pass: &'static str,
        /// Opcode as HLO spells it.
        opcode: &'static str,
        /// Name of the instruction.
        instruction: Name,
        /// What exactly is missing.
        reason: &'static str,
        /// Where the instruction stands.
        span: Span,
    },
    /// There is no pass of this name.
    #[error("no pass is named `{name}`; there are {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
}

fn join(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| format!("[{}] {}", diagnostic.code, diagnostic.message))
        .collect();
    texts.join("; ")
}

/// Every pass, in the order in which the default pipeline first runs them.
pub static PASSES: &[&dyn Pass] = &[
    &LegalizeBitcast,
    &CallInline,
    &LegalizeOps,
    &LegalizeBroadcast,
    &LegalizeDynamic,
    &Simplify,
    &Cse,
    &WhileUnroll,
    &ConstantFold,
    &Dce,
    &ArgmaxSplit,
    &Fusion,
];

/// The pass named `name`, or `None`: `pass_named("dce")`.
pub fn pass_named(name: &str) -> Option<&'static dyn Pass> {
    PASSES.iter().copied().find(|pass| pass.name() == name)
}

//! What a caller may choose about compiling and running.

use std::time::Duration;

pub use hloc_verify::Dialect;

/// Which passes run between verifying and lowering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PassSelection {
    /// The default pipeline.
    #[default]
    All,
    /// Only what lowering needs: implicit broadcasts become explicit.
    None,
    /// These passes in this order; see `hloc opt --list-passes`.
    Named(Vec<String>),
}

/// How a program is compiled and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Threads that one run may use, at least 1. Results have the same bits for any number.
    pub threads: usize,
    /// The passes that run.
    pub passes: PassSelection,
    /// The language that the text is held to.
    pub dialect: Dialect,
    /// Whether the `dimensions` of a `broadcast` may be unsorted.
    pub permit_unsorted_broadcast: bool,
    /// Emit code for any x86-64 or aarch64 machine instead of this one.
    pub baseline_cpu: bool,
    /// Emit vector instructions where strides allow.
    pub vectorize: bool,
}

impl Default for CompileOptions {
    /// All passes, hloc's dialect, this machine's instructions, one thread per processor.
    fn default() -> CompileOptions {
        CompileOptions {
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            passes: PassSelection::All,
            dialect: Dialect::Hloc,
            permit_unsorted_broadcast: false,
            baseline_cpu: false,
            vectorize: true,
        }
    }
}

/// How long each stage of compiling took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileTimes {
    /// Text to module.
    pub parse: Duration,
    /// Module to verified module.
    pub verify: Duration,
    /// The passes, with the verification after each.
    pub passes: Duration,
    /// Verified module to loop nests, library calls and the buffer plan.
    pub lower: Duration,
    /// Loop nests to machine code.
    pub emit: Duration,
}

impl CompileTimes {
    /// All stages together.
    pub fn total(&self) -> Duration {
        self.parse + self.verify + self.passes + self.lower + self.emit
    }
}

//! What a caller may choose about compiling and running.

use std::num::NonZero;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub use hloc_jit::VectorWidth;
pub use hloc_verify::Dialect;

use crate::Error;

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
    /// How wide vectors may be. Results have the same bits for any width.
    pub vector_width: VectorWidth,
    /// Compile once more with 128-bit vectors, run both, and report results that differ as a mistake of hloc.
    pub check_width: bool,
}

impl Default for CompileOptions {
    /// All passes, hloc's dialect, this machine's instructions, one thread per processor.
    fn default() -> CompileOptions {
        CompileOptions {
            threads: processors(),
            passes: PassSelection::All,
            dialect: Dialect::Hloc,
            permit_unsorted_broadcast: false,
            baseline_cpu: false,
            vectorize: true,
            vector_width: VectorWidth::Auto,
            check_width: false,
        }
    }
}

impl CompileOptions {
    /// The default options as environment variables change them.
    ///
    /// | variable | values |
    /// |---|---|
    /// | `HLOC_VECTOR_WIDTH` | `128`, `256`, `512`: [`CompileOptions::vector_width`] |
    /// | `HLOC_CPU` | `baseline`, `native`: [`CompileOptions::baseline_cpu`] |
    /// | `HLOC_CHECK_WIDTH` | `0`, `1`: [`CompileOptions::check_width`] |
    ///
    /// Nothing else in hloc reads the environment.
    ///
    /// # Errors
    /// [`Error::is_invalid_option`] for any other value.
    pub fn from_environment() -> Result<CompileOptions, Error> {
        let defaults = CompileOptions::default();
        Ok(CompileOptions {
            vector_width: variable(
                "HLOC_VECTOR_WIDTH",
                &[
                    ("128", VectorWidth::Bits128),
                    ("256", VectorWidth::Bits256),
                    ("512", VectorWidth::Bits512),
                ],
            )?
            .unwrap_or(defaults.vector_width),
            baseline_cpu: variable("HLOC_CPU", &[("native", false), ("baseline", true)])?
                .unwrap_or(defaults.baseline_cpu),
            check_width: variable("HLOC_CHECK_WIDTH", &[("0", false), ("1", true)])?
                .unwrap_or(defaults.check_width),
            ..defaults
        })
    }
}

/// The value of an environment variable, `None` if it is unset or empty.
fn variable<T: Copy>(name: &str, values: &[(&str, T)]) -> Result<Option<T>, Error> {
    let Some(found) = std::env::var_os(name).filter(|found| !found.is_empty()) else {
        return Ok(None);
    };
    let known = values.iter().find(|(value, _)| found == *value);
    if let Some((_, value)) = known {
        return Ok(Some(*value));
    }
    let names: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
    Err(Error::option(format!(
        "`{name}` is `{}`; it may be {}",
        found.to_string_lossy(),
        names.join(", ")
    )))
}

/// How many threads run at once here. Asked once: the answer takes reading several files.
pub(crate) fn processors() -> usize {
    static KNOWN: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    *KNOWN
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

/// What a [`StageTime`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// One of the stages of [`CompileTimes`].
    Stage,
    /// A pass with the verification after it, part of the stage `passes`.
    Pass,
    /// The emission of one kernel, part of the stage `emit`.
    Kernel,
}

/// When a part of compiling began and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageTime {
    /// `parse`, `cse`, or the name of a kernel.
    pub name: String,
    /// What it is about.
    pub kind: StageKind,
    /// When it began.
    pub begin: Instant,
    /// How long it took.
    pub time: Duration,
    /// Number of the thread: 0 for the one that compiles, others for those that emit kernels for it.
    pub thread: usize,
}

impl StageTime {
    /// Of the thread that compiles.
    pub(crate) fn new(name: &str, kind: StageKind, begin: Instant, time: Duration) -> StageTime {
        StageTime {
            name: name.to_owned(),
            kind,
            begin,
            time,
            thread: 0,
        }
    }
}

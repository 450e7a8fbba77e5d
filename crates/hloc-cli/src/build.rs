//! From a program file to an executable, with the options of the verbs that compile.

use std::sync::Arc;

use clap::Args;
use hloc::{CompileOptions, Compiler, Executable, Source, is_executable};
use hloc_verify::VerifiedModule;

use crate::input::ProgramFile;
use crate::options::{LanguageArgs, pass_selection};
use crate::progress::Progress;

/// Options of verbs that compile.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    language: LanguageArgs,
    /// The passes in order, comma separated; `all` is the default pipeline, `none` only what lowering
    /// needs.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    passes: Option<Vec<String>>,
    /// Threads that one run may use, 0 for one per processor. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Use only what every processor of the architecture has.
    #[arg(long)]
    baseline_cpu: bool,
    /// Emit no vector instructions.
    #[arg(long)]
    no_vectors: bool,
}

impl BuildArgs {
    /// A compiler with these options.
    pub(crate) fn compiler(&self) -> anyhow::Result<Compiler> {
        hloc::prepare();
        let defaults = self.language.compile_options()?;
        Ok(Compiler::new().options(CompileOptions {
            threads: if self.threads == 0 {
                defaults.threads
            } else {
                self.threads
            },
            passes: pass_selection(self.passes.as_deref()),
            baseline_cpu: self.baseline_cpu || defaults.baseline_cpu,
            vectorize: !self.no_vectors,
            ..defaults
        }))
    }
}

/// A compiled program and, if it was text, the module as the user wrote it.
pub(crate) struct Built {
    pub(crate) executable: Executable,
    pub(crate) written: Option<VerifiedModule>,
    /// The text, if it was text.
    pub(crate) source: Option<Arc<Source>>,
}

/// Compiles the HLO text, or loads the executable, that is in `file`.
///
/// `keep_written` keeps the module as it was before the passes.
pub(crate) fn build(
    compiler: &Compiler,
    file: ProgramFile,
    keep_written: bool,
) -> anyhow::Result<Built> {
    build_observed(compiler, file, keep_written, &mut |_, _| {})
}

/// The same; `observer` sees the name of each pass and the module after it.
pub(crate) fn build_observed(
    compiler: &Compiler,
    file: ProgramFile,
    keep_written: bool,
    observer: &mut dyn FnMut(&str, &VerifiedModule),
) -> anyhow::Result<Built> {
    let progress = Progress::start();
    if is_executable(&file.bytes) {
        progress.stage("loading");
        return Ok(Built {
            executable: compiler.load(&file.bytes[..])?,
            written: None,
            source: None,
        });
    }
    let (name, text) = file.into_text()?;
    progress.stage("parsing");
    let parsed = compiler.parse(&name, text)?;
    let source = Some(parsed.shared_source());
    progress.stage("verifying");
    let verified = compiler.verify(parsed)?;
    let written = keep_written.then(|| verified.value.clone());
    progress.stage("optimizing");
    let optimized = compiler.optimize_observed(verified, observer)?;
    progress.stage("lowering");
    let lowered = compiler.lower(optimized)?;
    progress.stage("emitting machine code");
    let executable = compiler.emit(lowered)?;
    Ok(Built {
        executable,
        written,
        source,
    })
}

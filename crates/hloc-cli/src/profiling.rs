//! `--profile` and `--trace`: where run time goes.

use anyhow::Context;
use clap::Args;
use hloc::{Array, Compiler, Profile, ProfileOptions, Roofline};

use crate::build::Built;
use crate::progress::Progress;

/// Options of verbs that run.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Also say where run time goes: by kernel and library call, with bytes, operations and how near the
    /// machine's limits they come, and by HLO instruction. The program runs again and again for half a second.
    #[arg(long)]
    profile: bool,
    /// Write what happened when, from compiling to the kernels of the first three runs, as a trace that
    /// chrome://tracing and ui.perfetto.dev show.
    #[arg(long, value_name = "OUT.json")]
    trace: Option<String>,
}

impl ProfileArgs {
    /// Whether a report is asked for.
    pub(crate) fn wants_report(&self) -> bool {
        self.profile
    }

    /// Whether the program is to run under observation at all.
    pub(crate) fn is_wanted(&self) -> bool {
        self.profile || self.trace.is_some()
    }

    /// Runs the program under observation, if that is asked for, and writes the trace.
    pub(crate) fn run(
        &self,
        compiler: &Compiler,
        built: &Built,
        inputs: &[Array],
    ) -> anyhow::Result<Option<(Vec<Array>, Profile)>> {
        if !self.is_wanted() {
            return Ok(None);
        }
        let progress = Progress::start();
        progress.stage("profiling");
        let mut options = ProfileOptions {
            events: self.trace.is_some(),
            ..ProfileOptions::default()
        };
        if !self.profile {
            options.max_runs = 1;
        }
        let (results, mut profile) = built.executable.profile(inputs, &options)?;
        if let Some(source) = &built.source {
            profile.locate(source);
        }
        if self.profile {
            progress.stage("measuring the machine");
            profile.roofline = Some(Roofline::measure(compiler)?);
        }
        if let Some(path) = &self.trace {
            let trace = profile.trace();
            std::fs::write(path, trace).with_context(|| format!("cannot write `{path}`"))?;
        }
        Ok(Some((results, profile)))
    }
}

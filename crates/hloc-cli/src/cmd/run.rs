//! `hloc run`: compile and run.

use std::time::Instant;

use clap::Args;
use hloc::{Array, Executable};
use hloc_eval::tolerance;
use hloc_tensor::compare;
use hloc_verify::VerifiedModule;

use crate::build::{BuildArgs, build};
use crate::failure::{Status, Wrong, say};
use crate::input::ProgramFile;
use crate::options::EXIT_STATUSES;
use crate::output::print;
use crate::profiling::ProfileArgs;
use crate::progress::Progress;
use crate::values::{InputArgs, grouped, shown, write};

const HELP: &str = "Examples:
  hloc run examples/newton.hlo
  hloc run model.hlo --inputs in.npz --output out.npz
  hloc run model.hlo --random 1 --compare
  hloc run model.hlo --random 1 --output out.npz --profile
  hloc run model.hlo --random 1 --output out.npz --trace trace.json    then open it in ui.perfetto.dev

";

/// Arguments of `hloc run`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct RunArgs {
    /// HLO text or an executable that `hloc compile` wrote, `-` for stdin.
    file: String,
    #[command(flatten)]
    inputs: InputArgs,
    /// Write the results to this file as `out0`, `out1`, ... instead of printing them.
    #[arg(long, value_name = "OUT.npz")]
    output: Option<String>,
    /// Compare the results with those of the evaluator; exit status 1 if they differ.
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    profiling: ProfileArgs,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Status> {
    let file = ProgramFile::read(&args.file)?;
    let compiler = args.build.compiler()?;
    let built = build(&compiler, file, args.compare)?;
    let executable = &built.executable;
    let inputs = args.inputs.arrays(&executable.parameters())?;
    let (results, profile) = match args.profiling.run(&compiler, &built, &inputs)? {
        Some((results, profile)) => (results, Some(profile)),
        None => {
            let progress = Progress::start();
            progress.stage("running");
            (executable.run(&inputs)?, None)
        }
    };
    match &args.output {
        Some(path) => write(path, &results)?,
        None if args.compare => {}
        None => print(&shown(&results))?,
    }
    if let Some(profile) = profile.filter(|_| args.profiling.wants_report()) {
        // Beside the results, which stdout is for.
        say(profile.to_string().trim_end());
    }
    if !args.compare {
        return Ok(Status::Fine);
    }
    let module = built.written.as_ref().unwrap_or(executable.module());
    compare_with_evaluator(module, executable, &inputs, &results)
}

fn compare_with_evaluator(
    module: &VerifiedModule,
    executable: &Executable,
    inputs: &[Array],
    results: &[Array],
) -> anyhow::Result<Status> {
    let progress = Progress::start();
    progress.stage("evaluating");
    let entry = module.entry();
    let shapes = entry.parameters.iter();
    let shapes = shapes.map(|id| &entry.instructions[*id].shape);
    let arguments = grouped(shapes, inputs)
        .ok_or_else(|| Wrong::error("the inputs do not fit the program's parameters"))?;
    let start = Instant::now();
    let wanted = hloc_eval::evaluate(module, &arguments)
        .map_err(|error| Wrong::error(format!("the evaluator cannot check this program: {error}")))?
        .into_leaves();
    drop(progress);
    let mut differ = 0;
    for (number, (got, want)) in results.iter().zip(&wanted).enumerate() {
        if let Err(mismatch) = compare(got, want, tolerance(module, want)) {
            differ += 1;
            say(&format!("out{number}: {mismatch}"));
        }
    }
    if wanted.len() != results.len() {
        differ += 1;
        say(&format!(
            "the program gives {} arrays, the evaluator {}",
            results.len(),
            wanted.len()
        ));
    }
    if differ > 0 {
        return Ok(Status::Wrong);
    }
    print(&format!(
        "{} of {} results equal the evaluator's within tolerance ({} threads, evaluated in {:.1} ms)",
        results.len(),
        wanted.len(),
        executable.threads(),
        start.elapsed().as_secs_f64() * 1e3
    ))?;
    Ok(Status::Fine)
}

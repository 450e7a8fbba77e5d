//! `hloc bench`: how long compiling and running take.

use std::time::{Duration, Instant};

use clap::Args;
use hloc::{Array, CompileTimes, Compiler, Executable, Profile};
use serde_json::json;

use crate::build::{BuildArgs, Built, build};
use crate::failure::Status;
use crate::input::ProgramFile;
use crate::options::EXIT_STATUSES;
use crate::output::{aligned, print};
use crate::profiling::ProfileArgs;
use crate::progress::Progress;
use crate::values::InputArgs;

const HELP: &str = "Examples:
  hloc bench model.hlo --random 1
  hloc bench model.hlo --inputs in.npz --json --threads 1 --min-time 2
  hloc bench model.hlo --random 1 --profile     where the run time goes

";

/// Most measured compilations; no more begin after [`COMPILE_TIME`].
const MAX_COMPILES: usize = 31;

/// Programs that take longer to compile are compiled once.
const COMPILE_TIME: Duration = Duration::from_millis(100);

/// Fewest measured runs.
const MIN_RUNS: usize = 5;

/// Most measured runs: enough for a median of the shortest ones.
const MAX_RUNS: usize = 1_000_000;

/// Arguments of `hloc bench`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct BenchArgs {
    /// HLO text or an executable that `hloc compile` wrote, `-` for stdin.
    file: String,
    /// Without either, inputs are made up.
    #[command(flatten)]
    inputs: InputArgs,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    /// Seconds to spend on measured runs.
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    min_time: f64,
    #[command(flatten)]
    profiling: ProfileArgs,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Status> {
    let compiler = args.build.compiler()?;
    let file = ProgramFile::read(&args.file)?;
    let (built, compiles) = measure_compiling(&compiler, &file)?;
    let executable = &built.executable;
    let inputs = args.inputs.arrays_or_random(&executable.parameters())?;
    let progress = Progress::start();
    progress.stage("measuring");
    let min_time = Duration::try_from_secs_f64(args.min_time).unwrap_or(Duration::ZERO);
    let profiling = &args.profiling;
    let observed = profiling.is_wanted().then(|| inputs.clone());
    let times = measure(executable, inputs, min_time)?;
    drop(progress);
    let observed = observed.unwrap_or_default();
    let profiled = profiling.run(&compiler, &built, &observed)?;
    let profile = profiled
        .map(|(_, profile)| profile)
        .filter(|_| profiling.wants_report());
    let text = if args.json {
        json_line(executable, &compiles, &times, profile.as_ref())?
    } else {
        let profile = profile.map_or_else(String::new, |profile| format!("\n{profile}"));
        table(executable, &compiles, &times) + &profile
    };
    print(&text)?;
    Ok(Status::Fine)
}

/// How long compiling took: the first time in this process, which touches code and memory for the first time, and
/// in the middle of the times after it.
struct Compiles {
    first: CompileTimes,
    median: CompileTimes,
    count: usize,
}

/// Compiles the program, and again while time is left; nothing is kept from one time to the next.
fn measure_compiling(compiler: &Compiler, file: &ProgramFile) -> anyhow::Result<(Built, Compiles)> {
    let start = Instant::now();
    let built = build(compiler, file.clone(), false)?;
    let first = built.executable.times();
    let mut times = Vec::new();
    while times.len() < MAX_COMPILES && start.elapsed() < COMPILE_TIME {
        times.push(build(compiler, file.clone(), false)?.executable.times());
    }
    times.sort_by_key(CompileTimes::total);
    let median = times.get(times.len() / 2).copied().unwrap_or(first);
    let count = times.len().max(1);
    let compiles = Compiles {
        first,
        median,
        count,
    };
    Ok((built, compiles))
}

/// The times of single runs, sorted. The first runs, which touch new memory, are not among them.
fn measure(
    executable: &Executable,
    inputs: Vec<Array>,
    min_time: Duration,
) -> anyhow::Result<Vec<Duration>> {
    let mut runner = executable.runner(inputs)?;
    runner.run()?;
    runner.run()?;
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < MIN_RUNS || (start.elapsed() < min_time && times.len() < MAX_RUNS) {
        let begin = Instant::now();
        runner.run()?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Shortest, middle and longest.
fn spread(times: &[Duration]) -> [f64; 3] {
    let at = |index: usize| times.get(index).copied().map_or(0.0, milliseconds);
    [
        at(0),
        at(times.len() / 2),
        at(times.len().saturating_sub(1)),
    ]
}

fn json_line(
    executable: &Executable,
    compiles: &Compiles,
    times: &[Duration],
    profile: Option<&Profile>,
) -> anyhow::Result<String> {
    let compile = compiles.median;
    let [min, median, max] = spread(times);
    let stats = executable.stats();
    let mut line = json!({
        "compile_ms": {
            "parse": milliseconds(compile.parse),
            "verify": milliseconds(compile.verify),
            "passes": milliseconds(compile.passes),
            "lower": milliseconds(compile.lower),
            "emit": milliseconds(compile.emit),
            "total": milliseconds(compile.total()),
        },
        "first_compile_ms": milliseconds(compiles.first.total()),
        "compiles": compiles.count,
        "run_ms": {"min": min, "median": median, "max": max},
        "runs": times.len(),
        "peak_buffer_bytes": stats.peak_buffer_bytes,
        "threads": executable.threads(),
        "kernels": stats.kernels,
    });
    if let Some(profile) = profile {
        line["profile"] = serde_json::from_str(&profile.to_json())?;
    }
    Ok(line.to_string())
}

fn table(executable: &Executable, compiles: &Compiles, times: &[Duration]) -> String {
    let compile = compiles.median;
    let [min, median, max] = spread(times);
    let stats = executable.stats();
    let ms = |value: f64| format!("{value:.4} ms");
    let stage = |time| ms(milliseconds(time));
    let rows = [
        ("compile, first time", stage(compiles.first.total())),
        ("compile, median", stage(compile.total())),
        ("  parse", stage(compile.parse)),
        ("  verify", stage(compile.verify)),
        ("  passes", stage(compile.passes)),
        ("  lower", stage(compile.lower)),
        ("  emit", stage(compile.emit)),
        ("run, median", ms(median)),
        ("  shortest", ms(min)),
        ("  longest", ms(max)),
        ("  runs", times.len().to_string()),
        ("threads", executable.threads().to_string()),
        ("kernels", stats.kernels.to_string()),
        ("library calls", stats.library_calls.to_string()),
        ("peak buffer bytes", stats.peak_buffer_bytes.to_string()),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    aligned(&rows)
}

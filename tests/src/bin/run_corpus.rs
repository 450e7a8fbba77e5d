//! Runs a corpus folder in one process and prints what failed.
//!
//! `run-corpus DIR [--groups a,b] [--names a,b] [--show N]
//! [--engine jit|jit-without-passes|evaluator|same-bits|compare] [--optimized] [--exceptions FILE]`
//!
//! The engine `same-bits` compares results for every width of vectors and one thread or two with each other.
//! `--exceptions` names a file with a case a line, and the reason behind it; these cases are left out.
//! `--engine compare` compares compiled code with the evaluator instead of the expected results.
//! `--optimized` runs `NAME.opt.hlo`, where there is one, and expects the same results.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hloc_tests::cases::{self, Case, Engine};

struct Options {
    folder: PathBuf,
    groups: Option<Vec<String>>,
    names: Option<Vec<String>>,
    engine: Engine,
    show: usize,
    optimized: bool,
    exceptions: Vec<String>,
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let done = options().and_then(|options| run(&options, &mut out));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // Nothing more can be done if stderr is closed.
            let _ = writeln!(std::io::stderr(), "run-corpus: {error}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().ok_or("which folder?")?);
    let mut options = Options {
        folder,
        groups: None,
        names: None,
        engine: Engine::Jit,
        show: 20,
        optimized: false,
        exceptions: Vec::new(),
    };
    while let Some(flag) = words.next() {
        if flag == "--optimized" {
            options.optimized = true;
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} needs a value"))?;
        let list = || Some(value.split(',').map(str::to_owned).collect());
        match flag.as_str() {
            "--groups" => options.groups = list(),
            "--names" => options.names = list(),
            "--show" => options.show = value.parse().map_err(|_| "--show needs a number")?,
            "--exceptions" => options.exceptions = exceptions(&value)?,
            "--engine" => options.engine = engine(&value)?,
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    Ok(options)
}

/// The first word of each line that is no comment.
fn exceptions(file: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_owned).collect())
}

fn engine(name: &str) -> Result<Engine, String> {
    match name {
        "jit" => Ok(Engine::Jit),
        "jit-without-passes" => Ok(Engine::JitWithoutPasses),
        "same-bits" => Ok(Engine::SameBits),
        "evaluator" => Ok(Engine::Evaluator),
        "compare" => Ok(Engine::Compare),
        _ => Err(format!("unknown engine {name}")),
    }
}

fn run(options: &Options, out: &mut dyn Write) -> Result<bool, String> {
    let mut cases = cases::read_folder(&options.folder)?;
    let keep = |list: &Option<Vec<String>>, name: &String| {
        list.as_ref().is_none_or(|list| list.contains(name))
    };
    cases.retain(|case| keep(&options.groups, &case.group) && keep(&options.names, &case.name));
    let all = cases.len();
    cases.retain(|case| !options.exceptions.contains(&case.name));
    if cases.len() < all {
        let left_out = all - cases.len();
        writeln!(out, "{left_out} listed exceptions left out")
            .map_err(|error| error.to_string())?;
    }
    if options.optimized {
        cases = cases.into_iter().filter_map(Case::optimized).collect();
    }
    let failures = run_all(&cases, options.engine);
    for (case, error) in failures.iter().take(options.show) {
        let line = error.replace('\n', " | ");
        writeln!(out, "  {}: {line:.300}", case.name).map_err(|error| error.to_string())?;
    }
    let (passed, failed) = (cases.len() - failures.len(), failures.len());
    writeln!(out, "{passed} passed, {failed} failed").map_err(|error| error.to_string())?;
    Ok(failed == 0 && passed > 0)
}

/// Runs the cases on two threads; gives the failed ones in order.
fn run_all(cases: &[Case], engine: Engine) -> Vec<(&Case, String)> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, case)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
        {
            let outcome = std::panic::catch_unwind(|| case.run(engine))
                .unwrap_or_else(|_| Err("panicked".to_owned()));
            if let (Err(error), Ok(mut failures)) = (outcome, failures.lock()) {
                failures.push((at, error));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort();
    failures
        .into_iter()
        .map(|(at, error)| (&cases[at], error))
        .collect()
}

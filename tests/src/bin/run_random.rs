//! Checks random programs on all engines and shrinks those that fail.
//!
//! `run-random [--seed FIRST] [--count N] [--seconds S] [--shrink] [--save DIR] [--show]`
//!
//! Runs the programs of the seeds from FIRST on, N of them or as many as S seconds allow. Each runs in
//! another process, so that a trap is told like a difference. `--shrink` prints a filetest for each failure,
//! `--save` writes it to DIR, `--show` prints the programs instead of running them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hloc_tests::engines::Failure;
use hloc_tests::generate::program;
use hloc_tests::shrink::{filetest, shrink};
use hloc_tests::worker::{self, Worker};

struct Options {
    seed: u64,
    count: Option<u64>,
    time: Option<Duration>,
    shrink: bool,
    save: Option<PathBuf>,
    show: bool,
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    if std::env::args().nth(1).as_deref() == Some(worker::FLAG) {
        // A panic is told in the answer.
        std::panic::set_hook(Box::new(|_| {}));
        let served = worker::serve(std::io::stdin().lock(), &mut out);
        return ExitCode::from(u8::from(served.is_err()));
    }
    match options().and_then(|options| run(&options, &mut out)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            // Nothing more can be done if stderr is closed.
            let _ = writeln!(std::io::stderr(), "run-random: {error}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        seed: 0,
        count: None,
        time: None,
        shrink: false,
        save: None,
        show: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words
                .next()
                .ok_or_else(|| format!("{flag} needs a value"))?;
            value.parse().map_err(|_| format!("{flag} needs a number"))
        };
        match flag.as_str() {
            "--seed" => options.seed = number()?,
            "--count" => options.count = Some(number()?),
            "--seconds" => options.time = Some(Duration::from_secs(number()?)),
            "--shrink" => options.shrink = true,
            "--show" => options.show = true,
            "--save" => {
                let folder = words.next().ok_or("--save needs a folder")?;
                options.save = Some(folder.into());
                options.shrink = true;
            }
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    if options.count.is_none() && options.time.is_none() {
        options.count = Some(1);
    }
    Ok(options)
}

fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<u64, String> {
    let text = |error: std::io::Error| error.to_string();
    if options.show {
        for seed in options.seed..options.seed + options.count.unwrap_or(1) {
            writeln!(out, "{}", program(seed).text).map_err(text)?;
        }
        return Ok(0);
    }
    writeln!(out, "random programs from seed {} on", options.seed).map_err(text)?;
    let start = Instant::now();
    let next = AtomicU64::new(0);
    let (ran, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let out = Mutex::new(out);
    let work = || {
        let mut worker = Worker::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let late = options.time.is_some_and(|time| start.elapsed() >= time);
            if late || options.count.is_some_and(|count| at >= count) {
                return;
            }
            let seed = options.seed + at;
            let outcome = worker.seed(seed);
            ran.fetch_add(1, Ordering::Relaxed);
            if let Err(failure) = outcome {
                failed.fetch_add(1, Ordering::Relaxed);
                let report = report(options, &mut worker, seed, &failure);
                if let Ok(mut out) = out.lock() {
                    // The exit status tells of a failure as well.
                    let _ = writeln!(out, "{report}");
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (ran, failed) = (ran.into_inner(), failed.into_inner());
    let out = out.into_inner().map_err(|error| error.to_string())?;
    writeln!(out, "{} passed, {failed} failed", ran - failed).map_err(text)?;
    Ok(failed)
}

/// The failure, with a filetest if one is asked for.
fn report(options: &Options, worker: &mut Worker, seed: u64, failure: &Failure) -> String {
    let mut text = format!("seed {seed}: {failure}");
    if !options.shrink {
        return text;
    }
    let mut fails = |candidate: &hloc_tests::generate::Program| {
        let outcome = worker.program(candidate);
        outcome.is_err_and(|found| found.resembles(failure))
    };
    let small = shrink(&program(seed), &mut fails);
    let note = format!("Found by random program {seed}.");
    match filetest(&small, &note) {
        Ok(test) => {
            text += &format!("\n{test}");
            if let Some(folder) = &options.save {
                let path = folder.join(format!("random_{seed}.hlo"));
                if let Err(error) = std::fs::write(&path, test) {
                    text += &format!("\n{}: {error}", path.display());
                }
            }
        }
        Err(error) => text += &format!("\n{error}\n{}", small.text),
    }
    text
}

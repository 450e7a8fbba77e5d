//! Damages programs of a folder at random and checks that hloc refuses or compiles each in time.
//!
//! `run-mutations DIR COUNT [SEED]`: a failing text is written to `mutation-NUMBER.hlo`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hloc_tests::files_below;
use hloc_tests::mutate::{mutated, survives};
use hloc_tests::random::Random;

/// Larger programs are skipped: the time limit is about damage, not about size.
const MAX_BYTES: u64 = 200_000;

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    match run(&mut out) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            // Nothing more can be done if stderr is closed.
            let _ = writeln!(std::io::stderr(), "run-mutations: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(out: &mut dyn Write) -> Result<usize, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count, rest @ ..] = words.as_slice() else {
        return Err("usage: run-mutations DIR COUNT [SEED]".to_owned());
    };
    let count: usize = count.parse().map_err(|_| "COUNT is a number")?;
    let seed = rest
        .first()
        .map_or(Ok(1), |seed| seed.parse())
        .map_err(|_| "SEED is a number")?;
    let mut files = files_below(Path::new(folder), ".hlo").map_err(|error| error.to_string())?;
    files.retain(|file| file.metadata().is_ok_and(|data| data.len() <= MAX_BYTES));
    if files.is_empty() {
        return Err(format!("no .hlo files below {folder}"));
    }
    let mut random = Random::new(seed);
    let mut failed = 0;
    for number in 0..count {
        let file = random.pick(&files);
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let damaged = mutated(&text, &mut random);
        // Written first, so that the text of an abort is at hand.
        if let Err(error) = survives_on_disk(number, &damaged) {
            failed += 1;
            writeln!(out, "  mutation {number} of {}: {error}", file.display())
                .map_err(|error| error.to_string())?;
        }
    }
    writeln!(out, "{} passed, {failed} failed", count - failed)
        .map_err(|error| error.to_string())?;
    Ok(failed)
}

fn survives_on_disk(number: usize, damaged: &str) -> Result<(), String> {
    let path = std::env::temp_dir().join(format!("mutation-{number}.hlo"));
    std::fs::write(&path, damaged).map_err(|error| error.to_string())?;
    survives(damaged).map_err(|error| format!("{error}; see {}", path.display()))?;
    std::fs::remove_file(&path).map_err(|error| error.to_string())
}

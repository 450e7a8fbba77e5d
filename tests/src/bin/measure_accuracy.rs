//! `measure-accuracy [STEP] [NAME...]`: the greatest errors of functions of floats, as a table.
//!
//! Functions of one `f32` are computed for every STEP-th bit pattern, all by default. `HLOC_BLESS=1` writes the table
//! into docs/numerics.md. The exit status is 1 if an error is beyond the bound in the table of ops.

use std::process::ExitCode;
use std::thread;

use hloc_tests::repository;
use hloc_tests::tables::with_table;
use hloc_tests::ulps::{
    FUNCTIONS, Function, Worst, is_beyond, is_unary, measure, measure_from, table,
};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let step = args.peek().and_then(|arg| arg.parse().ok());
    if step.is_some() {
        args.next();
    }
    let names: Vec<String> = args.collect();
    let is_chosen =
        |function: &&Function| names.is_empty() || names.iter().any(|n| n == function.name);
    let step = step.unwrap_or(1);
    match run(step, FUNCTIONS.iter().filter(is_chosen)) {
        Ok(rows) => report(step, &rows, names.is_empty()),
        Err(message) => fail(&message),
    }
}

type Row = (Function, [Worst; 2]);

fn run<'f>(step: usize, functions: impl Iterator<Item = &'f Function>) -> Result<Vec<Row>, String> {
    let measured = |function: &Function| {
        // Specials and pairs first, then every part in a thread of its own.
        let [mut single, double] = measure(function, 1 << 20)?;
        if is_unary(function) {
            for part in every_part(function, step) {
                single = single.or(part?);
            }
        }
        Ok((*function, [single, double]))
    };
    functions
        .map(measured)
        .collect::<Result<_, hloc::Error>>()
        .map_err(|error| error.to_string())
}

fn every_part(function: &Function, step: usize) -> Vec<Result<Worst, hloc::Error>> {
    let count = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let part = |at: usize| {
            let first = u32::try_from(at * step).unwrap_or(u32::MAX);
            scope.spawn(move || measure_from(function, first, step * count))
        };
        let parts: Vec<_> = (0..count).map(part).collect();
        let joined = parts.into_iter().map(|part| part.join());
        joined
            .map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[expect(clippy::print_stdout, reason = "the table is what the program is for")]
fn report(step: usize, rows: &[Row], is_complete: bool) -> ExitCode {
    let text = table(step, rows);
    print!("{text}");
    if is_complete && std::env::var_os("HLOC_BLESS").is_some() {
        let path = repository().join("docs/numerics.md");
        let written = std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|old| with_table(&old, "ulps", &text))
            .and_then(|new| std::fs::write(&path, new).map_err(|error| error.to_string()));
        if let Err(message) = written {
            return fail(&message);
        }
    }
    let is_beyond = |(function, worst): &Row| worst.iter().any(|worst| is_beyond(function, *worst));
    let beyond: Vec<&str> = rows
        .iter()
        .filter(|row| is_beyond(row))
        .map(|row| row.0.name)
        .collect();
    if beyond.is_empty() {
        ExitCode::SUCCESS
    } else {
        fail(&format!("beyond the bound: {}", beyond.join(", ")))
    }
}

#[expect(clippy::print_stderr, reason = "a program says what is wrong")]
fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

//! Checks that printing is the identity on every program of a folder.
//!
//! `run-round-trip DIR`: text → module → text → module gives the same module, and the second text is
//! the first. Programs with elided constants must be refused with the flag that prints them named.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use hloc_diag::Source;
use hloc_tests::files_below;

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Identical,
    Elided,
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    match run(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // Nothing more can be done if stderr is closed.
            let _ = writeln!(std::io::stderr(), "run-round-trip: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(out: &mut dyn Write) -> Result<bool, String> {
    let folder = std::env::args().nth(1).ok_or("usage: run-round-trip DIR")?;
    let files = files_below(Path::new(&folder), ".hlo").map_err(|error| error.to_string())?;
    let (mut identical, mut elided, mut failed) = (0, 0, 0);
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        match check(&text) {
            Ok(Outcome::Identical) => identical += 1,
            Ok(Outcome::Elided) => elided += 1,
            Err(error) => {
                failed += 1;
                writeln!(out, "  {}: {error:.300}", file.display())
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    writeln!(
        out,
        "{identical} identical, {elided} refused for elided constants"
    )
    .map_err(|error| error.to_string())?;
    writeln!(out, "{} passed, {failed} failed", identical + elided)
        .map_err(|error| error.to_string())?;
    Ok(failed == 0 && identical > 0)
}

fn check(text: &str) -> Result<Outcome, String> {
    let source = Source::new("program", text).map_err(|error| error.to_string())?;
    let module = match hloc_parser::parse(&source) {
        Ok(module) => module,
        Err(diagnostics) => return elided(text, &diagnostics),
    };
    let printed = hloc_ir::print_module(&module);
    let again = Source::new("printed", printed.as_str()).map_err(|error| error.to_string())?;
    let second = hloc_parser::parse(&again)
        .map_err(|diagnostics| hloc_tests::stages::rendered(&diagnostics, &again))?;
    if second != module {
        return Err("the printed module differs".to_owned());
    }
    if hloc_ir::print_module(&second) != printed {
        return Err("the second text differs".to_owned());
    }
    Ok(Outcome::Identical)
}

fn elided(text: &str, diagnostics: &[hloc_diag::Diagnostic]) -> Result<Outcome, String> {
    let named = |diagnostic: &hloc_diag::Diagnostic| {
        diagnostic.code == "literal-elided"
            && diagnostic
                .help
                .iter()
                .any(|help| help.contains("print_large_constants"))
    };
    if text.contains("{...}") && diagnostics.iter().all(named) {
        Ok(Outcome::Elided)
    } else {
        Err(hloc_tests::stages::messages(diagnostics).replace('\n', " | "))
    }
}

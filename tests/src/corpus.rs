//! Runs the selection of real programs in `tests/corpus` on the evaluator and on compiled code, and compares the
//! two.

use std::process::ExitCode;

use hloc_tests::cases::{self, Case, Engine};
use hloc_tests::repository;
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = cases::read_folder(&repository().join("tests/corpus"))
        .expect("tests/corpus has a manifest");
    let engines = [
        ("evaluator", Engine::Evaluator),
        ("jit-without-passes", Engine::JitWithoutPasses),
        ("jit", Engine::Jit),
        ("compare", Engine::Compare),
    ];
    let trial = |case: &Case, (name, engine): (&str, Engine)| {
        let case = case.clone();
        Trial::test(format!("{}::{name}", case.name), move || {
            case.run(engine).map_err(Into::into)
        })
    };
    let trials = cases
        .iter()
        .flat_map(|case| engines.map(|engine| trial(case, engine)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

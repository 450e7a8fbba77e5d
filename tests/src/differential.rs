//! Random programs give the same on the evaluator, the JIT without passes and the JIT with all passes.

use hloc::PassSelection;
use hloc_diag::Source;
use hloc_ir::{Array, Literal};
use hloc_tensor::Tolerance;
use hloc_tests::generate::{Program, program};
use hloc_tests::stages;

/// Programs per run of the test; `HLOC_RANDOM_PROGRAMS` asks for more.
const PROGRAMS: u64 = 400;

#[test]
fn random_programs_agree() {
    for seed in 0..count() {
        let program = program(seed);
        if let Err(error) = check(&program) {
            panic!(
                "seed {seed}: {error}\n{}\narguments: {:?}",
                program.text, program.arguments
            );
        }
    }
}

/// Wide vectors, one thread or two, the same bits.
#[test]
fn widths_and_threads_agree() {
    for seed in 0..count() / 4 {
        let program = program(0x5eed_0000 + seed);
        let outcome = stages::same_bits(&program.text, &program.arguments);
        if let Err(error) = outcome {
            panic!(
                "seed {seed}: {error}\n{}\narguments: {:?}",
                program.text, program.arguments
            );
        }
    }
}

fn count() -> u64 {
    std::env::var("HLOC_RANDOM_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(PROGRAMS)
}

fn check(program: &Program) -> Result<(), String> {
    let source = Source::new("random", program.text.as_str()).map_err(|error| error.to_string())?;
    let module = stages::verified(&source)?;
    check_round_trip(&source)?;
    let arguments: Vec<Literal> = program
        .arguments
        .iter()
        .cloned()
        .map(Literal::Array)
        .collect();
    let expected = stages::evaluate(&module, &arguments)?.into_leaves();
    for passes in [PassSelection::None, PassSelection::All] {
        let found = stages::compile_and_run(&program.text, passes.clone(), &program.arguments)?;
        agree(&found, &expected, program.ulps)
            .map_err(|error| format!("passes {passes:?}: {error}"))?;
    }
    Ok(())
}

fn check_round_trip(source: &Source) -> Result<(), String> {
    let module = stages::parse(source)?;
    let text = hloc_ir::print_module(&module);
    let printed = Source::new("printed", text.as_str()).map_err(|error| error.to_string())?;
    if stages::parse(&printed)? == module {
        Ok(())
    } else {
        Err(format!("printing changed the module:\n{text}"))
    }
}

fn agree(found: &[Array], expected: &[Array], ulps: u64) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} results, not {}", found.len(), expected.len()));
    }
    let compare = |(found, expected)| hloc_tensor::compare(found, expected, Tolerance::Ulps(ulps));
    found
        .iter()
        .zip(expected)
        .try_for_each(compare)
        .map_err(|mismatch| mismatch.to_string())
}

//! Random programs give the same on the evaluator, the JIT without passes and the JIT with all passes.

use std::collections::BTreeSet;

use hloc_diag::Source;
use hloc_ir::{Array, ElementType, Literal, Opcode, Shape, Support};
use hloc_tests::engines::check;
use hloc_tests::generate::{program, rows};
use hloc_tests::stages;

/// Programs per run of the test; `run-random` runs more.
const PROGRAMS: u64 = 300;

#[test]
fn random_programs_agree() {
    for seed in 0..PROGRAMS {
        let program = program(seed);
        if let Err(failure) = check(&program.text, &program.arguments, &program.slack) {
            panic!("seed {seed}: {failure}\n{}", program.text);
        }
    }
}

/// Wide vectors, one thread or two, the same bits.
#[test]
fn widths_and_threads_agree() {
    for seed in 0..PROGRAMS / 3 {
        let program = program(0x5eed_0000 + seed);
        let arguments = program.arguments.iter().cloned();
        let arguments: Vec<Array> = arguments.flat_map(Literal::into_leaves).collect();
        if let Err(error) = stages::same_bits(&program.text, &arguments) {
            panic!("seed {seed}: {error}\n{}", program.text);
        }
    }
}

/// Fully supported opcodes that the generator leaves out, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("set-dimension-size", SIZES_AT_RUN_TIME),
    ("dynamic-reshape", SIZES_AT_RUN_TIME),
];

const SIZES_AT_RUN_TIME: &str =
    "each op has its own rule for sizes known at run time; tests/filetests/run/dynamic has them";

#[test]
fn programs_have_every_supported_op_and_every_element_type() {
    let (mut opcodes, mut types) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..1000 {
        let text = program(seed).text;
        let source = Source::new("random", text).expect("a short text");
        let module = stages::parse(&source).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for computation in module.computations.values() {
            for instruction in computation.instructions.values() {
                opcodes.insert(instruction.op.opcode());
                let arrays = instruction.shape.leaves().into_iter();
                types.extend(
                    arrays
                        .filter_map(Shape::as_array)
                        .map(|array| array.element_type),
                );
            }
        }
    }
    let left_out = |opcode: &Opcode| LEFT_OUT.iter().any(|(name, _)| *name == opcode.name());
    let missing: Vec<Opcode> = Opcode::all()
        .filter(|opcode| opcode.support() == Support::Full && !left_out(opcode))
        .filter(|opcode| !opcodes.contains(opcode))
        .collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
    let missing: Vec<ElementType> = ElementType::ALL
        .iter()
        .copied()
        .filter(|ty| !types.contains(ty))
        .collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
    let unused: Vec<Opcode> = rows()
        .iter()
        .map(|row| row.opcode)
        .filter(|opcode| !opcodes.contains(opcode))
        .collect();
    assert!(
        unused.is_empty(),
        "in the table, but never generated: {unused:?}"
    );
}

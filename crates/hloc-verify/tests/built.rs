//! Modules that a program builds may break rules that no text can break; nothing panics.

use hloc_ir::attr::PaddingDim;
use hloc_ir::{
    ArrayShape, BinaryOp, CommonAttributes, Computation, ComputationId, ElementType, Id, InstrId,
    Instruction, Layout, Literal, Module, ModuleAttributes, Op, Shape, StackTables, UnaryOp,
};
use hloc_verify::{MAX_DIAGNOSTICS, verify};

fn f32s(dims: &[i64]) -> Shape {
    Shape::array(ElementType::F32, dims)
}

fn parameter(number: i64, dims: &[i64]) -> Instruction {
    Instruction::new(
        format!("p{number}"),
        Op::Parameter { number },
        &[],
        f32s(dims),
    )
}

fn negate(name: &str, operand: usize, dims: &[i64]) -> Instruction {
    let op = Op::unary(UnaryOp::Negate);
    Instruction::new(name, op, &[InstrId::from_index(operand)], f32s(dims))
}

fn module(computations: Vec<Computation>) -> Module {
    let entry = ComputationId::from_index(computations.len().saturating_sub(1));
    Module {
        name: "m".into(),
        attributes: ModuleAttributes::default(),
        stack: StackTables::default(),
        computations: computations.into_iter().collect(),
        entry,
    }
}

fn entry(instructions: Vec<Instruction>) -> Module {
    let mut computation = Computation::new("e");
    let last = instructions.len().saturating_sub(1);
    for instruction in instructions {
        computation.push(instruction);
    }
    computation.root = InstrId::from_index(last);
    module(vec![computation])
}

fn codes(module: Module) -> Vec<String> {
    verify(module).map_or_else(
        |rejected| {
            let diagnostics = rejected.diagnostics.iter();
            diagnostics
                .map(|diagnostic| diagnostic.code.to_string())
                .collect()
        },
        |_| Vec::new(),
    )
}

#[test]
fn a_sound_module_is_accepted() {
    assert!(codes(entry(vec![parameter(0, &[2]), negate("n", 0, &[2])])).is_empty());
}

#[test]
fn operands_stand_before_their_users() {
    let loops = entry(vec![parameter(0, &[2]), negate("n", 1, &[2])]);
    assert_eq!(codes(loops), ["computation_c1"]);
    let outside = entry(vec![parameter(0, &[2]), negate("n", 7, &[2])]);
    assert_eq!(codes(outside), ["computation_c1"]);
}

#[test]
fn computations_have_roots_and_modules_entries() {
    assert_eq!(codes(entry(vec![])), ["computation_c2"]);
    assert_eq!(codes(module(vec![])), ["module_c1"]);
}

#[test]
fn parameters_are_dense_and_names_distinct() {
    let gap = entry(vec![parameter(0, &[2]), parameter(2, &[2])]);
    assert_eq!(codes(gap), ["computation_c3"]);
    let twice = entry(vec![
        parameter(0, &[2]),
        negate("n", 0, &[2]),
        negate("n", 1, &[2]),
    ]);
    assert_eq!(codes(twice), ["computation_c4"]);
    let negative = entry(vec![parameter(-1, &[2])]);
    assert_eq!(codes(negative), ["computation_c3", "parameter_c1"]);
}

#[test]
fn calls_go_backwards() {
    let recursive = Op::Call {
        to_apply: ComputationId::from_index(0),
        is_composite: false,
    };
    let call = Instruction::new("c", recursive, &[], f32s(&[]));
    assert_eq!(codes(entry(vec![call])), ["module_c3"]);
    let mut same = Computation::new("e");
    same.push(parameter(0, &[2]));
    assert_eq!(codes(module(vec![same.clone(), same])), ["module_c2"]);
}

#[test]
fn a_computation_without_a_root_cannot_be_called() {
    let call = Op::Call {
        to_apply: ComputationId::from_index(0),
        is_composite: false,
    };
    let mut caller = Computation::new("e");
    caller.push(Instruction::new("c", call, &[], f32s(&[])));
    let broken = module(vec![Computation::new("empty"), caller]);
    // The caller's mistake follows from the other.
    assert_eq!(codes(broken), ["computation_c2"]);
}

#[test]
fn arity_padding_and_constants_are_checked() {
    let lonely = Instruction::new(
        "a",
        Op::binary(BinaryOp::Add),
        &[InstrId::from_index(0)],
        f32s(&[2]),
    );
    assert_eq!(codes(entry(vec![parameter(0, &[2]), lonely])), ["arity_c1"]);
    let interior = Op::Pad {
        padding: vec![PaddingDim {
            low: 0,
            high: 0,
            interior: -1,
        }],
    };
    let operands = [InstrId::from_index(0), InstrId::from_index(1)];
    let pad = Instruction::new("a", interior, &operands, f32s(&[1]));
    let padded = entry(vec![parameter(0, &[2]), parameter(1, &[]), pad]);
    assert_eq!(codes(padded), ["pad_c3"]);
    let empty = Op::Constant {
        literal: Literal::Tuple(Vec::new()).into(),
    };
    let constant = Instruction::new("c", empty, &[], f32s(&[]));
    assert_eq!(codes(entry(vec![constant])), ["constant_c1"]);
}

#[test]
fn shapes_and_layouts_are_bounded() {
    let many = entry(vec![parameter(0, &[1; 65])]);
    assert_eq!(codes(many), ["shape_c3"]);
    let mut short = ArrayShape::new(ElementType::F32, &[2, 3]);
    short.layout = Some(Box::new(Layout {
        minor_to_major: [0].into_iter().collect(),
        suffixes: "".into(),
    }));
    let mut wrong = parameter(0, &[]);
    wrong.shape = Shape::Array(short);
    assert_eq!(codes(entry(vec![wrong])), ["layout_c1"]);
}

#[test]
fn control_predecessors_stand_before() {
    let mut late = parameter(0, &[2]);
    late.attributes = Some(Box::new(CommonAttributes {
        control_predecessors: vec![InstrId::from_index(0)],
        ..CommonAttributes::default()
    }));
    assert_eq!(codes(entry(vec![late])), ["computation_c7"]);
}

#[test]
fn extreme_sizes_do_not_overflow() {
    for size in [i64::MIN, -1, i64::MAX] {
        let dims = [size, size];
        assert!(!codes(entry(vec![parameter(0, &dims), negate("n", 0, &dims)])).is_empty());
    }
}

#[test]
fn the_number_of_diagnostics_is_bounded() {
    let mut instructions = vec![parameter(0, &[2])];
    instructions.extend((0..2000).map(|at| negate(&format!("n{at}"), 0, &[3])));
    let found = codes(entry(instructions));
    assert_eq!(found.len(), MAX_DIAGNOSTICS + 1);
    assert_eq!(found.last().map(String::as_str), Some("too-many-errors"));
}

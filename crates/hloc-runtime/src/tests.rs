//! Programs that break the rules are refused before anything is read or written.

use hloc_diag::Span;
use hloc_ir::{Arena, ArrayShape, ElementType, Shape};
use hloc_jit::{JitOptions, compile_kernels};
use hloc_loops::ir::{
    Buffer, BufferId, BufferKind, DotCall, LibraryCall, LibraryStep, Program, Step,
};
use hloc_tensor::Array;

use crate::{Executable, RunError};

/// A program over `f32[2]`: parameter, result, constant, two temporaries.
fn program(steps: impl Fn(&[BufferId]) -> Vec<Step>) -> Program {
    let shape = ArrayShape::new(ElementType::F32, &[2]);
    let mut buffers = Arena::new();
    let constant = Array::from_slice(&[2], &[3.0f32, 4.0]).expect("two");
    let kinds = [
        BufferKind::Parameter(0),
        BufferKind::Result(0),
        BufferKind::Constant(constant),
        BufferKind::Temporary { offset: 0 },
        BufferKind::Temporary { offset: 64 },
    ];
    let ids = kinds.map(|kind| {
        let shape = shape.clone();
        buffers.push(Buffer { shape, kind })
    });
    Program {
        kernels: Arena::new(),
        steps: steps(&ids),
        parameters: vec![ids[0]],
        results: vec![ids[1]],
        parameter_shapes: vec![Shape::Array(shape.clone())],
        parameter_names: vec!["x".to_owned()],
        result_shape: Shape::Array(shape),
        arena_bytes: 128,
        num_instructions: 0,
        split_fusions: Vec::new(),
        buffers,
    }
}

fn executable(program: Program) -> Result<Executable, RunError> {
    let kernels = compile_kernels(&program, &JitOptions::default()).expect("no kernels");
    Executable::new(program, kernels)
}

fn copy(from: BufferId, to: BufferId) -> Step {
    Step::Copy { from, to }
}

#[test]
fn copies_and_swaps_move_values() {
    let program = program(|b| {
        vec![
            copy(b[0], b[3]),
            copy(b[2], b[4]),
            Step::Swap(b[3], b[4]),
            copy(b[3], b[1]),
        ]
    });
    let executable = executable(program).expect("sound");
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).expect("two");
    for _ in 0..2 {
        let results = executable.run(std::slice::from_ref(&x)).expect("run");
        assert_eq!(results[0].as_slice::<f32>(), Some(&[3.0f32, 4.0][..]));
    }
    assert_eq!(executable.peak_buffer_bytes(), 8 + 128);
    assert_eq!(executable.constant_bytes(), 8);
}

#[test]
fn inputs_and_constants_are_never_written() {
    for target in [0, 2] {
        let wrong = program(|b| vec![copy(b[3], b[target])]);
        assert!(matches!(
            executable(wrong),
            Err(RunError::InvalidProgram(_))
        ));
    }
}

#[test]
fn only_temporaries_are_exchanged() {
    let wrong = program(|b| vec![Step::Swap(b[1], b[3])]);
    assert!(matches!(
        executable(wrong),
        Err(RunError::InvalidProgram(_))
    ));
}

#[test]
fn buffers_lie_in_the_arena() {
    for offset in [128, 127, u64::MAX] {
        let mut wrong = program(|_| Vec::new());
        if let Some(buffer) = wrong.buffers.values_mut().last() {
            buffer.kind = BufferKind::Temporary { offset };
        }
        assert!(matches!(
            executable(wrong),
            Err(RunError::InvalidProgram(_))
        ));
    }
}

#[test]
fn deciding_buffers_are_scalars() {
    let wrong = program(|b| {
        vec![Step::While {
            condition: Vec::new(),
            predicate: b[3],
            body: Vec::new(),
            trips: None,
            instruction: None,
        }]
    });
    assert!(executable(wrong).is_err());
    let wrong = program(|b| {
        vec![Step::Conditional {
            index: b[3],
            branches: vec![Vec::new()],
        }]
    });
    assert!(executable(wrong).is_err());
}

#[test]
fn a_dot_does_not_write_over_its_operands() {
    let step = |inputs: [BufferId; 2], output: BufferId| {
        let shape = ArrayShape::new(ElementType::F32, &[2]);
        Step::Library(LibraryStep {
            call: LibraryCall::Dot(Box::new(DotCall {
                lhs: shape.clone(),
                rhs: shape.clone(),
                result: shape,
                lhs_batch: vec![0],
                rhs_batch: vec![0],
                lhs_contracting: Vec::new(),
                rhs_contracting: Vec::new(),
            })),
            inputs: inputs.to_vec(),
            outputs: vec![output],
            span: Span::NONE,
            instruction: None,
        })
    };
    let good = program(|b| vec![step([b[0], b[2]], b[3]), copy(b[3], b[1])]);
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).expect("two");
    let results = executable(good).expect("sound").run(&[x]).expect("run");
    assert_eq!(results[0].as_slice::<f32>(), Some(&[3.0f32, 8.0][..]));
    let wrong = program(|b| vec![step([b[3], b[2]], b[3])]);
    assert!(executable(wrong).is_err());
}

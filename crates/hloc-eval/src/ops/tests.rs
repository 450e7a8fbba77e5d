//! Structural ops on small arrays, with the corner cases of HLO's semantics.

use hloc_ir::attr::{ElidedDims, PaddingDim, SliceDim};
use hloc_ir::{
    BinaryOp, Computation, ComputationId, ElementType, Id, Instruction, Literal, Module, Op, Shape,
    TernaryOp,
};
use hloc_tensor::{Array, Element};

use crate::{EvalError, evaluate_op};

fn array<T: Element>(dims: &[i64], elements: &[T]) -> Literal {
    Literal::Array(
        Array::from_slice(dims, elements).expect("as many elements as the dimensions say"),
    )
}

/// A module whose first computation is `op` of two f32 scalars.
fn module_with(op: BinaryOp) -> Module {
    let scalar = Shape::scalar(ElementType::F32);
    let mut computation = Computation::new("reducer");
    let x = computation.push(Instruction::new(
        "x",
        Op::Parameter { number: 0 },
        &[],
        scalar.clone(),
    ));
    let y = computation.push(Instruction::new(
        "y",
        Op::Parameter { number: 1 },
        &[],
        scalar.clone(),
    ));
    computation.root = computation.push(Instruction::new("r", Op::binary(op), &[x, y], scalar));
    module_of(computation)
}

fn module_of(computation: Computation) -> Module {
    let mut computations = hloc_ir::Arena::new();
    let entry = computations.push(computation);
    Module {
        name: "m".into(),
        attributes: Default::default(),
        stack: Default::default(),
        computations,
        entry,
    }
}

fn run(op: &Op, operands: &[Literal], shape: &Shape) -> Result<Literal, EvalError> {
    let operands: Vec<&Literal> = operands.iter().collect();
    evaluate_op(op, &operands, shape, &module_with(BinaryOp::Subtract))
}

/// The f32 elements of the result.
fn floats(op: &Op, operands: &[Literal], dims: &[i64]) -> Vec<f32> {
    let result = run(op, operands, &Shape::array(ElementType::F32, dims)).expect("it evaluates");
    let result = result.as_array().expect("an array");
    assert_eq!(result.dims(), dims);
    result.to_vec().expect("of f32")
}

fn reducer() -> ComputationId {
    ComputationId::from_index(0)
}

#[test]
fn pad_spreads_first_and_trims_then() {
    let padding = vec![PaddingDim {
        low: -1,
        high: 0,
        interior: 1,
    }];
    let x = [array(&[3], &[1.0f32, 2.0, 3.0]), array(&[], &[0.0f32])];
    assert_eq!(floats(&Op::Pad { padding }, &x, &[4]), [0.0, 2.0, 0.0, 3.0]);
}

#[test]
fn slices_and_reversals() {
    let x = [array(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let all = SliceDim {
        start: 0,
        limit: 2,
        stride: 1,
    };
    let odd = SliceDim {
        start: 0,
        limit: 3,
        stride: 2,
    };
    let slice = Op::Slice {
        slice: vec![all, odd],
    };
    assert_eq!(floats(&slice, &x, &[2, 2]), [1.0, 3.0, 4.0, 6.0]);
    let reverse = Op::Reverse {
        dimensions: vec![1],
    };
    assert_eq!(
        floats(&reverse, &x, &[2, 3]),
        [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]
    );
    let transpose = Op::Transpose {
        dimensions: vec![1, 0],
    };
    assert_eq!(
        floats(&transpose, &x, &[3, 2]),
        [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    );
}

#[test]
fn implicit_broadcasts_map_then_repeat_size_one() {
    let add = |dimensions: &[i64]| Op::Binary {
        op: BinaryOp::Add,
        broadcast_dimensions: Some(dimensions.to_vec()),
    };
    let (x, y) = (
        array(&[2], &[10.0f32, 20.0]),
        array(&[1, 2], &[1.0f32, 2.0]),
    );
    assert_eq!(
        floats(&add(&[0]), &[x, y], &[2, 2]),
        [11.0, 12.0, 21.0, 22.0]
    );
    let (column, row) = (
        array(&[2, 1], &[10.0f32, 20.0]),
        array(&[1, 2], &[1.0f32, 2.0]),
    );
    let outer = floats(&Op::binary(BinaryOp::Add), &[column, row], &[2, 2]);
    assert_eq!(outer, [11.0, 12.0, 21.0, 22.0]);
    let clamp = [
        array(&[], &[0.0f32]),
        array(&[2], &[-1.0f32, 3.0]),
        array(&[], &[1.0f32]),
    ];
    assert_eq!(
        floats(&Op::ternary(TernaryOp::Clamp), &clamp, &[2]),
        [0.0, 1.0]
    );
}

#[test]
fn reductions_fold_from_the_left_and_begin_once() {
    let reduce = |dimensions: &[i64]| Op::Reduce {
        dimensions: dimensions.to_vec(),
        to_apply: reducer(),
    };
    let x = [
        array(&[4], &[1.0f32, 2.0, 3.0, 4.0]),
        array(&[], &[100.0f32]),
    ];
    assert_eq!(floats(&reduce(&[0]), &x, &[]), [90.0]);
    assert_eq!(floats(&reduce(&[]), &x, &[4]), [1.0, 2.0, 3.0, 4.0]);
    let empty = [array::<f32>(&[0, 2], &[]), array(&[], &[7.0f32])];
    assert_eq!(floats(&reduce(&[0]), &empty, &[2]), [7.0, 7.0]);
}

#[test]
fn dynamic_blocks_are_moved_into_range() {
    let x = array(&[4], &[1.0f32, 2.0, 3.0, 4.0]);
    let slice = Op::DynamicSlice {
        dynamic_slice_sizes: vec![2],
    };
    let at = |start: i32| [x.clone(), array(&[], &[start])];
    assert_eq!(floats(&slice, &at(-5), &[2]), [1.0, 2.0]);
    assert_eq!(floats(&slice, &at(3), &[2]), [3.0, 4.0]);
    let unsigned = [x.clone(), array(&[], &[u32::MAX])];
    assert_eq!(floats(&slice, &unsigned, &[2]), [3.0, 4.0]);
    let update = [x.clone(), array(&[2], &[8.0f32, 9.0]), array(&[], &[7i64])];
    assert_eq!(
        floats(&Op::DynamicUpdateSlice {}, &update, &[4]),
        [1.0, 2.0, 8.0, 9.0]
    );
}

#[test]
fn gather_moves_slices_and_scatter_drops_windows() {
    let x = array(&[3], &[1.0f32, 2.0, 3.0]);
    let gather = Op::Gather {
        offset_dims: vec![],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        operand_batching_dims: ElidedDims::default(),
        start_indices_batching_dims: ElidedDims::default(),
        index_vector_dim: 1,
        slice_sizes: vec![1],
        indices_are_sorted: false,
    };
    let indices = array(&[3], &[2i32, -1, 9]);
    assert_eq!(
        floats(&gather, &[x.clone(), indices.clone()], &[3]),
        [3.0, 1.0, 3.0]
    );
    let scatter = Op::Scatter {
        update_window_dims: vec![],
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        input_batching_dims: ElidedDims::default(),
        scatter_indices_batching_dims: ElidedDims::default(),
        index_vector_dim: 1,
        indices_are_sorted: false,
        unique_indices: false,
        to_apply: reducer(),
    };
    let updates = array(&[3], &[10.0f32, 20.0, 30.0]);
    assert_eq!(
        floats(&scatter, &[x, indices, updates], &[3]),
        [1.0, 2.0, -7.0]
    );
}

#[test]
fn products_sum_over_nothing_to_zero() {
    let dot = Op::Dot {
        lhs_batch_dims: ElidedDims::default(),
        lhs_contracting_dims: ElidedDims(vec![1]),
        rhs_batch_dims: ElidedDims::default(),
        rhs_contracting_dims: ElidedDims(vec![0]),
        operand_precision: Default::default(),
        algorithm: None,
    };
    let x = array(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]);
    let y = array(&[2, 1], &[1.0f32, 10.0]);
    assert_eq!(floats(&dot, &[x, y], &[2, 1]), [21.0, 43.0]);
    let empty = [array::<f32>(&[1, 0], &[]), array::<f32>(&[0, 1], &[])];
    assert_eq!(floats(&dot, &empty, &[1, 1]), [0.0]);
}

#[test]
fn narrow_counts_wrap() {
    let shape = Shape::array(ElementType::U8, &[300]);
    let result = run(&Op::Iota { iota_dimension: 0 }, &[], &shape).expect("it evaluates");
    let counts: Vec<u8> = result.as_array().and_then(Array::to_vec).expect("of u8");
    assert_eq!((counts[255], counts[256]), (255, 0));
}

#[test]
fn scans_thread_their_carry_and_may_run_backwards() {
    // carry − x goes out and on.
    let scalar = Shape::scalar(ElementType::F32);
    let mut computation = Computation::new("step");
    let parameter = |number| Op::Parameter { number };
    let x = computation.push(Instruction::new("x", parameter(0), &[], scalar.clone()));
    let carry = computation.push(Instruction::new("c", parameter(1), &[], scalar.clone()));
    let subtract = Op::binary(BinaryOp::Subtract);
    let next = Instruction::new("n", subtract, &[carry, x], scalar.clone());
    let next = computation.push(next);
    let pair = Shape::Tuple(vec![scalar.clone(), scalar.clone()]);
    let both = Instruction::new("t", Op::Tuple {}, &[next, next], pair);
    computation.root = computation.push(both);
    let module = module_of(computation);
    let scan = |is_reverse| Op::Scan {
        dimensions: vec![0],
        num_carries: Some(1),
        is_reverse,
        is_associative: None,
        to_apply: reducer(),
    };
    let shape = Shape::Tuple(vec![Shape::array(ElementType::F32, &[3]), scalar]);
    let operands = [array(&[3], &[1.0f32, 2.0, 3.0]), array(&[], &[10.0f32])];
    let operands = [&operands[0], &operands[1]];
    let first = |is_reverse| {
        let result = evaluate_op(&scan(is_reverse), &operands, &shape, &module);
        let leaves = result.expect("it evaluates").into_leaves();
        (leaves[0].to_vec::<f32>(), leaves[1].to_vec::<f32>())
    };
    assert_eq!(first(false), (Some(vec![9.0, 7.0, 4.0]), Some(vec![4.0])));
    assert_eq!(first(true), (Some(vec![4.0, 5.0, 7.0]), Some(vec![4.0])));
}

#[test]
fn random_bits_below_the_fraction_round_away_from_zero() {
    let operands = [
        array(&[4], &[1.25f32, 1.25, -1.25, f32::NAN]),
        array(&[4], &[(1u32 << 30) - 1, 1 << 30, 0, 0]),
    ];
    let shape = Shape::array(ElementType::S8, &[4]);
    let result = run(&Op::StochasticConvert {}, &operands, &shape).expect("it evaluates");
    let rounded: Option<Vec<i8>> = result.as_array().and_then(Array::to_vec);
    assert_eq!(rounded, Some(vec![2, 1, -2, 0]));
}

#[test]
fn what_does_not_fit_is_an_error_and_no_panic() {
    let shape = Shape::array(ElementType::F32, &[2]);
    let ops = [
        Op::binary(BinaryOp::Add),
        Op::Transpose {
            dimensions: vec![7],
        },
        Op::Reduce {
            dimensions: vec![3],
            to_apply: ComputationId::from_index(9),
        },
        Op::Broadcast {
            dimensions: vec![5],
        },
        Op::GetTupleElement { index: 4 },
        Op::Conditional {
            branch_computations: None,
            true_computation: None,
            false_computation: None,
        },
        Op::Sort {
            dimensions: vec![],
            is_stable: false,
            to_apply: reducer(),
        },
        Op::Map {
            dimensions: ElidedDims::default(),
            to_apply: reducer(),
        },
    ];
    for op in &ops {
        for operands in [
            &[][..],
            &[array(&[1], &[1.0f32])],
            &[Literal::Tuple(vec![])],
        ] {
            assert!(run(op, operands, &shape).is_err(), "{op:?}");
        }
    }
}

#[test]
fn endless_recursion_is_a_limit() {
    let shape = Shape::scalar(ElementType::F32);
    let mut computation = Computation::new("f");
    let call = Op::Call {
        to_apply: reducer(),
        is_composite: false,
    };
    computation.root = computation.push(Instruction::new("c", call.clone(), &[], shape.clone()));
    let result = evaluate_op(&call, &[], &shape, &module_of(computation));
    assert!(matches!(result, Err(EvalError::Limit { .. })));
}

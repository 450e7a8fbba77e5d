//! Every kind of `dot` against sums formed one by one.

use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::ir::DotCall;
use hloc_tensor::{Array, IndexIter, Scalar, num_elements, row_major_strides};

use super::DotPlan;
use crate::pool::WorkerPool;

/// `lhs x rhs -> result` with dimension numbers; the result's dimensions follow.
fn call(
    types: [ElementType; 3],
    dims: [&[i64]; 2],
    batch: [&[i64]; 2],
    contracting: [&[i64]; 2],
) -> DotCall {
    let free = |side: usize| {
        let all = 0..dims[side].len() as i64;
        all.filter(move |dim| !batch[side].contains(dim) && !contracting[side].contains(dim))
            .map(move |dim| dims[side][dim as usize])
    };
    let mut result: Vec<i64> = batch[0].iter().map(|dim| dims[0][*dim as usize]).collect();
    result.extend(free(0));
    result.extend(free(1));
    DotCall {
        lhs: ArrayShape::new(types[0], dims[0]),
        rhs: ArrayShape::new(types[1], dims[1]),
        result: ArrayShape::new(types[2], &result),
        lhs_batch: batch[0].to_vec(),
        rhs_batch: batch[1].to_vec(),
        lhs_contracting: contracting[0].to_vec(),
        rhs_contracting: contracting[1].to_vec(),
    }
}

/// Small integers, so that every sum is exact in every type.
fn filled(shape: &ArrayShape, seed: usize) -> Array {
    let mut array = Array::zeros(shape.element_type, &shape.dims).expect("small");
    for position in 0..array.num_elements() {
        let value = (position * 7 + seed * 5) % 5;
        let value = if shape.element_type.is_complex() {
            Scalar::Complex(value as f64 - 2.0, (position % 3) as f64 - 1.0)
        } else if shape.element_type.is_unsigned_integer() {
            Scalar::Uint(value as u64)
        } else {
            Scalar::Int(value as i64 - 2)
        };
        array.set(position, value);
    }
    array
}

fn run(call: &DotCall, lhs: &Array, rhs: &Array, pool: &WorkerPool) -> Array {
    let plan = DotPlan::new(call).expect("supported");
    let bytes = plan.scratch_bytes() as i64;
    let mut scratch = Array::zeros(ElementType::U8, &[bytes]).expect("small");
    let mut result = Array::zeros(call.result.element_type, &call.result.dims).expect("small");
    // What is in the result before must not matter.
    result.bytes_mut().fill(0xff);
    plan.run(
        lhs.bytes(),
        rhs.bytes(),
        result.bytes_mut(),
        scratch.bytes_mut(),
        pool,
    );
    result
}

fn reference(call: &DotCall, lhs: &Array, rhs: &Array) -> Array {
    let mut result = Array::zeros(call.result.element_type, &call.result.dims).expect("small");
    let contracted: Vec<i64> = call
        .lhs_contracting
        .iter()
        .map(|dim| call.lhs.dims[*dim as usize])
        .collect();
    let mut walk = IndexIter::new(&call.result.dims);
    let mut position = 0;
    while let Some(index) = walk.next_index() {
        let index = index.to_vec();
        let (mut re, mut im) = (0.0, 0.0);
        let mut inner = IndexIter::new(&contracted);
        while let Some(along) = inner.next_index() {
            let (a, b) = (
                element(call, lhs, &index, along, true),
                element(call, rhs, &index, along, false),
            );
            re += a.0 * b.0 - a.1 * b.1;
            im += a.0 * b.1 + a.1 * b.0;
        }
        let value = if call.result.element_type.is_complex() {
            Scalar::Complex(re, im)
        } else if call.result.element_type.is_float() {
            Scalar::Float(re)
        } else {
            Scalar::Int(re as i64)
        };
        result.set(position, value);
        position += 1;
    }
    result
}

/// The element of one side at a result index and a contracting index.
fn element(call: &DotCall, array: &Array, index: &[i64], along: &[i64], left: bool) -> (f64, f64) {
    let (dims, batch, contracting) = if left {
        (&call.lhs.dims, &call.lhs_batch, &call.lhs_contracting)
    } else {
        (&call.rhs.dims, &call.rhs_batch, &call.rhs_contracting)
    };
    let lhs_free = call.lhs.dims.len() - batch.len() - contracting.len();
    let mut next_free = batch.len() + if left { 0 } else { lhs_free };
    let strides = row_major_strides(dims);
    let mut position = 0;
    for dim in 0..dims.len() as i64 {
        let at = if let Some(number) = batch.iter().position(|each| *each == dim) {
            index[number]
        } else if let Some(number) = contracting.iter().position(|each| *each == dim) {
            along[number]
        } else {
            next_free += 1;
            index[next_free - 1]
        };
        position += at * strides[dim as usize];
    }
    match array.get(position as usize) {
        Scalar::Complex(re, im) => (re, im),
        scalar @ (Scalar::Pred(_) | Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_)) => {
            (scalar.to_f64(), 0.0)
        }
    }
}

fn check(call: &DotCall) {
    let (lhs, rhs) = (filled(&call.lhs, 1), filled(&call.rhs, 2));
    let result = run(call, &lhs, &rhs, &WorkerPool::new(1));
    assert_eq!(result, reference(call, &lhs, &rhs), "{call:?}");
}

const F32: [ElementType; 3] = [ElementType::F32; 3];

#[test]
fn any_dimensions_may_be_batch_free_or_contracting() {
    let all: &[[[&[i64]; 2]; 3]] = &[
        [[&[2, 3], &[3, 4]], [&[], &[]], [&[1], &[0]]],
        [[&[3, 2], &[4, 3]], [&[], &[]], [&[0], &[1]]],
        [[&[3], &[3]], [&[], &[]], [&[0], &[0]]],
        [[&[3], &[4]], [&[], &[]], [&[], &[]]],
        [[&[], &[2, 2]], [&[], &[]], [&[], &[]]],
        [[&[5, 2, 3], &[5, 3, 4]], [&[0], &[0]], [&[2], &[1]]],
        [[&[2, 5, 3], &[3, 4, 5]], [&[1], &[2]], [&[2], &[0]]],
        // Free dimensions around a contracting one: no single stride.
        [[&[2, 3, 4], &[3, 5]], [&[], &[]], [&[1], &[0]]],
        // Two contracting dimensions in different orders.
        [[&[2, 3, 4], &[4, 3, 5]], [&[], &[]], [&[1, 2], &[1, 0]]],
        [[&[3, 2, 4], &[3, 4, 5]], [&[], &[]], [&[0, 2], &[0, 1]]],
        [
            [&[2, 3, 4, 5], &[5, 2, 6, 3]],
            [&[1, 0], &[3, 1]],
            [&[3], &[0]],
        ],
        [[&[1, 40, 1, 30], &[30, 50]], [&[], &[]], [&[3], &[0]]],
        // Matrices and vectors, rows or columns side by side.
        [[&[37, 101], &[101]], [&[], &[]], [&[1], &[0]]],
        [[&[101, 37], &[101]], [&[], &[]], [&[0], &[0]]],
        [[&[101], &[101, 1100]], [&[], &[]], [&[0], &[0]]],
        [[&[1, 101], &[37, 101]], [&[], &[]], [&[1], &[1]]],
        [[&[3, 37, 101], &[3, 101]], [&[0], &[0]], [&[2], &[1]]],
        [[&[37, 101, 3], &[101, 3]], [&[2], &[1]], [&[1], &[0]]],
        [[&[0, 3], &[3, 4]], [&[], &[]], [&[1], &[0]]],
        [[&[2, 0], &[0, 4]], [&[], &[]], [&[1], &[0]]],
        [[&[0, 2, 3], &[0, 3, 4]], [&[0], &[0]], [&[2], &[1]]],
    ];
    for [dims, batch, contracting] in all {
        check(&call(F32, *dims, *batch, *contracting));
    }
}

/// More than a block of rows, columns and products, and none a multiple of a tile.
#[test]
fn large_products_with_any_strides() {
    for [lhs, rhs] in [[1, 0], [1, 1], [0, 0], [0, 1]] {
        let dims = |contracting: i64, free: i64| {
            if contracting == 0 {
                [270, free]
            } else {
                [free, 270]
            }
        };
        check(&call(
            [ElementType::F32; 3],
            [&dims(lhs, 101), &dims(rhs, 1037)],
            [&[], &[]],
            [&[lhs], &[rhs]],
        ));
    }
}

/// Small ones whose columns fill vectors, in batches.
#[test]
fn small_products_in_place() {
    for [rows, columns, depth] in [[16, 16, 16], [4, 48, 100], [8, 64, 128]] {
        for lhs in [1, 2] {
            let dims = if lhs == 1 {
                [3, depth, rows]
            } else {
                [3, rows, depth]
            };
            check(&call(
                [ElementType::F32; 3],
                [&dims, &[3, depth, columns]],
                [&[0], &[0]],
                [&[lhs], &[1]],
            ));
        }
    }
}

#[test]
fn all_number_types_are_multiplied() {
    for element_type in ElementType::ALL {
        // Too narrow to hold the sums of this test, or the addends.
        if element_type.bits() < 16 && *element_type != ElementType::S8 {
            continue;
        }
        for sizes in [[3, 4, 5], [17, 9, 33]] {
            let [m, n, k] = sizes;
            let types = [*element_type; 3];
            check(&call(types, [&[m, k], &[k, n]], [&[], &[]], [&[1], &[0]]));
            check(&call(types, [&[k, m], &[n, k]], [&[], &[]], [&[0], &[1]]));
        }
    }
}

#[test]
fn results_may_be_wider() {
    use ElementType::{BF16, C64, C128, F16, F32, F64, S8, S32};
    for (from, to) in [
        (BF16, F32),
        (F16, F32),
        (F32, F64),
        (S8, S32),
        (C64, C128),
        (F32, C64),
        (S32, F32),
    ] {
        check(&call(
            [from, from, to],
            [&[6, 20], &[20, 7]],
            [&[], &[]],
            [&[1], &[0]],
        ));
    }
    let floats_to_integers = call([F32, F32, S32], [&[2], &[2]], [&[], &[]], [&[0], &[0]]);
    assert!(DotPlan::new(&floats_to_integers).is_err());
}

#[test]
fn bf16_sums_are_rounded_once() {
    // 256 + 1 is 256 in bf16 after each step, but 257 + 3 is 260 when summed in f32.
    let call = call(
        [ElementType::BF16; 3],
        [&[1, 5], &[5, 1]],
        [&[], &[]],
        [&[1], &[0]],
    );
    let mut lhs = Array::zeros(ElementType::BF16, &[1, 5]).expect("small");
    let mut rhs = Array::zeros(ElementType::BF16, &[5, 1]).expect("small");
    for position in 0..5 {
        let value = if position == 0 { 256.0 } else { 1.0 };
        lhs.set(position, Scalar::Float(value));
        rhs.set(position, Scalar::Float(1.0));
    }
    let result = run(&call, &lhs, &rhs, &WorkerPool::new(1));
    assert_eq!(result.get(0), Scalar::Float(260.0));
}

#[test]
fn threads_do_not_change_a_bit() {
    let shapes: &[[[&[i64]; 2]; 3]] = &[
        [[&[300, 70], &[70, 500]], [&[], &[]], [&[1], &[0]]],
        [[&[64, 300], &[300, 900]], [&[], &[]], [&[1], &[0]]],
        [[&[900, 300], &[300]], [&[], &[]], [&[1], &[0]]],
        [[&[300], &[300, 900]], [&[], &[]], [&[0], &[0]]],
        [[&[200, 16, 24], &[200, 24, 16]], [&[0], &[0]], [&[2], &[1]]],
    ];
    for [dims, batch, contracting] in shapes {
        let call = call(F32, *dims, *batch, *contracting);
        let fraction = |shape: &ArrayShape| {
            let mut array = filled(shape, 3);
            let elements = array.as_mut_slice::<f32>().expect("f32");
            let numbered = elements.iter_mut().enumerate();
            numbered.for_each(|(at, x)| *x += 1.0 / (at % 1013 + 3) as f32);
            array
        };
        let (lhs, rhs) = (fraction(&call.lhs), fraction(&call.rhs));
        let one = run(&call, &lhs, &rhs, &WorkerPool::new(1));
        let three = run(&call, &lhs, &rhs, &WorkerPool::new(3));
        assert_eq!(
            num_elements(one.dims()),
            call.result.num_elements(),
            "all elements"
        );
        assert!(one == three, "{call:?}");
    }
}

//! Orders of keys, against what is plain to see.

use hloc_ir::{ArrayShape, CompareType, ElementType};
use hloc_loops::routine::{Routine as Asked, RoutineCall, SortKey, SortOrder};

use super::order::KeyedSort;
use super::rows::Rows;
use super::top_k::TopK;
use crate::pool::WorkerPool;
use crate::routine::Routine;

fn call(routine: Asked, inputs: &[ArrayShape], outputs: &[ArrayShape]) -> RoutineCall {
    RoutineCall {
        routine,
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
    }
}

/// Sorts one array by itself.
fn sorted<T: bytemuck::Pod>(
    shape: &ArrayShape,
    dimension: usize,
    keys: &[SortKey],
    x: &[T],
) -> Vec<T> {
    let shapes = [shape.clone(), shape.clone()];
    let asked = Asked::Sort {
        dimension,
        order: SortOrder::Keys(keys.to_vec()),
    };
    let call = call(asked, &shapes, &shapes[1..]);
    let rows = Rows::new(&shape.dims, dimension);
    let sizes = Box::new([size_of::<T>()]);
    let sort = KeyedSort::new(rows, keys, &call, sizes).expect("an order");
    let mut result = x.to_vec();
    let bytes: &[u8] = bytemuck::cast_slice(x);
    let target = bytemuck::cast_slice_mut(&mut result);
    sort.run(&[bytes, bytes], &mut [target], &WorkerPool::new(1));
    result
}

fn key(order: CompareType, descending: bool) -> SortKey {
    SortKey { order, descending }
}

#[test]
fn integers_of_both_signs() {
    let shape = ArrayShape::new(ElementType::S64, &[5]);
    let x = [3, i64::MAX, -1, i64::MIN, 0];
    let up = sorted(&shape, 0, &[key(CompareType::Signed, false)], &x);
    assert_eq!(up, [i64::MIN, -1, 0, 3, i64::MAX]);
    let down = sorted(&shape, 0, &[key(CompareType::Signed, true)], &x);
    assert_eq!(down, [i64::MAX, 3, 0, -1, i64::MIN]);
}

#[test]
fn columns_are_rows_too() {
    let shape = ArrayShape::new(ElementType::S32, &[3, 2]);
    let x = [5, 1, 4, 3, 2, 0];
    let up = sorted(&shape, 0, &[key(CompareType::Signed, false)], &x);
    assert_eq!(up, [2, 0, 4, 1, 5, 3]);
}

#[test]
fn zeros_of_both_signs_are_equal_for_floats_only() {
    let shape = ArrayShape::new(ElementType::F32, &[4]);
    let x = [0.0f32, -0.0, 1.0, -0.0];
    let bits = |x: Vec<f32>| -> Vec<u32> { x.into_iter().map(f32::to_bits).collect() };
    let stable = sorted(&shape, 0, &[key(CompareType::Float, false)], &x);
    assert_eq!(bits(stable), bits(vec![0.0, -0.0, -0.0, 1.0]));
    let total = sorted(&shape, 0, &[key(CompareType::TotalOrder, false)], &x);
    assert_eq!(bits(total), bits(vec![-0.0, -0.0, 0.0, 1.0]));
}

#[test]
fn nan_is_last_in_total_order() {
    let shape = ArrayShape::new(ElementType::F64, &[3]);
    let x = [f64::NAN, 1.0, f64::NEG_INFINITY];
    let total = sorted(&shape, 0, &[key(CompareType::TotalOrder, false)], &x);
    assert_eq!(total[..2], [f64::NEG_INFINITY, 1.0]);
    assert!(total[2].is_nan());
    // Incomparable to all, it stays where merging finds it.
    let plain = sorted(&shape, 0, &[key(CompareType::Float, false)], &x);
    assert!(plain.iter().any(|x| x.is_nan()));
}

#[test]
fn top_k_takes_nan_first_and_the_lowest_index_of_equals() {
    let x = ArrayShape::new(ElementType::F32, &[5]);
    let values = ArrayShape::new(ElementType::F32, &[3]);
    let indices = ArrayShape::new(ElementType::S32, &[3]);
    let call = call(Asked::TopK { largest: true }, &[x], &[values, indices]);
    let top = TopK::new(&call, true).expect("sound");
    let data = [2.0f32, 7.0, f32::NAN, 7.0, -1.0];
    let (mut values, mut indices) = ([0.0f32; 3], [0i32; 3]);
    top.run(
        &[bytemuck::cast_slice(&data)],
        &mut [
            bytemuck::cast_slice_mut(&mut values),
            bytemuck::cast_slice_mut(&mut indices),
        ],
        &WorkerPool::new(1),
    );
    assert_eq!(indices, [2, 1, 3]);
    assert!(values[0].is_nan() && values[1..] == [7.0, 7.0]);
}

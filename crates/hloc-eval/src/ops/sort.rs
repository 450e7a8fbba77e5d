//! `sort`, `topk` and `map`.

use std::cmp::Ordering;

use hloc_ir::{ComputationId, Literal, Op, Shape};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::callee::Callee;
use super::reduce::tuple_of;
use super::{Operands, dimension, ensure, zeros};
use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::Value;

/// Permutes all operands together along one dimension; always stable.
pub(super) fn sort(
    evaluator: Evaluator<'_>,
    op: &Op,
    mut operands: Operands,
) -> Result<Literal, EvalError> {
    let Op::Sort {
        dimensions,
        to_apply,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let count = operands.0.len();
    let mut arrays: Vec<Array> = (0..count)
        .map(|at| operands.take_array(at))
        .collect::<Result<_, _>>()?;
    let [number] = dimensions[..] else {
        return Err(EvalError::argument("`sort` sorts along one dimension"));
    };
    let dims = arrays
        .first()
        .map_or(Vec::new(), |first| first.dims().to_vec());
    ensure(
        arrays.iter().all(|array| array.dims() == dims),
        "the operands have other dimensions",
    )?;
    let at = dimension(number, dims.len())?;
    let mut callee = Callee::new(evaluator, *to_apply, 2 * count)?;
    let (extent, stride) = (dims[at] as usize, row_major_strides(&dims)[at] as usize);
    let mut rest = dims.clone();
    rest[at] = 1;
    let strides = row_major_strides(&dims);
    let mut rows = IndexIter::new(&rest);
    let sources = arrays.clone();
    while let (Some(row), true) = (rows.next_index(), extent > 0) {
        let base: i64 = row
            .iter()
            .zip(&strides)
            .map(|(index, stride)| index * stride)
            .sum();
        let place = |at: usize| base as usize + at * stride;
        let order = stable_order(extent, |x, y| {
            let pairs = sources.iter();
            callee.holds(
                pairs.flat_map(|array| [Value::at(array, place(x)), Value::at(array, place(y))]),
            )
        })?;
        for (source, target) in sources.iter().zip(&mut arrays) {
            let size = source.element_type().size();
            let bytes = target.bytes_mut();
            for (to, from) in order.iter().enumerate() {
                bytes[place(to) * size..][..size]
                    .copy_from_slice(&source.bytes()[place(*from) * size..][..size]);
            }
        }
    }
    Ok(tuple_of(arrays))
}

/// The order of `0..count` by a merge sort, which keeps to its bounds whatever `before` answers.
fn stable_order(
    count: usize,
    mut before: impl FnMut(usize, usize) -> Result<bool, EvalError>,
) -> Result<Vec<usize>, EvalError> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut width = 1;
    while width < count {
        let mut merged = Vec::with_capacity(count);
        for pair in order.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([x, left_rest @ ..], [y, right_rest @ ..]) = (left, right) {
                if before(*y, *x)? {
                    merged.push(*y);
                    right = right_rest;
                } else {
                    merged.push(*x);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        order = merged;
        width *= 2;
    }
    Ok(order)
}

/// The `k` greatest or least elements of each row with their indices; NaN is the greatest.
pub(super) fn topk(op: &Op, operands: &Operands) -> Result<Literal, EvalError> {
    let Op::TopK { k, largest, .. } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let descending = largest.as_ref().is_none_or(|flag| flag.0);
    top_k(operands.array(0)?, *k, descending)
}

/// The first `k` elements of each row in order with their indices.
pub(super) fn top_k(x: &Array, k: i64, descending: bool) -> Result<Literal, EvalError> {
    let ty = x.element_type();
    let Some((extent, outer)) = x.dims().split_last() else {
        return Err(EvalError::argument(
            "`topk` takes an array with a dimension",
        ));
    };
    ensure(
        (0..=*extent).contains(&k),
        "`k` is larger than the last dimension",
    )?;
    if ty.is_complex() {
        return Err(EvalError::unsupported_form("topk", Some(ty)));
    }
    let dims = [outer, &[k]].concat();
    let (mut values, mut indices) = (zeros(ty, &dims)?, Vec::new());
    let (extent, size) = (*extent as usize, ty.size());
    let mut next = 0;
    for row in 0..super::count(outer) {
        let element = |at: usize| Value::at(x, row * extent + at);
        let order = stable_order(extent, |x, y| {
            let order = compare(element(x), element(y));
            Ok(order
                == if descending {
                    Ordering::Greater
                } else {
                    Ordering::Less
                })
        })?;
        for at in &order[..k as usize] {
            indices.push(*at as i32);
            element(*at).write(ty, &mut values.bytes_mut()[next..next + size]);
            next += size;
        }
    }
    let indices = Array::from_slice(&dims, &indices)?;
    Ok(Literal::Tuple(vec![
        Literal::Array(values),
        Literal::Array(indices),
    ]))
}

/// Zeros of both signs are equal, NaN is above all.
fn compare(x: Value, y: Value) -> Ordering {
    match (x, y) {
        (Value::Float(x), Value::Float(y)) => x
            .partial_cmp(&y)
            .unwrap_or_else(|| x.is_nan().cmp(&y.is_nan())),
        (Value::Int(x), Value::Int(y)) => x.cmp(&y),
        (Value::Pred(x), Value::Pred(y)) => x.cmp(&y),
        _ => Ordering::Equal,
    }
}

/// Calls a computation of scalars with the operands' elements at each index.
pub(super) fn map(
    evaluator: Evaluator<'_>,
    to_apply: ComputationId,
    operands: &Operands,
    shape: &Shape,
) -> Result<Array, EvalError> {
    let arrays = operands.arrays()?;
    let dims = arrays.first().map_or(&[][..], |first| first.dims());
    ensure(
        arrays.iter().all(|array| array.dims() == dims),
        "the operands have other dimensions",
    )?;
    let ty = super::array_shape(shape)?.element_type;
    let mut callee = Callee::new(evaluator, to_apply, arrays.len())?;
    let mut result = zeros(ty, dims)?;
    let mut value = [Value::Pred(false)];
    for (at, bytes) in result.bytes_mut().chunks_exact_mut(ty.size()).enumerate() {
        callee.call(arrays.iter().map(|array| Value::at(array, at)), &mut value)?;
        value[0].write(ty, bytes);
    }
    Ok(result)
}

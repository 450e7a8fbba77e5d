//! `reduce`: a left fold in row-major order that begins with the initial value. Sums of floats keep what
//! rounding drops.

use hloc_ir::{Literal, Op};
use hloc_tensor::{Array, row_major_strides};

use super::callee::Callee;
use super::sum::{self, Sum};
use super::walk::Walk;
use super::{Operands, check_size, dimensions, ensure, zeros};
use crate::evaluator::Evaluator;
use crate::scalar::Value;
use crate::{EvalError, MAX_ARRAY_BYTES};

/// Folds N arrays at once over the same dimensions.
pub(super) fn reduce(
    evaluator: Evaluator<'_>,
    op: &Op,
    operands: &Operands,
) -> Result<Literal, EvalError> {
    let Op::Reduce {
        dimensions: numbers,
        to_apply,
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let arrays = operands.arrays()?;
    let (inputs, inits) = arrays.split_at(arrays.len() / 2);
    let dims = equal_dims(inputs, inits)?;
    if numbers.is_empty() {
        // Nothing is folded, so the initial value is not either.
        return Ok(tuple_of(
            inputs.iter().map(|input| (*input).clone()).collect(),
        ));
    }
    let walk = result_walk(&dims, &dimensions(numbers, dims.len())?);
    let result_dims: Vec<i64> = result_dims(&dims, numbers);
    let count = inputs.len();
    let num_results = check_size(inits[0].element_type(), &result_dims)?;
    if num_results.saturating_mul(count * size_of::<Value>()) > MAX_ARRAY_BYTES {
        let message = format!("{num_results} results take more than {MAX_ARRAY_BYTES} bytes");
        return Err(EvalError::limit(message));
    }
    if let ([input], [init], true) = (inputs, inits, sum::is_sum(evaluator.called(*to_apply)?))
        && let Some(start) = Sum::new(init)
    {
        let ty = input.element_type();
        let mut sums = vec![start; num_results];
        let mut element = 0;
        walk.for_each(|position| {
            sums[position].add(Value::at(input, element), ty);
            element += 1;
        });
        let values: Vec<Value> = sums.iter().map(|sum| sum.value(ty)).collect();
        return collect(&values, inits, &result_dims);
    }
    let mut accumulators: Vec<Value> = Vec::new();
    for _ in 0..num_results {
        accumulators.extend(inits.iter().map(|init| Value::at(init, 0)));
    }
    let mut callee = Callee::new(evaluator, *to_apply, 2 * count)?;
    let mut results = vec![Value::Pred(false); count];
    let (mut element, mut outcome) = (0, Ok(()));
    walk.for_each(|position| {
        if outcome.is_err() {
            return;
        }
        let accumulator = &mut accumulators[position * count..][..count];
        let values = inputs.iter().map(|input| Value::at(input, element));
        outcome = callee.call(accumulator.iter().copied().chain(values), &mut results);
        accumulator.copy_from_slice(&results);
        element += 1;
    });
    outcome?;
    collect(&accumulators, inits, &result_dims)
}

/// The common dimensions of the inputs, each of which has a scalar initial value.
pub(super) fn equal_dims(inputs: &[&Array], inits: &[&Array]) -> Result<Vec<i64>, EvalError> {
    let fits = !inputs.is_empty()
        && inputs.len() == inits.len()
        && inputs.iter().all(|input| input.dims() == inputs[0].dims())
        && inits.iter().all(|init| init.num_dims() == 0);
    ensure(
        fits,
        "the op takes arrays of equal dimensions and a scalar for each",
    )?;
    Ok(inputs[0].dims().to_vec())
}

fn result_dims(dims: &[i64], reduced: &[i64]) -> Vec<i64> {
    let kept = dims.iter().enumerate();
    kept.filter(|(at, _)| !reduced.contains(&(*at as i64)))
        .map(|(_, dim)| *dim)
        .collect()
}

/// For each input element in order, the position of the result it goes into.
fn result_walk(dims: &[i64], reduced: &[usize]) -> Walk {
    let kept_dims: Vec<i64> = (0..dims.len())
        .filter(|at| !reduced.contains(at))
        .map(|at| dims[at])
        .collect();
    let mut kept = row_major_strides(&kept_dims).into_iter();
    let strides = (0..dims.len())
        .map(|at| {
            if reduced.contains(&at) {
                0
            } else {
                kept.next().unwrap_or(0)
            }
        })
        .collect();
    Walk {
        dims: dims.to_vec(),
        base: 0,
        strides,
    }
}

/// One array per initial value, of its element type.
pub(super) fn collect(
    values: &[Value],
    inits: &[&Array],
    dims: &[i64],
) -> Result<Literal, EvalError> {
    let count = inits.len();
    let mut arrays = Vec::new();
    for (at, init) in inits.iter().enumerate() {
        let ty = init.element_type();
        let mut array = zeros(ty, dims)?;
        let elements = array.bytes_mut().chunks_exact_mut(ty.size());
        for (bytes, value) in elements.zip(values.iter().skip(at).step_by(count)) {
            value.write(ty, bytes);
        }
        arrays.push(array);
    }
    Ok(tuple_of(arrays))
}

/// One array as itself, several as a tuple.
pub(super) fn tuple_of(mut arrays: Vec<Array>) -> Literal {
    if arrays.len() == 1 {
        Literal::Array(arrays.remove(0))
    } else {
        Literal::Tuple(arrays.into_iter().map(Literal::Array).collect())
    }
}

//! `scan`: a loop along one dimension with carried values.

use hloc_ir::{Literal, Op, Shape};
use hloc_tensor::{Array, row_major_strides};

use super::walk::Walk;
use super::{Operands, array_shape, dimension, ensure, zeros};
use crate::EvalError;
use crate::evaluator::Evaluator;

/// Calls the computation on each slice of the inputs with the carries, and stacks what it puts out.
pub(super) fn scan(
    evaluator: Evaluator<'_>,
    op: &Op,
    mut operands: Operands,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    let Op::Scan {
        dimensions,
        num_carries,
        is_reverse,
        to_apply,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let [number] = dimensions[..] else {
        return Err(EvalError::argument("`scan` goes along one dimension"));
    };
    let num_carries = usize::try_from(num_carries.unwrap_or(0)).unwrap_or(usize::MAX);
    let num_inputs = operands.0.len().checked_sub(num_carries);
    let num_inputs = num_inputs.ok_or_else(|| EvalError::argument("carries are missing"))?;
    let inputs: Vec<Array> = (0..num_inputs)
        .map(|at| operands.take_array(at))
        .collect::<Result<_, _>>()?;
    let mut carries = operands.0.split_off(num_inputs);
    let mut outputs = outputs(shape, num_carries)?;
    let steps = steps(inputs.iter().chain(&outputs), number)?;
    for step in 0..steps {
        let at = if *is_reverse { steps - 1 - step } else { step };
        let mut arguments = Vec::new();
        for input in &inputs {
            let slice = slice(input, number, at)?;
            let dims = without(input.dims(), number);
            arguments.push(Literal::Array(slice.read(input)?.reshaped(&dims)?));
        }
        arguments.append(&mut carries);
        let result = evaluator.computation(*to_apply, arguments)?;
        let mut values = match result {
            Literal::Tuple(values) => values,
            single @ Literal::Array(_) => vec![single],
        };
        ensure(
            values.len() == outputs.len() + num_carries,
            "the called computation does not give the outputs and carries",
        )?;
        carries = values.split_off(outputs.len());
        for (output, value) in outputs.iter_mut().zip(values) {
            let slice = slice(output, number, at)?;
            let Literal::Array(value) = value else {
                return Err(EvalError::argument("an output is no array"));
            };
            slice.write(&value.reshaped(&slice.dims)?, output)?;
        }
    }
    let mut results: Vec<Literal> = outputs.into_iter().map(Literal::Array).collect();
    results.append(&mut carries);
    Ok(match shape {
        Shape::Tuple(_) => Literal::Tuple(results),
        Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => results.remove(0),
    })
}

/// The stacked outputs, not yet filled: what the result has before its carries.
fn outputs(shape: &Shape, num_carries: usize) -> Result<Vec<Array>, EvalError> {
    let shapes = match shape {
        Shape::Tuple(shapes) => &shapes[..],
        Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => {
            std::slice::from_ref(shape)
        }
    };
    let count = shapes.len().checked_sub(num_carries);
    let count = count.ok_or_else(|| EvalError::argument("the result has too few carries"))?;
    ensure(!shapes.is_empty(), "`scan` gives at least one result")?;
    shapes[..count]
        .iter()
        .map(|shape| array_shape(shape).and_then(|shape| zeros(shape.element_type, &shape.dims)))
        .collect()
}

/// The common size along the dimension.
fn steps<'a>(mut arrays: impl Iterator<Item = &'a Array>, number: i64) -> Result<i64, EvalError> {
    let size = |array: &Array| -> Result<i64, EvalError> {
        Ok(array.dims()[dimension(number, array.num_dims())?])
    };
    let first = arrays.next().map_or(Ok(0), size)?;
    for array in arrays {
        ensure(
            size(array)? == first,
            "inputs and outputs have different sizes",
        )?;
    }
    Ok(first)
}

/// The slice at one index of a dimension, which is kept with size 1.
fn slice(array: &Array, number: i64, index: i64) -> Result<Walk, EvalError> {
    let at = dimension(number, array.num_dims())?;
    let mut walk = Walk::whole(array.dims());
    walk.base = row_major_strides(array.dims())[at].saturating_mul(index);
    walk.dims[at] = 1;
    Ok(walk)
}

fn without(dims: &[i64], number: i64) -> Vec<i64> {
    let kept = dims.iter().enumerate();
    kept.filter(|(at, _)| *at as i64 != number)
        .map(|(_, dim)| *dim)
        .collect()
}

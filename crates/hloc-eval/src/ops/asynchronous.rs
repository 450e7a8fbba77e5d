//! Asynchronous pairs, run when they start.

use hloc_ir::{Literal, Op, Shape};
use hloc_tensor::Array;

use super::Operands;
use crate::EvalError;
use crate::evaluator::Evaluator;

/// The value of a start, an update or a done.
pub(super) fn apply(
    evaluator: Evaluator<'_>,
    op: &Op,
    mut operands: Operands,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    if let Op::AsyncStart { calls, .. } = op {
        let result = evaluator.computation(*calls, operands.0.clone())?;
        started(vec![Literal::Tuple(operands.0), result], shape)
    } else if let Op::CopyStart { .. } = op {
        let value = operands.take(0)?;
        started(vec![value.clone(), value], shape)
    } else if let Op::AsyncDone { .. } = op {
        part(operands.take(0)?, 1)
    } else if let Op::CopyDone {} = op {
        part(operands.take(0)?, 0)
    } else {
        operands.take(0)
    }
}

/// A start's value: what is known of it, then contexts, which are zeros.
pub(super) fn started(mut parts: Vec<Literal>, shape: &Shape) -> Result<Literal, EvalError> {
    let declared = shape.as_tuple().unwrap_or_default();
    for context in declared.iter().skip(parts.len()) {
        parts.push(zero(context)?);
    }
    Ok(Literal::Tuple(parts))
}

/// One part of a start's value.
pub(super) fn part(start: Literal, index: usize) -> Result<Literal, EvalError> {
    match start {
        Literal::Tuple(mut parts) if index < parts.len() => Ok(parts.swap_remove(index)),
        Literal::Tuple(_) | Literal::Array(_) => Err(EvalError::argument(format!(
            "the start has no part {index}"
        ))),
    }
}

fn zero(shape: &Shape) -> Result<Literal, EvalError> {
    match shape {
        Shape::Array(shape) => Ok(Literal::Array(Array::zeros(
            shape.element_type,
            &shape.dims,
        )?)),
        Shape::Tuple(shapes) => Ok(Literal::Tuple(
            shapes.iter().map(zero).collect::<Result<_, _>>()?,
        )),
        Shape::Token => Ok(Literal::Tuple(Vec::new())),
        Shape::Opaque | Shape::Buffer(_) => {
            Err(EvalError::argument(format!("there is no zero of {shape}")))
        }
    }
}

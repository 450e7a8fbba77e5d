//! Calls, loops, branches, tuples.

use hloc_ir::{Literal, Op};
use hloc_tensor::Array;

use super::Operands;
use super::dynamic::integer;
use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::Value;

/// An op that runs computations once or in a loop.
pub(super) fn call(
    evaluator: Evaluator<'_>,
    op: &Op,
    mut operands: Operands,
) -> Result<Literal, EvalError> {
    if let Op::Call { to_apply: id, .. } | Op::Fusion { calls: id, .. } = op {
        evaluator.computation(*id, operands.0)
    } else if let Op::While { condition, body } = op {
        let mut state = operands.take(0)?;
        while is_true(&evaluator.computation(*condition, vec![state.clone()])?)? {
            state = evaluator.computation(*body, vec![state])?;
        }
        Ok(state)
    } else if let Op::Conditional { .. } = op {
        let branches = op.branches();
        let taken = branch(operands.array(0)?, branches.len())?;
        let argument = operands.take(taken + 1)?;
        let id = branches
            .get(taken)
            .ok_or_else(|| EvalError::argument("there is no branch to take"))?;
        evaluator.computation(*id, vec![argument])
    } else {
        Err(EvalError::unsupported(op, None))
    }
}

fn is_true(value: &Literal) -> Result<bool, EvalError> {
    value
        .as_array()
        .filter(|array| array.num_elements() == 1)
        .map(|array| Value::at(array, 0) == Value::Pred(true))
        .ok_or_else(|| EvalError::argument("the condition gives no scalar"))
}

/// A true predicate takes the first branch; an index out of range the last.
fn branch(index: &Array, count: usize) -> Result<usize, EvalError> {
    if index.num_elements() != 1 {
        return Err(EvalError::argument("the branch index is no scalar"));
    }
    if let Value::Pred(first) = Value::at(index, 0) {
        return Ok(usize::from(!first));
    }
    let last = count.saturating_sub(1);
    let index = usize::try_from(integer(index, 0)?).unwrap_or(last);
    Ok(index.min(last))
}

/// An op that hands values on. Parameters get their values from the evaluator.
pub(super) fn pass(op: &Op, mut operands: Operands) -> Result<Literal, EvalError> {
    if let Op::Constant { literal } = op {
        Ok((**literal).clone())
    } else if let Op::Tuple {} = op {
        Ok(Literal::Tuple(operands.0))
    } else if let Op::GetTupleElement { index } = op {
        let element = usize::try_from(*index).ok();
        match operands.take(0)? {
            Literal::Tuple(mut elements) if element.is_some_and(|at| at < elements.len()) => {
                Ok(elements.swap_remove(element.unwrap_or(0)))
            }
            Literal::Tuple(_) | Literal::Array(_) => Err(EvalError::argument(format!(
                "the operand has no element {index}"
            ))),
        }
    } else {
        Err(EvalError::argument(
            "a parameter stands outside of a computation",
        ))
    }
}

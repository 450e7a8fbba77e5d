//! Tuples, conditionals, reductions over nothing.
//!
//! Tuples and conditionals only hand values on. A reduction over dimensions of size 1 combines the
//! initial value with each element once, which is what the element-wise op does that replaces it, in the
//! same order of operands.

use hloc_ir::{BinaryOp, ComputationId, InstrId, Op};

use super::{Draft, Simplifier, Step, reshape_op, sized, static_array};

/// Applies the rules for tuples, conditionals and reductions.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    if let Op::GetTupleElement { index } = draft.op {
        element(cx, draft.operands[0], index)
    } else if let Op::Tuple {} = draft.op {
        whole_tuple(cx, draft)
    } else if let Op::Conditional { .. } = draft.op {
        conditional(cx, draft)
    } else if let Op::Reduce {
        dimensions,
        to_apply,
    } = &draft.op
    {
        reduce(cx, draft, dimensions, *to_apply)
    } else {
        None
    }
}

/// An element of a tuple just made is that operand.
fn element(cx: &Simplifier<'_>, tuple: InstrId, index: i64) -> Option<Step> {
    if let Op::Tuple {} = cx.op(tuple) {
        Some(Step::Value(cx.operand(tuple, index as usize)))
    } else {
        None
    }
}

/// A tuple of all elements of a tuple in order is that tuple.
fn whole_tuple(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let source = draft.operands.first()?;
    let Op::GetTupleElement { .. } = cx.op(*source) else {
        return None;
    };
    let tuple = cx.operand(*source, 0);
    let is_element = |(at, id): (usize, &InstrId)| {
        if let Op::GetTupleElement { index } = *cx.op(*id) {
            index == at as i64 && cx.operand(*id, 0) == tuple
        } else {
            false
        }
    };
    let whole = cx.rebuilt.made(tuple).shape.compatible(&draft.shape);
    let all = whole && draft.operands.iter().enumerate().all(is_element);
    all.then_some(Step::Value(tuple))
}

/// With a constant predicate or index it is a call of that branch; indices out of range take the last.
fn conditional(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let (predicate, arguments) = draft.operands.split_first()?;
    let value = cx.splat(*predicate)?;
    let by_predicate = cx.array(*predicate)?.element_type.is_predicate();
    let branches = draft.op.branches();
    let branch = if by_predicate {
        usize::from(!value.is_one())
    } else {
        let index = usize::try_from(value.integer()?).unwrap_or(usize::MAX);
        index.min(branches.len().checked_sub(1)?)
    };
    let op = Op::Call {
        to_apply: *branches.get(branch)?,
        is_composite: false,
    };
    let argument = *arguments.get(branch)?;
    Some(Step::Become(Draft::new(
        op,
        &[argument],
        draft.shape.clone(),
    )))
}

fn reduce(
    cx: &mut Simplifier<'_>,
    draft: &Draft,
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Option<Step> {
    let &[operand, initial] = &draft.operands[..] else {
        return None;
    };
    if dimensions.is_empty() {
        // Nothing is combined: the operand itself, without the initial value.
        return Some(Step::Value(operand));
    }
    let (from, to) = (cx.array(operand)?, static_array(&draft.shape)?.clone());
    if !dimensions.iter().all(|dim| from.dims[*dim as usize] == 1) {
        return None;
    }
    let (op, swapped) = combining_op(cx, to_apply)?;
    if from.element_type != to.element_type || cx.array(initial)?.element_type != to.element_type {
        return None;
    }
    let shape = sized(&to, &to.dims);
    let elements = cx.build(reshape_op(), &[operand], shape.clone());
    let spread = Op::Broadcast { dimensions: vec![] };
    let initial = cx.build(spread, &[initial], shape);
    let operands = if swapped {
        [elements, initial]
    } else {
        [initial, elements]
    };
    Some(Step::Become(Draft::new(
        Op::binary(op),
        &operands,
        draft.shape.clone(),
    )))
}

/// The binary op that a computation applies to its two parameters, and whether to them swapped.
pub(super) fn combining_op(cx: &Simplifier<'_>, id: ComputationId) -> Option<(BinaryOp, bool)> {
    let computation = &cx.module.computations[id];
    let root = computation.root();
    let Op::Binary {
        op,
        broadcast_dimensions: None,
    } = root.op
    else {
        return None;
    };
    let &[first, second] = &computation.parameters[..] else {
        return None;
    };
    match &root.operands[..] {
        [a, b] if (*a, *b) == (first, second) => Some((op, false)),
        [a, b] if (*a, *b) == (second, first) => Some((op, true)),
        _ => None,
    }
}

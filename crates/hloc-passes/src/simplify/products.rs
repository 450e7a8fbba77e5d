//! Transposed products of matrices.
//!
//! A `transpose` that exchanges the rows and columns of a `dot`, which nothing else uses, is the `dot` of the operands
//! in the other order: gradients come like that. Each element is the same sum of the same products, in the same order.
//!
//! before:  d = f32[8,6] dot(a, b)   ROOT t = f32[6,8] transpose(d), dimensions={1,0}
//! after:   ROOT t = f32[6,8] dot(b, a)

use hloc_ir::attr::OperandPrecision;
use hloc_ir::{Id, InstrId, Op};

use super::{Draft, Simplifier, Step};

/// Applies the rule for transposed products.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let Op::Transpose { dimensions } = &draft.op else {
        return None;
    };
    let dot = *draft.operands.first()?;
    let op = exchanged(cx.op(dot))?;
    if !is_only_use(cx) || !exchanges(cx, dot, dimensions)? {
        return None;
    }
    let operands = [cx.operand(dot, 1), cx.operand(dot, 0)];
    Some(Step::Become(Draft::new(op, &operands, draft.shape.clone())))
}

/// The product of the operands in the other order.
fn exchanged(op: &Op) -> Option<Op> {
    let Op::Dot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        operand_precision,
        algorithm,
    } = op
    else {
        return None;
    };
    let precision = operand_precision.0.iter().rev().copied();
    Some(Op::Dot {
        lhs_batch_dims: rhs_batch_dims.clone(),
        lhs_contracting_dims: rhs_contracting_dims.clone(),
        rhs_batch_dims: lhs_batch_dims.clone(),
        rhs_contracting_dims: lhs_contracting_dims.clone(),
        operand_precision: OperandPrecision(precision.collect()),
        algorithm: *algorithm,
    })
}

/// Whether the instruction being replaced is a transpose as it was, of a product that only it uses.
fn is_only_use(cx: &Simplifier<'_>) -> bool {
    let old = cx.rebuilt.old();
    let transpose = &old.instructions[cx.current];
    let Some(operand) = transpose.operands.first() else {
        return false;
    };
    let is_product = |op: &Op| matches!(op, Op::Dot { .. });
    matches!(transpose.op, Op::Transpose { .. })
        && is_product(&old.instructions[*operand].op)
        && cx.uses[operand.index()] == 1
        && old.root != *operand
}

/// Whether the permutation puts the free dimensions of the right operand before those of the left one, each in order.
fn exchanges(cx: &Simplifier<'_>, dot: InstrId, dimensions: &[i64]) -> Option<bool> {
    let Op::Dot {
        lhs_batch_dims,
        lhs_contracting_dims,
        ..
    } = cx.op(dot)
    else {
        return None;
    };
    let batch = lhs_batch_dims.len();
    let lhs = cx.array(cx.operand(dot, 0))?.dims.len();
    let free = lhs - batch - lhs_contracting_dims.len();
    let all = cx.array(dot)?.dims.len();
    let order = (0..batch)
        .chain(batch + free..all)
        .chain(batch..batch + free);
    let is_exchanged = order.map(|dim| dim as i64).eq(dimensions.iter().copied());
    Some(is_exchanged && free > 0 && batch + free < all)
}

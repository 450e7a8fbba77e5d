//! Neutral elements, inverses of inverses, constant predicates.
//!
//! Why each rule keeps the bits of floats: `x * 1`, `x / 1`, `x - (+0)` and `x + (-0)` give `x` for every
//! `x`, zeros of both signs and infinities included (`x + (+0)` does not: it turns −0 into +0). `negate`
//! flips the sign bit, so two of them flip nothing. `max(x, x)`, `min(x, x)`, `max(x, -inf)` and
//! `min(x, inf)` give `x`, as a NaN wins. `x + (+0)` gives `x` where `x` is never −0: a sum that began
//! with +0, a modulus, an exponential. Rules on products with 0 hold for integers only. Complex numbers
//! are left alone.

use hloc_ir::{BinaryOp, InstrId, Op, TernaryOp, UnaryOp};

use super::structure::combining_op;
use super::{Draft, Simplifier, Step, static_array};

/// Views looked through to where a value comes from; bounds the work for each instruction.
const MAX_VIEWS: usize = 4;

/// Applies the rules for element-wise ops on operands of the result's sizes.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let result = static_array(&draft.shape)?;
    let same_dims = |id: &InstrId| cx.array(*id).is_some_and(|shape| shape.same_dims(result));
    if let Op::Unary { op, .. } = draft.op {
        unary(cx, op, draft).map(Step::Value)
    } else if let Op::Binary { op, .. } = draft.op {
        let plain = draft.operands.iter().all(same_dims);
        binary(cx, op, draft).filter(|_| plain).map(Step::Value)
    } else if let Op::Ternary { op, .. } = draft.op {
        let plain = draft.operands[1..].iter().all(same_dims);
        ternary(cx, op, draft).filter(|_| plain)
    } else {
        None
    }
}

/// The operand of `id`, if that is the unary op `op`.
fn operand_of(cx: &Simplifier<'_>, id: InstrId, op: UnaryOp) -> Option<InstrId> {
    if let Op::Unary { op: inner, .. } = cx.op(id) {
        (*inner == op).then(|| cx.operand(id, 0))
    } else {
        None
    }
}

/// Part `index` of the complex number `id`, if it was made from parts.
fn part_of(cx: &Simplifier<'_>, id: InstrId, index: usize) -> Option<InstrId> {
    if let Op::Binary {
        op: BinaryOp::Complex,
        ..
    } = cx.op(id)
    {
        Some(cx.operand(id, index))
    } else {
        None
    }
}

fn unary(cx: &Simplifier<'_>, op: UnaryOp, draft: &Draft) -> Option<InstrId> {
    let operand = draft.operands[0];
    let shape = cx.array(operand)?;
    let complex = shape.element_type.is_complex();
    if op == UnaryOp::Not || op == UnaryOp::Negate && !complex {
        operand_of(cx, operand, op)
    } else if op == UnaryOp::Abs && !complex {
        operand_of(cx, operand, op)
            .filter(|inner| {
                cx.array(*inner)
                    .is_some_and(|inner| inner.compatible(shape))
            })
            .map(|_| operand)
    } else if op == UnaryOp::Real && complex {
        part_of(cx, operand, 0).filter(|part| is_result(cx, *part, draft))
    } else if op == UnaryOp::Real {
        Some(operand)
    } else if op == UnaryOp::Imag && complex {
        part_of(cx, operand, 1).filter(|part| is_result(cx, *part, draft))
    } else {
        None
    }
}

/// Whether `id` has the shape of the draft's result; the parts of a complex number may broadcast.
fn is_result(cx: &Simplifier<'_>, id: InstrId, draft: &Draft) -> bool {
    match (cx.array(id), static_array(&draft.shape)) {
        (Some(shape), Some(result)) => shape.compatible(result),
        (None, _) | (_, None) => false,
    }
}

fn binary(cx: &Simplifier<'_>, op: BinaryOp, draft: &Draft) -> Option<InstrId> {
    let (left, right) = (draft.operands[0], draft.operands[1]);
    let ty = cx.array(left)?.element_type;
    if ty.is_complex() {
        return None;
    }
    if left == right && is_idempotent(op) {
        return Some(left);
    }
    if is_neutral(cx, op, right, left) {
        return Some(left);
    }
    if op.commutes() && is_neutral(cx, op, left, right) {
        return Some(right);
    }
    if is_absorbing(cx, op, right) {
        return Some(right);
    }
    is_absorbing(cx, op, left).then_some(left)
}

fn is_idempotent(op: BinaryOp) -> bool {
    [
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Maximum,
        BinaryOp::Minimum,
    ]
    .contains(&op)
}

/// Whether `op(x, id)` is `x` for every value that `x` may have.
fn is_neutral(cx: &Simplifier<'_>, op: BinaryOp, id: InstrId, x: InstrId) -> bool {
    let Some(value) = cx.splat(id) else {
        return false;
    };
    let float = cx
        .array(id)
        .is_some_and(|shape| shape.element_type.is_float());
    match op {
        BinaryOp::Add if float => {
            value.is_negative_zero() || value.is_zero() && is_never_negative_zero(cx, x)
        }
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical => value.is_zero(),
        BinaryOp::Multiply | BinaryOp::Divide => value.is_one(),
        BinaryOp::And => value.is_all_ones(),
        BinaryOp::Maximum => value.is_infinity(-1.0),
        BinaryOp::Minimum => value.is_infinity(1.0),
        BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Mulhi
        | BinaryOp::Power
        | BinaryOp::Remainder => false,
    }
}

/// Whether no element is −0; false where that is not easily seen.
fn is_never_negative_zero(cx: &Simplifier<'_>, mut id: InstrId) -> bool {
    for _ in 0..MAX_VIEWS {
        if let Op::Reshape { .. } | Op::Broadcast { .. } | Op::Transpose { .. } = cx.op(id) {
            id = cx.operand(id, 0);
        }
    }
    if let Op::Reduce { to_apply, .. } = *cx.op(id) {
        let one_array = cx.rebuilt.made(id).operands.len() == 2;
        let sum =
            one_array && combining_op(cx, to_apply).is_some_and(|(op, _)| op == BinaryOp::Add);
        return sum
            && cx
                .splat(cx.operand(id, 1))
                .is_some_and(|value| value.is_zero());
    }
    if let Op::Unary { op, .. } = *cx.op(id) {
        op == UnaryOp::Abs || op == UnaryOp::Exponential
    } else {
        false
    }
}

/// Whether `op(x, id)` and `op(id, x)` are the value of `id` for every `x`.
fn is_absorbing(cx: &Simplifier<'_>, op: BinaryOp, id: InstrId) -> bool {
    let Some(value) = cx.splat(id) else {
        return false;
    };
    let float = cx
        .array(id)
        .is_none_or(|shape| shape.element_type.is_float());
    match op {
        BinaryOp::And => value.is_zero(),
        BinaryOp::Or => value.is_all_ones(),
        BinaryOp::Multiply => !float && value.is_zero(),
        BinaryOp::Add
        | BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Divide
        | BinaryOp::Maximum
        | BinaryOp::Minimum
        | BinaryOp::Mulhi
        | BinaryOp::Power
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Subtract
        | BinaryOp::Xor => false,
    }
}

fn ternary(cx: &Simplifier<'_>, op: TernaryOp, draft: &Draft) -> Option<Step> {
    match op {
        TernaryOp::Select => select(cx, draft),
        TernaryOp::Clamp => None,
    }
}

/// Both sides equal, a constant predicate, a negated predicate, a predicate spelled out.
fn select(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let (predicate, on_true, on_false) = (draft.operands[0], draft.operands[1], draft.operands[2]);
    if on_true == on_false {
        return Some(Step::Value(on_true));
    }
    if let Some(value) = cx.splat(predicate) {
        let chosen = if value.is_one() { on_true } else { on_false };
        return Some(Step::Value(chosen));
    }
    let spelled_out = |id: InstrId| cx.splat(id).and_then(|value| value.predicate());
    if is_result(cx, predicate, draft)
        && let (Some(on_true), Some(on_false)) = (spelled_out(on_true), spelled_out(on_false))
    {
        return match (on_true, on_false) {
            (true, false) => Some(Step::Value(predicate)),
            (false, true) => {
                let op = Op::unary(UnaryOp::Not);
                Some(Step::Become(Draft::new(
                    op,
                    &[predicate],
                    draft.shape.clone(),
                )))
            }
            (true, true) | (false, false) => Some(Step::Value(draft.operands[1])),
        };
    }
    let negated = operand_of(cx, predicate, UnaryOp::Not)?;
    let operands = [negated, on_false, on_true];
    Some(Step::Become(Draft::new(
        draft.op.clone(),
        &operands,
        draft.shape.clone(),
    )))
}

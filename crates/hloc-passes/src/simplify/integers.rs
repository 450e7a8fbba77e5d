//! Integers known to be small: what is computed in more bits than the result keeps, and shifts that leave nothing.
//!
//! before:  i = u64[9] iota(), iota_dimension=0   ROOT r = u32[9] convert(i)
//! after:   ROOT r = u32[9] iota(), iota_dimension=0
//!
//! before:  s = u64[9] shift-right-logical(i, b)   b is 32 everywhere, i below 9
//! after:   s = u64[9] broadcast(zero), dimensions={}
//!
//! The low bits of sums, differences, products, left shifts and bitwise ops follow from the low bits of their
//! operands, as integers wrap. A counter-based random generator counts in 64 bits and takes both halves; with
//! these rules its kernel works on lanes of 32 bits alone.

use hloc_ir::{Array, ArrayShape, BinaryOp, ElementType, InstrId, Op, Shape};

use super::{Draft, Simplifier, Step, sized, static_array};

/// Instructions that one conversion passes through.
const MAX_NARROWED: usize = 16;
/// Instructions below each other that are asked for the greatest value.
const MAX_DEPTH: usize = 6;

/// Applies the rules.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let result = static_array(&draft.shape)?;
    if let Op::Convert {} = draft.op {
        return narrowed(cx, draft.operands[0], &result.clone());
    }
    let Op::Binary {
        op: BinaryOp::ShiftRightLogical,
        broadcast_dimensions: None,
    } = draft.op
    else {
        return None;
    };
    let ty = result.element_type;
    let amount = cx.splat(draft.operands[1])?.integer()?;
    let amount = u32::try_from(amount).unwrap_or(u32::MAX);
    let is_nothing = amount >= ty.bits()
        || greatest(cx, draft.operands[0], MAX_DEPTH).is_some_and(|value| value >> amount == 0);
    (ty.is_integer() && is_nothing)
        .then(|| zeros(cx, &result.clone()))
        .flatten()
}

/// Zero everywhere.
fn zeros(cx: &mut Simplifier<'_>, shape: &ArrayShape) -> Option<Step> {
    let ty = shape.element_type;
    let literal = Array::zeros(ty, &[]).ok()?.into();
    let constant = cx.build(Op::Constant { literal }, &[], Shape::scalar(ty));
    if shape.dims.is_empty() {
        return Some(Step::Value(constant));
    }
    let op = Op::Broadcast { dimensions: vec![] };
    let shape = sized(shape, &shape.dims);
    Some(Step::Become(Draft::new(op, &[constant], shape)))
}

/// `id` computed in fewer bits, if all that it is made of can be.
fn narrowed(cx: &mut Simplifier<'_>, id: InstrId, result: &ArrayShape) -> Option<Step> {
    let (from, to) = (cx.array(id)?.element_type, result.element_type);
    let is_integer = from.is_integer() && to.is_integer();
    // Constants alone are for `constant-fold`.
    if !is_integer || to.bits() >= from.bits() || cx.splat(id).is_some() {
        return None;
    }
    let mut left = MAX_NARROWED;
    can_narrow(cx, id, to, &mut left).then(|| Step::Become(narrow(cx, id, to)))
}

/// Whether `id` and what it is made of have the same low bits when computed in `to`.
fn can_narrow(cx: &Simplifier<'_>, id: InstrId, to: ElementType, left: &mut usize) -> bool {
    let Some(shape) = cx.array(id) else {
        return false;
    };
    *left = left.saturating_sub(1);
    if *left == 0 || cx.splat(id).is_some() {
        return *left > 0;
    }
    if let Op::Iota { iota_dimension } = *cx.op(id) {
        let extent = shape.dims.get(iota_dimension as usize);
        return extent.is_some_and(|extent| u64::try_from(*extent).is_ok_and(|e| e <= maximum(to)));
    }
    let operands = if let Op::Broadcast { .. } = cx.op(id) {
        1
    } else if let Op::Binary {
        op,
        broadcast_dimensions: None,
    } = cx.op(id)
    {
        match op {
            BinaryOp::Add
            | BinaryOp::And
            | BinaryOp::Multiply
            | BinaryOp::Or
            | BinaryOp::Subtract
            | BinaryOp::Xor => 2,
            BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Divide
            | BinaryOp::Maximum
            | BinaryOp::Minimum
            | BinaryOp::Mulhi
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical => return false,
        }
    } else {
        return false;
    };
    (0..operands).all(|at| can_narrow(cx, cx.operand(id, at), to, left))
}

/// What [`can_narrow`] has found possible.
fn narrow(cx: &mut Simplifier<'_>, id: InstrId, to: ElementType) -> Draft {
    let made = cx.rebuilt.made(id);
    let dims = made.shape.as_array().map(|shape| shape.dims.to_vec());
    let shape = Shape::array(to, &dims.unwrap_or_default());
    let (op, operands) = (made.op.clone(), made.operands.clone());
    if cx.splat(id).is_some() {
        return Draft::new(Op::Convert {}, &[id], shape);
    }
    let mut narrowed = Vec::with_capacity(operands.len());
    for operand in operands {
        let draft = narrow(cx, operand, to);
        narrowed.push(cx.build(draft.op, &draft.operands, draft.shape));
    }
    Draft::new(op, &narrowed, shape)
}

/// The greatest value of a type.
fn maximum(ty: ElementType) -> u64 {
    let bits = ty.bits() - u32::from(ty.is_signed_integer());
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

/// A number that no element is above; `None` if some may be negative or nothing is known.
fn greatest(cx: &Simplifier<'_>, id: InstrId, depth: usize) -> Option<u64> {
    let shape = cx.array(id)?;
    let ty = shape.element_type;
    let depth = depth.checked_sub(1)?;
    if !ty.is_integer() {
        return None;
    }
    let fits = |value: u64| (value <= maximum(ty)).then_some(value);
    if let Some(value) = cx.splat(id) {
        let known = value.integer().filter(|value| *value < i64::MAX)?;
        return u64::try_from(known).ok();
    }
    if let Op::Iota { iota_dimension } = *cx.op(id) {
        let extent = *shape.dims.get(iota_dimension as usize)?;
        return fits(u64::try_from(extent).ok()?.saturating_sub(1));
    }
    if let Op::Broadcast { .. } | Op::Reshape { .. } | Op::Transpose { .. } = cx.op(id) {
        return greatest(cx, cx.operand(id, 0), depth);
    }
    if let Op::Convert {} = cx.op(id) {
        let source = cx.array(cx.operand(id, 0))?.element_type;
        let widens = source.is_unsigned_integer() && source.bits() < ty.bits();
        let known = greatest(cx, cx.operand(id, 0), depth);
        return known.and_then(fits).or(widens.then(|| maximum(source)));
    }
    let Op::Binary {
        op,
        broadcast_dimensions: None,
    } = *cx.op(id)
    else {
        return None;
    };
    let operand = |at| greatest(cx, cx.operand(id, at), depth);
    if op == BinaryOp::Add {
        fits(operand(0)?.checked_add(operand(1)?)?)
    } else if op == BinaryOp::Multiply {
        fits(operand(0)?.checked_mul(operand(1)?)?)
    } else if op == BinaryOp::And {
        match (operand(0), operand(1)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    } else {
        None
    }
}

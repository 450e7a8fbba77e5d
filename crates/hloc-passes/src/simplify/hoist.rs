//! Element-wise ops on broadcasts are computed before the broadcast.
//!
//! before:  b = f32[8,4] broadcast(x), dimensions={1}   ROOT r = f32[8,4] sqrt(b)
//! after:   sqrt = f32[4] sqrt(x)                       ROOT r = f32[8,4] broadcast(sqrt), dimensions={1}
//!
//! All operands must be broadcasts: of arrays of the same sizes along the same dimensions, or of scalars.
//! The same values are computed, only fewer times, so every bit stays.

use hloc_ir::{ArrayShape, InstrId, Op, Shape};

use super::{Draft, Simplifier, Step, sized, static_array};

/// Applies the rule.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let result = static_array(&draft.shape)?.clone();
    if !is_elementwise(cx, draft, &result) {
        return None;
    }
    let (dimensions, sizes) = common_broadcast(cx, draft)?;
    let mut operands = Vec::with_capacity(draft.operands.len());
    for operand in &draft.operands {
        operands.push(below(cx, *operand, &sizes)?);
    }
    let computed = cx.build(draft.op.clone(), &operands, sized(&result, &sizes));
    let op = Op::Broadcast { dimensions };
    Some(Step::Become(Draft::new(
        op,
        &[computed],
        Shape::Array(ArrayShape {
            layout: result.layout.clone(),
            ..result
        }),
    )))
}

/// Whether the op works element by element on operands of the result's sizes.
fn is_elementwise(cx: &Simplifier<'_>, draft: &Draft, result: &ArrayShape) -> bool {
    let elementwise = if let Op::Binary {
        broadcast_dimensions,
        ..
    }
    | Op::Ternary {
        broadcast_dimensions,
        ..
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    } = &draft.op
    {
        broadcast_dimensions.is_none()
    } else {
        matches!(
            draft.op,
            Op::Unary { .. } | Op::Convert {} | Op::BitcastConvert {} | Op::ReducePrecision { .. }
        )
    };
    let same_dims = |id: &InstrId| cx.array(*id).is_some_and(|shape| shape.same_dims(result));
    elementwise && draft.operands.iter().all(same_dims)
}

/// Dimensions and operand sizes of the broadcast that all operands share, scalars aside.
fn common_broadcast(cx: &Simplifier<'_>, draft: &Draft) -> Option<(Vec<i64>, Vec<i64>)> {
    let mut common: Option<(Vec<i64>, Vec<i64>)> = None;
    for operand in &draft.operands {
        let Op::Broadcast { dimensions } = cx.op(*operand) else {
            return None;
        };
        // The sizes follow from the dimensions, as all results have the same sizes.
        let sizes = cx.array(cx.operand(*operand, 0))?.dims.to_vec();
        match &common {
            Some((other, _)) if other == dimensions || dimensions.is_empty() => {}
            Some((other, _)) if !other.is_empty() => return None,
            Some(_) | None => common = Some((dimensions.clone(), sizes)),
        }
    }
    common
}

/// What the operand `id`, a broadcast, is below the common broadcast from `sizes`.
fn below(cx: &mut Simplifier<'_>, id: InstrId, sizes: &[i64]) -> Option<InstrId> {
    let source = cx.operand(id, 0);
    let shape = cx.array(source)?;
    if shape.num_dims() == sizes.len() {
        return Some(source);
    }
    let op = Op::Broadcast { dimensions: vec![] };
    let spread = sized(shape, sizes);
    Some(cx.build(op, &[source], spread))
}

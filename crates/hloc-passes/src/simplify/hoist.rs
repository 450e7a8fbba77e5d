//! Element-wise ops on broadcasts are computed before the broadcast, those on arrays with added
//! dimensions of size 1 without these.
//!
//! before:  b = f32[8,4] broadcast(x), dimensions={1}   ROOT r = f32[8,4] sqrt(b)
//! after:   sqrt = f32[4] sqrt(x)                       ROOT r = f32[8,4] broadcast(sqrt), dimensions={1}
//!
//! before:  a = f32[4,1] reshape(x)   ROOT r = f32[4,1] sqrt(a)
//! after:   sqrt = f32[4] sqrt(x)     ROOT r = f32[4,1] reshape(sqrt)
//!
//! All operands must be broadcasts: of arrays of the same sizes along the same dimensions, or of scalars;
//! or reshapes from the sizes that are not 1, constants, or broadcasts of scalars, one a reshape at least.
//! The same values are computed, only fewer times, so every bit stays.

use hloc_ir::{ArrayShape, InstrId, Op, Shape};

use super::{Draft, Simplifier, Step, reshape_op, sized, static_array};

/// Applies the rule.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let result = static_array(&draft.shape)?.clone();
    if !is_elementwise(cx, draft, &result) {
        return None;
    }
    let (outer, sizes) = if let Some((dimensions, sizes)) = common_broadcast(cx, draft) {
        (Op::Broadcast { dimensions }, sizes)
    } else {
        let sizes = without_ones(&result);
        adds_ones(cx, draft, &sizes).then(|| (reshape_op(), sizes))?
    };
    let mut operands = Vec::with_capacity(draft.operands.len());
    for operand in &draft.operands {
        operands.push(below(cx, *operand, &sizes)?);
    }
    let computed = cx.build(draft.op.clone(), &operands, sized(&result, &sizes));
    let shape = Shape::Array(result);
    Some(Step::Become(Draft::new(outer, &[computed], shape)))
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

fn without_ones(shape: &ArrayShape) -> Vec<i64> {
    let sizes = shape.dims.iter().copied();
    sizes.filter(|size| *size != 1).collect()
}

/// Whether one operand is a reshape from `sizes` and all others can be had in these sizes.
fn adds_ones(cx: &Simplifier<'_>, draft: &Draft, sizes: &[i64]) -> bool {
    let source_dims = |id: InstrId| cx.array(cx.operand(id, 0)).map(|shape| &shape.dims[..]);
    let reshaped =
        |id: &InstrId| matches!(cx.op(*id), Op::Reshape { .. }) && source_dims(*id) == Some(sizes);
    let easy = |id: &InstrId| {
        let op = cx.op(*id);
        let spread = matches!(op, Op::Broadcast { .. }) && source_dims(*id) == Some(&[]);
        spread || matches!(op, Op::Constant { .. })
    };
    draft.operands.iter().any(reshaped) && draft.operands.iter().all(|id| reshaped(id) || easy(id))
}

/// What the operand `id` is before it is broadcast or reshaped from `sizes`.
fn below(cx: &mut Simplifier<'_>, id: InstrId, sizes: &[i64]) -> Option<InstrId> {
    let constant = matches!(cx.op(id), Op::Constant { .. });
    let source = if constant { id } else { cx.operand(id, 0) };
    let shape = cx.array(source)?;
    let dims = sized(shape, sizes);
    if constant {
        Some(cx.build(reshape_op(), &[source], dims))
    } else if shape.num_dims() == sizes.len() {
        Some(source)
    } else {
        let op = Op::Broadcast { dimensions: vec![] };
        Some(cx.build(op, &[source], dims))
    }
}

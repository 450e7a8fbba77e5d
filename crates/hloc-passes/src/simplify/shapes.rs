//! Views: reshape, transpose, broadcast, slice, reverse, pad, concatenate, convert, copy.
//!
//! All rules move values without computing, so every bit stays.

use hloc_ir::attr::{PaddingDim, SliceDim};
use hloc_ir::{ArrayShape, ElementClass, ElementType, InstrId, Op};

use super::{Draft, Simplifier, Step, reshape_op, sized, static_array};

/// Applies the rule for the draft's op, if it is a view.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    if let Op::Reshape { .. } = &draft.op {
        reshape(cx, draft)
    } else if let Op::Transpose { dimensions } = &draft.op {
        transpose(cx, draft, dimensions)
    } else if let Op::Broadcast { dimensions } = &draft.op {
        broadcast(cx, draft, dimensions)
    } else if let Op::Slice { slice } = &draft.op {
        self::slice(cx, draft, slice)
    } else if let Op::Reverse { dimensions } = &draft.op {
        reverse(cx, draft, dimensions)
    } else if let Op::Pad { padding } = &draft.op {
        pad(draft, padding)
    } else if let Op::Concatenate { .. } = &draft.op {
        concatenate(cx, draft)
    } else if let Op::DynamicSlice { .. } = &draft.op {
        dynamic_slice(cx, draft)
    } else if let Op::Convert {} = &draft.op {
        convert(cx, draft)
    } else if let Op::BitcastConvert {} = &draft.op {
        same_shape(cx, draft)
    } else if let Op::Copy {} | Op::Domain { .. } = &draft.op {
        // Layouts do not change values, and one device has no shardings.
        Some(Step::Value(draft.operands[0]))
    } else {
        None
    }
}

/// The operand, if it has the shape of the result.
fn same_shape(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let operand = cx.array(draft.operands[0])?;
    let same = operand.compatible(static_array(&draft.shape)?);
    same.then_some(Step::Value(draft.operands[0]))
}

/// `reshape(reshape(x))` is `reshape(x)`; to the same sizes it is `x`; of a broadcast it is a broadcast
/// if only dimensions of size 1 come or go.
fn reshape(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let operand = draft.operands[0];
    if let Some(same) = same_shape(cx, draft) {
        return Some(same);
    }
    cx.array(operand)?;
    if let Op::Reshape { .. } = cx.op(operand) {
        let inner = cx.operand(operand, 0);
        cx.array(inner)?;
        return Some(become_one(reshape_op(), inner, draft));
    }
    let Op::Broadcast { dimensions } = cx.op(operand) else {
        return None;
    };
    let dimensions = dimensions.clone();
    reshape_of_broadcast(cx, draft, &dimensions)
}

fn become_one(op: Op, operand: InstrId, draft: &Draft) -> Step {
    Step::Become(Draft::new(op, &[operand], draft.shape.clone()))
}

fn reshape_of_broadcast(
    cx: &mut Simplifier<'_>,
    draft: &Draft,
    dimensions: &[i64],
) -> Option<Step> {
    let from = cx.array(draft.operands[0])?;
    let to = static_array(&draft.shape)?;
    let inner = cx.operand(draft.operands[0], 0);
    let inner_shape = cx.array(inner)?;
    if inner_shape.is_scalar() {
        let op = Op::Broadcast { dimensions: vec![] };
        return Some(become_one(op, inner, draft));
    }
    let (kept_from, kept_to) = (not_one(from), not_one(to));
    let sizes = |shape: &ArrayShape, kept: &[usize]| -> Vec<i64> {
        kept.iter().map(|dim| shape.dims[*dim]).collect()
    };
    if sizes(from, &kept_from) != sizes(to, &kept_to) {
        return None;
    }
    let kept = not_one(inner_shape);
    let dropped = sized(inner_shape, &sizes(inner_shape, &kept));
    let place = |dim: &usize| {
        let at = kept_from.binary_search(&(dimensions[*dim] as usize)).ok()?;
        Some(kept_to[at] as i64)
    };
    let dimensions = kept.iter().map(place).collect::<Option<Vec<i64>>>()?;
    let inner = cx.build(reshape_op(), &[inner], dropped);
    Some(become_one(Op::Broadcast { dimensions }, inner, draft))
}

/// The dimensions whose size is not 1.
fn not_one(shape: &ArrayShape) -> Vec<usize> {
    let dims = 0..shape.num_dims();
    dims.filter(|dim| shape.dims[*dim] != 1).collect()
}

/// `transpose(transpose(x))` is one; one that keeps the order of all dimensions larger than 1 is a
/// reshape; of a broadcast it is a broadcast of the transposed operand.
fn transpose(cx: &mut Simplifier<'_>, draft: &Draft, dimensions: &[i64]) -> Option<Step> {
    let operand = draft.operands[0];
    let shape = cx.array(operand)?;
    let mut large = dimensions
        .iter()
        .filter(|dim| shape.dims[**dim as usize] != 1);
    if large.by_ref().is_sorted() {
        return Some(become_one(reshape_op(), operand, draft));
    }
    if let Op::Transpose { dimensions: inner } = cx.op(operand) {
        let dimensions = dimensions.iter().map(|dim| inner[*dim as usize]).collect();
        let inner = cx.operand(operand, 0);
        cx.array(inner)?;
        return Some(become_one(Op::Transpose { dimensions }, inner, draft));
    }
    let Op::Broadcast { dimensions: placed } = cx.op(operand) else {
        return None;
    };
    let placed = placed.clone();
    transpose_of_broadcast(cx, draft, dimensions, &placed)
}

fn transpose_of_broadcast(
    cx: &mut Simplifier<'_>,
    draft: &Draft,
    dimensions: &[i64],
    placed: &[i64],
) -> Option<Step> {
    let inner = cx.operand(draft.operands[0], 0);
    let shape = cx.array(inner)?;
    let position = |dim: i64| dimensions.iter().position(|from| *from == dim);
    let places = placed.iter().map(|dim| position(*dim).map(|at| at as i64));
    let places = places.collect::<Option<Vec<i64>>>()?;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|at| places[*at]);
    let sizes: Vec<i64> = order.iter().map(|at| shape.dims[*at]).collect();
    let transposed = sized(shape, &sizes);
    let permutation = Op::Transpose {
        dimensions: order.iter().map(|at| *at as i64).collect(),
    };
    let dimensions = order.iter().map(|at| places[*at]).collect();
    let inner = cx.build(permutation, &[inner], transposed);
    Some(become_one(Op::Broadcast { dimensions }, inner, draft))
}

/// `broadcast(broadcast(x))` is one; one that adds only dimensions of size 1 is a reshape; dimensions
/// of size 1 of the operand are dropped.
fn broadcast(cx: &mut Simplifier<'_>, draft: &Draft, dimensions: &[i64]) -> Option<Step> {
    let operand = draft.operands[0];
    let (from, to) = (cx.array(operand)?, static_array(&draft.shape)?);
    if !dimensions.is_sorted() {
        return None;
    }
    let added = (0..to.num_dims()).filter(|dim| !dimensions.contains(&(*dim as i64)));
    if added.map(|dim| to.dims[dim]).all(|size| size == 1) {
        return Some(become_one(reshape_op(), operand, draft));
    }
    if let Op::Broadcast { dimensions: inner } = cx.op(operand) {
        let dimensions = inner.iter().map(|dim| dimensions[*dim as usize]).collect();
        let inner = cx.operand(operand, 0);
        return Some(become_one(Op::Broadcast { dimensions }, inner, draft));
    }
    let kept = not_one(from);
    if kept.len() == from.num_dims() {
        return None;
    }
    let sizes: Vec<i64> = kept.iter().map(|dim| from.dims[*dim]).collect();
    let dimensions = kept.iter().map(|dim| dimensions[*dim]).collect();
    let dropped = sized(from, &sizes);
    let inner = cx.build(reshape_op(), &[operand], dropped);
    Some(become_one(Op::Broadcast { dimensions }, inner, draft))
}

/// A slice of everything is its operand; a slice of a slice is one.
fn slice(cx: &Simplifier<'_>, draft: &Draft, dims: &[SliceDim]) -> Option<Step> {
    if let Some(same) = same_shape(cx, draft) {
        // The same sizes with a stride above 1 are possible only where there is one element.
        let all = dims.iter().all(|dim| dim.start == 0);
        return all.then_some(same);
    }
    let operand = draft.operands[0];
    let Op::Slice { slice: inner } = cx.op(operand) else {
        return None;
    };
    let (result, source) = (static_array(&draft.shape)?, cx.operand(operand, 0));
    cx.array(source)?;
    let mut merged = Vec::with_capacity(dims.len());
    for ((outer, inner), size) in dims.iter().zip(inner).zip(&result.dims) {
        let stride = outer.stride.checked_mul(inner.stride)?;
        // Nothing may begin anywhere: behind the end of the operand would be too far.
        let (start, limit) = if *size == 0 {
            (inner.start, inner.start)
        } else {
            let start = inner.start + outer.start * inner.stride;
            (start, start + (size - 1) * stride + 1)
        };
        merged.push(SliceDim {
            start,
            limit,
            stride,
        });
    }
    Some(become_one(Op::Slice { slice: merged }, source, draft))
}

/// Dimensions of size 1 need no reversal; a reverse of a reverse is one.
fn reverse(cx: &Simplifier<'_>, draft: &Draft, dimensions: &[i64]) -> Option<Step> {
    let operand = draft.operands[0];
    let shape = cx.array(operand)?;
    let large: Vec<i64> = dimensions
        .iter()
        .copied()
        .filter(|dim| shape.dims[*dim as usize] > 1)
        .collect();
    if large.is_empty() {
        return Some(Step::Value(operand));
    }
    if let Op::Reverse { dimensions: inner } = cx.op(operand) {
        let once = |dim: &&i64| large.contains(dim) != inner.contains(dim);
        let all = (0..shape.num_dims() as i64).collect::<Vec<i64>>();
        let dimensions = all.iter().filter(once).copied().collect();
        let source = cx.operand(operand, 0);
        return Some(become_one(Op::Reverse { dimensions }, source, draft));
    }
    let shorter = large.len() < dimensions.len();
    shorter.then(|| become_one(Op::Reverse { dimensions: large }, operand, draft))
}

/// Padding nothing is the operand.
fn pad(draft: &Draft, padding: &[PaddingDim]) -> Option<Step> {
    let nothing = |dim: &PaddingDim| dim.low == 0 && dim.high == 0 && dim.interior == 0;
    let nowhere = static_array(&draft.shape).is_some() && padding.iter().all(nothing);
    nowhere.then_some(Step::Value(draft.operands[0]))
}

/// Empty operands go; what is left of one operand is that operand.
fn concatenate(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let result = static_array(&draft.shape)?;
    if result.num_elements() == Some(0) {
        return None;
    }
    let mut kept = Vec::with_capacity(draft.operands.len());
    for operand in &draft.operands {
        if cx.array(*operand)?.num_elements() != Some(0) {
            kept.push(*operand);
        }
    }
    if let [only] = kept[..] {
        return Some(Step::Value(only));
    }
    let fewer = kept.len() < draft.operands.len();
    fewer.then(|| Step::Become(Draft::new(draft.op.clone(), &kept, draft.shape.clone())))
}

/// At constant places it is a slice; of everything it is its operand.
fn dynamic_slice(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    if let Some(same) = same_shape(cx, draft) {
        return Some(same);
    }
    let (operand, places) = draft.operands.split_first()?;
    let (from, to) = (cx.array(*operand)?, static_array(&draft.shape)?);
    if places.len() != from.num_dims() {
        return None;
    }
    let mut slice = Vec::with_capacity(places.len());
    for (dim, place) in places.iter().enumerate() {
        let size = to.dims[dim];
        // Places out of range are moved into it.
        let start = cx.splat(*place)?.integer()?.clamp(0, from.dims[dim] - size);
        slice.push(SliceDim {
            start,
            limit: start + size,
            stride: 1,
        });
    }
    Some(become_one(Op::Slice { slice }, *operand, draft))
}

/// To the same type it is its operand; after a conversion that lost nothing it is one conversion.
///
/// Back to a float type of before it stays: a signaling NaN is quieted on the way.
fn convert(cx: &Simplifier<'_>, draft: &Draft) -> Option<Step> {
    if let Some(same) = same_shape(cx, draft) {
        return Some(same);
    }
    let operand = draft.operands[0];
    let Op::Convert {} = cx.op(operand) else {
        return None;
    };
    let source = cx.operand(operand, 0);
    let (first, second) = (cx.array(source)?, cx.array(operand)?);
    let types = [
        first.element_type,
        second.element_type,
        static_array(&draft.shape)?.element_type,
    ];
    if !joins(types) {
        return None;
    }
    Some(become_one(Op::Convert {}, source, draft))
}

/// Whether converting from the first to the second to the third type is converting once.
fn joins([first, second, third]: [ElementType; 3]) -> bool {
    let back_to_float = first.is_float() && first == third;
    // Floats saturate into integers, integers wrap.
    let saturates = first.is_integer() && second.is_float() && third.is_integer();
    is_exact(first, second) && !back_to_float && (!saturates || is_exact(first, third))
}

/// Whether every value of `from` is one of `to`.
///
/// Of floats only the IEEE formats and bfloat16 are looked at.
fn is_exact(from: ElementType, to: ElementType) -> bool {
    use ElementClass::{Complex, Float, Predicate, Signed, Unsigned};
    match (from.class(), to.class()) {
        // The one bit of an s1 is its sign.
        (Predicate, Signed) => to.bits() > 1,
        (Predicate, Unsigned) => true,
        (Predicate, Float) => float_bits(to).is_some(),
        (Unsigned, Unsigned) | (Signed, Signed) => from.bits() <= to.bits(),
        (Unsigned, Signed) => from.bits() < to.bits(),
        (Unsigned | Signed, Float) => {
            float_bits(to).is_some_and(|(mantissa, _)| from.bits() <= mantissa)
        }
        (Float, Float) => match (float_bits(from), float_bits(to)) {
            (Some(from), Some(to)) => from.0 <= to.0 && from.1 <= to.1,
            (None, _) | (_, None) => false,
        },
        (Predicate | Signed | Unsigned | Float, Complex | Predicate)
        | (Signed, Unsigned)
        | (Float, Signed | Unsigned)
        | (Complex, Predicate | Signed | Unsigned | Float | Complex) => false,
    }
}

/// Bits of the significand, the hidden one included, and of the exponent.
fn float_bits(ty: ElementType) -> Option<(u32, u32)> {
    let formats = [
        (ElementType::BF16, (8, 8)),
        (ElementType::F16, (11, 5)),
        (ElementType::F32, (24, 8)),
        (ElementType::F64, (53, 11)),
    ];
    let format = formats.iter().find(|(format, _)| *format == ty);
    format.map(|(_, bits)| *bits)
}

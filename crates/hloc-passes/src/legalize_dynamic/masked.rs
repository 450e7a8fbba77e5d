//! Ops that combine elements along a dimension: the padding is cleared to what changes nothing.

use hloc_ir::{
    BinaryOp, ComparisonDirection, Computation, ComputationId, ElementType, InstrId, Op, Scalar,
    Shape,
};

use super::rules::put;
use super::{Done, Dynamic, Leaves, Region, Sizes};
use crate::make::{Body, Make};

/// Which elements of an array are real, along these dimensions; `None` if all are.
pub(super) fn mask(
    make: &mut impl Make,
    x: InstrId,
    sizes: &Sizes,
    along: &[usize],
) -> Option<InstrId> {
    let dims = make.array(x).dims;
    let mut mask = None;
    for at in along {
        let Some(size) = sizes.get(*at).copied().flatten() else {
            continue;
        };
        let index = make.iota(ElementType::S32, &dims, *at);
        let size = make.spread(size, &dims);
        let real = make.compare(ComparisonDirection::Lt, index, size);
        mask = Some(match mask {
            Some(mask) => make.binary(BinaryOp::And, mask, real),
            None => real,
        });
    }
    mask
}

/// The array with a scalar in place of its padding along these dimensions.
pub(super) fn cleared_to(
    make: &mut impl Make,
    x: InstrId,
    sizes: &Sizes,
    along: &[usize],
    fill: InstrId,
) -> InstrId {
    let Some(mask) = mask(make, x, sizes, along) else {
        return x;
    };
    let dims = make.array(x).dims;
    let fill = make.spread(fill, &dims);
    make.select(mask, x, fill)
}

/// The array with zeros in place of its padding along these dimensions.
pub(super) fn cleared(make: &mut impl Make, x: InstrId, sizes: &Sizes, along: &[usize]) -> InstrId {
    let ty = make.array(x).element_type;
    let zero = make.zeros(ty, &[]);
    cleared_to(make, x, sizes, along, zero)
}

/// The value that an op with two operands keeps the other operand for; `None` if there is none.
fn neutral(op: BinaryOp, ty: ElementType) -> Option<Scalar> {
    let is = |ops: &[BinaryOp]| ops.contains(&op);
    let lowest = || {
        if ty.is_float() {
            Some(Scalar::Float(f64::NEG_INFINITY))
        } else if ty.is_signed_integer() {
            Some(Scalar::Int(-1 << (ty.bits() - 1)))
        } else {
            (!ty.is_complex()).then_some(Scalar::Uint(0))
        }
    };
    let highest = || {
        if ty.is_float() {
            Some(Scalar::Float(f64::INFINITY))
        } else if ty.is_signed_integer() {
            Some(Scalar::Int((1i64 << (ty.bits() - 1)).wrapping_sub(1)))
        } else {
            (!ty.is_complex()).then_some(Scalar::Uint(u64::MAX >> (64 - ty.bits().min(64))))
        }
    };
    let has_infinity = hloc_ir::float_format(ty).is_none_or(|format| format.has_infinity);
    if is(&[BinaryOp::Add]) {
        // 0 would make −0 a +0.
        Some(if ty.is_float() {
            Scalar::Float(-0.0)
        } else if ty.is_complex() {
            Scalar::Complex(-0.0, -0.0)
        } else {
            Scalar::Pred(false)
        })
    } else if is(&[BinaryOp::Or, BinaryOp::Xor]) {
        Some(Scalar::Pred(false))
    } else if is(&[BinaryOp::Multiply]) {
        Some(Scalar::Pred(true))
    } else if is(&[BinaryOp::And]) {
        Some(if ty.is_signed_integer() {
            Scalar::Int(-1)
        } else {
            highest()?
        })
    } else if is(&[BinaryOp::Maximum]) && has_infinity {
        lowest()
    } else if is(&[BinaryOp::Minimum]) && has_infinity {
        highest()
    } else {
        None
    }
}

/// The op of a reducer that is one op on its two parameters.
fn single_op(computation: &Computation) -> Option<BinaryOp> {
    let root = computation.root();
    let Op::Binary { op, .. } = root.op else {
        return None;
    };
    let [a, b] = root.operands[..] else {
        return None;
    };
    let [p, q] = computation.parameters[..] else {
        return None;
    };
    ((a, b) == (p, q) || (a, b) == (q, p)).then_some(op)
}

impl Dynamic<'_> {
    /// An op of this file; others are refused.
    pub(super) fn masked(&mut self, region: &mut Region<'_>, id: InstrId) -> Done<Leaves> {
        let instruction = &region.rebuilt.old().instructions[id];
        if let Op::Reduce {
            dimensions,
            to_apply,
        } = &instruction.op
        {
            let (dimensions, to_apply) = (dimensions.clone(), *to_apply);
            self.reduce(region, id, &dimensions, to_apply)
        } else if let Op::ReduceWindow { .. } = instruction.op {
            self.reduce_window(region, id)
        } else if let Op::Dot { .. } = instruction.op {
            dot(region, id)
        } else if let Op::Convolution { .. } = instruction.op {
            super::convolution::convolution(region, id)
        } else if let Op::Sort {
            dimensions,
            to_apply,
            is_stable,
        } = &instruction.op
        {
            let how = (super::rules::dimension(dimensions), *to_apply, *is_stable);
            self.sort(region, id, how)
        } else {
            region.refused(id, "there is no rule for dynamic dimensions")
        }
    }

    fn reduce(
        &mut self,
        region: &mut Region<'_>,
        id: InstrId,
        dimensions: &[i64],
        to_apply: ComputationId,
    ) -> Done<Leaves> {
        let olds = region.rebuilt.old().instructions[id].operands.clone();
        let operands = region.rebuilt.mapped_operands(id);
        let count = olds.len() / 2;
        let mut common = region.sizes_of(olds[0]);
        for old in &olds[..count] {
            for (common, own) in common.iter_mut().zip(region.sizes_of(*old)) {
                *common = common.or(own);
            }
        }
        let along: Vec<usize> = dimensions.iter().map(|dim| *dim as usize).collect();
        let kept = (0..common.len()).filter(|at| !along.contains(at));
        let left: Sizes = kept.map(|at| common[at]).collect();
        let leaves: Leaves = vec![left; count];
        let masks = along.iter().any(|at| common[*at].is_some());
        if !masks {
            region.copy(id);
            return Ok(leaves);
        }
        let op = single_op(&self.module.computations[to_apply]);
        let ty = region.make(id).array(operands[0]).element_type;
        if let (1, Some(neutral)) = (count, op.and_then(|op| neutral(op, ty))) {
            let mut make = region.make(id);
            let fill = make.constant(ty, neutral);
            let x = cleared_to(&mut make, operands[0], &common, &along, fill);
            let op = region.rebuilt.mapped_op(id);
            put(region, id, op, &[x, operands[1]]);
            return Ok(leaves);
        }
        self.reduce_with_mask(region, id, (dimensions, to_apply), (&common, &along))?;
        Ok(leaves)
    }

    /// A reduction by any computation: whether an element is real is reduced along with it.
    fn reduce_with_mask(
        &mut self,
        region: &mut Region<'_>,
        id: InstrId,
        (dimensions, to_apply): (&[i64], ComputationId),
        (sizes, along): (&Sizes, &[usize]),
    ) -> Done<()> {
        let instruction = &region.rebuilt.old().instructions[id];
        let shape = instruction.shape.clone();
        let origin = instruction.origin.in_pass(super::NAME);
        let operands = region.rebuilt.mapped_operands(id);
        let count = operands.len() / 2;
        let plain = self.plain(to_apply)?;
        let reducer = choosing(&self.computations[plain], plain, count, origin);
        let reducer = self.add(reducer);
        let mut make = region.make(id);
        let Some(mask) = mask(&mut make, operands[0], sizes, along) else {
            return region.refused(id, "it has no dynamic dimension");
        };
        let yes = make.scalar(true);
        let mut inputs = operands[..count].to_vec();
        inputs.push(mask);
        inputs.extend(&operands[count..]);
        inputs.push(yes);
        let op = Op::Reduce {
            dimensions: dimensions.to_vec(),
            to_apply: reducer,
        };
        let results = shape.as_tuple().unwrap_or(std::slice::from_ref(&shape));
        let mut results: Vec<Shape> = results.iter().map(super::bounded).collect();
        let dims = results[0]
            .as_array()
            .map(|array| array.dims.clone())
            .unwrap_or_default();
        results.push(Shape::array(ElementType::Pred, &dims));
        let all = make.make(op, &inputs, Shape::Tuple(results));
        let values: Vec<InstrId> = (0..count).map(|at| make.element(all, at)).collect();
        let value = if shape.as_tuple().is_some() {
            make.tuple(&values)
        } else {
            values[0]
        };
        region.rebuilt.replace(id, value);
        Ok(())
    }

    fn reduce_window(&mut self, region: &mut Region<'_>, id: InstrId) -> Done<Leaves> {
        let instruction = &region.rebuilt.old().instructions[id];
        let Op::ReduceWindow {
            window: Some(window),
            to_apply,
        } = &instruction.op
        else {
            return region.refused(id, "it has no window");
        };
        let (window, to_apply) = (window.clone(), *to_apply);
        let olds = instruction.operands.clone();
        let operands = region.rebuilt.mapped_operands(id);
        let own = region.sizes_of(olds[0]);
        let op = single_op(&self.module.computations[to_apply]);
        let mut make = region.make(id);
        let ty = make.array(operands[0]).element_type;
        let neutral = op.and_then(|op| neutral(op, ty));
        let (2, Some(neutral)) = (olds.len(), neutral) else {
            return region.refused(id, "its computation has no neutral value");
        };
        let fill = make.constant(ty, neutral);
        let all: Vec<usize> = (0..own.len()).collect();
        let x = cleared_to(&mut make, operands[0], &own, &all, fill);
        let mut sizes = Sizes::new();
        for (size, window) in own.iter().zip(&window.0) {
            sizes.push(size.map(|size| window_count(&mut make, size, window)));
        }
        let op = region.rebuilt.mapped_op(id);
        put(region, id, op, &[x, operands[1]]);
        Ok(vec![sizes])
    }

    /// Padding comes behind everything: it is asked about before the elements.
    fn sort(
        &mut self,
        region: &mut Region<'_>,
        id: InstrId,
        (at, to_apply, is_stable): (usize, ComputationId, bool),
    ) -> Done<Leaves> {
        let instruction = &region.rebuilt.old().instructions[id];
        let shape = instruction.shape.clone();
        let origin = instruction.origin.in_pass(super::NAME);
        let olds = instruction.operands.clone();
        let operands = region.rebuilt.mapped_operands(id);
        let mut common = region.sizes_of(olds[0]);
        for old in &olds {
            for (common, own) in common.iter_mut().zip(region.sizes_of(*old)) {
                *common = common.or(own);
            }
        }
        let leaves: Leaves = vec![common.clone(); olds.len()];
        if common[at].is_none() {
            region.copy(id);
            return Ok(leaves);
        }
        let plain = self.plain(to_apply)?;
        let comparator = padding_last(&self.computations[plain], plain, origin);
        let comparator = self.add(comparator);
        let mut make = region.make(id);
        let Some(mask) = mask(&mut make, operands[0], &common, &[at]) else {
            return region.refused(id, "it has no dynamic dimension");
        };
        let mut inputs = operands.to_vec();
        inputs.push(mask);
        let shapes = inputs
            .iter()
            .map(|id| Shape::Array(make.array(*id)))
            .collect();
        let op = Op::Sort {
            dimensions: vec![at as i64],
            is_stable,
            to_apply: comparator,
        };
        let all = make.make(op, &inputs, Shape::Tuple(shapes));
        let values: Vec<InstrId> = (0..olds.len()).map(|at| make.element(all, at)).collect();
        let value = if shape.as_tuple().is_some() {
            make.tuple(&values)
        } else {
            values[0]
        };
        region.rebuilt.replace(id, value);
        Ok(leaves)
    }
}

/// The parameters' shapes of a computation.
fn parameter_shapes(computation: &Computation) -> Vec<Shape> {
    computation.program_shape().parameters
}

/// A reducer of one value more on each side, which says whether that side is real: what is not is left out.
fn choosing(
    computation: &Computation,
    id: ComputationId,
    count: usize,
    origin: hloc_ir::Origin,
) -> Computation {
    let shapes = parameter_shapes(computation);
    let mut body = Body::new(origin);
    let mut side = |shapes: &[Shape]| -> (Vec<InstrId>, InstrId) {
        let values = shapes
            .iter()
            .map(|shape| body.parameter(shape.clone()))
            .collect();
        (values, body.parameter(Shape::scalar(ElementType::Pred)))
    };
    let (left, left_real) = side(&shapes[..count]);
    let (right, right_real) = side(&shapes[count..]);
    let arguments: Vec<InstrId> = left.iter().chain(&right).copied().collect();
    let call = Op::Call {
        to_apply: id,
        is_composite: false,
    };
    let root = computation.root().shape.clone();
    let is_tuple = root.as_tuple().is_some();
    let given = body.make(call, &arguments, root);
    let mut values = Vec::new();
    for at in 0..count {
        let both = if is_tuple {
            body.element(given, at)
        } else {
            given
        };
        let one = body.select(right_real, both, left[at]);
        values.push(body.select(left_real, one, right[at]));
    }
    values.push(body.binary(BinaryOp::Or, left_real, right_real));
    let root = body.tuple(&values);
    body.finish(root)
}

/// A comparator of one pair of values more, which say what is real: that comes before what is not.
fn padding_last(
    computation: &Computation,
    id: ComputationId,
    origin: hloc_ir::Origin,
) -> Computation {
    let shapes = parameter_shapes(computation);
    let mut body = Body::new(origin);
    let values: Vec<InstrId> = shapes
        .iter()
        .map(|shape| body.parameter(shape.clone()))
        .collect();
    let pred = Shape::scalar(ElementType::Pred);
    let (a, b) = (body.parameter(pred.clone()), body.parameter(pred.clone()));
    let call = Op::Call {
        to_apply: id,
        is_composite: false,
    };
    let before = body.make(call, &values, pred);
    let differ = body.binary(BinaryOp::Xor, a, b);
    let root = body.select(differ, a, before);
    body.finish(root)
}

/// How many windows fit: `floor((low + dilated(size) + high - dilated(window)) / stride) + 1`, or 0.
pub(super) fn window_count(
    make: &mut impl Make,
    size: InstrId,
    window: &hloc_ir::attr::WindowDim,
) -> InstrId {
    let mut number = |value: i64| make.scalar(i32::try_from(value).unwrap_or(i32::MAX));
    let extent = (window.size - 1) * window.window_dilation + 1;
    let rest = number(window.pad_low + window.pad_high - extent);
    let (one, zero) = (number(1), number(0));
    let (dilation, stride) = (number(window.base_dilation), number(window.stride));
    let gaps = make.binary(BinaryOp::Subtract, size, one);
    let dilated = make.binary(BinaryOp::Multiply, gaps, dilation);
    let dilated = make.binary(BinaryOp::Add, dilated, one);
    let dilated = make.binary(BinaryOp::Maximum, dilated, zero);
    let empty = make.compare(ComparisonDirection::Le, size, zero);
    let dilated = make.select(empty, zero, dilated);
    let room = make.binary(BinaryOp::Add, dilated, rest);
    let steps = make.binary(BinaryOp::Divide, room, stride);
    let count = make.binary(BinaryOp::Add, steps, one);
    let none = make.compare(ComparisonDirection::Lt, room, zero);
    make.select(none, zero, count)
}

/// Contracting dimensions are cleared on both sides.
fn dot(region: &mut Region<'_>, id: InstrId) -> Done<Leaves> {
    let instruction = &region.rebuilt.old().instructions[id];
    let Op::Dot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        ..
    } = &instruction.op
    else {
        return region.refused(id, "it is no dot");
    };
    let dims = |dims: &[i64]| -> Vec<usize> { dims.iter().map(|dim| *dim as usize).collect() };
    let (left_batch, right_batch) = (dims(lhs_batch_dims), dims(rhs_batch_dims));
    let (left, right) = (dims(lhs_contracting_dims), dims(rhs_contracting_dims));
    let own = [0, 1].map(|at| region.sizes_of(instruction.operands[at]));
    let operands = region.rebuilt.mapped_operands(id);
    // A size known on one side holds on both.
    let mut shared = own.clone();
    for (l, r) in left.iter().zip(&right) {
        let size = own[0][*l].or(own[1][*r]);
        (shared[0][*l], shared[1][*r]) = (size, size);
    }
    let mut make = region.make(id);
    let lhs = cleared(&mut make, operands[0], &shared[0], &left);
    let rhs = cleared(&mut make, operands[1], &shared[1], &right);
    let free = |own: &Sizes, batch: &[usize], contracting: &[usize]| -> Sizes {
        let dims = (0..own.len()).filter(|at| !batch.contains(at) && !contracting.contains(at));
        dims.map(|at| own[at]).collect()
    };
    let batch = left_batch.iter().zip(&right_batch);
    let mut sizes: Sizes = batch.map(|(l, r)| own[0][*l].or(own[1][*r])).collect();
    sizes.extend(free(&own[0], &left_batch, &left));
    sizes.extend(free(&own[1], &right_batch, &right));
    let op = region.rebuilt.mapped_op(id);
    put(region, id, op, &[lhs, rhs]);
    Ok(vec![sizes])
}

#[cfg(test)]
mod tests {
    use hloc_ir::{BinaryOp, ElementType, Scalar};

    use super::neutral;

    #[test]
    fn neutral_values() {
        let of = |op, ty| neutral(op, ty);
        assert_eq!(
            of(BinaryOp::Maximum, ElementType::S8),
            Some(Scalar::Int(-128))
        );
        assert_eq!(
            of(BinaryOp::Minimum, ElementType::U8),
            Some(Scalar::Uint(255))
        );
        assert_eq!(
            of(BinaryOp::Minimum, ElementType::S64),
            Some(Scalar::Int(i64::MAX))
        );
        assert_eq!(of(BinaryOp::Subtract, ElementType::F32), None);
    }
}

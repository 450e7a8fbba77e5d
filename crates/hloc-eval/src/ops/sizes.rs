//! Arrays of sizes known at run time: a value has its real sizes, its shape the bounds.
//!
//! An op on such arrays is the op on arrays of the real sizes. What an op says of sizes in its attributes
//! or in its declared shape is adjusted here first.

use hloc_ir::attr::SliceDim;
use hloc_ir::{ArrayShape, Literal, Op, Shape, ShapeContext, infer_shape};
use hloc_tensor::Array;

use super::dynamic::integer;
use super::walk::Walk;
use super::{Operands, dimension, ensure, zeros};
use crate::EvalError;
use crate::evaluator::Evaluator;

/// An op on values of real sizes, and the shape that it gives.
pub(crate) struct Resolved {
    pub(crate) op: Op,
    pub(crate) shape: Shape,
}

/// Whether sizes of the operands or of the result are known at run time only.
pub(crate) fn is_dynamic(declared: &[&Shape], operands: &[Literal], shape: &Shape) -> bool {
    let smaller = |(shape, value): (&&Shape, &Literal)| {
        let (Shape::Array(shape), Literal::Array(array)) = (shape, value) else {
            return false;
        };
        shape.dims[..] != *array.dims()
    };
    let leaves = shape.leaves();
    let mut arrays = leaves.iter().filter_map(|leaf| leaf.as_array());
    arrays.any(|array| array.dynamic != 0) || declared.iter().zip(operands).any(smaller)
}

/// The op and its shape for the real sizes; operands may be cut to the sizes they have in common.
pub(crate) fn resolve(
    evaluator: Evaluator<'_>,
    op: &Op,
    declared: &[&Shape],
    operands: &mut [Literal],
    shape: &Shape,
) -> Result<Resolved, EvalError> {
    let keep = |shape: Shape| Resolved {
        op: op.clone(),
        shape,
    };
    if passes(op) {
        return Ok(keep(shape.clone()));
    }
    let static_shape = |dims: &[i64]| {
        let ty = shape.as_array().map(|shape| shape.element_type);
        ty.map(|ty| Shape::array(ty, dims))
            .ok_or_else(|| EvalError::argument("an array is made, but no array declared"))
    };
    if let Op::Iota { .. } | Op::Rng { .. } = op {
        return Ok(keep(without_marks(shape)));
    }
    if is_elementwise(op) {
        let dims = meet(operands)?;
        return Ok(keep(static_shape(&dims)?));
    }
    let x = match operands.first() {
        Some(Literal::Array(x)) => x,
        Some(Literal::Tuple(_)) | None => return Err(unknown(op)),
    };
    if let Op::Broadcast { dimensions } = op {
        let mut dims = bounds(shape)?;
        for (size, place) in x.dims().iter().zip(dimensions) {
            let place = dimension(*place, dims.len())?;
            dims[place] = *size;
        }
        return Ok(keep(static_shape(&dims)?));
    }
    if let Op::Reshape { .. } = op {
        let from = declared.first().copied().ok_or_else(|| unknown(op))?;
        let dims = reshaped(from, x.dims(), shape)?;
        return Ok(keep(static_shape(&dims)?));
    }
    if let Op::Slice { slice } = op {
        let from = bounds(declared.first().copied().ok_or_else(|| unknown(op))?)?;
        let slice = cut_slices(slice, &from, x.dims());
        return by_rule(evaluator, Op::Slice { slice }, operands, shape);
    }
    if let Op::DynamicSlice {
        dynamic_slice_sizes: sizes,
    }
    | Op::Gather {
        slice_sizes: sizes, ..
    } = op
    {
        let from = bounds(declared.first().copied().ok_or_else(|| unknown(op))?)?;
        // What is collapsed is one element, also where that is all there may be.
        let single: &[i64] = if let Op::Gather {
            collapsed_slice_dims,
            ..
        } = op
        {
            collapsed_slice_dims
        } else {
            &[]
        };
        let sizes = windows(sizes, &from, x.dims(), single);
        if let Some(Literal::Array(x)) = operands.first_mut() {
            let longest = x.dims().iter().zip(&sizes);
            let longest: Vec<i64> = longest.map(|(size, window)| *size.max(window)).collect();
            *x = resized(x, &longest)?;
        }
        return by_rule(evaluator, with_windows(op, sizes), operands, shape);
    }
    if let Op::DynamicUpdateSlice {} = op {
        let dims = x.dims().to_vec();
        if let Some(Literal::Array(update)) = operands.get_mut(1) {
            let kept = update.dims().iter().zip(&dims);
            let kept: Vec<i64> = kept.map(|(size, most)| *size.min(most)).collect();
            *update = resized(update, &kept)?;
        }
        return Ok(keep(static_shape(&dims)?));
    }
    if let Op::Transpose { .. }
    | Op::Reverse { .. }
    | Op::Pad { .. }
    | Op::Concatenate { .. }
    | Op::Reduce { .. }
    | Op::ReduceWindow { .. }
    | Op::Dot { .. }
    | Op::Convolution { .. }
    | Op::Sort { .. }
    | Op::Scatter { .. } = op
    {
        return by_rule(evaluator, op.clone(), operands, shape);
    }
    Err(unknown(op))
}

/// Ops that hand values on whatever sizes these have, or look at the real sizes themselves.
fn passes(op: &Op) -> bool {
    matches!(
        op,
        Op::Parameter { .. }
            | Op::Constant { .. }
            | Op::Tuple {}
            | Op::GetTupleElement { .. }
            | Op::While { .. }
            | Op::Conditional { .. }
            | Op::Call { .. }
            | Op::Fusion { .. }
            | Op::OptBarrier {}
            | Op::Copy {}
            | Op::Domain { .. }
            | Op::AddDependency {}
            | Op::AfterAll {}
            | Op::GetDimensionSize { .. }
            | Op::SetDimensionSize { .. }
            | Op::DynamicReshape {}
            | Op::AllReduce { .. }
            | Op::AllReduceStart { .. }
            | Op::AllReduceDone {}
            | Op::AllGather { .. }
            | Op::AllToAll { .. }
            | Op::CollectiveBroadcast { .. }
            | Op::CollectivePermute { .. }
            | Op::ReduceScatter { .. }
            | Op::AsyncStart { .. }
            | Op::AsyncUpdate { .. }
            | Op::AsyncDone { .. }
            | Op::CopyStart { .. }
            | Op::CopyDone {}
    )
}

fn is_elementwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary { .. }
            | Op::Binary {
                broadcast_dimensions: None,
                ..
            }
            | Op::Ternary {
                broadcast_dimensions: None,
                ..
            }
            | Op::Compare {
                broadcast_dimensions: None,
                ..
            }
            | Op::Convert {}
            | Op::ReducePrecision { .. }
            | Op::StochasticConvert {}
            | Op::Map { .. }
    )
}

/// Sizes of slices: whole dimensions are whole, whatever their real sizes.
fn windows(sizes: &[i64], bounds: &[i64], real: &[i64], single: &[i64]) -> Vec<i64> {
    (0..)
        .zip(sizes.iter().zip(bounds.iter().zip(real)))
        .map(|(at, (window, (bound, size)))| {
            let whole = window == bound && !single.contains(&at);
            if whole { *size } else { *window }
        })
        .collect()
}

fn with_windows(op: &Op, sizes: Vec<i64>) -> Op {
    let mut op = op.clone();
    if let Op::DynamicSlice {
        dynamic_slice_sizes: windows,
    }
    | Op::Gather {
        slice_sizes: windows,
        ..
    } = &mut op
    {
        *windows = sizes;
    }
    op
}

fn unknown(op: &Op) -> EvalError {
    EvalError::unsupported_form(format!("{} with dynamic dimensions", op.opcode()), None)
}

fn bounds(shape: &Shape) -> Result<Vec<i64>, EvalError> {
    let array = shape.as_array();
    let array = array.ok_or_else(|| EvalError::argument("an operand is no array"))?;
    Ok(array.dims.to_vec())
}

fn without_marks(shape: &Shape) -> Shape {
    match shape {
        Shape::Array(array) => Shape::array(array.element_type, &array.dims),
        Shape::Tuple(elements) => Shape::Tuple(elements.iter().map(without_marks).collect()),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => shape.clone(),
    }
}

/// The shape by the rule that also checks programs, for operands of the real sizes.
fn by_rule(
    evaluator: Evaluator<'_>,
    op: Op,
    operands: &[Literal],
    declared: &Shape,
) -> Result<Resolved, EvalError> {
    let shapes: Vec<Shape> = operands.iter().map(Literal::shape).collect();
    let shapes: Vec<&Shape> = shapes.iter().collect();
    let context = ShapeContext {
        op: &op,
        operands: &shapes,
        computations: &evaluator.module.computations,
        declared: Some(declared),
    };
    let shape = infer_shape(&context)
        .map_err(|broken| EvalError::argument(format!("with its real sizes, it {broken}")))?;
    let shape = without_marks(&shape);
    Ok(Resolved { op, shape })
}

/// Cuts operands of an element-wise op to the sizes that all have; scalars stay.
fn meet(operands: &mut [Literal]) -> Result<Vec<i64>, EvalError> {
    let mut dims: Vec<i64> = Vec::new();
    for operand in &*operands {
        let array = operand
            .as_array()
            .ok_or_else(|| EvalError::argument("an operand is no array"))?;
        if array.num_dims() == 0 {
            continue;
        }
        if dims.is_empty() {
            dims = array.dims().to_vec();
        }
        ensure(
            dims.len() == array.num_dims(),
            "operands have different numbers of dimensions",
        )?;
        for (size, other) in dims.iter_mut().zip(array.dims()) {
            *size = (*size).min(*other);
        }
    }
    for operand in operands {
        if let Literal::Array(array) = operand
            && array.num_dims() > 0
        {
            *array = resized(array, &dims)?;
        }
    }
    Ok(dims)
}

/// The array with other sizes: cut at the end, or longer by zeros.
fn resized(array: &Array, dims: &[i64]) -> Result<Array, EvalError> {
    if array.dims() == dims {
        return Ok(array.clone());
    }
    let common: Vec<i64> = array
        .dims()
        .iter()
        .zip(dims)
        .map(|(have, want)| *have.min(want))
        .collect();
    let mut from = Walk::whole(array.dims());
    from.dims.clone_from(&common);
    let kept = from.read(array)?;
    let mut result = zeros(array.element_type(), dims)?;
    let mut to = Walk::whole(dims);
    to.dims = common;
    to.write(&kept, &mut result)?;
    Ok(result)
}

/// `set-dimension-size`: within the bound; elements that come to light are zeros.
pub(super) fn set_size(
    dimensions: &[i64],
    operands: &Operands,
    shape: &ArrayShape,
) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let size = integer(operands.array(1)?, 0)?;
    let [at] = dimensions[..] else {
        return Err(EvalError::argument("it is about one dimension"));
    };
    let at = dimension(at, x.num_dims())?;
    let mut dims = x.dims().to_vec();
    dims[at] = size.clamp(0, shape.dims[at].into()) as i64;
    resized(x, &dims)
}

/// `dynamic-reshape`: the elements in order under sizes given as operands.
pub(super) fn reshape(operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let mut dims = Vec::new();
    for (at, bound) in shape.dims.iter().enumerate() {
        let size = integer(operands.array(at + 1)?, 0)?;
        dims.push(size.clamp(0, (*bound).into()) as i64);
    }
    Ok(x.reshaped(&dims)?)
}

fn cut_slices(slices: &[SliceDim], bounds: &[i64], sizes: &[i64]) -> Vec<SliceDim> {
    let dims = slices.iter().zip(bounds.iter().zip(sizes));
    dims.map(|(slice, (bound, size))| {
        if bound == size {
            return *slice;
        }
        SliceDim {
            start: slice.start.min(*size),
            limit: slice.limit.min(*size).max(slice.start.min(*size)),
            stride: slice.stride,
        }
    })
    .collect()
}

/// The real sizes of a reshaped array.
///
/// Both lists of bounds are cut into the shortest pieces of equal products. The size of a dynamic
/// dimension of the result is what makes the products of real sizes equal in its piece.
fn reshaped(from: &Shape, sizes: &[i64], to: &Shape) -> Result<Vec<i64>, EvalError> {
    let marks = from.as_array();
    let from = bounds(from)?;
    let from_dynamic =
        |at: usize| from[at] != sizes[at] || marks.is_some_and(|marks| marks.is_dynamic(at));
    let to = to
        .as_array()
        .ok_or_else(|| EvalError::argument("no array is declared"))?;
    let mut dims = to.dims.to_vec();
    let unclear = || EvalError::unsupported_form("reshape with unclear dynamic dimensions", None);
    ensure(
        !from.contains(&0),
        "an array without elements has no dynamic dimensions",
    )?;
    let (mut i, mut j) = (0, 0);
    while i < from.len() {
        let (first, start) = (i, j);
        let (mut have, mut want) = (from[i], 1);
        i += 1;
        while have != want {
            if have < want {
                have *= from.get(i).ok_or_else(unclear)?;
                i += 1;
            } else {
                want *= dims.get(j).ok_or_else(unclear)?;
                j += 1;
            }
        }
        // A size of 1 goes with the next that is dynamic, or with one that is not, as it is itself.
        if start == j {
            let ones = (j..dims.len()).take_while(|at| to.dims[*at] == 1);
            let place = ones.clone().find(|at| to.is_dynamic(*at));
            j = match place {
                Some(place) if from_dynamic(first) => place + 1,
                Some(place) => j + usize::from(place > j),
                None => j + usize::from(ones.count() > 0),
            };
        }
        if from[first..i] == sizes[first..i] {
            continue;
        }
        let places: Vec<usize> = (start..j).filter(|at| to.dims[*at] != 1).collect();
        let marked: Vec<usize> = (start..j).filter(|at| to.is_dynamic(*at)).collect();
        let place = match (&places[..], &marked[..]) {
            ([place], _) | (_, [place]) => *place,
            _ => return Err(unclear()),
        };
        let others: i64 = (start..j)
            .filter(|at| *at != place)
            .map(|at| to.dims[at])
            .product();
        let count: i64 = sizes[first..i].iter().product();
        ensure(
            count % others == 0,
            "the real sizes do not fill the result's other dimensions",
        )?;
        dims[place] = count / others;
    }
    Ok(dims)
}

//! Updates of one window at a known place.
//!
//! - A `scatter` of one window whose place is constant and in range is the combiner on a `slice` and the update, put
//!   back by a `dynamic-update-slice`.
//! - A `dynamic-update-slice` at a constant place that replaces at least half of its operand by what is computed from
//!   elements beside the place is a `concatenate` of what stays and the update: one pass over both, where updating in
//!   place would have to keep the whole update until all of it is computed.
//!
//! before:  u = f32[6] add(slice(x, [0:6]), slice(x, [2:8]))   ROOT r = f32[8] dynamic-update-slice(x, u, 1)
//! after:   ROOT r = f32[8] concatenate(slice(x, [0:1]), u, slice(x, [7:8])), dimensions={0}
//!
//! Both keep every bit.

use hloc_ir::{
    Array, ArrayShape, BinaryOp, ComputationId, ElementType, InstrId, Op, Scalar, Shape,
};

use hloc_ir::attr::SliceDim;

use super::structure::combining_op;
use super::{Draft, Simplifier, Step, reshape_op, sized, static_array};

/// The most instructions that are looked through for elements beside the place.
const MAX_VISITS: usize = 256;

/// Applies the rules for updates.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    if let Op::Scatter { .. } = draft.op {
        scatter(cx, draft)
    } else if let Op::DynamicUpdateSlice {} = draft.op {
        update(cx, draft)
    } else {
        None
    }
}

/// A window of an array.
struct Window {
    starts: Vec<i64>,
    sizes: Vec<i64>,
}

impl Window {
    fn is_within(&self, dims: &[i64]) -> bool {
        let ends = self.starts.iter().zip(&self.sizes).zip(dims);
        ends.into_iter().all(|((start, size), dim)| {
            *start >= 0 && start.checked_add(*size).is_some_and(|end| end <= *dim)
        })
    }

    fn slice(&self) -> Op {
        let dims = self.starts.iter().zip(&self.sizes);
        let slice = dims.map(|(start, size)| slice_dim(*start, start + size));
        Op::Slice {
            slice: slice.collect(),
        }
    }
}

fn slice_dim(start: i64, limit: i64) -> SliceDim {
    SliceDim {
        start,
        limit,
        stride: 1,
    }
}

fn scatter(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let Op::Scatter { to_apply, .. } = draft.op else {
        return None;
    };
    let &[operand, _, updates] = &draft.operands[..] else {
        return None;
    };
    let shape = static_array(&draft.shape)?.clone();
    let window = scattered(cx, draft, &shape)?;
    let element_type = cx.array(updates)?.element_type;
    if cx.array(operand)?.element_type != shape.element_type || element_type != shape.element_type {
        return None;
    }
    let combined = combiner(cx, to_apply)?;
    let part = sized(&shape, &window.sizes);
    let updates = cx.build(reshape_op(), &[updates], part.clone());
    let new = match combined {
        Combiner::Update => updates,
        Combiner::Binary(op, swapped) => {
            let old = cx.build(window.slice(), &[operand], part.clone());
            let operands = if swapped {
                [updates, old]
            } else {
                [old, updates]
            };
            cx.build(Op::binary(op), &operands, part)
        }
    };
    let mut operands = vec![operand, new];
    for start in &window.starts {
        let literal = Array::scalar(*start).into();
        let constant = Op::Constant { literal };
        operands.push(cx.build(constant, &[], Shape::scalar(ElementType::S64)));
    }
    let op = Op::DynamicUpdateSlice {};
    Some(Step::Become(Draft::new(op, &operands, draft.shape.clone())))
}

/// What a scatter does with an old element and an update.
enum Combiner {
    /// Takes the update.
    Update,
    /// Combines both, swapped if so.
    Binary(BinaryOp, bool),
}

fn combiner(cx: &Simplifier<'_>, id: ComputationId) -> Option<Combiner> {
    let computation = &cx.module.computations[id];
    if computation.parameters.get(1) == Some(&computation.root) {
        return Some(Combiner::Update);
    }
    let (op, swapped) = combining_op(cx, id)?;
    Some(Combiner::Binary(op, swapped))
}

/// The one window that a scatter writes, if its place is known and in range.
fn scattered(cx: &Simplifier<'_>, draft: &Draft, shape: &ArrayShape) -> Option<Window> {
    let Op::Scatter {
        update_window_dims,
        inserted_window_dims,
        scatter_dims_to_operand_dims,
        input_batching_dims,
        ..
    } = &draft.op
    else {
        return None;
    };
    let updates = cx.array(draft.operands[2])?;
    let is_one_window =
        update_window_dims.len() == updates.dims.len() && input_batching_dims.is_empty();
    if !is_one_window {
        return None;
    }
    let places = integers(cx, draft.operands[1], scatter_dims_to_operand_dims.len())?;
    let mut starts = vec![0; shape.dims.len()];
    for (dim, place) in scatter_dims_to_operand_dims.iter().zip(places) {
        *starts.get_mut(usize::try_from(*dim).ok()?)? = place;
    }
    let mut sizes = updates.dims.iter();
    let size = |dim: i64| match inserted_window_dims.contains(&dim) {
        true => Some(1),
        false => sizes.next().copied(),
    };
    let sizes = (0..).take(starts.len()).map(size).collect::<Option<_>>()?;
    let window = Window { starts, sizes };
    window.is_within(&shape.dims).then_some(window)
}

/// The elements of a constant of integers, or of a broadcast of one.
fn integers(cx: &Simplifier<'_>, id: InstrId, count: usize) -> Option<Vec<i64>> {
    if let Some(all) = cx.splat(id) {
        return Some(vec![all.integer()?; count]);
    }
    let Op::Constant { literal } = cx.op(id) else {
        return None;
    };
    let array = literal
        .as_array()
        .filter(|array| array.num_elements() == count)?;
    let element = |at| match array.get(at) {
        Scalar::Int(value) => Some(value),
        Scalar::Uint(value) => i64::try_from(value).ok(),
        Scalar::Pred(_) | Scalar::Float(_) | Scalar::Complex(..) => None,
    };
    (0..count).map(element).collect()
}

fn update(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let (&operand, rest) = draft.operands.split_first()?;
    let (&new, places) = rest.split_first()?;
    let shape = static_array(&draft.shape)?.clone();
    let sizes = cx.array(new)?.dims.to_vec();
    let mut starts = Vec::new();
    for ((place, size), dim) in places.iter().zip(&sizes).zip(shape.dims.iter()) {
        let start = cx.splat(*place)?.integer()?;
        starts.push(start.clamp(0, dim - size));
    }
    let window = Window { starts, sizes };
    let count = |dims: &[i64]| dims.iter().product::<i64>();
    let is_most = 2 * count(&window.sizes) >= count(&shape.dims) && count(&shape.dims) > 0;
    if !is_most || !reads_beside(cx, new, operand, &window) {
        return None;
    }
    Some(Step::Value(joined(cx, operand, new, &shape, &window)))
}

/// Whether element-wise ops and movements on the way from `operand` to `new` take elements from beside the window.
fn reads_beside(cx: &Simplifier<'_>, new: InstrId, operand: InstrId, window: &Window) -> bool {
    let mut pending = vec![(new, false)];
    let mut visited = vec![];
    while let Some((id, is_beside)) = pending.pop() {
        if id == operand {
            if is_beside {
                return true;
            }
            continue;
        }
        if visited.contains(&(id, is_beside)) || visited.len() >= MAX_VISITS {
            continue;
        }
        visited.push((id, is_beside));
        let op = cx.op(id);
        let moves = if let Op::Slice { slice } = op {
            let starts = slice.iter().map(|dim| dim.start);
            !starts.eq(window.starts.iter().copied())
        } else if is_element_wise(op) {
            false
        } else if let Op::Reverse { .. } | Op::Transpose { .. } | Op::Pad { .. } = op {
            true
        } else {
            continue;
        };
        let operands = &cx.rebuilt.made(id).operands;
        pending.extend(operands.iter().map(|from| (*from, is_beside || moves)));
    }
    false
}

fn is_element_wise(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary { .. }
            | Op::Binary { .. }
            | Op::Ternary { .. }
            | Op::Compare { .. }
            | Op::Convert {}
            | Op::BitcastConvert {}
            | Op::ReducePrecision { .. }
    )
}

/// The update with what surrounds it, dimension by dimension from the last.
fn joined(
    cx: &mut Simplifier<'_>,
    operand: InstrId,
    new: InstrId,
    shape: &ArrayShape,
    window: &Window,
) -> InstrId {
    let mut joined = new;
    let mut sizes = window.sizes.clone();
    for dim in (0..sizes.len()).rev() {
        let (start, end) = (window.starts[dim], window.starts[dim] + window.sizes[dim]);
        sizes[dim] = shape.dims[dim];
        let part = |cx: &mut Simplifier<'_>, from: i64, to: i64| {
            let mut slice: Vec<SliceDim> = (window.starts.iter().zip(&window.sizes))
                .zip(shape.dims.iter())
                .enumerate()
                .map(|(at, ((start, size), full))| match at < dim {
                    true => slice_dim(*start, start + size),
                    false => slice_dim(0, *full),
                })
                .collect();
            slice[dim] = slice_dim(from, to);
            let dims: Vec<i64> = slice.iter().map(|each| each.limit - each.start).collect();
            cx.build(Op::Slice { slice }, &[operand], sized(shape, &dims))
        };
        let mut parts = Vec::new();
        if start > 0 {
            parts.push(part(cx, 0, start));
        }
        parts.push(joined);
        if end < shape.dims[dim] {
            parts.push(part(cx, end, shape.dims[dim]));
        }
        if parts.len() > 1 {
            let op = Op::Concatenate {
                dimensions: vec![dim as i64],
            };
            joined = cx.build(op, &parts, sized(shape, &sizes));
        }
    }
    joined
}

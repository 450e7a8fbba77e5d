//! Ops that move elements to and from places that indices say: indices are kept within the real sizes.

use hloc_ir::attr::SliceDim;
use hloc_ir::{BinaryOp, ComparisonDirection, ElementType, InstrId, Op, Scalar, Shape};

use super::masked::{cleared, mask};
use super::rules::put;
use super::{Done, Dynamic, Region, Sizes, size_at};
use crate::make::Make;

const WIDE: ElementType = ElementType::S64;

impl Dynamic<'_> {
    /// The sizes of what an op of this file gives; `None` for other ops.
    pub(super) fn indexed(&mut self, region: &mut Region<'_>, id: InstrId) -> Done<Option<Sizes>> {
        let instruction = &region.rebuilt.old().instructions[id];
        if let Op::DynamicSlice {
            dynamic_slice_sizes,
        } = &instruction.op
        {
            let windows = dynamic_slice_sizes.clone();
            slice(region, id, &windows).map(Some)
        } else if let Op::DynamicUpdateSlice {} = instruction.op {
            update(region, id).map(Some)
        } else if let Op::Gather { .. } = instruction.op {
            gather(region, id).map(Some)
        } else if let Op::Scatter { .. } = instruction.op {
            scatter(region, id).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// An index in 64 bits, whatever its type: what is too large stays large.
fn wide_index(make: &mut impl Make, index: InstrId) -> InstrId {
    let shape = make.array(index);
    if shape.element_type != ElementType::U64 {
        return make.convert(index, WIDE);
    }
    let most = make.constant(ElementType::U64, Scalar::Uint(1 << 62));
    let most = make.spread(most, &shape.dims);
    let index = make.binary(BinaryOp::Minimum, index, most);
    make.convert(index, WIDE)
}

/// `max(size - window, 0)` in 64 bits.
fn last_start(make: &mut impl Make, size: InstrId, window: InstrId) -> InstrId {
    let room = make.binary(BinaryOp::Subtract, size, window);
    let zero = make.scalar(0i32);
    let room = make.binary(BinaryOp::Maximum, room, zero);
    make.convert(room, WIDE)
}

/// The scalar starts from operand `first` on, within the real sizes.
fn starts(
    region: &mut Region<'_>,
    id: InstrId,
    first: usize,
    (sizes, windows): (&Sizes, &[InstrId]),
) -> Done<Vec<InstrId>> {
    let operands = region.rebuilt.mapped_operands(id);
    let given = &operands[first..];
    let mut make = region.make(id);
    if given.len() != sizes.len() || given.iter().any(|start| !make.array(*start).is_scalar()) {
        return region.refused(id, "its starts are no scalars");
    }
    let zero = make.scalar(0i64);
    let mut starts = Vec::new();
    for (at, start) in given.iter().enumerate() {
        let size = size_at(&mut make, operands[0], sizes, at);
        let last = last_start(&mut make, size, windows[at]);
        let start = wide_index(&mut make, *start);
        let start = make.binary(BinaryOp::Maximum, start, zero);
        starts.push(make.binary(BinaryOp::Minimum, start, last));
    }
    Ok(starts)
}

/// Whole dimensions stay as they are; of others, what lies behind the real elements reads as zeros.
fn slice(region: &mut Region<'_>, id: InstrId, windows: &[i64]) -> Done<Sizes> {
    let operand = region.rebuilt.old().instructions[id].operands[0];
    let own = region.sizes_of(operand);
    let x = region.rebuilt.mapped(operand);
    let mut make = region.make(id);
    let bounds = make.array(x).dims;
    let whole = |at: usize| windows[at] == bounds[at];
    let partial: Vec<usize> = (0..own.len()).filter(|at| !whole(*at)).collect();
    let sizes = (0..own.len()).map(|at| own[at].filter(|_| whole(at)));
    let sizes: Sizes = sizes.collect();
    if partial.iter().all(|at| own[*at].is_none()) {
        region.copy(id);
        return Ok(sizes);
    }
    let x = cleared(&mut make, x, &own, &partial);
    let mut extents = Vec::new();
    for (at, window) in windows.iter().enumerate() {
        extents.push(match sizes[at] {
            Some(size) => size,
            None => make.scalar(i32::try_from(*window).unwrap_or(i32::MAX)),
        });
    }
    let mut operands = vec![x];
    operands.extend(starts(region, id, 1, (&own, &extents))?);
    let op = region.rebuilt.mapped_op(id);
    put(region, id, op, &operands);
    Ok(sizes)
}

/// The update, at most as large as the array, is placed in zeros, from where its real elements are taken.
fn update(region: &mut Region<'_>, id: InstrId) -> Done<Sizes> {
    let olds = region.rebuilt.old().instructions[id].operands.clone();
    let (own, new) = (region.sizes_of(olds[0]), region.sizes_of(olds[1]));
    let operands = region.rebuilt.mapped_operands(id);
    let (x, update) = (operands[0], operands[1]);
    let mut make = region.make(id);
    let (shape, part) = (make.array(x), make.array(update));
    let mut extents = Vec::new();
    for at in 0..own.len() {
        let size = size_at(&mut make, x, &own, at);
        let extent = size_at(&mut make, update, &new, at);
        extents.push(make.binary(BinaryOp::Minimum, size, extent));
    }
    let starts = starts(region, id, 2, (&own, &extents))?;
    let mut make = region.make(id);
    let room: Vec<i64> = shape
        .dims
        .iter()
        .zip(&part.dims)
        .map(|(a, b)| a + b)
        .collect();
    let empty = make.zeros(shape.element_type, &room);
    let mut inputs = vec![empty, update];
    inputs.extend(&starts);
    let wide = Shape::array(shape.element_type, &room);
    let placed = make.make(Op::DynamicUpdateSlice {}, &inputs, wide);
    let front = |size: &i64| SliceDim {
        start: 0,
        limit: *size,
        stride: 1,
    };
    let slice = shape.dims.iter().map(front).collect();
    let placed = make.make(Op::Slice { slice }, &[placed], Shape::Array(shape.clone()));
    let mut inside: Option<InstrId> = None;
    for at in 0..own.len() {
        let index = make.iota(WIDE, &shape.dims, at);
        let extent = make.convert(extents[at], WIDE);
        let end = make.binary(BinaryOp::Add, starts[at], extent);
        let (start, end) = (
            make.spread(starts[at], &shape.dims),
            make.spread(end, &shape.dims),
        );
        let behind = make.compare(ComparisonDirection::Ge, index, start);
        let before = make.compare(ComparisonDirection::Lt, index, end);
        let within = make.binary(BinaryOp::And, behind, before);
        inside = Some(match inside {
            Some(inside) => make.binary(BinaryOp::And, inside, within),
            None => within,
        });
    }
    let value = match inside {
        Some(inside) => make.select(inside, placed, x),
        None => placed,
    };
    region.rebuilt.replace(id, value);
    Ok(own)
}

/// Whole dynamic dimensions are kept; parts of others begin within the real size.
fn gather(region: &mut Region<'_>, id: InstrId) -> Done<Sizes> {
    let instruction = &region.rebuilt.old().instructions[id];
    let Op::Gather {
        offset_dims,
        collapsed_slice_dims,
        start_index_map,
        operand_batching_dims,
        index_vector_dim,
        slice_sizes,
        ..
    } = &instruction.op
    else {
        return region.refused(id, "it is no gather");
    };
    let own = region.sizes_of(instruction.operands[0]);
    let indices = region.sizes_of(instruction.operands[1]);
    let count = instruction
        .shape
        .as_array()
        .map_or(0, |shape| shape.num_dims());
    let operands = region.rebuilt.mapped_operands(id);
    let bounds = region.rebuilt.made(operands[0]).shape.as_array();
    let bounds = bounds.map(|shape| shape.dims.clone()).unwrap_or_default();
    let batching = |at: usize| operand_batching_dims.contains(&(at as i64));
    // What is collapsed is one element, also where that is all there may be.
    let whole =
        |at: usize| slice_sizes[at] == bounds[at] && !collapsed_slice_dims.contains(&(at as i64));
    let partial = (0..own.len()).filter(|at| !whole(*at) && !batching(*at));
    let partial: Vec<usize> = partial.collect();
    let vector = usize::try_from(*index_vector_dim).unwrap_or(usize::MAX);
    if indices.get(vector).copied().flatten().is_some() {
        return region.refused(id, "index vectors have a dynamic length");
    }
    let gone = |at: usize| collapsed_slice_dims.contains(&(at as i64)) || batching(at);
    let kept = (0..own.len()).filter(|at| !gone(*at));
    let mut sizes: Sizes = vec![None; count];
    for (place, at) in offset_dims.iter().zip(kept) {
        sizes[*place as usize] = own[at].filter(|_| slice_sizes[at] == bounds[at]);
    }
    let batch = (0..indices.len()).filter(|at| *at != vector);
    let places = (0..count).filter(|at| !offset_dims.contains(&(*at as i64)));
    for (place, at) in places.zip(batch) {
        sizes[place] = indices[at];
    }
    if partial.iter().all(|at| own[*at].is_none()) {
        region.copy(id);
        return Ok(sizes);
    }
    let whole_dims: Vec<bool> = (0..own.len()).map(whole).collect();
    let (map, windows) = (start_index_map.clone(), slice_sizes.clone());
    let mut make = region.make(id);
    let x = cleared(&mut make, operands[0], &own, &partial);
    let mut limits = Vec::new();
    for dim in map.iter().map(|dim| *dim as usize) {
        let size = size_at(&mut make, x, &own, dim);
        // A whole dimension begins at 0.
        let window = if whole_dims[dim] {
            size
        } else {
            make.scalar(i32::try_from(windows[dim]).unwrap_or(i32::MAX))
        };
        limits.push(last_start(&mut make, size, window));
    }
    let places = within(&mut make, operands[1], &limits, vector);
    let op = region.rebuilt.mapped_op(id);
    put(region, id, op, &[x, places]);
    Ok(sizes)
}

/// Index vectors between zeros and these limits.
fn within(make: &mut impl Make, indices: InstrId, limits: &[InstrId], vector: usize) -> InstrId {
    let indices = wide_index(make, indices);
    let dims = make.array(indices).dims;
    let limits = if vector >= dims.len() {
        match limits {
            [limit] => make.spread(*limit, &dims),
            _ => return indices,
        }
    } else {
        let listed: Vec<InstrId> = limits
            .iter()
            .map(|limit| make.reshape(*limit, &[1]))
            .collect();
        let op = Op::Concatenate {
            dimensions: vec![0],
        };
        let list = make.make(op, &listed, Shape::array(WIDE, &[limits.len() as i64]));
        make.broadcast(list, &dims, &[vector as i64])
    };
    let zeros = make.zeros(WIDE, &dims);
    let indices = make.binary(BinaryOp::Maximum, indices, zeros);
    make.binary(BinaryOp::Minimum, indices, limits)
}

/// Index vectors of padding point nowhere, so that nothing comes of them. Windows are whole dimensions or
/// single elements: those in the padding of the array do no harm.
fn scatter(region: &mut Region<'_>, id: InstrId) -> Done<Sizes> {
    let instruction = &region.rebuilt.old().instructions[id];
    let Op::Scatter {
        update_window_dims,
        inserted_window_dims,
        input_batching_dims,
        index_vector_dim,
        scatter_dims_to_operand_dims,
        ..
    } = &instruction.op
    else {
        return region.refused(id, "it is no scatter");
    };
    if instruction.operands.len() != 3 {
        return region.refused(id, "it has several operands");
    }
    let [own, indices, updates] = [0, 1, 2].map(|at| region.sizes_of(instruction.operands[at]));
    let operands = region.rebuilt.mapped_operands(id);
    let dims_of = |at: usize| {
        let shape = region.rebuilt.made(operands[at]).shape.as_array();
        shape.map(|shape| shape.dims.clone()).unwrap_or_default()
    };
    let (bounds, parts) = (dims_of(0), dims_of(2));
    let is_window = |at: usize| {
        let at = at as i64;
        !inserted_window_dims.contains(&at) && !input_batching_dims.contains(&at)
    };
    let windows = (0..own.len())
        .filter(|at| is_window(*at))
        .zip(update_window_dims);
    for (at, place) in windows {
        let place = *place as usize;
        let whole = parts[place] == bounds[at];
        if (own[at].is_some() || updates[place].is_some()) && !whole {
            return region.refused(id, "its windows are parts of a dynamic dimension");
        }
    }
    let vector = usize::try_from(*index_vector_dim).unwrap_or(usize::MAX);
    if indices.get(vector).copied().flatten().is_some() {
        return region.refused(id, "index vectors have a dynamic length");
    }
    // Sizes of the scatter dimensions may be known from the updates as well.
    let mut known = indices.clone();
    let batch = (0..known.len()).filter(|at| *at != vector);
    let places = (0..updates.len()).filter(|at| !update_window_dims.contains(&(*at as i64)));
    for (at, place) in batch.zip(places) {
        known[at] = known[at].or(updates[place]);
    }
    if known.iter().all(Option::is_none) {
        region.copy(id);
        return Ok(own);
    }
    if scatter_dims_to_operand_dims.is_empty() {
        return region.refused(id, "its index vectors are empty");
    }
    let mut make = region.make(id);
    let wide = wide_index(&mut make, operands[1]);
    let along: Vec<usize> = (0..known.len()).collect();
    let nowhere = make.number_like(wide, -1.0);
    let places = match mask(&mut make, wide, &known, &along) {
        Some(real) => make.select(real, wide, nowhere),
        None => wide,
    };
    let op = region.rebuilt.mapped_op(id);
    put(region, id, op, &[operands[0], places, operands[2]]);
    Ok(own)
}

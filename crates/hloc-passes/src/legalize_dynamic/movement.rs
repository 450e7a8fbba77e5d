//! Ops that move elements: the padding stays behind the elements.

use hloc_ir::attr::{ElidedDims, PaddingDim, SliceDim};
use hloc_ir::{ArrayShape, BinaryOp, ElementType, InstrId, Op, Shape};

use super::masked::cleared_to;
use super::rules::{dimension, put};
use super::{Done, Dynamic, Region, Sizes, size_at};
use crate::make::Make;

impl Dynamic<'_> {
    /// The sizes of what an op of this file gives; `None` for other ops.
    pub(super) fn movement(&mut self, region: &mut Region<'_>, id: InstrId) -> Done<Option<Sizes>> {
        let instruction = &region.rebuilt.old().instructions[id];
        let Some(first) = instruction.operands.first().copied() else {
            return Ok(None);
        };
        let own = region.sizes_of(first);
        let Some(result) = instruction.shape.as_array().cloned() else {
            return Ok(None);
        };
        let sizes = if let Op::Broadcast { dimensions } = &instruction.op {
            region.copy(id);
            let mut sizes: Sizes = vec![None; result.num_dims()];
            for (size, place) in own.iter().zip(dimensions) {
                sizes[*place as usize] = *size;
            }
            sizes
        } else if let Op::Transpose { dimensions } = &instruction.op {
            region.copy(id);
            dimensions.iter().map(|dim| own[*dim as usize]).collect()
        } else if let Op::Reshape { .. } = instruction.op {
            reshape(region, id, &own, &result)?
        } else if let Op::DynamicReshape {} = instruction.op {
            dynamic_reshape(region, id, &own, &result)
        } else if let Op::Slice { slice } = &instruction.op {
            region.copy(id);
            let slice = slice.clone();
            sliced(region, id, &own, &slice)
        } else if let Op::Pad { padding } = &instruction.op {
            let padding = padding.clone();
            padded(region, id, &own, &padding)
        } else if let Op::Reverse { dimensions } = &instruction.op {
            let dimensions = dimensions.clone();
            reversed(region, id, &own, &dimensions);
            own
        } else if let Op::Concatenate { dimensions } = &instruction.op {
            let at = dimension(dimensions);
            concatenated(region, id, at, &result)
        } else {
            return self.indexed(region, id);
        };
        Ok(Some(sizes))
    }
}

/// One piece of a reshape: the shortest lists of dimensions with one product.
struct Piece {
    from: std::ops::Range<usize>,
    to: std::ops::Range<usize>,
}

/// Both lists of bounds, cut; `None` if they do not go together. A dynamic dimension of bound 1 goes with
/// the next of the result.
fn pieces(
    from: &[i64],
    is_dynamic: impl Fn(usize) -> bool,
    shape: &ArrayShape,
) -> Option<Vec<Piece>> {
    let to = &shape.dims[..];
    if from.contains(&0) || to.contains(&0) {
        return None;
    }
    let (mut pieces, mut i, mut j) = (Vec::new(), 0, 0);
    while i < from.len() {
        let (first, start) = (i, j);
        let (mut have, mut want) = (from[i], 1i64);
        i += 1;
        while have != want {
            if have < want {
                have = have.checked_mul(*from.get(i)?)?;
                i += 1;
            } else {
                want = want.checked_mul(*to.get(j)?)?;
                j += 1;
            }
        }
        if start == j {
            let wanted = is_dynamic(first);
            let ones = (j..to.len()).take_while(|at| to[*at] == 1);
            let place = ones.clone().find(|at| shape.is_dynamic(*at));
            j = match place {
                Some(place) if wanted => place + 1,
                Some(place) => j + usize::from(place > j),
                None => j + usize::from(ones.count() > 0),
            };
        }
        pieces.push(Piece {
            from: first..i,
            to: start..j,
        });
    }
    Some(pieces)
}

fn reshape(region: &mut Region<'_>, id: InstrId, own: &Sizes, result: &ArrayShape) -> Done<Sizes> {
    let operand = region.rebuilt.old().instructions[id].operands[0];
    let x = region.rebuilt.mapped(operand);
    let from = region.rebuilt.old().instructions[operand]
        .shape
        .as_array()
        .cloned();
    let Some(pieces) = from
        .as_ref()
        .and_then(|from| pieces(&from.dims, |at| own[at].is_some(), result))
    else {
        return region.refused(id, "its dimensions do not go together");
    };
    let mut sizes: Sizes = vec![None; result.num_dims()];
    let mut moves = false;
    for piece in pieces {
        if own[piece.from.clone()].iter().all(Option::is_none) {
            continue;
        }
        let places: Vec<usize> = piece
            .to
            .clone()
            .filter(|at| result.dims[*at] != 1)
            .collect();
        let marked: Vec<usize> = piece
            .to
            .clone()
            .filter(|at| result.is_dynamic(*at))
            .collect();
        let place = match (&places[..], &marked[..]) {
            ([place], _) | (_, [place]) => *place,
            _ => {
                return region.refused(
                    id,
                    "it is not clear which dimension of the result is dynamic",
                );
            }
        };
        let mut make = region.make(id);
        let dims = make.array(x).dims;
        let mut count = None;
        for at in piece
            .from
            .clone()
            .filter(|at| dims[*at] != 1 || own[*at].is_some())
        {
            let size = size_at(&mut make, x, own, at);
            count = Some(match count {
                Some(count) => make.binary(BinaryOp::Multiply, count, size),
                None => size,
            });
        }
        let others: i64 = piece
            .to
            .clone()
            .filter(|at| *at != place)
            .map(|at| result.dims[at])
            .product();
        let count = match count {
            Some(count) => count,
            None => make.scalar(1i32),
        };
        sizes[place] = Some(if others == 1 {
            count
        } else {
            let others = make.scalar(i32::try_from(others).unwrap_or(i32::MAX));
            make.binary(BinaryOp::Divide, count, others)
        });
        // Padding that lies behind all elements of its piece stays there.
        let behind = |range: std::ops::Range<usize>, dims: &[i64], at: usize| {
            range
                .into_iter()
                .find(|dim| dims[*dim] != 1)
                .is_none_or(|first| first >= at)
        };
        let dynamic: Vec<usize> = piece.from.clone().filter(|at| own[*at].is_some()).collect();
        let stays = dynamic.len() == 1
            && behind(piece.from.clone(), &dims, dynamic[0])
            && behind(piece.to.clone(), &result.dims, place);
        moves |= !stays;
    }
    if moves {
        let value = repacked(region, id, (x, own), (&sizes, result));
        region.rebuilt.replace(id, value);
    } else {
        region.copy(id);
    }
    Ok(sizes)
}

fn dynamic_reshape(
    region: &mut Region<'_>,
    id: InstrId,
    own: &Sizes,
    result: &ArrayShape,
) -> Sizes {
    let operands = region.rebuilt.mapped_operands(id);
    let mut make = region.make(id);
    let zero = make.scalar(0i32);
    let mut sizes = Sizes::new();
    for (size, bound) in operands[1..].iter().zip(&result.dims) {
        let size = make.binary(BinaryOp::Maximum, *size, zero);
        let bound = make.scalar(i32::try_from(*bound).unwrap_or(i32::MAX));
        sizes.push(Some(make.binary(BinaryOp::Minimum, size, bound)));
    }
    let value = repacked(region, id, (operands[0], own), (&sizes, result));
    region.rebuilt.replace(id, value);
    sizes
}

/// The elements in order under other sizes: each place of the result is found in the operand by its number
/// among the real elements.
fn repacked(
    region: &mut Region<'_>,
    id: InstrId,
    (x, own): (InstrId, &Sizes),
    (sizes, result): (&Sizes, &ArrayShape),
) -> InstrId {
    let mut make = region.make(id);
    let wide = ElementType::S64;
    let from = make.array(x);
    let zeros = make.zeros(wide, &result.dims);
    let spread_size =
        |make: &mut crate::make::InPlace<'_, '_>, array: Option<InstrId>, bound: i64| {
            let size = match array {
                Some(size) => make.convert(size, wide),
                None => make.scalar(bound),
            };
            make.spread(size, &result.dims)
        };
    // The number of a place among the result's real elements.
    let mut number = zeros;
    for (at, size) in sizes.iter().enumerate() {
        let size = spread_size(&mut make, *size, result.dims[at]);
        let index = make.iota(wide, &result.dims, at);
        number = make.binary(BinaryOp::Multiply, number, size);
        number = make.binary(BinaryOp::Add, number, index);
    }
    // The place of that number in the operand, among its padding.
    let mut place = zeros;
    let mut stride = 1i64;
    for at in (0..from.num_dims()).rev() {
        let size = spread_size(&mut make, own[at], from.dims[at]);
        let index = make.binary(BinaryOp::Remainder, number, size);
        number = make.binary(BinaryOp::Divide, number, size);
        let step = make.scalar(stride);
        let step = make.spread(step, &result.dims);
        let offset = make.binary(BinaryOp::Multiply, index, step);
        place = make.binary(BinaryOp::Add, place, offset);
        stride = stride.saturating_mul(from.dims[at]);
    }
    let flat = make.reshape(x, &[stride]);
    let op = Op::Gather {
        offset_dims: Vec::new(),
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        operand_batching_dims: ElidedDims::default(),
        start_indices_batching_dims: ElidedDims::default(),
        index_vector_dim: result.num_dims() as i64,
        slice_sizes: vec![1],
        indices_are_sorted: false,
    };
    make.make(
        op,
        &[flat, place],
        Shape::array(from.element_type, &result.dims),
    )
}

fn sliced(region: &mut Region<'_>, id: InstrId, own: &Sizes, slices: &[SliceDim]) -> Sizes {
    let operand = region.rebuilt.old().instructions[id].operands[0];
    let x = region.rebuilt.mapped(operand);
    let mut make = region.make(id);
    let bounds = make.array(x).dims;
    let dims = own.iter().zip(slices).zip(bounds);
    let mut sizes = Sizes::new();
    for ((size, slice), bound) in dims {
        let whole = slice.start == 0 && slice.limit == bound && slice.stride == 1;
        sizes.push(match size {
            Some(size) if !whole => Some(slice_size(&mut make, *size, slice)),
            _ => *size,
        });
    }
    sizes
}

/// `ceil((min(limit, size) - start) / stride)`, at least 0.
fn slice_size(make: &mut impl Make, size: InstrId, slice: &SliceDim) -> InstrId {
    let mut number = |value: i64| make.scalar(i32::try_from(value).unwrap_or(i32::MAX));
    let (limit, start) = (number(slice.limit), number(slice.start));
    let (stride, round) = (number(slice.stride), number(slice.stride - 1));
    let zero = number(0);
    let end = make.binary(BinaryOp::Minimum, size, limit);
    let count = make.binary(BinaryOp::Subtract, end, start);
    let count = make.binary(BinaryOp::Maximum, count, zero);
    if slice.stride == 1 {
        return count;
    }
    let count = make.binary(BinaryOp::Add, count, round);
    make.binary(BinaryOp::Divide, count, stride)
}

/// Padding of a real array becomes padding of the padded one, which holds the padding value behind.
fn padded(region: &mut Region<'_>, id: InstrId, own: &Sizes, padding: &[PaddingDim]) -> Sizes {
    let operands = region.rebuilt.mapped_operands(id);
    let mut make = region.make(id);
    let all: Vec<usize> = (0..own.len()).collect();
    let x = cleared_to(&mut make, operands[0], own, &all, operands[1]);
    let mut sizes = Sizes::new();
    for (size, padding) in own.iter().zip(padding) {
        let Some(size) = *size else {
            sizes.push(None);
            continue;
        };
        let zero = make.scalar(0i32);
        let one = make.scalar(1i32);
        let mut number = |value: i64| make.scalar(i32::try_from(value).unwrap_or(0));
        let (edges, interior) = (
            number(padding.low.saturating_add(padding.high)),
            number(padding.interior),
        );
        let gaps = make.binary(BinaryOp::Subtract, size, one);
        let gaps = make.binary(BinaryOp::Maximum, gaps, zero);
        let gaps = make.binary(BinaryOp::Multiply, gaps, interior);
        let sum = make.binary(BinaryOp::Add, size, gaps);
        let sum = make.binary(BinaryOp::Add, sum, edges);
        sizes.push(Some(make.binary(BinaryOp::Maximum, sum, zero)));
    }
    let op = Op::Pad {
        padding: padding.to_vec(),
    };
    put(region, id, op, &[x, operands[1]]);
    sizes
}

/// The reversed padded array begins with padding: a slice begins behind it.
fn reversed(region: &mut Region<'_>, id: InstrId, own: &Sizes, dimensions: &[i64]) {
    let operands = region.rebuilt.mapped_operands(id);
    let mut make = region.make(id);
    let shape = make.array(operands[0]);
    let op = Op::Reverse {
        dimensions: dimensions.to_vec(),
    };
    let turned = make.make(op, &operands, Shape::Array(shape.clone()));
    // Twice the size, so that the slice fits behind the padding.
    let mut dims = shape.dims.to_vec();
    let mut padding = vec![
        PaddingDim {
            low: 0,
            high: 0,
            interior: 0
        };
        dims.len()
    ];
    let zero = make.scalar(0i32);
    let mut starts = vec![zero; dims.len()];
    for at in dimensions
        .iter()
        .map(|dim| *dim as usize)
        .filter(|at| own[*at].is_some())
    {
        let size = size_at(&mut make, operands[0], own, at);
        let bound = make.scalar(i32::try_from(dims[at]).unwrap_or(i32::MAX));
        starts[at] = make.binary(BinaryOp::Subtract, bound, size);
        padding[at].high = dims[at];
        dims[at] *= 2;
    }
    let fill = make.zeros(shape.element_type, &[]);
    let longer = make.make(
        Op::Pad { padding },
        &[turned, fill],
        Shape::array(shape.element_type, &dims),
    );
    let mut operands = vec![longer];
    operands.extend(starts);
    let op = Op::DynamicSlice {
        dynamic_slice_sizes: shape.dims.to_vec(),
    };
    put(region, id, op, &operands);
}

/// Operands are written one behind the other, each over the padding of the one before.
fn concatenated(region: &mut Region<'_>, id: InstrId, at: usize, result: &ArrayShape) -> Sizes {
    let olds = region.rebuilt.old().instructions[id].operands.clone();
    let operands = region.rebuilt.mapped_operands(id);
    let mut sizes: Sizes = vec![None; result.num_dims()];
    for old in &olds {
        for (dim, size) in region.sizes_of(*old).into_iter().enumerate() {
            sizes[dim] = sizes[dim].or(size);
        }
    }
    if sizes[at].is_none() {
        region.copy(id);
        return sizes;
    }
    let own: Vec<Sizes> = olds.iter().map(|old| region.sizes_of(*old)).collect();
    let mut make = region.make(id);
    let zero = make.scalar(0i32);
    let mut offset = zero;
    let mut value = make.zeros(result.element_type, &result.dims);
    let shape = Shape::array(result.element_type, &result.dims);
    for (operand, own) in operands.iter().zip(&own) {
        let mut inputs = vec![value, *operand];
        inputs.extend((0..result.num_dims()).map(|dim| if dim == at { offset } else { zero }));
        value = make.make(Op::DynamicUpdateSlice {}, &inputs, shape.clone());
        let size = size_at(&mut make, *operand, own, at);
        offset = make.binary(BinaryOp::Add, offset, size);
    }
    sizes[at] = Some(offset);
    region.rebuilt.replace(id, value);
    sizes
}

#[cfg(test)]
mod tests {
    use hloc_ir::{ArrayShape, ElementType};

    use super::pieces;

    #[test]
    fn bounds_are_cut_into_pieces_of_equal_products() {
        let cut = |from: &[i64], to: &[i64]| {
            let to = ArrayShape::new(ElementType::F32, to);
            pieces(from, |_| false, &to)
                .map(|all| all.into_iter().map(|p| (p.from, p.to)).collect::<Vec<_>>())
        };
        assert_eq!(
            cut(&[4, 6], &[4, 2, 3]),
            Some(vec![(0..1, 0..1), (1..2, 1..3)])
        );
        assert_eq!(cut(&[4, 6], &[24]), Some(vec![(0..2, 0..1)]));
        assert_eq!(cut(&[4, 6], &[5]), None);
    }
}

//! Ops that move elements: broadcast, reshape, transpose, slice, reverse, pad, concatenate, bitcast.

use hloc_ir::attr::{PaddingDim, SliceDim};
use hloc_ir::{ArrayShape, Layout, Literal, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::walk::Walk;
use super::{Operands, count, dimension, dimensions, ensure, zeros};
use crate::EvalError;

/// One of the ops of this file.
pub(super) fn apply(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    if let Op::Broadcast { dimensions } = op {
        broadcast(x, dimensions, &shape.dims)
    } else if let Op::Reshape { .. } = op {
        Ok(x.reshaped(&shape.dims)?)
    } else if let Op::Bitcast {} = op {
        bitcast(x, None, shape)
    } else if let Op::Transpose { dimensions } = op {
        transpose(x, dimensions)
    } else if let Op::Slice { slice } = op {
        self::slice(x, slice)
    } else if let Op::Reverse { dimensions } = op {
        reverse(x, dimensions)
    } else if let Op::Pad { padding } = op {
        pad(x, operands.array(1)?, padding)
    } else if let Op::Concatenate { dimensions } = op {
        concatenate(&operands.arrays()?, dimensions)
    } else {
        Err(EvalError::unsupported(op, Some(x.element_type())))
    }
}

/// The same bytes under another shape, in the order in which the layouts say that they lie in memory.
pub(super) fn bitcast(
    x: &Array,
    from: Option<&Layout>,
    shape: &ArrayShape,
) -> Result<Array, EvalError> {
    let to = shape.layout.as_deref();
    let order = memory_order(from, x)?;
    let in_memory = if is_identity(&order) {
        x.clone()
    } else {
        transpose(x, &order)?
    };
    let mut result = zeros(shape.element_type, &shape.dims)?;
    let order = memory_order(to, &result)?;
    ensure(
        in_memory.bytes().len() == result.bytes().len(),
        "`bitcast` changes the number of bytes",
    )?;
    let memory_dims: Vec<i64> = order.iter().map(|at| shape.dims[*at as usize]).collect();
    let in_memory = if x.element_type() == shape.element_type {
        in_memory.reshaped(&memory_dims)?
    } else {
        Array::new(shape.element_type, &memory_dims, in_memory.bytes().to_vec())?
    };
    if is_identity(&order) {
        return Ok(in_memory);
    }
    let strides = row_major_strides(&shape.dims);
    Walk {
        dims: memory_dims,
        base: 0,
        strides: order.iter().map(|at| strides[*at as usize]).collect(),
    }
    .write(&in_memory, &mut result)?;
    Ok(result)
}

/// Dimension numbers, the slowest varying first.
fn memory_order(layout: Option<&Layout>, x: &Array) -> Result<Vec<i64>, EvalError> {
    let count = x.num_dims();
    let Some(layout) = layout else {
        return Ok((0..count as i64).collect());
    };
    if layout.suffixes.contains('T') {
        let form = "bitcast with a tiled layout";
        return Err(EvalError::unsupported_form(form, Some(x.element_type())));
    }
    let order: Vec<i64> = layout.minor_to_major.iter().rev().copied().collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    ensure(
        sorted.into_iter().eq(0..count as i64),
        "a layout does not name each dimension once",
    )?;
    Ok(order)
}

fn is_identity(order: &[i64]) -> bool {
    order.iter().copied().eq(0..order.len() as i64)
}

/// Operand dimension `i` becomes result dimension `places[i]`; the others repeat.
fn broadcast(x: &Array, places: &[i64], dims: &[i64]) -> Result<Array, EvalError> {
    ensure(
        places.len() == x.num_dims(),
        "`dimensions` does not match the operand",
    )?;
    let places = dimensions(places, dims.len())?;
    let mut strides = vec![0; dims.len()];
    for (at, stride) in row_major_strides(x.dims()).into_iter().enumerate() {
        ensure(
            x.dims()[at] == dims[places[at]],
            "operand dimensions do not fit the result",
        )?;
        strides[places[at]] = stride;
    }
    let dims = dims.to_vec();
    Walk {
        dims,
        base: 0,
        strides,
    }
    .read(x)
}

/// Result dimension `i` is operand dimension `order[i]`.
fn transpose(x: &Array, order: &[i64]) -> Result<Array, EvalError> {
    ensure(
        order.len() == x.num_dims(),
        "`dimensions` does not match the operand",
    )?;
    let order = dimensions(order, x.num_dims())?;
    let strides = row_major_strides(x.dims());
    Walk {
        dims: order.iter().map(|at| x.dims()[*at]).collect(),
        base: 0,
        strides: order.iter().map(|at| strides[*at]).collect(),
    }
    .read(x)
}

fn slice(x: &Array, slice: &[SliceDim]) -> Result<Array, EvalError> {
    ensure(
        slice.len() == x.num_dims(),
        "`slice` does not match the operand",
    )?;
    let mut walk = Walk::whole(x.dims());
    for (at, part) in slice.iter().enumerate() {
        let fits = 0 <= part.start
            && part.start <= part.limit
            && part.limit <= x.dims()[at]
            && part.stride > 0;
        ensure(fits, "`slice` is out of range")?;
        let taken = part.limit - part.start;
        walk.dims[at] = taken / part.stride + i64::from(taken % part.stride != 0);
        walk.base = walk
            .base
            .saturating_add(part.start.saturating_mul(walk.strides[at]));
        // A stride beyond the dimension takes one element and is never stepped.
        walk.strides[at] = walk.strides[at].saturating_mul(part.stride);
    }
    walk.read(x)
}

fn reverse(x: &Array, numbers: &[i64]) -> Result<Array, EvalError> {
    let mut walk = Walk::whole(x.dims());
    for at in dimensions(numbers, x.num_dims())? {
        let last = (x.dims()[at] - 1).max(0).saturating_mul(walk.strides[at]);
        walk.base = walk.base.saturating_add(last);
        walk.strides[at] = -walk.strides[at];
    }
    walk.read(x)
}

/// Interior padding spreads the elements, then the edges grow or, negative, shrink.
fn pad(x: &Array, value: &Array, padding: &[PaddingDim]) -> Result<Array, EvalError> {
    let fits = padding.len() == x.num_dims()
        && value.num_dims() == 0
        && value.element_type() == x.element_type();
    ensure(fits, "`padding` does not match the operands")?;
    let spread = |at: usize, index: i64| {
        let step = padding[at].interior.saturating_add(1);
        index.saturating_mul(step).saturating_add(padding[at].low)
    };
    let dims: Vec<i64> = (0..x.num_dims())
        .map(|at| {
            // Of an empty dimension only the edges are left.
            let end = match x.dims()[at] {
                0 => padding[at].low,
                size => spread(at, size - 1).saturating_add(1),
            };
            end.saturating_add(padding[at].high).max(0)
        })
        .collect();
    let size = x.element_type().size();
    let mut result = zeros(x.element_type(), &dims)?;
    let target = result.bytes_mut();
    target
        .chunks_exact_mut(size)
        .for_each(|bytes| bytes.copy_from_slice(value.bytes()));
    let strides = row_major_strides(&dims);
    let mut indices = IndexIter::new(x.dims());
    let mut elements = x.bytes().chunks_exact(size);
    while let (Some(index), Some(bytes)) = (indices.next_index(), elements.next()) {
        let mut position = Some(0);
        for (at, index) in index.iter().enumerate() {
            let place = spread(at, *index);
            let inside = (0..dims[at]).contains(&place);
            position = position
                .filter(|_| inside)
                .map(|position| position + place * strides[at]);
        }
        if let Some(position) = position {
            target[position as usize * size..][..size].copy_from_slice(bytes);
        }
    }
    Ok(result)
}

fn concatenate(operands: &[&Array], numbers: &[i64]) -> Result<Array, EvalError> {
    let (Some(first), [number]) = (operands.first(), numbers) else {
        return Err(EvalError::argument(
            "`concatenate` joins along one dimension",
        ));
    };
    let at = dimension(*number, first.num_dims())?;
    let mut dims = first.dims().to_vec();
    dims[at] = 0;
    for operand in operands {
        let mut others = operand.dims().to_vec();
        let fits = others.len() == dims.len() && operand.element_type() == first.element_type();
        ensure(fits, "the operands do not go together")?;
        others[at] = dims[at];
        ensure(
            others == dims,
            "the operands have other dimensions that differ",
        )?;
        dims[at] += operand.dims()[at];
    }
    let size = first.element_type().size();
    let mut result = zeros(first.element_type(), &dims)?;
    if result.num_elements() == 0 {
        return Ok(result);
    }
    let (rows, inner) = (count(&dims[..at]), count(&dims[at + 1..]));
    let target = result.bytes_mut();
    let mut next = 0;
    for row in 0..rows {
        for operand in operands {
            let length = operand.dims()[at] as usize * inner * size;
            target[next..next + length].copy_from_slice(&operand.bytes()[row * length..][..length]);
            next += length;
        }
    }
    Ok(result)
}

/// The size of one dimension as s32; sizes are static here.
pub(super) fn dimension_size(numbers: &[i64], operands: &Operands) -> Result<Literal, EvalError> {
    let x = operands.array(0)?;
    let [number] = numbers else {
        return Err(EvalError::argument(
            "`get-dimension-size` names one dimension",
        ));
    };
    let size = x.dims()[dimension(*number, x.num_dims())?];
    Ok(Literal::Array(Array::scalar(size as i32)))
}

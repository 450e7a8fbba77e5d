//! `gather`: slices of the operand at places that the indices list, always moved into range.

use hloc_ir::{ArrayShape, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::dynamic::integer;
use super::walk::Walk;
use super::{Operands, dimension, dimensions, ensure, zeros};
use crate::EvalError;

/// The list of index vectors that `gather` and `scatter` read.
pub(super) struct Indices<'a> {
    array: &'a Array,
    /// Which dimension holds the components; equal to the number of dimensions if it is implied.
    vector_dim: usize,
    strides: Vec<i64>,
}

impl<'a> Indices<'a> {
    pub(super) fn new(array: &'a Array, vector_dim: i64) -> Result<Indices<'a>, EvalError> {
        Ok(Indices {
            array,
            vector_dim: dimension(vector_dim, array.num_dims() + 1)?,
            strides: row_major_strides(array.dims()),
        })
    }

    /// The indices' dimensions without the one of the components.
    pub(super) fn batch_dims(&self) -> Vec<i64> {
        let dims = self.array.dims().iter().enumerate();
        dims.filter(|(at, _)| *at != self.vector_dim)
            .map(|(_, dim)| *dim)
            .collect()
    }

    /// The place of indices dimension `dim` among the batch dimensions.
    pub(super) fn batch_place(&self, dim: usize) -> usize {
        if dim > self.vector_dim { dim - 1 } else { dim }
    }

    /// Component `at` of the index vector at `batch`.
    pub(super) fn component(&self, batch: &[i64], at: usize) -> Result<i128, EvalError> {
        let mut batch = batch.iter();
        let mut position = 0;
        for (dim, stride) in self.strides.iter().enumerate() {
            let index = if dim == self.vector_dim {
                at as i64
            } else {
                batch.next().copied().unwrap_or(0)
            };
            position += index * stride;
        }
        ensure(
            (position as usize) < self.array.num_elements(),
            "an index vector is too short",
        )?;
        integer(self.array, position as usize)
    }

    /// The full start index of the window at `batch`: what the index vector says for the dimensions
    /// of `map`, the batch coordinate for the operand's batching dimensions, 0 elsewhere.
    pub(super) fn start(
        &self,
        batch: &[i64],
        map: &[usize],
        batching: &[(usize, usize)],
        count: usize,
    ) -> Result<Vec<i128>, EvalError> {
        let mut start = vec![0; count];
        for (component, dim) in map.iter().enumerate() {
            start[*dim] = self.component(batch, component)?;
        }
        for (operand_dim, indices_dim) in batching {
            let place = self.batch_place(*indices_dim);
            let coordinate = batch.get(place).copied();
            start[*operand_dim] = coordinate
                .ok_or_else(|| EvalError::argument("a batching dimension is out of range"))?
                .into();
        }
        Ok(start)
    }
}

/// Pairs of batching dimensions of the operand and the indices.
pub(super) fn batching_pairs(
    operand_dims: &[i64],
    indices_dims: &[i64],
    operand: &Array,
    indices: &Array,
) -> Result<Vec<(usize, usize)>, EvalError> {
    ensure(
        operand_dims.len() == indices_dims.len(),
        "operand and indices have different numbers of batching dimensions",
    )?;
    let operand_dims = dimensions(operand_dims, operand.num_dims())?;
    let indices_dims = dimensions(indices_dims, indices.num_dims())?;
    Ok(operand_dims.into_iter().zip(indices_dims).collect())
}

/// Where the elements of a slice lie in the operand and in the result, and how index vectors are read.
struct Plan<'a> {
    indices: Indices<'a>,
    map: Vec<usize>,
    batching: Vec<(usize, usize)>,
    /// Positions of a slice's elements relative to its first, in the operand and in the result.
    from: Vec<usize>,
    to: Vec<usize>,
    from_strides: Vec<i64>,
    /// Strides of the result along its batch dimensions.
    batch_strides: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn new(
        op: &Op,
        x: &Array,
        indices_array: &'a Array,
        shape: &ArrayShape,
    ) -> Result<Plan<'a>, EvalError> {
        let Op::Gather {
            offset_dims,
            collapsed_slice_dims,
            start_index_map,
            operand_batching_dims,
            start_indices_batching_dims,
            index_vector_dim,
            slice_sizes,
            ..
        } = op
        else {
            return Err(EvalError::unsupported(op, None));
        };
        let count = x.num_dims();
        let skipped = [&collapsed_slice_dims[..], &operand_batching_dims[..]].concat();
        let kept: Vec<usize> = (0..count)
            .filter(|at| !skipped.contains(&(*at as i64)))
            .collect();
        let offsets = dimensions(offset_dims, shape.num_dims())?;
        ensure(
            offsets.len() == kept.len(),
            "`offset_dims` does not fit the slices",
        )?;
        let (from_strides, to_strides) =
            (row_major_strides(x.dims()), row_major_strides(&shape.dims));
        let positions = |strides: &[i64], places: &[usize]| {
            Walk {
                dims: kept.iter().map(|at| slice_sizes[*at]).collect(),
                base: 0,
                strides: places.iter().map(|at| strides[*at]).collect(),
            }
            .positions()
        };
        Ok(Plan {
            indices: Indices::new(indices_array, *index_vector_dim)?,
            map: dimensions(start_index_map, count)?,
            batching: batching_pairs(
                operand_batching_dims,
                start_indices_batching_dims,
                x,
                indices_array,
            )?,
            from: positions(&from_strides, &kept),
            to: positions(&to_strides, &offsets),
            from_strides,
            batch_strides: (0..shape.num_dims())
                .filter(|at| !offsets.contains(at))
                .map(|at| to_strides[at])
                .collect(),
        })
    }
}

/// Gathers in full generality.
pub(super) fn gather(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let Op::Gather { slice_sizes, .. } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let (x, indices) = (operands.array(0)?, operands.array(1)?);
    let sizes_fit = slice_sizes.len() == x.num_dims()
        && slice_sizes
            .iter()
            .zip(x.dims())
            .all(|(size, dim)| (0..=*dim).contains(size));
    ensure(sizes_fit, "`slice_sizes` does not fit the operand")?;
    let plan = Plan::new(op, x, indices, shape)?;
    let size = x.element_type().size();
    let mut result = zeros(x.element_type(), &shape.dims)?;
    if result.num_elements() == 0 {
        return Ok(result);
    }
    let target = result.bytes_mut();
    let mut batches = IndexIter::new(&plan.indices.batch_dims());
    while let Some(batch) = batches.next_index() {
        let start = plan
            .indices
            .start(batch, &plan.map, &plan.batching, x.num_dims())?;
        let mut from = 0;
        for (at, start) in start.iter().enumerate() {
            let start = (*start).clamp(0, (x.dims()[at] - slice_sizes[at]).into());
            from += start as i64 * plan.from_strides[at];
        }
        let to: i64 = plan
            .batch_strides
            .iter()
            .zip(batch)
            .map(|(stride, index)| stride * index)
            .sum();
        for (read, write) in plan.from.iter().zip(&plan.to) {
            let read = (from as usize + read) * size;
            let write = (to as usize + write) * size;
            let (Some(source), Some(bytes)) = (
                x.bytes().get(read..read + size),
                target.get_mut(write..write + size),
            ) else {
                return Err(EvalError::argument("the result does not fit the slices"));
            };
            bytes.copy_from_slice(source);
        }
    }
    Ok(result)
}

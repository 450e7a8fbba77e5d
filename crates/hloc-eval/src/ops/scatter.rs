//! `scatter`: combines windows of updates into the operands, in the order of the indices.
//!
//! A window that would reach outside of the operand is left out as a whole.

use hloc_ir::{Literal, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::callee::Callee;
use super::gather::{Indices, batching_pairs};
use super::reduce::tuple_of;
use super::walk::Walk;
use super::{Operands, dimensions, ensure};
use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::Value;

/// Scatters in full generality: N operands, indices, N updates.
pub(super) fn scatter(
    evaluator: Evaluator<'_>,
    op: &Op,
    mut operands: Operands,
) -> Result<Literal, EvalError> {
    let Op::Scatter { to_apply, .. } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let count = operands.0.len() / 2;
    let mut targets: Vec<Array> = (0..count)
        .map(|at| operands.take_array(at))
        .collect::<Result<_, _>>()?;
    let indices = operands.array(count)?;
    let updates = operands.arrays_from(count + 1)?;
    check(&targets, &updates)?;
    if updates[0].num_elements() == 0 {
        return Ok(tuple_of(targets));
    }
    let plan = Plan::new(op, &targets[0], indices, updates[0])?;
    let mut callee = Callee::new(evaluator, *to_apply, 2 * count)?;
    let mut batches = IndexIter::new(&plan.indices.batch_dims());
    while let Some(batch) = batches.next_index() {
        if let Some((to, from)) = plan.window(batch)? {
            plan.combine(&mut targets, to, &updates, from, &mut callee)?;
        }
    }
    Ok(tuple_of(targets))
}

fn check(targets: &[Array], updates: &[&Array]) -> Result<(), EvalError> {
    let fits = !targets.is_empty()
        && targets.len() == updates.len()
        && targets
            .iter()
            .all(|target| target.dims() == targets[0].dims())
        && updates
            .iter()
            .all(|update| update.dims() == updates[0].dims());
    ensure(
        fits,
        "`scatter` takes arrays of equal dimensions, indices, and as many updates",
    )
}

/// Where the elements of a window lie in the operand and in the updates, and how index vectors are read.
struct Plan<'a> {
    indices: Indices<'a>,
    map: Vec<usize>,
    batching: Vec<(usize, usize)>,
    operand_dims: Vec<i64>,
    operand_strides: Vec<i64>,
    /// Size of a window along each operand dimension.
    window_sizes: Vec<i64>,
    /// Positions of a window's elements relative to its first, in the operand and in the updates.
    to: Vec<usize>,
    from: Vec<usize>,
    /// Strides of the updates along their batch dimensions.
    batch_strides: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn new(
        op: &Op,
        target: &Array,
        indices_array: &'a Array,
        update: &Array,
    ) -> Result<Plan<'a>, EvalError> {
        let Op::Scatter {
            update_window_dims,
            inserted_window_dims,
            scatter_dims_to_operand_dims,
            input_batching_dims,
            scatter_indices_batching_dims,
            index_vector_dim,
            ..
        } = op
        else {
            return Err(EvalError::unsupported(op, None));
        };
        let (dims, update_dims) = (target.dims(), update.dims());
        let indices = Indices::new(indices_array, *index_vector_dim)?;
        let skipped = [&inserted_window_dims[..], &input_batching_dims[..]].concat();
        let kept: Vec<usize> = (0..dims.len())
            .filter(|at| !skipped.contains(&(*at as i64)))
            .collect();
        let places = dimensions(update_window_dims, update_dims.len())?;
        ensure(
            kept.len() == places.len(),
            "`update_window_dims` does not fit the operand",
        )?;
        let batch_places: Vec<usize> = (0..update_dims.len())
            .filter(|at| !places.contains(at))
            .collect();
        let batch_dims = batch_places.iter().map(|at| update_dims[*at]);
        ensure(
            batch_dims.eq(indices.batch_dims()),
            "the updates do not fit the indices",
        )?;
        let mut window_sizes = vec![1; dims.len()];
        for (operand_dim, update_dim) in kept.iter().zip(&places) {
            window_sizes[*operand_dim] = update_dims[*update_dim];
        }
        let (strides, update_strides) = (row_major_strides(dims), row_major_strides(update_dims));
        let positions = |strides: &[i64], chosen: &[usize]| {
            Walk {
                dims: places.iter().map(|at| update_dims[*at]).collect(),
                base: 0,
                strides: chosen.iter().map(|at| strides[*at]).collect(),
            }
            .positions()
        };
        Ok(Plan {
            map: dimensions(scatter_dims_to_operand_dims, dims.len())?,
            batching: batching_pairs(
                input_batching_dims,
                scatter_indices_batching_dims,
                target,
                indices_array,
            )?,
            indices,
            operand_dims: dims.to_vec(),
            window_sizes,
            to: positions(&strides, &kept),
            from: positions(&update_strides, &places),
            operand_strides: strides,
            batch_strides: batch_places.iter().map(|at| update_strides[*at]).collect(),
        })
    }

    /// The positions of a window's first element in the operand and in the updates, `None` if the
    /// window reaches outside.
    fn window(&self, batch: &[i64]) -> Result<Option<(usize, usize)>, EvalError> {
        let count = self.operand_dims.len();
        let start = self
            .indices
            .start(batch, &self.map, &self.batching, count)?;
        let inside = start.iter().enumerate().all(|(at, start)| {
            let end = start.saturating_add(self.window_sizes[at].into());
            *start >= 0 && end <= self.operand_dims[at].into()
        });
        if !inside {
            return Ok(None);
        }
        let places = start.iter().zip(&self.operand_strides);
        let to: i64 = places.map(|(at, stride)| *at as i64 * stride).sum();
        let places = batch.iter().zip(&self.batch_strides);
        let from: i64 = places.map(|(at, stride)| at * stride).sum();
        Ok(Some((to as usize, from as usize)))
    }

    /// Each element becomes `to_apply(old, update)`.
    fn combine(
        &self,
        targets: &mut [Array],
        to: usize,
        updates: &[&Array],
        from: usize,
        callee: &mut Callee<'_>,
    ) -> Result<(), EvalError> {
        let mut results = vec![Value::Pred(false); targets.len()];
        let mut old = results.clone();
        for (write, read) in self.to.iter().zip(&self.from) {
            for (old, target) in old.iter_mut().zip(&*targets) {
                *old = Value::at(target, to + write);
            }
            let new = updates.iter().map(|update| Value::at(update, from + read));
            callee.call(old.iter().copied().chain(new), &mut results)?;
            for (target, result) in targets.iter_mut().zip(&results) {
                let ty = target.element_type();
                let size = ty.size();
                result.write(ty, &mut target.bytes_mut()[(to + write) * size..][..size]);
            }
        }
        Ok(())
    }
}

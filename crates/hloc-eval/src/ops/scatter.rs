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
    let Op::Scatter {
        update_window_dims,
        inserted_window_dims,
        scatter_dims_to_operand_dims,
        input_batching_dims,
        scatter_indices_batching_dims,
        index_vector_dim,
        to_apply,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let count = operands.0.len() / 2;
    let mut targets: Vec<Array> = (0..count)
        .map(|at| operands.take_array(at))
        .collect::<Result<_, _>>()?;
    let indices_array = operands.array(count)?;
    let updates = operands.arrays_from(count + 1)?;
    check(&targets, &updates)?;
    let (operand_dims, update_dims) = (targets[0].dims().to_vec(), updates[0].dims().to_vec());
    let num_dims = operand_dims.len();

    let indices = Indices::new(indices_array, *index_vector_dim)?;
    let map = dimensions(scatter_dims_to_operand_dims, num_dims)?;
    let batching = batching_pairs(
        input_batching_dims,
        scatter_indices_batching_dims,
        &targets[0],
        indices_array,
    )?;
    let skipped = [&inserted_window_dims[..], &input_batching_dims[..]].concat();
    let kept: Vec<usize> = (0..num_dims)
        .filter(|at| !skipped.contains(&(*at as i64)))
        .collect();
    let window_places = dimensions(update_window_dims, update_dims.len())?;
    ensure(
        kept.len() == window_places.len(),
        "`update_window_dims` does not fit the operand",
    )?;
    let mut window_sizes = vec![1; num_dims];
    for (operand_dim, update_dim) in kept.iter().zip(&window_places) {
        window_sizes[*operand_dim] = update_dims[*update_dim];
    }

    let window_dims: Vec<i64> = window_places.iter().map(|at| update_dims[*at]).collect();
    let strides = row_major_strides(&operand_dims);
    let update_strides = row_major_strides(&update_dims);
    let positions = |strides: &[i64], places: &[usize]| {
        let strides = places.iter().map(|at| strides[*at]).collect();
        Walk {
            dims: window_dims.clone(),
            base: 0,
            strides,
        }
        .positions()
    };
    let window = Window {
        to: positions(&strides, &kept),
        from: positions(&update_strides, &window_places),
    };
    let batch_places: Vec<usize> = (0..update_dims.len())
        .filter(|at| !window_places.contains(at))
        .collect();
    let batch_dims = indices.batch_dims();
    ensure(
        batch_places
            .iter()
            .map(|at| update_dims[*at])
            .eq(batch_dims.iter().copied()),
        "the updates do not fit the indices",
    )?;
    let mut callee = Callee::new(evaluator, *to_apply, 2 * count)?;
    let mut batches = IndexIter::new(&batch_dims);
    while let Some(batch) = batches.next_index() {
        let start = indices.start(batch, &map, &batching, num_dims)?;
        let inside = start.iter().enumerate().all(|(at, start)| {
            *start >= 0 && start + i128::from(window_sizes[at]) <= operand_dims[at].into()
        });
        if inside {
            let to: i64 = start
                .iter()
                .zip(&strides)
                .map(|(at, stride)| *at as i64 * stride)
                .sum();
            let from = batch_places
                .iter()
                .zip(batch)
                .map(|(at, index)| update_strides[*at] * index);
            let from: i64 = from.sum();
            window.combine(
                &mut targets,
                to as usize,
                &updates,
                from as usize,
                &mut callee,
            )?;
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

/// Positions of one window's elements, relative to the window's first.
struct Window {
    to: Vec<usize>,
    from: Vec<usize>,
}

impl Window {
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

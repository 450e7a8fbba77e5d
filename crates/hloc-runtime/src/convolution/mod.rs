//! `convolution` as products of matrices.
//!
//! A row is one place of the output (batch element and spatial position), a column one output feature,
//! and what is summed over are the window's elements with the input features. Rows are packed block by
//! block: places outside the input become zeros. Groups of features or of the batch are products of
//! their own. Blocks depend on the shapes alone, so the number of threads changes no bit.

mod depthwise;
mod direct;
mod geometry;
mod lines;
mod pack;
mod pointwise;
#[cfg(test)]
mod tests;
mod tile;
#[cfg(target_arch = "x86_64")]
mod tile_256;

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use hloc_ir::ElementType;
use hloc_linalg::{Packed, Routines};
use hloc_loops::routine::{Convolution, RoutineCall};
use hloc_tensor::Complex;

use crate::RunError;
use crate::linalg::Narrow;
use crate::pool::WorkerPool;
use crate::routine::{Routine, unsupported};
use depthwise::Depthwise;
use direct::Direct;
use geometry::Geometry;
use pointwise::Pointwise;

/// Elements of packed rows at a time: they fit in a second-level cache.
const BLOCK_ELEMENTS: usize = 32 * 1024;
/// Fewest and most rows of a block.
const BLOCK_ROWS: std::ops::RangeInclusive<usize> = 8..=512;

/// Prepares a convolution.
///
/// # Errors
/// [`RunError::UnsupportedCall`] for integers, [`RunError::InvalidProgram`] for shapes that do not fit.
pub(crate) fn plan(call: &RoutineCall, asked: &Convolution) -> Result<Box<dyn Routine>, RunError> {
    if let Some((narrow, wide)) = Narrow::of(call) {
        return Ok(Box::new(narrow.around(plan(&wide, asked)?)));
    }
    let geometry = Geometry::new(call, asked)?;
    let all = call.inputs.iter().chain(&call.outputs);
    let mut types = all.map(|shape| shape.element_type);
    let first = types.next().unwrap_or(ElementType::Pred);
    if types.any(|other| other != first) {
        return Err(unsupported(call));
    }
    if let Some(pointwise) = Pointwise::new(&geometry, first) {
        return Ok(Box::new(pointwise));
    }
    if first == ElementType::F32
        && let Some(direct) = Direct::new(&geometry)
    {
        return Ok(Box::new(direct));
    }
    if first == ElementType::F32 {
        Ok(in_type::<f32>(geometry))
    } else if first == ElementType::F64 {
        Ok(in_type::<f64>(geometry))
    } else if first == ElementType::C64 {
        Ok(in_type::<Complex<f32>>(geometry))
    } else if first == ElementType::C128 {
        Ok(in_type::<Complex<f64>>(geometry))
    } else {
        Err(unsupported(call))
    }
}

/// The best way for an element type in general.
fn in_type<T: Routines>(geometry: Geometry) -> Box<dyn Routine> {
    if let Some(depthwise) = Depthwise::<T>::new(&geometry) {
        return Box::new(depthwise);
    }
    Box::new(Products::<T>::new(geometry))
}

/// A convolution in one element type.
#[derive(Debug)]
struct Products<T> {
    geometry: Geometry,
    /// Rows of a block.
    rows: usize,
    /// Rows that one task computes: a multiple of those whose results lie together.
    task_rows: usize,
    field: PhantomData<fn() -> T>,
}

impl<T: Routines> Products<T> {
    fn new(geometry: Geometry) -> Products<T> {
        let fitting = BLOCK_ELEMENTS / geometry.terms().max(1);
        let rows = fitting.clamp(*BLOCK_ROWS.start(), *BLOCK_ROWS.end());
        let unit = geometry.contiguous_rows().max(1);
        Products {
            task_rows: rows.div_ceil(unit) * unit,
            rows,
            geometry,
            field: PhantomData,
        }
    }

    /// Computes the rows from `first` on whose results are `target`.
    fn task(&self, input: &[T], kernels: &[T], first: usize, target: &mut [T]) {
        let geometry = &self.geometry;
        let (terms, features) = (geometry.terms(), geometry.group_features());
        let count = target.len() / geometry.features();
        let mut packed = vec![T::zero(); self.rows * terms];
        let mut products = vec![T::zero(); self.rows * features];
        let start = geometry.output_offset(first);
        for group in 0..geometry.groups() {
            let kernel = &kernels[group * terms * features..(group + 1) * terms * features];
            for begin in (first..first + count).step_by(self.rows) {
                let rows = self.rows.min(first + count - begin);
                let packed = &mut packed[..rows * terms];
                let products = &mut products[..rows * features];
                let by_rows = pack::input(geometry, group, begin, rows, input, packed);
                let lhs = if by_rows {
                    Packed::Rows(packed)
                } else {
                    Packed::Columns(packed)
                };
                T::multiply(products, [rows, features], lhs, kernel);
                let to = geometry.feature_offset(group);
                for (row, values) in products.chunks_exact(features).enumerate() {
                    let at = geometry.output_offset(begin + row) + to - start;
                    pack::spread(values, &mut target[at..], geometry.feature_stride());
                }
            }
        }
    }
}

impl<T: Routines> Routine for Products<T> {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool) {
        let ([input, kernel], [output]) = (inputs, outputs) else {
            return;
        };
        if output.is_empty() {
            return;
        }
        if input.is_empty() || kernel.is_empty() {
            output.fill(0);
            return;
        }
        let input: &[T] = bytemuck::cast_slice(input);
        let kernels = pack::kernels(&self.geometry, bytemuck::cast_slice(kernel));
        let output: &mut [T] = bytemuck::cast_slice_mut(output);
        let size = self.task_rows * self.geometry.features();
        let targets: Vec<_> = output.chunks_mut(size).map(Mutex::new).collect();
        pool.run(targets.len(), &|number| {
            // Each task has its own target; the lock is never waited for.
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.task(input, &kernels, number * self.task_rows, &mut target);
        });
    }
}

//! Running a `dot`: operands into the working type, products block by block, sums out of it.

#![expect(
    unsafe_code,
    reason = "blocks of one result are written from several threads"
)]

use std::ops::Range;

use hloc_tensor::Complex;

use super::convert::{WorkElement, pack, unpack};
use super::gemm::{self, Block, GemmElement, Matrix, Target};
use super::plan::{DotPlan, Operand, Work, scratch_part};
use super::vector;
use crate::pool::WorkerPool;

/// Less work than this, in nanoseconds, stays on one thread.
const SERIAL_BELOW: usize = 40_000;

/// What one task should cost, in nanoseconds.
const TASK_COST: usize = 40_000;

/// Rows or columns that a block should at least have: each block packs the other operand anew.
const MIN_BLOCK: usize = 256;

/// Blocks of rows and of columns are multiples of these, to fit the tiles of `gemm`: as small as they can be, for
/// blocks of one size keep all threads busy to the end.
const ROWS_ALIGN: usize = 6;
const COLUMNS_ALIGN: usize = 16;

/// Fewest rows of a block, and their alignment, where nothing is packed.
const VECTOR_ALIGN: usize = 48;

/// Up to this many products, plain loops are faster than `gemm`.
const PLAIN_UP_TO: usize = 512;

/// How the products are split into tasks.
///
/// It depends on sizes alone, never on the number of threads: so neither do the bits of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partition {
    /// Each task multiplies this many matrices of the batch.
    Batch(usize),
    /// Each task does this many rows of one result matrix.
    Rows(usize),
    /// Each task does this many columns of one result matrix.
    Columns(usize),
}

impl Partition {
    pub(super) fn new(work: Work, batch: usize, [m, n, k]: [usize; 3]) -> Partition {
        // Products per nanosecond of one thread, about.
        let speed = match work {
            Work::F32 => 24,
            Work::F64 => 12,
            Work::C64 => 6,
            Work::C128 => 3,
            Work::Integer => 1,
        };
        let products = m.saturating_mul(n).saturating_mul(k);
        let cost = if m == 1 || n == 1 {
            // Bound by memory: about a nanosecond for 2 elements of 4 bytes.
            products.saturating_mul(work.element_type().size()) / 8
        } else {
            products / speed
        };
        if cost.saturating_mul(batch) < SERIAL_BELOW {
            return Partition::Batch(batch.max(1));
        }
        let packs = m > 1 && n > 1;
        let min_block = if packs { MIN_BLOCK } else { VECTOR_ALIGN };
        let blocks = (cost / TASK_COST).min(m.max(n) / min_block);
        if blocks < 2 {
            return Partition::Batch((TASK_COST / cost.max(1)).clamp(1, batch.max(1)));
        }
        let size = |extent: usize, align: usize| {
            let align = if packs { align } else { VECTOR_ALIGN };
            extent.div_ceil(blocks).next_multiple_of(align)
        };
        if m >= n {
            Partition::Rows(size(m, ROWS_ALIGN))
        } else {
            Partition::Columns(size(n, COLUMNS_ALIGN))
        }
    }

    /// Number of tasks.
    fn tasks(self, plan: &DotPlan) -> usize {
        match self {
            Partition::Batch(size) => plan.batch.div_ceil(size),
            Partition::Rows(size) => plan.batch * plan.m.div_ceil(size),
            Partition::Columns(size) => plan.batch * plan.n.div_ceil(size),
        }
    }

    /// The batch elements, rows and columns of a task.
    fn task(self, plan: &DotPlan, task: usize) -> [Range<usize>; 3] {
        let part = |index: usize, size: usize, extent: usize| {
            index * size..((index + 1) * size).min(extent)
        };
        match self {
            Partition::Batch(size) => [part(task, size, plan.batch), 0..plan.m, 0..plan.n],
            Partition::Rows(size) => {
                let blocks = plan.m.div_ceil(size);
                let batch = task / blocks;
                [
                    batch..batch + 1,
                    part(task % blocks, size, plan.m),
                    0..plan.n,
                ]
            }
            Partition::Columns(size) => {
                let blocks = plan.n.div_ceil(size);
                let batch = task / blocks;
                [
                    batch..batch + 1,
                    0..plan.m,
                    part(task % blocks, size, plan.n),
                ]
            }
        }
    }
}

/// A working type that can be multiplied.
trait DotElement: WorkElement + Send + Sync {
    /// `block[i, j] = sum over l < k of lhs[i, l] * rhs[j, l]`.
    fn multiply(k: usize, lhs: Matrix<'_, Self>, rhs: Matrix<'_, Self>, block: &mut Block<Self>);
}

macro_rules! float_elements {
    ($( $ty:ty ),*) => { $(
        impl DotElement for $ty {
            fn multiply(k: usize, lhs: Matrix<'_, $ty>, rhs: Matrix<'_, $ty>, block: &mut Block<$ty>) {
                if k == 0 || block.rows * block.columns * k <= PLAIN_UP_TO {
                    plain(k, lhs, rhs, block, <$ty as GemmElement>::ZERO, |sum, a, b| sum + a * b);
                } else if !vector::multiply(k, lhs, rhs, block) {
                    gemm::multiply(k, lhs, rhs, block);
                }
            }
        }
    )* };
}

float_elements!(f32, f64, Complex<f32>, Complex<f64>);

impl DotElement for i64 {
    fn multiply(k: usize, lhs: Matrix<'_, i64>, rhs: Matrix<'_, i64>, block: &mut Block<i64>) {
        plain(k, lhs, rhs, block, 0, |sum, a, b| {
            sum.wrapping_add(a.wrapping_mul(b))
        });
    }
}

fn plain<T: Copy>(
    k: usize,
    lhs: Matrix<'_, T>,
    rhs: Matrix<'_, T>,
    block: &mut Block<T>,
    zero: T,
    add_product: impl Fn(T, T, T) -> T,
) {
    for i in 0..block.rows {
        for (j, element) in block.row(i).iter_mut().enumerate() {
            let at = |matrix: Matrix<'_, T>, row: usize, column: usize| {
                matrix.data[row * matrix.row_stride + column * matrix.column_stride]
            };
            *element = (0..k).fold(zero, |sum, l| {
                add_product(sum, at(lhs, i, l), at(rhs, j, l))
            });
        }
    }
}

impl DotPlan {
    /// Computes the result from the bytes of both operands.
    ///
    /// `scratch` has at least [`DotPlan::scratch_bytes`]; all slices begin at cache lines. Slices of other
    /// sizes than the plan's shapes cause a panic, not undefined behavior.
    pub(crate) fn run(
        &self,
        lhs: &[u8],
        rhs: &[u8],
        result: &mut [u8],
        scratch: &mut [u8],
        pool: &WorkerPool,
    ) {
        match self.work {
            Work::F32 => self.run_as::<f32>(lhs, rhs, result, scratch, pool),
            Work::F64 => self.run_as::<f64>(lhs, rhs, result, scratch, pool),
            Work::C64 => self.run_as::<Complex<f32>>(lhs, rhs, result, scratch, pool),
            Work::C128 => self.run_as::<Complex<f64>>(lhs, rhs, result, scratch, pool),
            Work::Integer => self.run_as::<i64>(lhs, rhs, result, scratch, pool),
        }
    }

    fn run_as<W: DotElement>(
        &self,
        lhs: &[u8],
        rhs: &[u8],
        result: &mut [u8],
        scratch: &mut [u8],
        pool: &WorkerPool,
    ) {
        let [lhs_elements, rhs_elements, result_elements] = self.scratch_elements();
        let size = size_of::<W>();
        let (lhs_scratch, rest) = scratch.split_at_mut(scratch_part(lhs_elements, size));
        let (rhs_scratch, rest) = rest.split_at_mut(scratch_part(rhs_elements, size));
        let lhs = operand_matrices::<W>(&self.lhs, lhs, lhs_scratch);
        let rhs = operand_matrices::<W>(&self.rhs, rhs, rhs_scratch);
        if self.converts_result() {
            let sums = &mut rest[..result_elements * size];
            self.multiply_all(lhs, rhs, bytemuck::cast_slice_mut::<u8, W>(sums), pool);
            unpack::<W>(self.result_type, bytemuck::cast_slice(sums), result);
        } else {
            self.multiply_all(lhs, rhs, bytemuck::cast_slice_mut::<u8, W>(result), pool);
        }
    }

    fn multiply_all<W: DotElement>(
        &self,
        lhs: &[W],
        rhs: &[W],
        result: &mut [W],
        pool: &WorkerPool,
    ) {
        if result.is_empty() {
            return;
        }
        let target = Target::new(result);
        pool.run(self.partition.tasks(self), &|task| {
            let [batches, rows, columns] = self.partition.task(self, task);
            for batch in batches {
                let lhs = matrix(&self.lhs, lhs, batch, rows.start);
                let rhs = matrix(&self.rhs, rhs, batch, columns.start);
                let offset = (batch * self.m + rows.start) * self.n + columns.start;
                // SAFETY: `result` is borrowed until `run` returns, and no two tasks share an element.
                let mut block =
                    unsafe { target.block(offset, [rows.len(), columns.len()], self.n) };
                W::multiply(self.k, lhs, rhs, &mut block);
            }
        });
    }
}

/// The operand's elements as they are read: in place, or copied to scratch memory.
fn operand_matrices<'a, W: DotElement>(
    operand: &Operand,
    bytes: &'a [u8],
    scratch: &'a mut [u8],
) -> &'a [W] {
    let Some(walk) = &operand.packing else {
        return bytemuck::cast_slice(bytes);
    };
    let used = operand.scratch_elements * size_of::<W>();
    let packed: &mut [W] = bytemuck::cast_slice_mut(&mut scratch[..used]);
    pack(operand.element_type, bytes, walk, packed);
    packed
}

/// The matrix of one batch element, from `row` on.
fn matrix<'a, W>(operand: &Operand, data: &'a [W], batch: usize, row: usize) -> Matrix<'a, W> {
    let offset = operand.batch_offset(batch) + row * operand.row_stride;
    Matrix {
        // Nothing is left, and nothing read, if there are no contracting elements.
        data: data.get(offset..).unwrap_or(&[]),
        row_stride: operand.row_stride,
        column_stride: operand.column_stride,
    }
}

//! Products of `f32` matrices in tiles of 6 by 16 sums, for processors with vectors of 256 bits and no wider ones.
//!
//! Both matrices are copied in strips, rows of the left by 6 and columns of the right by 16, so that a tile reads two
//! rows of memory from end to end: the strip of the right stays in the first cache while that of the left
//! passes, and a block of the left in the second (Goto and van de Geijn, "Anatomy of High-Performance Matrix
//! Multiplication", 2008). 12 of the 16 registers hold sums. Each sum is formed in the order of `k`, in parts
//! of 256, whatever the block's place in the result.

#![expect(
    unsafe_code,
    reason = "functions compiled for wider vectors are called where the machine has them"
)]

use std::arch::x86_64::{
    __m256, _MM_HINT_T0, _mm_prefetch, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_storeu_ps,
};
use std::cell::RefCell;

use super::gemm::{Block, Matrix};

/// Rows of a tile.
const ROWS: usize = 6;
/// Columns of a tile: two vectors.
const COLUMNS: usize = 16;
/// Products that are summed in registers.
const DEPTH: usize = 256;
/// Rows of a block of the left, a multiple of [`ROWS`]: 96 KiB.
const BLOCK_ROWS: usize = 96;
/// Columns of a block of the right, a multiple of [`COLUMNS`]: 1 MiB.
const BLOCK_COLUMNS: usize = 1024;
/// Fewer rows, columns or products per sum do not pay for the copies: `gemm` is faster there.
const LEAST: [usize; 3] = [96, 256, 128];

/// A row of a strip of the right.
type Row = [f32; COLUMNS];
/// A column of a strip of the left.
type Column = [f32; ROWS];
/// The sums of a tile.
type Sums = [Row; ROWS];

/// The copies of a thread, kept from product to product.
#[derive(Default)]
struct Copies {
    left: Vec<Column>,
    right: Vec<Aligned>,
}

/// A row that begins at a line of memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned(Row);

thread_local! {
    static COPIES: RefCell<Copies> = RefCell::default();
}

/// `block[i, j] = sum over l < k of lhs[i, l] * rhs[j, l]`, if the machine is one for it and the sizes pay; else says
/// `false`.
pub(super) fn multiply(
    k: usize,
    lhs: Matrix<'_, f32>,
    rhs: Matrix<'_, f32>,
    block: &mut Block<f32>,
) -> bool {
    let sizes = [block.rows, block.columns, k];
    let pays = sizes.iter().zip(LEAST).all(|(size, least)| *size >= least);
    if !is_for_machine() {
        return false;
    }
    if !pays {
        return multiply_in_place(k, lhs, rhs, block);
    }
    COPIES.with_borrow_mut(|copies| {
        for column in (0..block.columns).step_by(BLOCK_COLUMNS) {
            let columns = BLOCK_COLUMNS.min(block.columns - column);
            for first in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - first);
                copies.take_right(rhs, (column, columns), (first, depth));
                add_products(lhs, (first, depth), (column, columns), copies, block);
            }
        }
    });
    true
}

/// Up to so many products per sum, the right is read where it lies: it stays in the first cache.
const IN_PLACE_DEPTH: usize = 128;
/// How far ahead memory is asked for, in elements: two matrices of 16 by 16.
const AHEAD: usize = 512;
/// Rows of a tile that reads both sides where they lie.
const IN_PLACE_ROWS: usize = 4;

/// Small products without copies, if the columns of the right lie side by side and fill tiles; else says `false`.
fn multiply_in_place(
    k: usize,
    lhs: Matrix<'_, f32>,
    rhs: Matrix<'_, f32>,
    block: &mut Block<f32>,
) -> bool {
    let fits = rhs.row_stride == 1 && k <= IN_PLACE_DEPTH;
    let is_even = block.columns.is_multiple_of(COLUMNS) && block.rows.is_multiple_of(IN_PLACE_ROWS);
    if !fits || !is_even {
        return false;
    }
    for column in (0..block.columns).step_by(COLUMNS) {
        for row in (0..block.rows).step_by(IN_PLACE_ROWS) {
            let left = &lhs.data[row * lhs.row_stride..];
            let strides = [lhs.row_stride, lhs.column_stride];
            // SAFETY: the caller has seen that the machine has the instructions.
            let sums = unsafe {
                tile_in_place(k, (left, strides), (&rhs.data[column..], rhs.column_stride))
            };
            for (at, sums) in sums.iter().enumerate() {
                let to = &mut block.row(row + at)[column..column + COLUMNS];
                to.copy_from_slice(sums);
            }
        }
    }
    true
}

/// The sums of `k` products for four rows and 16 columns.
#[target_feature(enable = "avx2,fma")]
fn tile_in_place(
    k: usize,
    (left, [row_stride, column_stride]): (&[f32], [usize; 2]),
    (right, stride): (&[f32], usize),
) -> [Row; IN_PLACE_ROWS] {
    let mut sums = [[_mm256_setzero_ps(); 2]; IN_PLACE_ROWS];
    for at in 0..IN_PLACE_ROWS {
        fetch_ahead(left.as_ptr().wrapping_add(at * row_stride));
    }
    for l in 0..k {
        let Some(row) = right[l * stride..].first_chunk() else {
            break;
        };
        fetch_ahead(row.as_ptr());
        let [low, high] = halves(row);
        for (at, sum) in sums.iter_mut().enumerate() {
            let element = _mm256_set1_ps(left[at * row_stride + l * column_stride]);
            sum[0] = _mm256_fmadd_ps(element, low, sum[0]);
            sum[1] = _mm256_fmadd_ps(element, high, sum[1]);
        }
    }
    rows_of(sums)
}

/// Asks for the memory of the matrices that come next in a batch: a processor sees no stream in matrices of a few lines.
#[inline(always)]
fn fetch_ahead(here: *const f32) {
    // SAFETY: a hint, which any address may be in.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(here.wrapping_add(AHEAD).cast()) };
}

/// The elements of two vectors each.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn rows_of<const R: usize>(sums: [[__m256; 2]; R]) -> [Row; R] {
    let mut result = [[0.0; COLUMNS]; R];
    for (row, [low, high]) in result.iter_mut().zip(sums) {
        let to = row.as_mut_ptr();
        // SAFETY: a row has 16 elements.
        unsafe {
            _mm256_storeu_ps(to, low);
            _mm256_storeu_ps(to.wrapping_add(8), high);
        }
    }
    result
}

fn is_for_machine() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && !std::arch::is_x86_feature_detected!("avx512f")
}

/// All rows of the block times the columns that were copied.
fn add_products(
    lhs: Matrix<'_, f32>,
    (first, depth): (usize, usize),
    (column, columns): (usize, usize),
    copies: &mut Copies,
    block: &mut Block<f32>,
) {
    for row in (0..block.rows).step_by(BLOCK_ROWS) {
        let rows = BLOCK_ROWS.min(block.rows - row);
        copies.take_left(lhs, (row, rows), (first, depth));
        for (at, right) in copies.right.chunks_exact(depth).enumerate() {
            let columns = COLUMNS.min(columns - at * COLUMNS);
            let place = column + at * COLUMNS;
            for (strip, left) in copies.left.chunks_exact(depth).enumerate() {
                let rows = ROWS.min(rows - strip * ROWS);
                let top = row + strip * ROWS;
                // SAFETY: the caller has seen that the machine has the instructions.
                let sums = unsafe { tile(left, right) };
                for (at, sums) in sums.iter().enumerate().take(rows) {
                    let to = &mut block.row(top + at)[place..place + columns];
                    store(sums, to, first > 0);
                }
            }
        }
    }
}

/// Adds sums to what is there, or puts them there.
#[inline(always)]
fn store(sums: &Row, to: &mut [f32], adds: bool) {
    if !adds {
        to.copy_from_slice(&sums[..to.len()]);
    } else if let Some(to) = to.as_mut_array::<COLUMNS>() {
        for (to, sum) in to.iter_mut().zip(sums) {
            *to += sum;
        }
    } else {
        for (to, sum) in to.iter_mut().zip(sums) {
            *to += sum;
        }
    }
}

/// The sums of products of a strip's columns and a strip's rows.
#[target_feature(enable = "avx2,fma")]
fn tile(left: &[Column], right: &[Aligned]) -> Sums {
    let mut sums = [[_mm256_setzero_ps(); 2]; ROWS];
    for (column, Aligned(row)) in left.iter().zip(right) {
        let [low, high] = halves(row);
        for (sum, element) in sums.iter_mut().zip(column) {
            let element = _mm256_set1_ps(*element);
            sum[0] = _mm256_fmadd_ps(element, low, sum[0]);
            sum[1] = _mm256_fmadd_ps(element, high, sum[1]);
        }
    }
    rows_of(sums)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn halves(row: &Row) -> [__m256; 2] {
    let from = row.as_ptr();
    // SAFETY: a row has 16 elements.
    unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.wrapping_add(8))] }
}

impl Copies {
    /// Copies rows of the left, strip by strip, each column by column; what is missing of the last strip is zero.
    fn take_left(
        &mut self,
        lhs: Matrix<'_, f32>,
        (row, rows): (usize, usize),
        (first, depth): (usize, usize),
    ) {
        let strips = rows.div_ceil(ROWS);
        self.left.resize(strips * depth, [0.0; ROWS]);
        for (strip, columns) in self.left.chunks_exact_mut(depth).enumerate() {
            let height = ROWS.min(rows - strip * ROWS);
            if height < ROWS {
                columns.fill([0.0; ROWS]);
            }
            for at in 0..height {
                let start = (row + strip * ROWS + at) * lhs.row_stride;
                let elements = &lhs.data[start + first * lhs.column_stride..];
                copy_every(elements, lhs.column_stride, columns, |column| {
                    &mut column[at]
                });
            }
        }
    }

    /// The same of the columns of the right, which are rows of `rhs`.
    fn take_right(
        &mut self,
        rhs: Matrix<'_, f32>,
        (column, columns): (usize, usize),
        (first, depth): (usize, usize),
    ) {
        let strips = columns.div_ceil(COLUMNS);
        self.right.resize(strips * depth, Aligned([0.0; COLUMNS]));
        if rhs.row_stride == 1 {
            for at in 0..depth {
                let start = column + (first + at) * rhs.column_stride;
                let from = rhs.data[start..][..columns].chunks(COLUMNS);
                for (strip, from) in from.enumerate() {
                    let Aligned(row) = &mut self.right[strip * depth + at];
                    row[..from.len()].copy_from_slice(from);
                    row[from.len()..].fill(0.0);
                }
            }
            return;
        }
        for (strip, rows) in self.right.chunks_exact_mut(depth).enumerate() {
            let width = COLUMNS.min(columns - strip * COLUMNS);
            if width < COLUMNS {
                rows.fill(Aligned([0.0; COLUMNS]));
            }
            for at in 0..width {
                let start = (column + strip * COLUMNS + at) * rhs.row_stride;
                let elements = &rhs.data[start + first * rhs.column_stride..];
                copy_every(elements, rhs.column_stride, rows, |Aligned(row)| {
                    &mut row[at]
                });
            }
        }
    }
}

/// Copies elements that lie `stride` apart, one into each of `to`.
#[inline(always)]
fn copy_every<T>(from: &[f32], stride: usize, to: &mut [T], place: impl Fn(&mut T) -> &mut f32) {
    if stride == 1 {
        for (to, element) in to.iter_mut().zip(from) {
            *place(to) = *element;
        }
    } else {
        for (to, element) in to.iter_mut().zip(from.iter().step_by(stride.max(1))) {
            *place(to) = *element;
        }
    }
}

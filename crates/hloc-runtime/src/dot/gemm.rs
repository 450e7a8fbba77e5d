//! One product of two matrices, by the `gemm` crate, or in tiles of our own where they are faster.

#![expect(unsafe_code, reason = "`gemm` takes raw pointers and strides")]

use hloc_tensor::Complex;

/// A matrix inside a slice: element (i, j) is `data[i * row_stride + j * column_stride]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a, T> {
    pub(super) data: &'a [T],
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
}

/// A row-major block of the result that one thread writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: `Target::block` asks callers on different threads for disjoint blocks.
unsafe impl<T: Send> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T> Target<T> {
    /// All of `result`, which stays borrowed by whoever holds the target's blocks.
    pub(crate) fn new(result: &mut [T]) -> Target<T> {
        Target {
            first: result.as_mut_ptr(),
            len: result.len(),
        }
    }

    /// `rows` rows of `columns` elements from `offset` on, `row_stride` apart.
    ///
    /// # Safety
    /// The slice given to [`Target::new`] is still borrowed, and no one else reads or writes an element of
    /// the block while it is used.
    ///
    /// # Panics
    /// If the block does not lie in the slice.
    pub(crate) unsafe fn block(
        self,
        offset: usize,
        [rows, columns]: [usize; 2],
        row_stride: usize,
    ) -> Block<T> {
        let end = offset + rows.saturating_sub(1) * row_stride + columns;
        assert!(rows == 0 || end <= self.len, "the block lies in the result");
        Block {
            first: self.first.wrapping_add(offset),
            rows,
            columns,
            row_stride,
        }
    }
}

/// A block of the result that only its holder touches.
#[derive(Debug)]
pub(crate) struct Block<T> {
    first: *mut T,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
}

impl<T> Block<T> {
    /// Whether the elements lie side by side.
    pub(super) fn is_contiguous(&self) -> bool {
        self.rows <= 1 || self.row_stride == self.columns
    }

    /// All elements, if they lie side by side.
    pub(super) fn contiguous(&mut self) -> Option<&mut [T]> {
        let len = self.rows * self.columns;
        // SAFETY: as in `row`; rows that lie side by side make one slice.
        self.is_contiguous()
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.first, len) })
    }

    /// The first element; the others follow as the strides say.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.first
    }

    /// One row of the block.
    pub(crate) fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "the row lies in the block");
        let first = self.first.wrapping_add(row * self.row_stride);
        // SAFETY: `Target::block` has checked that the row lies in the result, and its caller promised
        // that nobody else touches it.
        unsafe { std::slice::from_raw_parts_mut(first, self.columns) }
    }
}

/// An element type that `gemm` multiplies.
pub(super) trait GemmElement: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;

    /// Multiplies as [`multiply`] does, where there is something better than `gemm`; else says `false`.
    fn multiply_tiles(
        _k: usize,
        _lhs: Matrix<'_, Self>,
        _rhs: Matrix<'_, Self>,
        _block: &mut Block<Self>,
    ) -> bool {
        false
    }
}

impl GemmElement for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    #[cfg(target_arch = "x86_64")]
    fn multiply_tiles(
        k: usize,
        lhs: Matrix<'_, f32>,
        rhs: Matrix<'_, f32>,
        block: &mut Block<f32>,
    ) -> bool {
        super::tiles::multiply(k, lhs, rhs, block)
    }
}

impl GemmElement for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

impl GemmElement for Complex<f32> {
    const ZERO: Self = Complex::new(0.0, 0.0);
    const ONE: Self = Complex::new(1.0, 0.0);
}

impl GemmElement for Complex<f64> {
    const ZERO: Self = Complex::new(0.0, 0.0);
    const ONE: Self = Complex::new(1.0, 0.0);
}

/// `block[i, j] = sum over l < k of lhs[i, l] * rhs[j, l]`.
///
/// # Panics
/// If a matrix does not lie in its slice.
pub(super) fn multiply<T: GemmElement>(
    k: usize,
    lhs: Matrix<'_, T>,
    rhs: Matrix<'_, T>,
    block: &mut Block<T>,
) {
    let (m, n) = (block.rows, block.columns);
    if m == 0 || n == 0 {
        return;
    }
    assert!(
        holds(lhs, m, k) && holds(rhs, n, k),
        "matrices lie in slices"
    );
    if T::multiply_tiles(k, lhs, rhs, block) {
        return;
    }
    let stride = |stride: usize| stride.cast_signed();
    // SAFETY: all elements of both matrices lie in their slices (asserted), those of the block in the
    // result, to which the block has sole access; `T` is one of the four types that `gemm` implements.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            block.first,
            1,
            stride(block.row_stride),
            false,
            lhs.data.as_ptr(),
            stride(lhs.column_stride),
            stride(lhs.row_stride),
            rhs.data.as_ptr(),
            stride(rhs.row_stride),
            stride(rhs.column_stride),
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Whether all of `rows` by `columns` elements lie in the slice.
fn holds<T>(matrix: Matrix<'_, T>, rows: usize, columns: usize) -> bool {
    let last = |count: usize, stride: usize| count.checked_sub(1)?.checked_mul(stride);
    match (
        last(rows, matrix.row_stride),
        last(columns, matrix.column_stride),
    ) {
        (Some(row), Some(column)) => row
            .checked_add(column)
            .is_some_and(|at| at < matrix.data.len()),
        (None, _) | (_, None) => rows == 0 || columns == 0,
    }
}

//! The routines that are compiled here for every type.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use hloc_tensor::Complex;

use crate::field::Field;
use crate::matrix::Matrix;
use crate::triangular::Triangular;
use crate::{cholesky, lu, qr, triangular};

/// A matrix in a slice.
#[derive(Clone, Copy, Debug)]
pub enum Packed<'a, T> {
    /// Row by row.
    Rows(&'a [T]),
    /// Column by column.
    Columns(&'a [T]),
}

/// Types of matrices with all routines: `f32`, `f64` and their complex numbers.
pub trait Routines: Field {
    /// Overwrites a matrix with its LU factors. `pivots` says for each row, from 1, with which later row
    /// it was exchanged. Gives 0, or the number from 1 of the first pivot that is zero.
    fn lu(a: &mut Matrix<Self>, pivots: &mut [i32]) -> i32;
    /// Overwrites a matrix with its upper QR factor and the reflections, as LAPACK does.
    fn qr(a: &mut Matrix<Self>, taus: &mut [Self]);
    /// Overwrites a matrix of reflections with the first columns of their product.
    fn reflections(a: &mut Matrix<Self>, taus: &[Self]);
    /// The lower Cholesky factor of a matrix of which one triangle was given.
    ///
    /// # Errors
    /// The number from 1 of the first pivot that is not positive.
    fn cholesky(a: Matrix<Self>, lower: bool) -> Result<Matrix<Self>, i32>;
    /// Overwrites row-major `b` (`rows` × `columns`) with the solution; `a` is row-major and square.
    fn solve(asked: Triangular, a: &[Self], b: &mut [Self], rows: usize, columns: usize);
    /// Overwrites row-major `result` (`sizes`: rows and columns) with `lhs`·`rhs`, `rhs` row-major.
    fn multiply(result: &mut [Self], sizes: [usize; 2], lhs: Packed<'_, Self>, rhs: &[Self]);
}

macro_rules! routines {
    ($($ty:ty),*) => { $(
        impl Routines for $ty {
            fn lu(a: &mut Matrix<Self>, pivots: &mut [i32]) -> i32 {
                lu::factor(a, pivots)
            }
            fn qr(a: &mut Matrix<Self>, taus: &mut [Self]) {
                qr::factor(a, taus);
            }
            fn reflections(a: &mut Matrix<Self>, taus: &[Self]) {
                qr::product(a, taus);
            }
            fn cholesky(a: Matrix<Self>, lower: bool) -> Result<Matrix<Self>, i32> {
                cholesky::lower_factor(a, lower)
            }
            fn solve(
                asked: Triangular,
                a: &[Self],
                b: &mut [Self],
                rows: usize,
                columns: usize,
            ) {
                triangular::solve(asked, a, b, rows, columns);
            }
            fn multiply(
                result: &mut [Self],
                sizes: [usize; 2],
                lhs: Packed<'_, Self>,
                rhs: &[Self],
            ) {
                multiply(result, sizes, lhs, rhs);
            }
        }
    )* };
}

routines!(f32, f64, Complex<f32>, Complex<f64>);

fn multiply<T: Field>(
    result: &mut [T],
    [rows, columns]: [usize; 2],
    lhs: Packed<'_, T>,
    rhs: &[T],
) {
    let terms = rhs.len().checked_div(columns).unwrap_or(0);
    let lhs = match lhs {
        Packed::Rows(data) => MatRef::from_row_major_slice(data, rows, terms),
        Packed::Columns(data) => MatRef::from_column_major_slice(data, rows, terms),
    };
    let rhs = MatRef::from_row_major_slice(rhs, terms, columns);
    let result = MatMut::from_row_major_slice_mut(result, rows, columns);
    matmul(result, Accum::Replace, lhs, rhs, T::one(), Par::Seq);
}

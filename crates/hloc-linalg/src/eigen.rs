//! Eigenvalues and singular values, by the `faer` crate.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::{Mat, MatRef, Par, Side};
use hloc_tensor::Complex;

use crate::field::{Field, norm};
use crate::matrix::Matrix;

type C64 = Complex<f64>;

/// Eigenvalues with the vectors asked for, one in each column.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The values, those of a conjugate pair next to each other.
    pub values: Vec<C64>,
    /// Left vectors, if asked for.
    pub left: Option<Matrix<C64>>,
    /// Right vectors, if asked for.
    pub right: Option<Matrix<C64>>,
}

/// Singular values in descending order with vectors, one in each column.
#[derive(Clone, Debug)]
pub struct Singular<T> {
    /// The values.
    pub values: Vec<f64>,
    /// Left vectors.
    pub left: Matrix<T>,
    /// Right vectors.
    pub right: Matrix<T>,
}

/// Fields whose matrices have eigenvalues here: those with `f64` parts. Narrower numbers are widened,
/// which costs less than the code would.
pub trait EigenField: Field {
    /// Eigenvalues of any matrix, with vectors of length 1 whose largest entry is real; `None` if the
    /// iteration does not converge or a number is not finite.
    fn eigen(a: &Matrix<Self>, left: bool, right: bool) -> Option<Eigen>;
    /// Values in ascending order and vectors of a self-adjoint matrix of which one triangle was given;
    /// `None` as for [`EigenField::eigen`].
    fn self_adjoint(a: &Matrix<Self>, lower: bool) -> Option<(Vec<f64>, Matrix<Self>)>;
    /// Singular values with all vectors (`full`) or those that belong to values; `None` if the iteration
    /// does not converge.
    fn singular(a: &Matrix<Self>, full: bool) -> Option<Singular<Self>>;
}

macro_rules! symmetric_routines {
    () => {
        fn self_adjoint(a: &Matrix<Self>, lower: bool) -> Option<(Vec<f64>, Matrix<Self>)> {
            let a = a.clone().completed(lower);
            if !a.all_finite() {
                return None;
            }
            let eigen = a.view().self_adjoint_eigen(Side::Lower).ok()?;
            let values = eigen.S().column_vector();
            let values = (0..a.rows).map(|at| values[at].re()).collect();
            Some((values, Matrix::from_view(eigen.U())))
        }

        fn singular(a: &Matrix<Self>, full: bool) -> Option<Singular<Self>> {
            let svd = if full {
                a.view().svd().ok()?
            } else {
                a.view().thin_svd().ok()?
            };
            let values = svd.S().column_vector();
            Some(Singular {
                values: (0..a.rows.min(a.columns))
                    .map(|at| values[at].re())
                    .collect(),
                left: Matrix::from_view(svd.U()),
                right: Matrix::from_view(svd.V()),
            })
        }
    };
}

fn wanted(vectors: bool) -> ComputeEigenvectors {
    if vectors {
        ComputeEigenvectors::Yes
    } else {
        ComputeEigenvectors::No
    }
}

impl EigenField for f64 {
    symmetric_routines!();

    fn eigen(a: &Matrix<f64>, left: bool, right: bool) -> Option<Eigen> {
        let n = a.rows;
        let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
        let mut u_left = left.then(|| Mat::<f64>::zeros(n, n));
        let mut u_right = right.then(|| Mat::<f64>::zeros(n, n));
        let params = Default::default();
        let scratch = evd_scratch::<f64>(n, wanted(left), wanted(right), Par::Seq, params);
        let mut memory = MemBuffer::new(scratch);
        evd_real(
            a.view(),
            DiagMut::from_slice_mut(&mut re),
            DiagMut::from_slice_mut(&mut im),
            u_left.as_mut().map(Mat::as_mut),
            u_right.as_mut().map(Mat::as_mut),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        )
        .ok()?;
        let values: Vec<_> = re
            .iter()
            .zip(&im)
            .map(|(re, im)| Complex::new(*re, *im))
            .collect();
        let right = u_right.map(|u| unpacked(u.as_ref(), &values, false));
        let left = u_left.map(|u| unpacked(u.as_ref(), &values, true));
        Some(Eigen {
            left: left.map(normalized),
            right: right.map(normalized),
            values,
        })
    }
}

impl EigenField for Complex<f64> {
    symmetric_routines!();

    fn eigen(a: &Matrix<Self>, left: bool, right: bool) -> Option<Eigen> {
        let n = a.rows;
        let mut values = vec![Self::zero(); n];
        let mut u_left = left.then(|| Matrix::<Self>::zeros(n, n));
        let mut u_right = right.then(|| Matrix::<Self>::zeros(n, n));
        let params = Default::default();
        let scratch = evd_scratch::<Self>(n, wanted(left), wanted(right), Par::Seq, params);
        let mut memory = MemBuffer::new(scratch);
        evd_cplx(
            a.view(),
            DiagMut::from_slice_mut(&mut values),
            u_left.as_mut().map(Matrix::view_mut),
            u_right.as_mut().map(Matrix::view_mut),
            Par::Seq,
            MemStack::new(&mut memory),
            params,
        )
        .ok()?;
        Some(Eigen {
            left: u_left.map(normalized),
            right: u_right.map(normalized),
            values,
        })
    }
}

/// Vectors of a real matrix: those of a pair of conjugate values come as real and imaginary part.
///
/// Left vectors come as those of the transposed matrix, the parts of a pair exchanged.
fn unpacked(vectors: MatRef<'_, f64>, values: &[C64], left: bool) -> Matrix<C64> {
    let n = values.len();
    let mut result = Matrix::<C64>::zeros(n, n);
    let mut column = 0;
    while column < n {
        if values[column].im == 0.0 || column + 1 == n {
            for row in 0..n {
                result.set(row, column, C64::new(vectors[(row, column)], 0.0));
            }
            column += 1;
            continue;
        }
        let (re, im) = if left {
            (column + 1, column)
        } else {
            (column, column + 1)
        };
        for row in 0..n {
            let (re, im) = (vectors[(row, re)], vectors[(row, im)]);
            let im = if left { -im } else { im };
            result.set(row, column, C64::new(re, im));
            result.set(row, column + 1, C64::new(re, -im));
        }
        column += 2;
    }
    result
}

/// Columns of length 1 whose largest entry is real, as LAPACK gives them.
fn normalized(mut vectors: Matrix<C64>) -> Matrix<C64> {
    for column in 0..vectors.columns {
        let column = vectors.column_mut(column);
        let length = norm(column);
        let square = |value: &C64| value.re * value.re + value.im * value.im;
        let is_real = column.iter().all(|value| value.im == 0.0);
        let mut largest = C64::new(0.0, 0.0);
        for value in column.iter_mut() {
            *value = C64::new(value.re / length, value.im / length);
            if square(value) > square(&largest) {
                largest = *value;
            }
        }
        if is_real || largest == C64::zero() {
            continue;
        }
        let size = largest.re.hypot(largest.im);
        let turn = largest.conjugate().scaled(1.0 / size);
        for value in column.iter_mut() {
            let is_largest = *value == largest;
            *value *= turn;
            if is_largest {
                value.im = 0.0;
            }
        }
    }
    vectors
}

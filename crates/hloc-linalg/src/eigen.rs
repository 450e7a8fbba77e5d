//! Eigenvalues and singular values, by the `faer` crate.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::{Mat, MatRef, Par, Side};
use hloc_tensor::Complex;

use crate::canonical;
use crate::field::{Field, norm};
use crate::matrix::Matrix;
use crate::schur::{self, Schur};

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
    /// Eigenvalues of any matrix in ascending order of real, then imaginary parts (conjugate pairs of a real
    /// matrix together), with vectors of length 1 whose first large entry is real and positive; `None` if the
    /// iteration does not converge or a number is not finite.
    fn eigen(a: &Matrix<Self>, left: bool, right: bool) -> Option<Eigen>;
    /// The Schur form of any matrix; `None` as for [`EigenField::eigen`].
    fn schur(a: &Matrix<Self>) -> Option<Schur<Self>>;
    /// Values in ascending order and vectors of a self-adjoint matrix of which one triangle was given, the
    /// first large entry of each vector real and positive; `None` as for [`EigenField::eigen`].
    fn self_adjoint(a: &Matrix<Self>, lower: bool) -> Option<(Vec<f64>, Matrix<Self>)>;
    /// Singular values with all vectors (`full`) or those that belong to values; `None` if the iteration
    /// does not converge. The first large entry of each left vector is real and positive; the vectors of
    /// zero and those without a value are those that a QR factorization of the others adds.
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
            let mut vectors = Matrix::from_view(eigen.U());
            for column in 0..vectors.columns {
                canonical::turned(vectors.column_mut(column));
            }
            Some((values, vectors))
        }

        fn singular(a: &Matrix<Self>, full: bool) -> Option<Singular<Self>> {
            let svd = a.view().thin_svd().ok()?;
            let values = svd.S().column_vector();
            let values: Vec<f64> = (0..a.rows.min(a.columns))
                .map(|at| values[at].re())
                .collect();
            let vectors = [svd.U(), svd.V()].map(Matrix::from_view);
            Some(finish(values, vectors, full))
        }
    };
}

/// Turns singular vectors and adds those of zero and, if asked for, those without a value.
fn finish<T: EigenField<Part = f64>>(
    values: Vec<f64>,
    [mut left, mut right]: [Matrix<T>; 2],
    full: bool,
) -> Singular<T> {
    let size = left.rows.max(right.rows).max(8) as f64;
    let zero = values
        .first()
        .map_or(0.0, |value| value * size * 4.0 * f64::EPSILON);
    let kept = values.iter().filter(|value| **value > zero).count();
    for column in 0..kept {
        let turn = canonical::turned(left.column_mut(column));
        for value in right.column_mut(column) {
            *value *= turn;
        }
    }
    let completed = |vectors: Matrix<T>| {
        let columns = if full { vectors.rows } else { vectors.columns };
        if kept == columns {
            vectors
        } else {
            canonical::completed(&vectors, kept, columns)
        }
    };
    Singular {
        left: completed(left),
        right: completed(right),
        values,
    }
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

    fn schur(a: &Matrix<f64>) -> Option<Schur<f64>> {
        schur::real(a)
    }

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
        Some(ordered(a, values, left, right))
    }
}

impl EigenField for Complex<f64> {
    symmetric_routines!();

    fn schur(a: &Matrix<Self>) -> Option<Schur<Self>> {
        schur::complex(a)
    }

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
        Some(ordered(a, values, u_left, u_right))
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

/// Eigenvalues in the order of [`canonical::order`] with vectors of length 1 that are turned.
fn ordered<T: Field>(
    a: &Matrix<T>,
    values: Vec<C64>,
    left: Option<Matrix<C64>>,
    right: Option<Matrix<C64>>,
) -> Eigen {
    let order = canonical::order(&values, canonical::size(a), !T::IS_COMPLEX);
    let normalized = |vectors: Matrix<C64>| {
        let mut vectors = canonical::reordered(&vectors, &order);
        for column in 0..vectors.columns {
            let column = vectors.column_mut(column);
            let length = norm(column);
            for value in column.iter_mut() {
                *value = C64::new(value.re / length, value.im / length);
            }
            canonical::turned(column);
        }
        vectors
    };
    Eigen {
        left: left.map(normalized),
        right: right.map(normalized),
        values: order.iter().map(|at| values[*at]).collect(),
    }
}

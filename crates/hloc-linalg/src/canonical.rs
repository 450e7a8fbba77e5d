//! The choices that eigenvectors and singular vectors leave free, made by rules: signs and phases, the
//! order of eigenvalues, and the vectors of zero.
//!
//! So results do not depend on the method, as far as they are determined at all.

use std::cmp::Ordering;

use hloc_tensor::Complex;

use crate::field::{Field, Part, norm};
use crate::matrix::Matrix;
use crate::qr;

/// Multiplies a vector so that its first large entry becomes real and positive, and gives the factor.
///
/// Large is what has at least 99/100 of the greatest size, so that rounding does not choose between
/// equals. (3i, 3) is multiplied with −i.
pub(crate) fn turned<T: Field<Part = f64>>(column: &mut [T]) -> T {
    let size = |value: &T| value.re().hypot(value.im());
    let greatest = column.iter().map(size).fold(0.0, f64::max);
    let large = column
        .iter()
        .position(|value| size(value) >= 0.99 * greatest);
    let Some(large) = large.filter(|_| greatest > 0.0) else {
        return T::one();
    };
    let turn = column[large].conjugate().scaled(1.0 / size(&column[large]));
    for value in column.iter_mut() {
        *value *= turn;
    }
    column[large] = T::real(column[large].re());
    turn
}

/// The order of eigenvalues: by real parts, then by imaginary parts; of a real matrix conjugate pairs
/// stay together, the one with positive imaginary part first.
///
/// Parts that differ by less than 2⁻³⁰ of the matrix's norm count as equal.
pub(crate) fn order(values: &[Complex<f64>], norm: f64, real: bool) -> Vec<usize> {
    let step = norm * 2.0f64.powi(-30);
    let coarse = |x: f64| if step > 0.0 { (x / step).round() } else { 0.0 };
    let by = |x: f64, y: f64| {
        let order = coarse(x).partial_cmp(&coarse(y));
        order.unwrap_or(Ordering::Equal)
    };
    // Pairs lie next to each other; the members of one are sorted as one.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let paired = groups.last_mut().filter(|group| {
            let first = values[group[0]];
            real && group.len() == 1 && first.im != 0.0 && first == value.conjugate()
        });
        match paired {
            Some(group) if value.im > 0.0 => group.insert(0, at),
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups.sort_by(|x, y| {
        let (x, y) = (values[x[0]], values[y[0]]);
        by(x.re, y.re).then(by(x.im, y.im))
    });
    groups.concat()
}

/// `columns` columns of length 1 that are orthogonal: the first `kept` ones of `vectors`, then those that
/// a QR factorization of these adds.
pub(crate) fn completed<T: Field>(vectors: &Matrix<T>, kept: usize, columns: usize) -> Matrix<T> {
    let rows = vectors.rows;
    let mut factors = Matrix::zeros(rows, kept);
    factors.data.copy_from_slice(&vectors.data[..rows * kept]);
    let mut taus = vec![T::zero(); kept];
    qr::factor(&mut factors, &mut taus);
    let mut whole = Matrix::zeros(rows, columns);
    whole.data[..rows * kept].copy_from_slice(&factors.data);
    qr::product(&mut whole, &taus);
    whole.data[..rows * kept].copy_from_slice(&vectors.data[..rows * kept]);
    whole
}

/// The columns in another order.
pub(crate) fn reordered<T: Field>(vectors: &Matrix<T>, order: &[usize]) -> Matrix<T> {
    let mut result = Matrix::zeros(vectors.rows, vectors.columns);
    for (to, from) in order.iter().enumerate() {
        result.column_mut(to).copy_from_slice(vectors.column(*from));
    }
    result
}

/// The Frobenius norm.
pub(crate) fn size<T: Field>(a: &Matrix<T>) -> f64 {
    norm(&a.data).wide()
}

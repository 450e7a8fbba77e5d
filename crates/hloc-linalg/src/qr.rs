//! `geqrf` and `orgqr`: reflections as LAPACK writes them, applied in blocks.
//!
//! Reflection i is I − τ·v·vᴴ with v zero above row i and 1 in it; what is below stands in column i.
//! Its adjoint turns column i into a real number and zeros.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::field::{Field, Part, norm};
use crate::matrix::Matrix;

/// Columns reflected at a time.
const BLOCK: usize = 32;

/// The reflection that makes `[alpha, tail]` a real number and zeros: overwrites `tail` with v below
/// its 1, gives τ and the number.
pub(crate) fn reflect<T: Field>(alpha: T, tail: &mut [T]) -> (T, T) {
    let size = norm(tail);
    if size == T::Part::ZERO && alpha.im() == T::Part::ZERO {
        return (T::zero(), alpha);
    }
    let whole = alpha.re().hypotenuse(alpha.im()).hypotenuse(size);
    let beta = if alpha.re().negative() { whole } else { -whole };
    let tau = T::new((beta - alpha.re()) / beta, -alpha.im() / beta);
    let divisor = alpha - T::real(beta);
    for value in tail {
        *value = value.over(divisor);
    }
    (tau, T::real(beta))
}

/// `column` minus `factor`·v·(vᴴ·column), for v = [1, tail].
pub(crate) fn apply<T: Field>(factor: T, tail: &[T], column: &mut [T]) {
    let Some((first, rest)) = column.split_first_mut() else {
        return;
    };
    let mut product = *first;
    for (v, value) in tail.iter().zip(rest.iter()) {
        product += v.conjugate() * *value;
    }
    let product = factor * product;
    *first -= product;
    for (v, value) in tail.iter().zip(rest) {
        *value -= *v * product;
    }
}

/// Overwrites `a` with its upper factor and the reflections, and fills `taus`.
pub(crate) fn factor<T: Field>(a: &mut Matrix<T>, taus: &mut [T]) {
    let (rows, columns) = (a.rows, a.columns);
    let count = rows.min(columns);
    let mut begin = 0;
    while begin < count {
        let end = (begin + BLOCK).min(count);
        for at in begin..end {
            let (before, after) = a.data.split_at_mut((at + 1) * rows);
            let column = &mut before[at * rows + at..];
            let Some((diagonal, tail)) = column.split_first_mut() else {
                continue;
            };
            let (tau, beta) = reflect(*diagonal, tail);
            (taus[at], *diagonal) = (tau, beta);
            for other in after.chunks_exact_mut(rows).take(end - at - 1) {
                apply(tau.conjugate(), tail, &mut other[at..]);
            }
        }
        if end < columns {
            let block = Block::new(a, &taus[begin..end], begin);
            block.apply(a, end, true);
        }
        begin = end;
    }
}

/// Overwrites `a`, whose first columns hold reflections, with the first columns of their product.
pub(crate) fn product<T: Field>(a: &mut Matrix<T>, taus: &[T]) {
    let mut result = Matrix::identity(a.rows, a.columns);
    let count = taus.len().min(a.rows).min(a.columns);
    let mut end = count;
    while end > 0 {
        let begin = (end - 1) / BLOCK * BLOCK;
        let block = Block::new(a, &taus[begin..end], begin);
        block.apply(&mut result, begin, false);
        end = begin;
    }
    *a = result;
}

/// The product of some reflections: I − V·T·Vᴴ.
struct Block<T> {
    /// The first row that it changes.
    begin: usize,
    v: Mat<T>,
    t: Mat<T>,
}

impl<T: Field> Block<T> {
    fn new(a: &Matrix<T>, taus: &[T], begin: usize) -> Block<T> {
        let (rows, width) = (a.rows - begin, taus.len());
        let v = Mat::from_fn(rows, width, |row, column| {
            if row < column {
                T::zero()
            } else if row == column {
                T::one()
            } else {
                a.at(begin + row, begin + column)
            }
        });
        let mut products = Mat::<T>::zeros(width, width);
        let one = T::one();
        matmul(
            products.as_mut(),
            Accum::Replace,
            v.adjoint(),
            v.as_ref(),
            one,
            Par::Seq,
        );
        let mut t = Mat::<T>::zeros(width, width);
        for (column, tau) in taus.iter().enumerate() {
            for row in 0..column {
                let mut sum = T::zero();
                for k in row..column {
                    sum += t[(row, k)] * products[(k, column)];
                }
                t[(row, column)] = -(*tau * sum);
            }
            t[(column, column)] = *tau;
        }
        Block { begin, v, t }
    }

    /// Multiplies the columns of `c` from `from` on by the product, or by its adjoint, from the left.
    fn apply(&self, c: &mut Matrix<T>, from: usize, adjoint: bool) {
        let (rows, columns) = (c.rows - self.begin, c.columns - from);
        let (width, one) = (self.t.nrows(), T::one());
        let mut c = c.view_mut().submatrix_mut(self.begin, from, rows, columns);
        let mut inner = Mat::<T>::zeros(width, columns);
        matmul(
            inner.as_mut(),
            Accum::Replace,
            self.v.adjoint(),
            c.as_ref(),
            one,
            Par::Seq,
        );
        let mut turned = Mat::<T>::zeros(width, columns);
        if adjoint {
            let t = self.t.adjoint();
            matmul(
                turned.as_mut(),
                Accum::Replace,
                t,
                inner.as_ref(),
                one,
                Par::Seq,
            );
        } else {
            let t = self.t.as_ref();
            matmul(
                turned.as_mut(),
                Accum::Replace,
                t,
                inner.as_ref(),
                one,
                Par::Seq,
            );
        }
        let minus_one = T::real(-T::Part::ONE);
        matmul(
            c.as_mut(),
            Accum::Add,
            self.v.as_ref(),
            turned.as_ref(),
            minus_one,
            Par::Seq,
        );
    }
}

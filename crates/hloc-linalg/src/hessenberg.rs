//! `gehrd` and `sytrd`: Hessenberg and tridiagonal forms by reflections.

use crate::field::{Field, Part};
use crate::matrix::Matrix;
use crate::qr::{apply, reflect};

/// Overwrites rows and columns `low..high` of `a` with their Hessenberg form and the reflections.
pub fn reduce<T: Field>(a: &mut Matrix<T>, taus: &mut [T], low: usize, high: usize) {
    let n = a.rows;
    taus.fill(T::zero());
    let steps = taus.iter_mut().enumerate();
    for (at, factor) in steps.take(high.saturating_sub(1)).skip(low) {
        let mut column = a.column(at)[at + 1..high].to_vec();
        let Some((alpha, tail)) = column.split_first_mut() else {
            return;
        };
        let (tau, beta) = reflect(*alpha, tail);
        *factor = tau;
        // From the right, to all rows above `high`.
        let mut v = vec![T::one()];
        v.extend_from_slice(tail);
        for row in 0..high {
            let mut sum = T::zero();
            for (k, v) in v.iter().enumerate() {
                sum += a.at(row, at + 1 + k) * *v;
            }
            let sum = sum * tau;
            for (k, v) in v.iter().enumerate() {
                let value = a.at(row, at + 1 + k) - sum * v.conjugate();
                a.set(row, at + 1 + k, value);
            }
        }
        for other in at + 1..n {
            let rest = &mut a.column_mut(other)[at + 1..high];
            apply(tau.conjugate(), tail, rest);
        }
        *alpha = beta;
        a.column_mut(at)[at + 1..high].copy_from_slice(&column);
    }
}

/// Diagonals of a tridiagonal form, with the factors of the reflections.
#[derive(Debug)]
pub struct Tridiagonal<'a, T: Field> {
    /// The main diagonal.
    pub main: &'a mut [T::Part],
    /// The diagonal beside it.
    pub second: &'a mut [T::Part],
    /// The factors.
    pub taus: &'a mut [T],
}

/// Overwrites one triangle of a self-adjoint matrix with its tridiagonal form and the reflections.
///
/// The upper triangle is reduced from its last column on, as LAPACK does: turned around by both
/// diagonals it is the lower one of the matrix with rows and columns in reverse order.
pub fn tridiagonalize<T: Field>(a: &mut Matrix<T>, lower: bool, result: Tridiagonal<'_, T>) {
    let n = a.rows;
    let whole = a.clone().completed(lower);
    // `place` maps rows and columns of the matrix that is reduced to those of `a`.
    let place = |at: usize| if lower { at } else { n - 1 - at };
    let mut work = Matrix::zeros(n, n);
    for column in 0..n {
        for row in 0..n {
            work.set(row, column, whole.at(place(row), place(column)));
        }
    }
    for at in 0..n.saturating_sub(1) {
        let mut column = work.column(at)[at + 1..].to_vec();
        let Some((alpha, tail)) = column.split_first_mut() else {
            return;
        };
        let (tau, beta) = reflect(*alpha, tail);
        for other in at + 1..n {
            apply(tau.conjugate(), tail, &mut work.column_mut(other)[at + 1..]);
        }
        let mut v = vec![T::one()];
        v.extend_from_slice(tail);
        for row in at + 1..n {
            let mut sum = T::zero();
            for (k, v) in v.iter().enumerate() {
                sum += work.at(row, at + 1 + k) * *v;
            }
            let sum = sum * tau;
            for (k, v) in v.iter().enumerate() {
                let value = work.at(row, at + 1 + k) - sum * v.conjugate();
                work.set(row, at + 1 + k, value);
            }
        }
        let step = if lower { at } else { n - 2 - at };
        result.taus[step] = tau;
        result.second[step] = beta.re();
        *alpha = beta;
        for (row, value) in (at + 1..n).zip(column) {
            a.set(place(row), place(at), value);
        }
    }
    for at in 0..n {
        let value = work.at(at, at).re();
        result.main[place(at)] = value;
        a.set(place(at), place(at), T::new(value, T::Part::ZERO));
    }
}

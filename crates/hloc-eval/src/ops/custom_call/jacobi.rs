//! `syevd`, `heevd` and `gesdd`: eigenvalues of self-adjoint matrices and singular values, by Jacobi's
//! rotations.

use super::matrix::{Matrix, Rotation, inner_product, length, modulus, phase, turned};
use super::reflect::{product, qr};
use crate::scalar::C128;

/// Far more than any matrix needs: convergence is quadratic.
const MAX_SWEEPS: usize = 100;

/// Calls `rotate` for every pair of columns until no pair of a sweep needs a rotation; it says whether its
/// pair did.
fn sweep(n: usize, mut rotate: impl FnMut(usize, usize) -> bool) {
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate(p, q);
            }
        }
        if !rotated {
            return;
        }
    }
}

/// Eigenvalues in ascending order and vectors, one in each column, of a self-adjoint matrix.
///
/// Vectors are [`turned`]. `None` if a number is not finite.
pub(super) fn self_adjoint(mut a: Matrix) -> Option<(Vec<f64>, Matrix)> {
    if !a.is_finite() {
        return None;
    }
    let n = a.rows;
    let negligible = 1e-18 * a.norm();
    let mut vectors = Matrix::identity(n, n);
    sweep(n, |p, q| {
        let size = modulus(a[(p, q)]);
        if size <= negligible {
            return false;
        }
        let (x, y) = (a[(p, p)].re, a[(q, q)].re);
        let rotation = Rotation::diagonalizing(x, y, size, a[(p, q)] / size);
        rotation.turn_columns(&mut a, p, q);
        rotation.turn_rows(&mut a, p, q);
        rotation.turn_columns(&mut vectors, p, q);
        a[(p, q)] = C128::new(0.0, 0.0);
        a[(q, p)] = a[(p, q)];
        true
    });
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|x, y| a[(*x, *x)].re.total_cmp(&a[(*y, *y)].re));
    let values = order.iter().map(|at| a[(*at, *at)].re).collect();
    let columns: Vec<Vec<C128>> = order
        .iter()
        .map(|at| turned(&vectors.column(*at)))
        .collect();
    Some((values, Matrix::from_columns(n, &columns)))
}

/// Singular values in descending order with all left and right vectors, one in each column.
pub(super) struct Singular {
    pub(super) values: Vec<f64>,
    pub(super) left: Matrix,
    pub(super) right: Matrix,
}

/// A = left · values · rightᴴ, by rotations that make the columns of A orthogonal.
///
/// Left vectors are [`turned`], right ones with them. Vectors without a value, or whose value is 0 but
/// for rounding, are those that a QR factorization of the others adds.
pub(super) fn singular(a: &Matrix) -> Singular {
    if a.rows < a.columns {
        // Aᴴ = right · values · leftᴴ.
        let adjoint = orthogonalized(&a.adjoint());
        return finish(adjoint.values, &adjoint.right, &adjoint.left);
    }
    let found = orthogonalized(a);
    finish(found.values, &found.left, &found.right)
}

/// The same for no more columns than rows; as many vectors as there are values.
fn orthogonalized(a: &Matrix) -> Singular {
    let greatest = a
        .values
        .iter()
        .map(|value| modulus(*value))
        .fold(0.0, f64::max);
    let scale = if greatest > 0.0 { greatest } else { 1.0 };
    let mut work = a.clone();
    work.values.iter_mut().for_each(|value| *value /= scale);
    let n = a.columns;
    let mut right = Matrix::identity(n, n);
    sweep(n, |p, q| {
        let (x, y) = (work.column(p), work.column(q));
        let product = inner_product(&x, &y);
        let (x, y, size) = (length(&x), length(&y), modulus(product));
        if size <= f64::EPSILON * x * y || size == 0.0 {
            return false;
        }
        let rotation = Rotation::diagonalizing(x * x, y * y, size, product / size);
        rotation.turn_columns(&mut work, p, q);
        rotation.turn_columns(&mut right, p, q);
        true
    });
    let lengths: Vec<f64> = (0..n).map(|at| length(&work.column(at))).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|x, y| lengths[*y].total_cmp(&lengths[*x]));
    let (mut left_columns, mut right_columns) = (Vec::new(), Vec::new());
    for at in &order {
        let column = work.column(*at);
        left_columns.push(column.iter().map(|value| value / lengths[*at]).collect());
        right_columns.push(right.column(*at));
    }
    Singular {
        values: order.iter().map(|at| lengths[*at] * scale).collect(),
        left: Matrix::from_columns(a.rows, &left_columns),
        right: Matrix::from_columns(n, &right_columns),
    }
}

/// Brings vectors into the form that [`singular`] promises and adds those that are missing.
fn finish(values: Vec<f64>, left: &Matrix, right: &Matrix) -> Singular {
    let size = left.rows.max(right.rows).max(8) as f64;
    let zero = values
        .first()
        .map_or(0.0, |value| value * size * 4.0 * f64::EPSILON);
    let (mut left_columns, mut right_columns) = (Vec::new(), Vec::new());
    for at in 0..values.iter().filter(|value| **value > zero).count() {
        let (u, v) = (left.column(at), right.column(at));
        let turn = phase(&u).conj();
        left_columns.push(turned(&u));
        right_columns.push(v.iter().map(|value| value * turn).collect());
    }
    Singular {
        values,
        left: completed(left.rows, &left_columns),
        right: completed(right.rows, &right_columns),
    }
}

/// Orthonormal columns and the last ones of the unitary factor of their QR factorization.
fn completed(rows: usize, columns: &[Vec<C128>]) -> Matrix {
    let (factor, taus) = qr(Matrix::from_columns(rows, columns));
    let mut whole = product(&factor, &taus, rows);
    for (at, column) in columns.iter().enumerate() {
        whole.set_column(at, column);
    }
    whole
}

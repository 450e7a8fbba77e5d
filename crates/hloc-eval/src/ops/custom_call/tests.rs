//! LAPACK by its own laws: factors multiply to what they are factors of.

use super::eigen::{eigen, real_schur, schur};
use super::jacobi::{self_adjoint, singular};
use super::matrix::{Matrix, ONE, ZERO};
use super::reflect::{hessenberg_factors, product, qr, tridiagonal};
use super::solve::{Tridiagonal, cholesky, lu, tridiagonal as solve_tridiagonal};
use crate::scalar::C128;

/// A matrix whose entries look random.
fn matrix(rows: usize, columns: usize, real: bool) -> Matrix {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut matrix = Matrix::zeros(rows, columns);
    for value in &mut matrix.values {
        *value = C128::new(next(), if real { 0.0 } else { next() });
    }
    matrix
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let columns: Vec<Vec<C128>> = (0..b.columns).map(|at| a.times(&b.column(at))).collect();
    Matrix::from_columns(a.rows, &columns)
}

#[track_caller]
fn assert_near(a: &Matrix, b: &Matrix) {
    assert_eq!((a.rows, a.columns), (b.rows, b.columns));
    for (x, y) in a.values.iter().zip(&b.values) {
        let distance = x - y;
        assert!(distance.re.hypot(distance.im) < 1e-12, "{a:?}\n{b:?}");
    }
}

#[track_caller]
fn assert_unitary(q: &Matrix) {
    assert_near(
        &times(&q.adjoint(), q),
        &Matrix::identity(q.columns, q.columns),
    );
}

fn diagonal(values: &[C128]) -> Matrix {
    let mut matrix = Matrix::identity(values.len(), values.len());
    for (at, value) in values.iter().enumerate() {
        matrix[(at, at)] = *value;
    }
    matrix
}

fn triangle(
    a: &Matrix,
    rows: usize,
    columns: usize,
    keep: impl Fn(usize, usize) -> bool,
) -> Matrix {
    let mut result = Matrix::zeros(rows, columns);
    for row in 0..rows {
        for column in 0..columns {
            if keep(row, column) {
                result[(row, column)] = a[(row, column)];
            }
        }
    }
    result
}

#[test]
fn lu_factors() {
    for (rows, columns) in [(4, 4), (5, 3), (3, 5)] {
        let a = matrix(rows, columns, false);
        let (factors, pivots, status) = lu(a.clone());
        assert_eq!(status, 0);
        let least = rows.min(columns);
        let mut lower = triangle(&factors, rows, least, |row, column| row > column);
        (0..least).for_each(|at| lower[(at, at)] = ONE);
        let upper = triangle(&factors, least, columns, |row, column| row <= column);
        let mut exchanged = a;
        for (row, other) in pivots.iter().enumerate() {
            exchanged.swap_rows(row, other - 1);
        }
        assert_near(&times(&lower, &upper), &exchanged);
    }
    assert_eq!(lu(Matrix::zeros(2, 2)).2, 1);
}

#[test]
fn cholesky_factors() {
    let b = matrix(4, 4, false);
    let a = times(&b, &b.adjoint());
    let (factor, status) = cholesky(a.clone(), true);
    assert_eq!(status, 0);
    let lower = triangle(&factor, 4, 4, |row, column| row >= column);
    assert_near(&times(&lower, &lower.adjoint()), &a);
    let (factor, _) = cholesky(a.clone(), false);
    let upper = triangle(&factor, 4, 4, |row, column| row <= column);
    assert_near(&times(&upper.adjoint(), &upper), &a);
    let mut indefinite = Matrix::identity(3, 3);
    indefinite[(1, 1)] = -ONE;
    assert_eq!(cholesky(indefinite, true).1, 2);
}

#[test]
fn reflections() {
    for (rows, columns) in [(5, 3), (3, 5), (4, 4)] {
        let a = matrix(rows, columns, false);
        let (factor, taus) = qr(a.clone());
        let q = product(&factor, &taus, rows.min(columns));
        let r = triangle(&factor, rows.min(columns), columns, |row, column| {
            row <= column
        });
        assert_unitary(&q);
        assert_near(&times(&q, &r), &a);
        assert!((0..rows.min(columns)).all(|at| r[(at, at)].im == 0.0));
    }
    let a = matrix(5, 5, false);
    let (h, q) = hessenberg_factors(a.clone());
    assert_near(&times(&times(&q, &h), &q.adjoint()), &a);
}

#[test]
fn tridiagonal_forms_have_the_eigenvalues() {
    let a = matrix(5, 5, false).completed(true);
    let (wanted, _) = self_adjoint(a.clone()).expect("finite");
    for lower in [true, false] {
        let form = tridiagonal(a.clone(), lower);
        let mut t = diagonal(&form.main);
        for (at, value) in form.second.iter().enumerate() {
            (t[(at, at + 1)], t[(at + 1, at)]) = (*value, *value);
        }
        let (values, _) = self_adjoint(t).expect("finite");
        let pairs = values.iter().zip(&wanted);
        pairs.for_each(|(x, y)| assert!((x - y).abs() < 1e-13));
    }
}

#[test]
fn tridiagonal_equations() {
    let values = |real: usize| matrix(4, real, true).column(0);
    let (lower, main, upper) = (values(1), values(2), values(3));
    let b = matrix(4, 2, true);
    let mut a = diagonal(&main);
    for at in 0..3 {
        (a[(at + 1, at)], a[(at, at + 1)]) = (lower[at + 1], upper[at]);
    }
    let done = solve_tridiagonal(Tridiagonal {
        lower,
        main,
        upper,
        b: b.clone(),
        status: 0,
    });
    assert_eq!(done.status, 0);
    assert_near(&times(&a, &done.b), &b);
}

#[test]
fn self_adjoint_matrices() {
    let a = matrix(6, 6, false).completed(false);
    let (values, u) = self_adjoint(a.clone()).expect("finite");
    let values: Vec<C128> = values.iter().map(|value| C128::new(*value, 0.0)).collect();
    assert_unitary(&u);
    assert_near(&times(&times(&u, &diagonal(&values)), &u.adjoint()), &a);
    assert!(self_adjoint(Matrix::nan(2, 2)).is_none());
}

#[test]
fn singular_values() {
    let deficient = {
        let column = matrix(4, 1, false);
        times(&column, &matrix(1, 3, false))
    };
    for a in [
        matrix(5, 3, false),
        matrix(3, 5, true),
        deficient,
        Matrix::zeros(2, 3),
    ] {
        let found = singular(&a);
        assert_unitary(&found.left);
        assert_unitary(&found.right);
        assert!(found.values.iter().rev().is_sorted());
        let mut s = Matrix::zeros(a.rows, a.columns);
        for (at, value) in found.values.iter().enumerate() {
            s[(at, at)] = C128::new(*value, 0.0);
        }
        assert_near(&times(&times(&found.left, &s), &found.right.adjoint()), &a);
    }
}

#[test]
fn eigenvalues() {
    for real in [true, false] {
        let a = matrix(6, 6, real);
        let found = eigen(a.clone(), real).expect("converges");
        let values = diagonal(&found.values);
        assert_near(&times(&a, &found.right), &times(&found.right, &values));
        let left = found.left.adjoint();
        assert_near(&times(&left, &a), &times(&values, &left));
        let sum: C128 = found.values.iter().sum();
        let trace: C128 = (0..6).map(|at| a[(at, at)]).sum();
        assert!((sum - trace).re.abs() < 1e-13 && (sum - trace).im.abs() < 1e-13);
    }
}

#[test]
fn schur_forms() {
    let a = matrix(6, 6, false);
    let (t, q) = schur(a.clone()).expect("converges");
    assert_unitary(&q);
    assert_near(&times(&times(&q, &t), &q.adjoint()), &a);
    assert!((0..6).all(|row| (0..row).all(|column| t[(row, column)] == ZERO)));
    for n in [1, 2, 5, 6] {
        let a = matrix(n, n, true);
        let (t, q, values) = real_schur(a.clone()).expect("converges");
        assert_unitary(&q);
        assert_near(&times(&times(&q, &t), &q.adjoint()), &a);
        for (at, value) in values.iter().enumerate() {
            let below = t.values[at * n..]
                .first()
                .map(|_| at + 1 < n && t[(at + 1, at)] != ZERO);
            assert!(value.im <= 0.0 || below == Some(true));
            assert_eq!(value.re, t[(at, at)].re);
        }
    }
}

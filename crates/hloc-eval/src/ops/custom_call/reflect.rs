//! `geqrf`, `orgqr`, `gehrd` and `sytrd`: forms by Householder reflections, as LAPACK writes them.
//!
//! Reflection H is I − τ·v·vᴴ with 1 the first entry of v that is not 0. Its adjoint turns a vector into
//! a real number and zeros; the number has the sign opposite to the real part of the vector's first entry.

use super::matrix::{Matrix, ONE, ZERO, inner_product, length};
use crate::scalar::{C128, complex::divide};

/// One reflection: v, τ and the number β.
pub(super) struct Reflection {
    pub(super) v: Vec<C128>,
    pub(super) tau: C128,
    pub(super) beta: C128,
}

impl Reflection {
    /// The reflection whose adjoint turns `x` into (β, 0, …, 0) (LAPACK's `larfg`).
    pub(super) fn of(x: &[C128]) -> Reflection {
        let alpha = x.first().copied().unwrap_or(ZERO);
        let mut v = x.to_vec();
        if let Some(first) = v.first_mut() {
            *first = ONE;
        }
        if length(x.get(1..).unwrap_or_default()) == 0.0 && alpha.im == 0.0 {
            return Reflection {
                v,
                tau: ZERO,
                beta: alpha,
            };
        }
        let beta = -length(x).copysign(alpha.re);
        let divisor = alpha - beta;
        for value in v.iter_mut().skip(1) {
            *value = divide(*value, divisor);
        }
        Reflection {
            v,
            tau: C128::new((beta - alpha.re) / beta, -alpha.im / beta),
            beta: C128::new(beta, 0.0),
        }
    }

    /// The reflection that LAPACK stored: τ, and v below its 1.
    fn stored(tail: &[C128], tau: C128) -> Reflection {
        Reflection {
            v: [&[ONE], tail].concat(),
            tau,
            beta: ZERO,
        }
    }

    /// Rows `first` and after of columns `from` and after become H times them, or its adjoint.
    fn turn_rows(&self, a: &mut Matrix, first: usize, from: usize, adjoint: bool) {
        let tau = if adjoint { self.tau.conj() } else { self.tau };
        for at in from..a.columns {
            let mut column = a.column(at);
            let part = &mut column[first..first + self.v.len()];
            let product = tau * inner_product(&self.v, part);
            for (value, v) in part.iter_mut().zip(&self.v) {
                *value -= v * product;
            }
            a.set_column(at, &column);
        }
    }

    /// Columns `first` and after of the first `rows` rows become them times H.
    fn turn_columns(&self, a: &mut Matrix, first: usize, rows: usize) {
        for row in 0..rows {
            let products = self.v.iter().enumerate();
            let product: C128 = products.map(|(at, v)| a[(row, first + at)] * v).sum();
            for (at, v) in self.v.iter().enumerate() {
                a[(row, first + at)] -= product * self.tau * v.conj();
            }
        }
    }
}

/// The upper factor with the reflections below it, and their factors τ.
pub(super) fn qr(mut a: Matrix) -> (Matrix, Vec<C128>) {
    let mut taus = Vec::new();
    for at in 0..a.rows.min(a.columns) {
        let reflection = Reflection::of(&a.column(at)[at..]);
        reflection.turn_rows(&mut a, at, at + 1, true);
        a[(at, at)] = reflection.beta;
        for (row, v) in (at + 1..a.rows).zip(&reflection.v[1..]) {
            a[(row, at)] = *v;
        }
        taus.push(reflection.tau);
    }
    (a, taus)
}

/// The first columns of H₀·H₁·…, from what [`qr`] gave.
pub(super) fn product(a: &Matrix, taus: &[C128], columns: usize) -> Matrix {
    let mut result = Matrix::identity(a.rows, columns);
    let count = taus.len().min(a.rows).min(a.columns);
    for at in (0..count).rev() {
        let tail = &a.column(at)[at + 1..];
        Reflection::stored(tail, taus[at]).turn_rows(&mut result, at, 0, false);
    }
    result
}

/// The Hessenberg form of rows and columns `low..high` with the reflections below it, and the factors.
pub(super) fn hessenberg(mut a: Matrix, low: usize, high: usize) -> (Matrix, Vec<C128>) {
    let n = a.rows;
    let mut taus = vec![ZERO; n.saturating_sub(1)];
    for at in low..high.saturating_sub(1) {
        let reflection = Reflection::of(&a.column(at)[at + 1..high]);
        reflection.turn_columns(&mut a, at + 1, high);
        reflection.turn_rows(&mut a, at + 1, at + 1, true);
        a[(at + 1, at)] = reflection.beta;
        for (row, v) in (at + 2..high).zip(&reflection.v[1..]) {
            a[(row, at)] = *v;
        }
        taus[at] = reflection.tau;
    }
    (a, taus)
}

/// The Hessenberg form H without the reflections, and the unitary Q with A = Q·H·Qᴴ.
pub(super) fn hessenberg_factors(a: Matrix) -> (Matrix, Matrix) {
    let n = a.rows;
    let (mut h, taus) = hessenberg(a, 0, n);
    let mut q = Matrix::identity(n, n);
    for at in (0..n.saturating_sub(1)).rev() {
        let tail = &h.column(at)[at + 2..];
        Reflection::stored(tail, taus[at]).turn_rows(&mut q, at + 1, 0, false);
    }
    for row in 2..n {
        for column in 0..row - 1 {
            h[(row, column)] = ZERO;
        }
    }
    (h, q)
}

/// What `sytrd` gives.
pub(super) struct TridiagonalForm {
    pub(super) a: Matrix,
    pub(super) main: Vec<C128>,
    pub(super) second: Vec<C128>,
    pub(super) taus: Vec<C128>,
}

/// The tridiagonal form of a self-adjoint matrix of which one triangle is given, with the reflections in
/// that triangle; the other one stays as it was.
pub(super) fn tridiagonal(a: Matrix, lower: bool) -> TridiagonalForm {
    let n = a.rows;
    let mut work = a.completed(lower);
    let mut form = TridiagonalForm {
        a,
        main: vec![ZERO; n],
        second: vec![ZERO; n.saturating_sub(1)],
        taus: vec![ZERO; n.saturating_sub(1)],
    };
    // LAPACK reduces the lower triangle from the first column on, the upper one from the last one on; the
    // 1 of v is always beside the diagonal.
    for step in 0..n.saturating_sub(1) {
        let (at, rows): (usize, Vec<usize>) = if lower {
            (step, (step + 1..n).collect())
        } else {
            (n - 1 - step, (0..n - 1 - step).rev().collect())
        };
        let x: Vec<C128> = rows.iter().map(|row| work[(*row, at)]).collect();
        let Reflection { v, tau, beta } = Reflection::of(&x);
        let mut whole = vec![ZERO; n];
        for (row, v) in rows.iter().zip(&v) {
            whole[*row] = *v;
        }
        let h = Reflection {
            v: whole,
            tau,
            beta,
        };
        h.turn_rows(&mut work, 0, 0, true);
        h.turn_columns(&mut work, 0, n);
        let place = if lower { at } else { at - 1 };
        (form.second[place], form.taus[place]) = (beta, tau);
        for (at_v, row) in rows.iter().enumerate() {
            form.a[(*row, at)] = if at_v == 0 { beta } else { v[at_v] };
        }
    }
    for at in 0..n {
        form.main[at] = C128::new(work[(at, at)].re, 0.0);
        form.a[(at, at)] = form.main[at];
    }
    form
}

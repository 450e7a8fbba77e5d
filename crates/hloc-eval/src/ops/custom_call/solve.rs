//! `getrf`, `potrf` and `gtsv`: factors and equations by elimination.

use super::matrix::{Matrix, ZERO};
use crate::scalar::{C128, complex::divide};

/// |re| + |im|, by which LAPACK chooses pivots.
fn size(z: C128) -> f64 {
    z.re.abs() + z.im.abs()
}

/// LU factors in one matrix, the row (from 1) that each row was exchanged with, and 0 or the number
/// (from 1) of the first pivot that is zero.
pub(super) fn lu(mut a: Matrix) -> (Matrix, Vec<usize>, usize) {
    let (mut pivots, mut status) = (Vec::new(), 0);
    for at in 0..a.rows.min(a.columns) {
        let mut pivot = at;
        for row in at + 1..a.rows {
            if size(a[(row, at)]) > size(a[(pivot, at)]) {
                pivot = row;
            }
        }
        pivots.push(pivot + 1);
        a.swap_rows(at, pivot);
        if a[(at, at)] == ZERO {
            if status == 0 {
                status = at + 1;
            }
            continue;
        }
        for row in at + 1..a.rows {
            let factor = divide(a[(row, at)], a[(at, at)]);
            a[(row, at)] = factor;
            for column in at + 1..a.columns {
                let change = factor * a[(at, column)];
                a[(row, column)] -= change;
            }
        }
    }
    (a, pivots, status)
}

/// The Cholesky factor in its triangle, the other triangle as it was; and 0, or the number (from 1) of
/// the first pivot that is not positive. Then all entries are NaN.
pub(super) fn cholesky(a: Matrix, lower: bool) -> (Matrix, usize) {
    let n = a.rows;
    let whole = a.completed(lower);
    let mut factor = Matrix::zeros(n, n);
    for row in 0..n {
        for column in 0..=row {
            let products = (0..column).map(|k| factor[(row, k)] * factor[(column, k)].conj());
            let rest = whole[(row, column)] - products.sum::<C128>();
            factor[(row, column)] = if row > column {
                rest / factor[(column, column)].re
            } else if rest.re > 0.0 && rest.re.is_finite() {
                C128::new(rest.re.sqrt(), 0.0)
            } else {
                return (Matrix::nan(n, n), row + 1);
            };
        }
    }
    let mut result = a;
    for row in 0..n {
        for column in 0..=row {
            if lower {
                result[(row, column)] = factor[(row, column)];
            } else {
                result[(column, row)] = factor[(row, column)].conj();
            }
        }
    }
    (result, 0)
}

/// What `gtsv` leaves: the diagonals of the upper factor, of which the second is in `lower`, the
/// unknowns, and 0 or the number (from 1) of the first pivot that is zero.
pub(super) struct Tridiagonal {
    /// Entry i belongs to row i, entry 0 to nothing.
    pub(super) lower: Vec<C128>,
    pub(super) main: Vec<C128>,
    /// The last entry belongs to nothing.
    pub(super) upper: Vec<C128>,
    pub(super) b: Matrix,
    pub(super) status: usize,
}

/// Solves the equations by elimination with exchanges of neighboring rows.
pub(super) fn tridiagonal(mut t: Tridiagonal) -> Tridiagonal {
    let n = t.main.len();
    for at in 0..n.saturating_sub(1) {
        if t.lower[at + 1] == ZERO && t.main[at] == ZERO {
            t.status = at + 1;
            return t;
        }
        let exchange = size(t.main[at]) < size(t.lower[at + 1]);
        if exchange {
            // Row `at` has entries in the columns at, at + 1, at + 2.
            std::mem::swap(&mut t.main[at], &mut t.lower[at + 1]);
            let (above, below) = (t.upper[at], t.main[at + 1]);
            (t.upper[at], t.main[at + 1]) = (below, above);
            t.b.swap_rows(at, at + 1);
        }
        let third = if exchange && at + 2 < n {
            std::mem::replace(&mut t.upper[at + 1], ZERO)
        } else {
            ZERO
        };
        let factor = divide(t.lower[at + 1], t.main[at]);
        let change = factor * t.upper[at];
        t.main[at + 1] -= change;
        if at + 2 < n {
            t.upper[at + 1] -= factor * third;
        }
        for column in 0..t.b.columns {
            let change = factor * t.b[(at, column)];
            t.b[(at + 1, column)] -= change;
        }
        t.lower[at + 1] = third;
    }
    if t.main.last() == Some(&ZERO) {
        t.status = n;
        return t;
    }
    for at in (0..n).rev() {
        for column in 0..t.b.columns {
            let mut rest = t.b[(at, column)];
            if at + 1 < n {
                rest -= t.upper[at] * t.b[(at + 1, column)];
            }
            if at + 2 < n {
                rest -= t.lower[at + 1] * t.b[(at + 2, column)];
            }
            t.b[(at, column)] = divide(rest, t.main[at]);
        }
    }
    t
}

//! `gtsv`: equations with a tridiagonal matrix, by elimination with row exchanges.

use crate::field::{Field, Part};

/// The three diagonals of a matrix, which elimination uses up.
#[derive(Debug)]
pub struct Diagonals<'a, T> {
    /// Below the main one; one entry less.
    pub lower: &'a mut [T],
    /// The main one.
    pub main: &'a mut [T],
    /// Above the main one; one entry less.
    pub upper: &'a mut [T],
}

/// Overwrites row-major `b`, which has `columns` columns, with the solution. Gives 0, or the number from
/// 1 of the first pivot that is zero; then `b` holds no solution.
pub fn solve<T: Field>(matrix: Diagonals<'_, T>, b: &mut [T], columns: usize) -> i32 {
    let Diagonals { lower, main, upper } = matrix;
    let n = main.len();
    // `lower` comes to hold the second diagonal above the main one, filled in by exchanges.
    for at in 0..n.saturating_sub(1) {
        let (above, below) = b.split_at_mut((at + 1) * columns);
        let rows = above[at * columns..].iter_mut().zip(below);
        if lower[at] == T::zero() {
            if main[at] == T::zero() {
                return at as i32 + 1;
            }
        } else if main[at].size() >= lower[at].size() {
            let factor = lower[at].over(main[at]);
            main[at + 1] -= factor * upper[at];
            rows.for_each(|(first, second)| *second -= factor * *first);
            lower[at] = T::zero();
        } else {
            let factor = main[at].over(lower[at]);
            main[at] = lower[at];
            let below = main[at + 1];
            main[at + 1] = upper[at] - factor * below;
            lower[at] = T::zero();
            if at + 2 < n {
                lower[at] = upper[at + 1];
                upper[at + 1] = -(factor * upper[at + 1]);
            }
            upper[at] = below;
            rows.for_each(|(first, second)| {
                let old = *first;
                *first = *second;
                *second = old - factor * *second;
            });
        }
    }
    if n > 0 && main[n - 1] == T::real(T::Part::ZERO) {
        return n as i32;
    }
    for at in (0..n).rev() {
        for column in 0..columns {
            let mut value = b[at * columns + column];
            if at + 1 < n {
                value -= upper[at] * b[(at + 1) * columns + column];
            }
            if at + 2 < n {
                value -= lower[at] * b[(at + 2) * columns + column];
            }
            b[at * columns + column] = value.over(main[at]);
        }
    }
    0
}

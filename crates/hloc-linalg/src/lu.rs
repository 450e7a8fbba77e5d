//! `getrf`: LU factors with row exchanges, in blocks of columns.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::IntoConst;
use faer::{Accum, MatRef, Par};

use crate::field::{Field, Part};
use crate::matrix::Matrix;

/// Columns factored at a time.
const BLOCK: usize = 32;

/// Overwrites `a` with its factors. `pivots` says for each row, from 1, with which later row it was
/// exchanged. Gives 0, or the number from 1 of the first pivot that is zero.
pub(crate) fn factor<T: Field>(a: &mut Matrix<T>, pivots: &mut [i32]) -> i32 {
    let (rows, columns) = (a.rows, a.columns);
    let mut status = 0;
    let mut begin = 0;
    while begin < rows.min(columns) {
        let end = (begin + BLOCK).min(rows.min(columns));
        for (at, row) in pivots.iter_mut().enumerate().take(end).skip(begin) {
            *row = exchange(a, at) as i32 + 1;
            let value = a.at(at, at);
            if value == T::zero() {
                status = if status == 0 { at as i32 + 1 } else { status };
                continue;
            }
            eliminate(a, at, value, end);
        }
        update(a, begin, end);
        begin = end;
    }
    status
}

/// Brings the largest element of column `at` below the diagonal to it; gives the row it was in.
fn exchange<T: Field>(a: &mut Matrix<T>, at: usize) -> usize {
    let candidates = a.column(at)[at..].iter().enumerate();
    let mut pivot = (0, T::zero().size());
    for (row, value) in candidates {
        if row == 0 || value.size() > pivot.1 {
            pivot = (row, value.size());
        }
    }
    let row = at + pivot.0;
    if row != at {
        for column in 0..a.columns {
            a.column_mut(column).swap(at, row);
        }
    }
    row
}

/// Subtracts multiples of row `at` from the rows below, in the columns up to `end`.
fn eliminate<T: Field>(a: &mut Matrix<T>, at: usize, pivot: T, end: usize) {
    let rows = a.rows;
    let (before, after) = a.data.split_at_mut((at + 1) * rows);
    let factors = &mut before[at * rows + at + 1..];
    for factor in factors.iter_mut() {
        *factor = factor.over(pivot);
    }
    for column in after.chunks_exact_mut(rows).take(end - at - 1) {
        let multiple = column[at];
        for (value, factor) in column[at + 1..].iter_mut().zip(factors.iter()) {
            *value -= *factor * multiple;
        }
    }
}

/// Applies the factored columns `begin..end` to those after them.
fn update<T: Field>(a: &mut Matrix<T>, begin: usize, end: usize) {
    if end == a.columns {
        return;
    }
    let width = end - begin;
    let whole = a.view_mut();
    let (left, right) = whole.split_at_col_mut(end);
    let left: MatRef<'_, T> = left.into_const();
    let left = left.submatrix(begin, begin, left.nrows() - begin, width);
    let (triangle, factors) = left.split_at_row(width);
    let (_, right) = right.split_at_row_mut(begin);
    let (mut top, rest) = right.split_at_row_mut(width);
    solve_unit_lower_triangular_in_place(triangle, top.as_mut(), Par::Seq);
    let minus_one = T::real(-T::Part::ONE);
    matmul(rest, Accum::Add, factors, top.as_ref(), minus_one, Par::Seq);
}

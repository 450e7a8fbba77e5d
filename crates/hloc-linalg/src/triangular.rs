//! Equations with a triangular matrix.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place_with_conj, solve_unit_lower_triangular_in_place_with_conj,
    solve_unit_upper_triangular_in_place_with_conj, solve_upper_triangular_in_place_with_conj,
};
use faer::{Conj, MatMut, MatRef, Par};

use crate::field::Field;
use crate::matrix::Matrix;

/// Which triangular equations are solved: op(a)·x = b or x·op(a) = b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangular {
    /// Whether the matrix stands left of the unknowns.
    pub left_side: bool,
    /// Whether the lower triangle is read.
    pub lower: bool,
    /// Whether the diagonal counts as ones.
    pub unit_diagonal: bool,
    /// Whether the matrix is transposed.
    pub transposed: bool,
    /// Whether the matrix is conjugated.
    pub conjugated: bool,
}

/// Overwrites row-major `b` (`rows` × `columns`) with the solution; `a` is row-major and square.
pub(crate) fn solve<T: Field>(
    asked: Triangular,
    a: &[T],
    b: &mut [T],
    rows: usize,
    columns: usize,
) {
    let n = if asked.left_side { rows } else { columns };
    let stored = MatRef::from_row_major_slice(a, n, n);
    let conj = if asked.conjugated {
        Conj::Yes
    } else {
        Conj::No
    };
    // x·m = b is mᵀ·xᵀ = bᵀ.
    let flipped = asked.transposed == asked.left_side;
    let matrix = if flipped { stored.transpose() } else { stored };
    let lower = asked.lower != flipped;
    if asked.left_side {
        let mut x = Matrix::load(b, rows, columns);
        solve_columns(matrix, conj, lower, asked.unit_diagonal, x.view_mut());
        x.store(b);
    } else {
        let x = MatMut::from_column_major_slice_mut(b, columns, rows);
        solve_columns(matrix, conj, lower, asked.unit_diagonal, x);
    }
}

fn solve_columns<T: Field>(
    matrix: MatRef<'_, T>,
    conj: Conj,
    lower: bool,
    unit_diagonal: bool,
    x: MatMut<'_, T>,
) {
    match (lower, unit_diagonal) {
        (true, true) => {
            solve_unit_lower_triangular_in_place_with_conj(matrix, conj, x, Par::Seq);
        }
        (true, false) => solve_lower_triangular_in_place_with_conj(matrix, conj, x, Par::Seq),
        (false, true) => {
            solve_unit_upper_triangular_in_place_with_conj(matrix, conj, x, Par::Seq);
        }
        (false, false) => solve_upper_triangular_in_place_with_conj(matrix, conj, x, Par::Seq),
    }
}

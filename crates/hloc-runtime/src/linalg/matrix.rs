//! Matrices in columns, and the way in and out of row-major arrays.

use bytemuck::Pod;
use faer::{MatMut, MatRef};

use super::field::Field;

/// A matrix that lies in memory column by column.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) data: Vec<T>,
}

impl<T: Field> Matrix<T> {
    pub(super) fn zeros(rows: usize, columns: usize) -> Matrix<T> {
        Matrix {
            rows,
            columns,
            data: vec![T::zero(); rows * columns],
        }
    }

    pub(super) fn identity(rows: usize, columns: usize) -> Matrix<T> {
        let mut matrix = Matrix::zeros(rows, columns);
        for at in 0..rows.min(columns) {
            matrix.set(at, at, T::one());
        }
        matrix
    }

    /// From row-major elements.
    pub(super) fn load(elements: &[T], rows: usize, columns: usize) -> Matrix<T> {
        let mut matrix = Matrix::zeros(rows, columns);
        for (row, elements) in elements.chunks_exact(columns.max(1)).enumerate().take(rows) {
            for (column, element) in elements.iter().enumerate() {
                matrix.data[column * rows + row] = *element;
            }
        }
        matrix
    }

    /// To row-major elements.
    pub(super) fn store(&self, elements: &mut [T]) {
        for (row, elements) in elements.chunks_exact_mut(self.columns.max(1)).enumerate() {
            for (column, element) in elements.iter_mut().enumerate() {
                *element = self.at(row, column);
            }
        }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> T {
        self.data[column * self.rows + row]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: T) {
        self.data[column * self.rows + row] = value;
    }

    pub(super) fn column(&self, column: usize) -> &[T] {
        &self.data[column * self.rows..(column + 1) * self.rows]
    }

    pub(super) fn column_mut(&mut self, column: usize) -> &mut [T] {
        &mut self.data[column * self.rows..(column + 1) * self.rows]
    }

    pub(super) fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    pub(super) fn view_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.columns)
    }

    /// The same in `f64`.
    pub(super) fn widened(&self) -> Matrix<T::Wide> {
        Matrix {
            rows: self.rows,
            columns: self.columns,
            data: self.data.iter().map(|value| value.widened()).collect(),
        }
    }

    pub(super) fn all_finite(&self) -> bool {
        self.data.iter().all(|value| value.finite())
    }

    /// A self-adjoint matrix of which one triangle was given; its diagonal is real.
    pub(super) fn completed(mut self, lower: bool) -> Matrix<T> {
        for column in 0..self.columns {
            let diagonal = self.at(column, column).re();
            self.set(column, column, T::real(diagonal));
            for row in column + 1..self.rows {
                if lower {
                    let value = self.at(row, column);
                    self.set(column, row, value.conjugate());
                } else {
                    let value = self.at(column, row);
                    self.set(row, column, value.conjugate());
                }
            }
        }
        self
    }
}

/// Writes a faer matrix to row-major elements by `value` of each entry.
pub(super) fn store_view<W: Field, T: Field>(
    view: MatRef<'_, W>,
    elements: &mut [T],
    value: impl Fn(W) -> T,
) {
    for (row, elements) in elements.chunks_exact_mut(view.ncols().max(1)).enumerate() {
        for (column, element) in elements.iter_mut().enumerate() {
            *element = value(view[(row, column)]);
        }
    }
}

/// The bytes of an array as elements.
pub(super) fn elements<T: Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::cast_slice(bytes)
}

/// The bytes of an array as elements to write.
pub(super) fn elements_mut<T: Pod>(bytes: &mut [u8]) -> &mut [T] {
    bytemuck::cast_slice_mut(bytes)
}

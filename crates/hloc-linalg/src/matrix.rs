//! Matrices in columns, and the way in and out of row-major arrays.

use faer::{MatMut, MatRef};

use crate::field::Field;

/// A matrix that lies in memory column by column.
#[derive(Clone, Debug)]
pub struct Matrix<T> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The entries, column by column.
    pub data: Vec<T>,
}

impl<T: Field> Matrix<T> {
    /// All zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix<T> {
        Matrix {
            rows,
            columns,
            data: vec![T::zero(); rows * columns],
        }
    }

    pub(crate) fn identity(rows: usize, columns: usize) -> Matrix<T> {
        let mut matrix = Matrix::zeros(rows, columns);
        for at in 0..rows.min(columns) {
            matrix.set(at, at, T::one());
        }
        matrix
    }

    /// From row-major elements.
    pub fn load(elements: &[T], rows: usize, columns: usize) -> Matrix<T> {
        let mut matrix = Matrix::zeros(rows, columns);
        for (row, elements) in elements.chunks_exact(columns.max(1)).enumerate().take(rows) {
            for (column, element) in elements.iter().enumerate() {
                matrix.data[column * rows + row] = *element;
            }
        }
        matrix
    }

    /// To row-major elements.
    pub fn store(&self, elements: &mut [T]) {
        for (row, elements) in elements.chunks_exact_mut(self.columns.max(1)).enumerate() {
            for (column, element) in elements.iter_mut().enumerate() {
                *element = self.at(row, column);
            }
        }
    }

    /// One entry.
    pub fn at(&self, row: usize, column: usize) -> T {
        self.data[column * self.rows + row]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, value: T) {
        self.data[column * self.rows + row] = value;
    }

    pub(crate) fn column(&self, column: usize) -> &[T] {
        &self.data[column * self.rows..(column + 1) * self.rows]
    }

    pub(crate) fn column_mut(&mut self, column: usize) -> &mut [T] {
        &mut self.data[column * self.rows..(column + 1) * self.rows]
    }

    pub(crate) fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    pub(crate) fn view_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.columns)
    }

    /// The same in `f64`.
    pub fn widened(&self) -> Matrix<T::Wide> {
        Matrix {
            rows: self.rows,
            columns: self.columns,
            data: self.data.iter().map(|value| value.widened()).collect(),
        }
    }

    /// Whether no entry is infinite or NaN.
    pub fn all_finite(&self) -> bool {
        self.data.iter().all(|value| value.finite())
    }

    /// A self-adjoint matrix of which one triangle was given; its diagonal is real.
    pub(crate) fn completed(mut self, lower: bool) -> Matrix<T> {
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

    /// To row-major elements, by `value` of each entry.
    pub fn store_by<R>(&self, elements: &mut [R], value: impl Fn(T) -> R) {
        for (row, elements) in elements.chunks_exact_mut(self.columns.max(1)).enumerate() {
            for (column, element) in elements.iter_mut().enumerate() {
                *element = value(self.at(row, column));
            }
        }
    }

    /// The transposed matrix of conjugates.
    #[must_use]
    pub fn adjoint(&self) -> Matrix<T> {
        let mut adjoint = Matrix::zeros(self.columns, self.rows);
        for column in 0..self.columns {
            for row in 0..self.rows {
                adjoint.set(column, row, self.at(row, column).conjugate());
            }
        }
        adjoint
    }

    pub(crate) fn from_view(view: MatRef<'_, T>) -> Matrix<T> {
        let mut matrix = Matrix::zeros(view.nrows(), view.ncols());
        for column in 0..matrix.columns {
            for row in 0..matrix.rows {
                matrix.set(row, column, view[(row, column)]);
            }
        }
        matrix
    }
}

//! Small matrices of `c128`, in which all of LAPACK is computed here.
//!
//! A real matrix is one whose imaginary parts are 0; sums and products keep them so.

use std::ops::{Index, IndexMut};

use crate::scalar::C128;

pub(super) const ZERO: C128 = C128::new(0.0, 0.0);
pub(super) const ONE: C128 = C128::new(1.0, 0.0);
pub(super) const NAN: C128 = C128::new(f64::NAN, f64::NAN);

/// |z|.
pub(super) fn modulus(z: C128) -> f64 {
    libm::hypot(z.re, z.im)
}

/// The Euclidean length, scaled so that squares neither overflow nor vanish.
pub(super) fn length(values: &[C128]) -> f64 {
    let greatest = values.iter().map(|value| modulus(*value)).fold(0.0, larger);
    if greatest == 0.0 || !greatest.is_finite() {
        return greatest;
    }
    let squares = values.iter().map(|value| {
        let part = modulus(*value) / greatest;
        part * part
    });
    greatest * squares.sum::<f64>().sqrt()
}

/// The greater, NaN if either is.
fn larger(x: f64, y: f64) -> f64 {
    if x >= y || x.is_nan() { x } else { y }
}

/// Σ conj(x) · y.
pub(super) fn inner_product(x: &[C128], y: &[C128]) -> C128 {
    x.iter().zip(y).map(|(x, y)| x.conj() * y).sum()
}

/// `vector` turned so that its first large entry is real and positive.
///
/// Vectors that are only determined up to a sign or phase are brought into this form. Large is what has
/// at least 99/100 of the greatest modulus, so that rounding does not choose between equals.
pub(super) fn turned(vector: &[C128]) -> Vec<C128> {
    let turn = phase(vector).conj();
    let mut turned: Vec<C128> = vector.iter().map(|value| value * turn).collect();
    if let Some(at) = first_large(vector) {
        turned[at].im = 0.0;
    }
    turned
}

/// The direction of the first large entry; 1 if all are 0.
pub(super) fn phase(vector: &[C128]) -> C128 {
    first_large(vector).map_or(ONE, |at| vector[at] / modulus(vector[at]))
}

fn first_large(vector: &[C128]) -> Option<usize> {
    let greatest = vector.iter().map(|value| modulus(*value)).fold(0.0, larger);
    let large = |value: &C128| modulus(*value) >= 0.99 * greatest;
    (greatest > 0.0).then(|| vector.iter().position(large))?
}

/// A matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<C128>,
}

impl Index<(usize, usize)> for Matrix {
    type Output = C128;
    fn index(&self, (row, column): (usize, usize)) -> &C128 {
        &self.values[row * self.columns + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut C128 {
        &mut self.values[row * self.columns + column]
    }
}

impl Matrix {
    pub(super) fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix {
            rows,
            columns,
            values: vec![ZERO; rows * columns],
        }
    }

    /// Ones on the diagonal.
    pub(super) fn identity(rows: usize, columns: usize) -> Matrix {
        let mut matrix = Matrix::zeros(rows, columns);
        for at in 0..rows.min(columns) {
            matrix[(at, at)] = ONE;
        }
        matrix
    }

    /// All entries NaN.
    pub(super) fn nan(rows: usize, columns: usize) -> Matrix {
        Matrix {
            rows,
            columns,
            values: vec![NAN; rows * columns],
        }
    }

    pub(super) fn from_columns(rows: usize, columns: &[Vec<C128>]) -> Matrix {
        let mut matrix = Matrix::zeros(rows, columns.len());
        for (at, column) in columns.iter().enumerate() {
            matrix.set_column(at, column);
        }
        matrix
    }

    pub(super) fn column(&self, column: usize) -> Vec<C128> {
        (0..self.rows).map(|row| self[(row, column)]).collect()
    }

    pub(super) fn set_column(&mut self, column: usize, values: &[C128]) {
        for (row, value) in values.iter().enumerate() {
            self[(row, column)] = *value;
        }
    }

    /// The transposed matrix of conjugates.
    pub(super) fn adjoint(&self) -> Matrix {
        let mut adjoint = Matrix::zeros(self.columns, self.rows);
        for row in 0..self.rows {
            for column in 0..self.columns {
                adjoint[(column, row)] = self[(row, column)].conj();
            }
        }
        adjoint
    }

    /// `self` · `vector`.
    pub(super) fn times(&self, vector: &[C128]) -> Vec<C128> {
        let rows = self.values.chunks_exact(self.columns.max(1));
        let product = |row: &[C128]| row.iter().zip(vector).map(|(x, y)| x * y).sum();
        rows.map(product).collect()
    }

    /// The self-adjoint matrix of which one triangle is given; its diagonal is real.
    pub(super) fn completed(&self, lower: bool) -> Matrix {
        let mut whole = self.clone();
        for row in 0..self.rows {
            whole[(row, row)].im = 0.0;
            for column in 0..row {
                if lower {
                    whole[(column, row)] = self[(row, column)].conj();
                } else {
                    whole[(row, column)] = self[(column, row)].conj();
                }
            }
        }
        whole
    }

    pub(super) fn swap_rows(&mut self, row: usize, other: usize) {
        for column in 0..self.columns {
            self.values
                .swap(row * self.columns + column, other * self.columns + column);
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        let finite = |value: &C128| value.re.is_finite() && value.im.is_finite();
        self.values.iter().all(finite)
    }

    /// The Frobenius norm.
    pub(super) fn norm(&self) -> f64 {
        length(&self.values)
    }
}

/// A rotation of two columns or rows, `p` and `q`, which turns what is `phase` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) cosine: f64,
    pub(super) sine: f64,
    pub(super) phase: C128,
}

impl Rotation {
    /// The rotation that makes [[a, g·phase], [g·conj(phase), b]] diagonal (Jacobi), for g > 0.
    pub(super) fn diagonalizing(a: f64, b: f64, g: f64, phase: C128) -> Rotation {
        let theta = (b - a) / (2.0 * g);
        let tangent = 1.0f64.copysign(theta) / (theta.abs() + libm::hypot(theta, 1.0));
        let cosine = 1.0 / libm::hypot(tangent, 1.0);
        Rotation {
            cosine,
            sine: tangent * cosine,
            phase,
        }
    }

    /// Columns p and q of `a` become c·p − s·q and s·p + c·q, `q` without its phase.
    pub(super) fn turn_columns(self, a: &mut Matrix, p: usize, q: usize) {
        for row in 0..a.rows {
            let (x, y) = (a[(row, p)], a[(row, q)] * self.phase.conj());
            a[(row, p)] = x * self.cosine - y * self.sine;
            a[(row, q)] = x * self.sine + y * self.cosine;
        }
    }

    /// The same from the other side: rows by the conjugates.
    pub(super) fn turn_rows(self, a: &mut Matrix, p: usize, q: usize) {
        for column in 0..a.columns {
            let (x, y) = (a[(p, column)], a[(q, column)] * self.phase);
            a[(p, column)] = x * self.cosine - y * self.sine;
            a[(q, column)] = x * self.sine + y * self.cosine;
        }
    }
}

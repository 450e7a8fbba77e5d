//! `cholesky` and `triangular-solve`, in `f64` or `c128`, rounded at the end.

use hloc_ir::Op;
use hloc_ir::words::Transpose;
use hloc_tensor::Array;

use super::dot::{IntoType, complex, float};
use super::{Operands, count, ensure, zeros};
use crate::EvalError;
use crate::scalar::{C128, Lane, Value, complex as functions};

/// Numbers that equations can be solved in.
trait Field: Lane + IntoType {
    fn of(value: Value) -> Self;
    /// NaN in every part.
    fn nan() -> Self;
    fn conjugate(self) -> Self;
    fn minus_product(self, x: Self, y: Self) -> Self;
    fn over(self, divisor: Self) -> Self;
    /// The square root of the real part, NaN unless it is positive.
    fn pivot(self) -> Self;
}

impl Field for f64 {
    fn of(value: Value) -> f64 {
        float(value)
    }
    fn nan() -> f64 {
        f64::NAN
    }
    fn conjugate(self) -> f64 {
        self
    }
    fn minus_product(self, x: f64, y: f64) -> f64 {
        self - x * y
    }
    fn over(self, divisor: f64) -> f64 {
        self / divisor
    }
    fn pivot(self) -> f64 {
        if self > 0.0 { self.sqrt() } else { f64::NAN }
    }
}

impl Field for C128 {
    fn of(value: Value) -> C128 {
        complex(value)
    }
    fn nan() -> C128 {
        C128::new(f64::NAN, f64::NAN)
    }
    fn conjugate(self) -> C128 {
        C128::new(self.re, -self.im)
    }
    fn minus_product(self, x: C128, y: C128) -> C128 {
        self - x * y
    }
    fn over(self, divisor: C128) -> C128 {
        functions::divide(self, divisor)
    }
    fn pivot(self) -> C128 {
        C128::new(self.re.pivot(), 0.0)
    }
}

/// Rows and columns of the matrices in an array, and how many there are.
fn matrices(x: &Array) -> Result<(usize, usize, usize), EvalError> {
    let [outer @ .., rows, columns] = x.dims() else {
        return Err(EvalError::argument("an operand is no matrix"));
    };
    let empty = x.num_elements() == 0;
    let count = if empty { 0 } else { count(outer) };
    Ok((count, *rows as usize, *columns as usize))
}

fn decode<T: Field>(x: &Array) -> Vec<T> {
    (0..x.num_elements())
        .map(|at| T::of(Value::at(x, at)))
        .collect()
}

fn encode<T: Field>(values: &[T], like: &Array) -> Result<Array, EvalError> {
    let ty = like.element_type();
    let mut result = zeros(ty, like.dims())?;
    for (bytes, value) in result.bytes_mut().chunks_exact_mut(ty.size()).zip(values) {
        value.into_type(ty).write(ty, bytes);
    }
    Ok(result)
}

/// The factor of each matrix, of which one triangle is read; NaN throughout if there is none.
pub(super) fn cholesky(op: &Op, lower: bool, operands: &Operands) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let ty = x.element_type();
    if ty.is_complex() {
        factors::<C128>(x, lower)
    } else if ty.is_float() {
        factors::<f64>(x, lower)
    } else {
        Err(EvalError::unsupported(op, Some(ty)))
    }
}

fn factors<T: Field>(x: &Array, lower: bool) -> Result<Array, EvalError> {
    let (count, n, columns) = matrices(x)?;
    ensure(n == columns, "the matrix is not square")?;
    let values: Vec<T> = decode(x);
    let mut result = vec![T::of(Value::Int(0)); values.len()];
    for matrix in 0..count {
        let range = matrix * n * n..(matrix + 1) * n * n;
        factor(&values[range.clone()], &mut result[range], n, lower);
    }
    encode(&result, x)
}

/// The lower factor by rows; an upper factor is its conjugate transpose.
fn factor<T: Field>(a: &[T], result: &mut [T], n: usize, lower: bool) {
    let mut factor = result.to_vec();
    for row in 0..n {
        for column in 0..=row {
            let entry = if lower {
                a[row * n + column]
            } else {
                a[column * n + row].conjugate()
            };
            let sum = (0..column).fold(entry, |sum, k| {
                sum.minus_product(factor[row * n + k], factor[column * n + k].conjugate())
            });
            factor[row * n + column] = if row == column {
                sum.pivot()
            } else {
                sum.over(factor[column * n + column])
            };
        }
    }
    let failed = (0..n).any(|at| is_nan(factor[at * n + at]));
    for row in 0..n {
        for column in 0..n {
            let (low_row, low_column) = if lower { (row, column) } else { (column, row) };
            let entry = factor[low_row * n + low_column];
            result[row * n + column] = if failed {
                T::nan()
            } else if lower || row >= column {
                // The diagonal is real, and below it an upper factor is zero.
                entry
            } else {
                entry.conjugate()
            };
        }
    }
}

fn is_nan<T: Field>(value: T) -> bool {
    match value.wrap() {
        Value::Float(value) => value.is_nan(),
        Value::Complex(value) => value.re.is_nan() || value.im.is_nan(),
        Value::Pred(_) | Value::Int(_) => false,
    }
}

/// Solves op(a)·x = b or x·op(a) = b; the other triangle is not read.
pub(super) fn triangular_solve(op: &Op, operands: &Operands) -> Result<Array, EvalError> {
    let (a, b) = (operands.array(0)?, operands.array(1)?);
    let ty = a.element_type();
    if ty.is_complex() {
        solve::<C128>(op, a, b)
    } else if ty.is_float() {
        solve::<f64>(op, a, b)
    } else {
        Err(EvalError::unsupported(op, Some(ty)))
    }
}

fn solve<T: Field>(op: &Op, a: &Array, b: &Array) -> Result<Array, EvalError> {
    let Op::TriangularSolve {
        left_side,
        lower,
        unit_diagonal,
        transpose_a,
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let ((count, n, columns), (b_count, rows, b_columns)) = (matrices(a)?, matrices(b)?);
    let shared = if *left_side { rows } else { b_columns };
    // Where there is nothing to solve for, there are no right sides to count.
    let groups = count.min(b_count);
    ensure(
        n == columns && n == shared && (count == b_count || groups == 0),
        "the matrices do not go together",
    )?;
    let transpose = transpose_a.unwrap_or(Transpose::NoTranspose);
    let transposed = transpose != Transpose::NoTranspose;
    let conjugated = transpose == Transpose::Adjoint;
    // x·m = b is mᵀ·xᵀ = bᵀ, so the right side is solved as the left one with `m` transposed again.
    let flipped = transposed == *left_side;
    let forward = *lower != flipped;
    let (matrix, mut x): (Vec<T>, Vec<T>) = (decode(a), decode(b));
    let vectors = if *left_side { b_columns } else { rows };
    for group in 0..groups {
        let entry = |row: usize, column: usize| {
            let (row, column) = if flipped {
                (column, row)
            } else {
                (row, column)
            };
            let value = matrix[(group * n + row) * n + column];
            if conjugated { value.conjugate() } else { value }
        };
        for vector in 0..vectors {
            let place = |at: usize| {
                let (row, column) = if *left_side {
                    (at, vector)
                } else {
                    (vector, at)
                };
                (group * rows + row) * b_columns + column
            };
            for step in 0..n {
                let at = if forward { step } else { n - 1 - step };
                let solved = if forward { 0..at } else { at + 1..n };
                let sum = solved.fold(x[place(at)], |sum, other| {
                    sum.minus_product(entry(at, other), x[place(other)])
                });
                x[place(at)] = if *unit_diagonal {
                    sum
                } else {
                    sum.over(entry(at, at))
                };
            }
        }
    }
    encode(&x, b)
}

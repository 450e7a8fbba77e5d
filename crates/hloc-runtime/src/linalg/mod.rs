//! Linear algebra on batches of matrices: `cholesky`, `triangular-solve`, and the routines of LAPACK
//! that front ends call by name.
//!
//! Arrays are row-major; what LAPACK says of a matrix holds for the matrix, wherever its entries lie.
//! The matrices themselves are the matter of `hloc-linalg`.

mod lapack;
mod narrow;

use std::marker::PhantomData;

use bytemuck::Pod;
use hloc_ir::words::Transpose;
use hloc_ir::{ArrayShape, ElementType};
use hloc_linalg::{Matrix, Routines};
use hloc_loops::routine::{Lapack, RoutineCall, Triangular};
use hloc_tensor::Complex;

use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid, unsupported};
use lapack::LapackCall;
pub(crate) use narrow::Narrow;

/// Prepares a routine for the element type of its first input.
macro_rules! for_type {
    ($call:ident, $element_type:expr, $make:ident ( $($arg:expr),* )) => {
        if $element_type == ElementType::F32 {
            Box::new($make::<f32>::new($call, $($arg),*)?) as Box<dyn Routine>
        } else if $element_type == ElementType::F64 {
            Box::new($make::<f64>::new($call, $($arg),*)?)
        } else if $element_type == ElementType::C64 {
            Box::new($make::<Complex<f32>>::new($call, $($arg),*)?)
        } else if $element_type == ElementType::C128 {
            Box::new($make::<Complex<f64>>::new($call, $($arg),*)?)
        } else {
            return Err(unsupported($call));
        }
    };
}

/// Prepares a `cholesky`.
///
/// # Errors
/// [`RunError::UnsupportedCall`] for integers, [`RunError::InvalidProgram`] for shapes that do not fit.
pub(crate) fn plan_cholesky(call: &RoutineCall, lower: bool) -> Result<Box<dyn Routine>, RunError> {
    if let Some((narrow, wide)) = Narrow::of(call) {
        let inner = plan_cholesky(&wide, lower)?;
        return Ok(Box::new(narrow.around(inner)));
    }
    let element_type = first_type(call)?;
    Ok(for_type!(call, element_type, Cholesky(lower)))
}

/// Prepares a `triangular-solve` or `trsm`.
///
/// # Errors
/// As [`plan_cholesky`].
pub(crate) fn plan_triangular(
    call: &RoutineCall,
    asked: Triangular,
) -> Result<Box<dyn Routine>, RunError> {
    if let Some((narrow, wide)) = Narrow::of(call) {
        let inner = plan_triangular(&wide, asked)?;
        return Ok(Box::new(narrow.around(inner)));
    }
    let element_type = first_type(call)?;
    Ok(for_type!(call, element_type, TriangularSolve(asked)))
}

/// Prepares a routine of LAPACK.
///
/// # Errors
/// As [`plan_cholesky`], for all types but `f32`, `f64`, `c64`, `c128`.
pub(crate) fn plan_lapack(call: &RoutineCall, asked: Lapack) -> Result<Box<dyn Routine>, RunError> {
    if let Lapack::Trsm(triangular) = asked {
        return plan_triangular(call, triangular);
    }
    let element_type = first_type(call)?;
    Ok(for_type!(call, element_type, LapackCall(asked)))
}

fn first_type(call: &RoutineCall) -> Result<ElementType, RunError> {
    let shape = call.inputs.first();
    Ok(shape
        .ok_or_else(|| invalid("a matrix routine without operands"))?
        .element_type)
}

/// Rows and columns of the matrices of an array, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    count: usize,
    rows: usize,
    columns: usize,
}

impl Batch {
    fn of(shape: &ArrayShape) -> Result<Batch, RunError> {
        let [outer @ .., rows, columns] = &shape.dims[..] else {
            return Err(invalid("an operand is no matrix"));
        };
        let size = |dim: &i64| usize::try_from(*dim).unwrap_or(0);
        Ok(Batch {
            count: outer.iter().map(size).product(),
            rows: size(rows),
            columns: size(columns),
        })
    }

    /// Entries of one matrix.
    fn entries(self) -> usize {
        self.rows * self.columns
    }
}

#[derive(Debug)]
struct Cholesky<T> {
    batch: Batch,
    lower: bool,
    field: PhantomData<fn() -> T>,
}

impl<T: Routines> Cholesky<T> {
    fn new(call: &RoutineCall, lower: bool) -> Result<Cholesky<T>, RunError> {
        let batch = Batch::of(&call.inputs[0])?;
        if call.inputs != call.outputs || batch.rows != batch.columns {
            return Err(invalid("the arrays of a cholesky do not go together"));
        }
        Ok(Cholesky {
            batch,
            lower,
            field: PhantomData,
        })
    }
}

impl<T: Routines> Routine for Cholesky<T> {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let ([x], [result]) = (inputs, outputs) else {
            return;
        };
        let n = self.batch.rows;
        if x.is_empty() {
            return;
        }
        let matrices = elements::<T>(x).chunks_exact(n * n);
        let results = elements_mut::<T>(result).chunks_exact_mut(n * n);
        for (x, result) in matrices.zip(results) {
            match T::cholesky(Matrix::load(x, n, n), self.lower) {
                Err(_) => result.fill(T::nan()),
                Ok(factor) => {
                    for (row, result) in result.chunks_exact_mut(n).enumerate() {
                        for (column, result) in result.iter_mut().enumerate() {
                            *result = match (self.lower, row.cmp(&column)) {
                                (true, std::cmp::Ordering::Less)
                                | (false, std::cmp::Ordering::Greater) => T::zero(),
                                (true, _) => factor.at(row, column),
                                (false, _) => factor.at(column, row).conjugate(),
                            };
                        }
                    }
                }
            }
        }
    }
}

#[derive(Debug)]
struct TriangularSolve<T> {
    asked: Triangular,
    /// Of the unknowns.
    batch: Batch,
    field: PhantomData<fn() -> T>,
}

impl<T: Routines> TriangularSolve<T> {
    fn new(call: &RoutineCall, asked: Triangular) -> Result<TriangularSolve<T>, RunError> {
        let ([a, b], [result]) = (&call.inputs[..], &call.outputs[..]) else {
            return Err(invalid("a triangular-solve takes two operands"));
        };
        let (matrix, batch) = (Batch::of(a)?, Batch::of(b)?);
        let n = if asked.left_side {
            batch.rows
        } else {
            batch.columns
        };
        let fits = matrix.rows == n
            && matrix.columns == n
            && matrix.count == batch.count
            && b == result
            && a.element_type == b.element_type;
        if !fits {
            return Err(invalid(
                "the arrays of a triangular-solve do not go together",
            ));
        }
        Ok(TriangularSolve {
            asked,
            batch,
            field: PhantomData,
        })
    }
}

impl<T: Routines> Routine for TriangularSolve<T> {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let ([a, b], [result]) = (inputs, outputs) else {
            return;
        };
        if b.is_empty() {
            return;
        }
        result.copy_from_slice(b);
        let Batch { rows, columns, .. } = self.batch;
        let n = if self.asked.left_side { rows } else { columns };
        let matrices = elements::<T>(a).chunks_exact(n * n);
        let results = elements_mut::<T>(result).chunks_exact_mut(rows * columns);
        let asked = hloc_linalg::Triangular {
            left_side: self.asked.left_side,
            lower: self.asked.lower,
            unit_diagonal: self.asked.unit_diagonal,
            transposed: self.asked.transpose != Transpose::NoTranspose,
            conjugated: self.asked.transpose == Transpose::Adjoint,
        };
        for (a, x) in matrices.zip(results) {
            T::solve(asked, a, x, rows, columns);
        }
    }
}

/// The bytes of an array as elements.
fn elements<T: Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::cast_slice(bytes)
}

/// The bytes of an array as elements to write.
fn elements_mut<T: Pod>(bytes: &mut [u8]) -> &mut [T] {
    bytemuck::cast_slice_mut(bytes)
}

//! The routines of LAPACK as `jaxlib` wraps them: their operands, results and statuses.

use std::marker::PhantomData;

use hloc_ir::{ArrayShape, ElementType};
use hloc_linalg::{
    Diagonals, EigenField, Field, Matrix, Part, Routines, Tridiagonal, reduce, solve_tridiagonal,
    tridiagonalize,
};
use hloc_loops::routine::{Lapack, RoutineCall};
use hloc_tensor::Complex;

use super::{Batch, elements, elements_mut};
use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid};

/// What LAPACK says when an iteration does not converge.
const NOT_CONVERGED: i32 = 1;
/// What `gesdd` says of a NaN: the fourth argument is wrong.
const HAS_NAN: i32 = -4;

/// One routine on a batch.
#[derive(Debug)]
pub(super) struct LapackCall<T> {
    asked: Lapack,
    /// How many matrices there are.
    count: usize,
    /// The matrix of the first operand; of `gtsv` that of the right sides.
    matrix: Batch,
    /// Bytes of one matrix's part of each input.
    input_bytes: Box<[usize]>,
    /// Bytes of one matrix's part of each output.
    output_bytes: Box<[usize]>,
    /// Columns of the left vectors of `gesdd`.
    left_columns: usize,
    field: PhantomData<fn() -> T>,
}

/// What one array of a batch holds per matrix.
#[derive(Clone, Copy)]
enum Piece {
    Matrix(ElementType, usize, usize),
    Vector(ElementType, usize),
    Status,
}

impl<T: Routines> LapackCall<T> {
    pub(super) fn new(call: &RoutineCall, asked: Lapack) -> Result<LapackCall<T>, RunError> {
        let wrong = || invalid("the arrays of a LAPACK call do not go together");
        let at = if let Lapack::Gtsv = asked { 3 } else { 0 };
        let shape = call.inputs.get(at).ok_or_else(wrong)?;
        let matrix = Batch::of(shape)?;
        let (inputs, outputs) = pieces(call, asked, matrix);
        let outer = &shape.dims[..shape.dims.len() - 2];
        let fits = |shapes: &[ArrayShape], pieces: &[Piece]| {
            let mut pairs = shapes.iter().zip(pieces);
            shapes.len() == pieces.len()
                && pairs.all(|(shape, piece)| is_batch_of(shape, outer, *piece))
        };
        if !fits(&call.inputs, &inputs) || !fits(&call.outputs, &outputs) {
            return Err(wrong());
        }
        if is_square(asked) && matrix.rows != matrix.columns {
            return Err(wrong());
        }
        let left = match outputs.get(2) {
            Some(Piece::Matrix(_, _, columns)) => *columns,
            Some(Piece::Vector(..) | Piece::Status) | None => 0,
        };
        Ok(LapackCall {
            asked,
            count: matrix.count,
            matrix,
            input_bytes: inputs.iter().map(|piece| piece_bytes(*piece)).collect(),
            output_bytes: outputs.iter().map(|piece| piece_bytes(*piece)).collect(),
            left_columns: left,
            field: PhantomData,
        })
    }

    /// The routine on one matrix.
    fn run_one(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        let Batch { rows, columns, .. } = self.matrix;
        let load = || Matrix::<T>::load(elements(inputs[0]), rows, columns);
        match (self.asked, outputs) {
            (Lapack::Getrf, [out, pivots, status]) => {
                let mut a = load();
                set_status(status, T::lu(&mut a, elements_mut(pivots)));
                a.store(elements_mut(out));
            }
            (Lapack::Potrf { lower }, [out, status]) => {
                self.potrf(lower, inputs[0], out, status);
            }
            (Lapack::Geqrf, [out, taus]) => {
                let mut a = load();
                T::qr(&mut a, elements_mut(taus));
                a.store(elements_mut(out));
            }
            (Lapack::Orgqr, [out]) => {
                let mut a = load();
                T::reflections(&mut a, elements(inputs[1]));
                a.store(elements_mut(out));
            }
            (Lapack::Syevd { lower, vectors }, [out, values, status]) => {
                let done = T::Wide::self_adjoint(&load().widened(), lower);
                set_status(status, if done.is_none() { NOT_CONVERGED } else { 0 });
                match done {
                    Some((eigenvalues, u)) => {
                        round_parts::<T::Part>(&eigenvalues, values);
                        if vectors {
                            u.store_by(elements_mut::<T>(out), T::rounded);
                        } else {
                            out.copy_from_slice(inputs[0]);
                        }
                    }
                    None => {
                        fill_nan::<T::Part>(out);
                        fill_nan::<T::Part>(values);
                    }
                }
            }
            (Lapack::Gesdd { vectors }, [out, values, left, right, status]) => {
                out.copy_from_slice(inputs[0]);
                self.gesdd(vectors, &load(), [values, left, right, status]);
            }
            (Lapack::Geev { left, right }, outputs) => geev(&load(), left, right, outputs),
            (Lapack::Gees { vectors }, outputs) => gees(&load(), vectors, outputs),
            (Lapack::Gtsv, [lower, main, upper, b, status]) => {
                for (target, source) in [&mut *lower, &mut *main, &mut *upper, &mut *b]
                    .into_iter()
                    .zip(inputs)
                {
                    target.copy_from_slice(source);
                }
                let n = rows;
                let matrix = Diagonals {
                    // Entry 0 stands for what is left of the first row.
                    lower: elements_mut::<T>(lower).get_mut(1..).unwrap_or_default(),
                    main: elements_mut(main),
                    upper: &mut elements_mut::<T>(upper)[..n.saturating_sub(1)],
                };
                set_status(status, solve_tridiagonal(matrix, elements_mut(b), columns));
            }
            (Lapack::Sytrd { lower }, [out, main, second, taus, status]) => {
                let mut a = load();
                let result = Tridiagonal {
                    main: elements_mut(main),
                    second: elements_mut(second),
                    taus: elements_mut::<T>(taus),
                };
                tridiagonalize(&mut a, lower, result);
                a.store(elements_mut(out));
                set_status(status, 0);
            }
            (Lapack::Gehrd { low, high }, [out, taus, status]) => {
                let mut a = load();
                let high = usize::try_from(high).unwrap_or(rows).min(rows);
                let low = usize::try_from(low.saturating_sub(1))
                    .unwrap_or(0)
                    .min(high);
                reduce(&mut a, elements_mut(taus), low, high);
                a.store(elements_mut(out));
                set_status(status, 0);
            }
            // `new` has checked the number of outputs.
            (_, _) => {}
        }
    }

    fn potrf(&self, lower: bool, x: &[u8], out: &mut [u8], status: &mut [u8]) {
        let n = self.matrix.rows;
        out.copy_from_slice(x);
        match T::cholesky(Matrix::<T>::load(elements(x), n, n), lower) {
            Err(number) => {
                set_status(status, number);
                fill_nan::<T::Part>(out);
            }
            Ok(factor) => {
                set_status(status, 0);
                for (row, out) in elements_mut::<T>(out).chunks_exact_mut(n).enumerate() {
                    for (column, out) in out.iter_mut().enumerate() {
                        if lower && column <= row {
                            *out = factor.at(row, column);
                        } else if !lower && row <= column {
                            *out = factor.at(column, row).conjugate();
                        }
                    }
                }
            }
        }
    }

    fn gesdd(&self, vectors: bool, a: &Matrix<T>, outputs: [&mut [u8]; 4]) {
        let [values, left, right, status] = outputs;
        let full = self.left_columns > a.rows.min(a.columns)
            || right.len() / size_of::<T>() > a.rows.min(a.columns) * a.columns;
        let done = if a.all_finite() {
            T::Wide::singular(&a.widened(), full && vectors).ok_or(NOT_CONVERGED)
        } else {
            Err(HAS_NAN)
        };
        set_status(status, done.as_ref().err().copied().unwrap_or(0));
        let Ok(done) = done else {
            fill_nan::<T::Part>(values);
            fill_nan::<T::Part>(left);
            fill_nan::<T::Part>(right);
            return;
        };
        round_parts::<T::Part>(&done.values, values);
        left.fill(0);
        right.fill(0);
        if vectors {
            done.left.store_by(elements_mut::<T>(left), T::rounded);
            done.right
                .adjoint()
                .store_by(elements_mut::<T>(right), T::rounded);
        }
    }
}

impl<T: Routines> Routine for LapackCall<T> {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        for number in 0..self.count {
            let inputs: Vec<&[u8]> = inputs
                .iter()
                .zip(&self.input_bytes)
                .map(|(bytes, size)| &bytes[number * size..(number + 1) * size])
                .collect();
            let mut outputs: Vec<&mut [u8]> = outputs
                .iter_mut()
                .zip(&self.output_bytes)
                .map(|(bytes, size)| &mut bytes[number * size..(number + 1) * size])
                .collect();
            if self.matrix.entries() == 0 {
                outputs.iter_mut().for_each(|bytes| bytes.fill(0));
            } else {
                self.run_one(&inputs, &mut outputs);
            }
        }
    }
}

/// Eigenvalues and vectors of one matrix.
fn geev<T: Field>(a: &Matrix<T>, left: bool, right: bool, outputs: &mut [&mut [u8]]) {
    let Some((status, outputs)) = outputs.split_last_mut() else {
        return;
    };
    let done = T::Wide::eigen(&a.widened(), left, right);
    set_status(status, if done.is_none() { NOT_CONVERGED } else { 0 });
    let num_values = if T::IS_COMPLEX { 1 } else { 2 };
    let (values, vectors) = outputs.split_at_mut(num_values);
    let Some(done) = done else {
        values
            .iter_mut()
            .for_each(|bytes| fill_nan::<T::Part>(bytes));
        vectors
            .iter_mut()
            .for_each(|bytes| fill_nan::<T::Part>(bytes));
        return;
    };
    store_values::<T>(&done.values, values);
    for (target, vectors) in vectors.iter_mut().zip([done.left, done.right]) {
        // Complex vectors lie as pairs of parts.
        let target: &mut [T::Part] = elements_mut(target);
        target.fill(T::Part::ZERO);
        if let Some(vectors) = vectors {
            for (at, pair) in target.chunks_exact_mut(2).enumerate() {
                let (row, column) = (at / a.columns, at % a.columns);
                let value = vectors.data[column * a.rows + row];
                pair.copy_from_slice(&[value.re, value.im].map(T::Part::from_wide));
            }
        }
    }
}

/// The Schur form of one matrix.
fn gees<T: Field>(a: &Matrix<T>, vectors: bool, outputs: &mut [&mut [u8]]) {
    let [form, q, values @ .., selected, status] = outputs else {
        return;
    };
    set_status(selected, 0);
    let done = T::Wide::schur(&a.widened());
    set_status(status, if done.is_none() { NOT_CONVERGED } else { 0 });
    let Some(done) = done else {
        fill_nan::<T::Part>(form);
        fill_nan::<T::Part>(q);
        values
            .iter_mut()
            .for_each(|bytes| fill_nan::<T::Part>(bytes));
        return;
    };
    done.form.store_by(elements_mut::<T>(form), T::rounded);
    q.fill(0);
    if vectors {
        done.vectors.store_by(elements_mut::<T>(q), T::rounded);
    }
    store_values::<T>(&done.values, values);
}

/// Complex values, or real and imaginary parts in two arrays.
fn store_values<T: Field>(values: &[Complex<f64>], targets: &mut [&mut [u8]]) {
    match targets {
        [re, im] => {
            let targets = elements_mut::<T::Part>(re)
                .iter_mut()
                .zip(elements_mut::<T::Part>(im));
            for ((re, im), value) in targets.zip(values) {
                (*re, *im) = (T::Part::from_wide(value.re), T::Part::from_wide(value.im));
            }
        }
        [both] => {
            for (target, value) in elements_mut::<T>(both).iter_mut().zip(values) {
                *target = T::new(T::Part::from_wide(value.re), T::Part::from_wide(value.im));
            }
        }
        // One or two outputs hold the values.
        _ => {}
    }
}

fn round_parts<P: Part>(values: &[f64], bytes: &mut [u8]) {
    for (target, value) in elements_mut::<P>(bytes).iter_mut().zip(values) {
        *target = P::from_wide(*value);
    }
}

fn set_status(bytes: &mut [u8], status: i32) {
    bytes.copy_from_slice(&status.to_le_bytes());
}

/// Complex numbers lie as pairs of parts.
fn fill_nan<P: Part>(bytes: &mut [u8]) {
    elements_mut::<P>(bytes).fill(P::NAN);
}

fn is_square(asked: Lapack) -> bool {
    match asked {
        Lapack::Potrf { .. }
        | Lapack::Syevd { .. }
        | Lapack::Geev { .. }
        | Lapack::Gees { .. }
        | Lapack::Sytrd { .. }
        | Lapack::Gehrd { .. } => true,
        Lapack::Getrf
        | Lapack::Geqrf
        | Lapack::Orgqr
        | Lapack::Gesdd { .. }
        | Lapack::Trsm(_)
        | Lapack::Gtsv => false,
    }
}

/// What the inputs and outputs of a routine hold per matrix.
fn pieces(call: &RoutineCall, asked: Lapack, matrix: Batch) -> (Vec<Piece>, Vec<Piece>) {
    let Batch { rows, columns, .. } = matrix;
    let ty = call
        .inputs
        .first()
        .map_or(ElementType::F32, |shape| shape.element_type);
    let part = ty.component();
    let complex = if part == ElementType::F64 {
        ElementType::C128
    } else {
        ElementType::C64
    };
    let same = Piece::Matrix(ty, rows, columns);
    let least = rows.min(columns);
    let vector = Piece::Vector;
    let mut values = if ty.is_complex() {
        vec![vector(ty, rows)]
    } else {
        vec![vector(ty, rows), vector(ty, rows)]
    };
    match asked {
        Lapack::Getrf => (
            vec![same],
            vec![same, vector(ElementType::S32, least), Piece::Status],
        ),
        Lapack::Potrf { .. } => (vec![same], vec![same, Piece::Status]),
        Lapack::Geqrf => (vec![same], vec![same, vector(ty, least)]),
        Lapack::Orgqr => {
            let taus = call.inputs.get(1).and_then(|shape| shape.dims.last());
            let taus = taus.and_then(|dim| usize::try_from(*dim).ok()).unwrap_or(0);
            (vec![same, vector(ty, taus)], vec![same])
        }
        Lapack::Syevd { .. } => (vec![same], vec![same, vector(part, rows), Piece::Status]),
        Lapack::Gesdd { .. } => {
            let columns_of = |at: usize, from_end: usize| {
                let shape = call.outputs.get(at)?;
                let dim = shape.dims.len().checked_sub(from_end)?;
                usize::try_from(shape.dims[dim]).ok()
            };
            // Vectors are all or those that belong to values.
            let either =
                |wanted: Option<usize>, all: usize| if wanted == Some(all) { all } else { least };
            let left = Piece::Matrix(ty, rows, either(columns_of(2, 1), rows));
            let right = Piece::Matrix(ty, either(columns_of(3, 2), columns), columns);
            (
                vec![same],
                vec![same, vector(part, least), left, right, Piece::Status],
            )
        }
        Lapack::Geev { .. } => {
            let vectors = Piece::Matrix(complex, rows, rows);
            values.extend([vectors, vectors, Piece::Status]);
            (vec![same], values)
        }
        Lapack::Gees { .. } => {
            let mut outputs = vec![same, same];
            outputs.append(&mut values);
            outputs.extend([Piece::Status, Piece::Status]);
            (vec![same], outputs)
        }
        Lapack::Trsm(_) => {
            let side = Piece::Matrix(ty, rows, columns);
            (vec![side], vec![side])
        }
        Lapack::Gtsv => {
            let diagonals = vec![vector(ty, rows), vector(ty, rows), vector(ty, rows), same];
            let mut outputs = diagonals.clone();
            outputs.push(Piece::Status);
            (diagonals, outputs)
        }
        Lapack::Sytrd { .. } => {
            let others = rows.saturating_sub(1);
            let outputs = vec![
                same,
                vector(part, rows),
                vector(part, others),
                vector(ty, others),
                Piece::Status,
            ];
            (vec![same], outputs)
        }
        Lapack::Gehrd { .. } => (
            vec![same],
            vec![same, vector(ty, rows.saturating_sub(1)), Piece::Status],
        ),
    }
}

fn piece_bytes(piece: Piece) -> usize {
    match piece {
        Piece::Matrix(ty, rows, columns) => ty.size() * rows * columns,
        Piece::Vector(ty, length) => ty.size() * length,
        Piece::Status => 4,
    }
}

/// Whether an array has the outer dimensions and these per matrix.
fn is_batch_of(shape: &ArrayShape, outer: &[i64], piece: Piece) -> bool {
    let (ty, inner) = match piece {
        Piece::Matrix(ty, rows, columns) => (ty, vec![rows as i64, columns as i64]),
        Piece::Vector(ty, length) => (ty, vec![length as i64]),
        Piece::Status => (ElementType::S32, Vec::new()),
    };
    shape.element_type == ty && shape.dims[..] == [outer, &inner].concat()[..]
}

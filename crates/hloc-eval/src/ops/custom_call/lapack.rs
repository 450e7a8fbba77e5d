//! The routines of LAPACK that front ends call by name: `lapack_sgetrf_ffi` and its kin.
//!
//! Everything is computed in `c128` and rounded at the end. What a routine gives besides its results is
//! as LAPACK has it: pivots from 1, statuses, what stands in the other triangle.

use super::matrix::{Matrix, NAN, ZERO};
use super::options::Options;
use super::{eigen, jacobi, reflect, solve};
use crate::EvalError;
use crate::scalar::C128;

/// What `gesdd` says of a NaN: the fourth argument is wrong.
const HAS_NAN: i32 = -4;
/// What LAPACK says when an iteration does not end.
const NOT_CONVERGED: i32 = 1;

/// A part of an array that belongs to one matrix of the batch.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) dims: Vec<i64>,
    pub(super) values: Vec<C128>,
}

impl Piece {
    fn matrix(&self) -> Result<Matrix, EvalError> {
        if let [rows, columns] = self.dims[..] {
            return Ok(Matrix {
                rows: rows as usize,
                columns: columns as usize,
                values: self.values.clone(),
            });
        }
        Err(EvalError::argument(
            "an operand of the LAPACK call is no matrix",
        ))
    }

    fn square(&self) -> Result<Matrix, EvalError> {
        let matrix = self.matrix()?;
        super::super::ensure(matrix.rows == matrix.columns, "the matrix is not square")?;
        Ok(matrix)
    }
}

impl From<Matrix> for Piece {
    fn from(matrix: Matrix) -> Piece {
        Piece {
            dims: vec![matrix.rows as i64, matrix.columns as i64],
            values: matrix.values,
        }
    }
}

impl From<Vec<C128>> for Piece {
    fn from(values: Vec<C128>) -> Piece {
        Piece {
            dims: vec![values.len() as i64],
            values,
        }
    }
}

fn reals(values: &[f64]) -> Piece {
    let values: Vec<C128> = values.iter().map(|value| C128::new(*value, 0.0)).collect();
    values.into()
}

fn status(number: impl Into<f64>) -> Piece {
    Piece {
        dims: Vec::new(),
        values: vec![C128::new(number.into(), 0.0)],
    }
}

/// The routine that a target names, without the letter of its type: `getrf` of `lapack_sgetrf_ffi`.
pub(super) fn routine(target: &str) -> Option<&str> {
    let name = target.strip_prefix("lapack_")?.strip_suffix("_ffi")?;
    name.strip_prefix(['s', 'd', 'c', 'z'])
}

/// How many dimensions of the first operand belong to one matrix.
pub(super) fn inner_dims(routine: &str) -> usize {
    if routine == "gtsv" { 1 } else { 2 }
}

/// What one call is about.
pub(super) struct Call<'a> {
    pub(super) routine: &'a str,
    pub(super) options: Options<'a>,
    /// Whether the matrices are real.
    pub(super) real: bool,
    /// Dimensions of the results per matrix, as declared.
    pub(super) declared: Vec<Vec<i64>>,
}

impl Call<'_> {
    /// The results for one matrix, `None` for a routine that is not known.
    pub(super) fn run(&self, inputs: &[Piece]) -> Result<Option<Vec<Piece>>, EvalError> {
        let input = |at: usize| {
            inputs
                .get(at)
                .ok_or_else(|| EvalError::argument(format!("there is no operand {at}")))
        };
        let first = input(0)?;
        Ok(Some(match self.routine {
            "getrf" => {
                let (factors, pivots, failed) = solve::lu(first.matrix()?);
                let pivots: Vec<f64> = pivots.iter().map(|row| *row as f64).collect();
                vec![factors.into(), reals(&pivots), status(failed as i32)]
            }
            "potrf" => {
                let (factor, failed) = solve::cholesky(first.square()?, self.lower()?);
                vec![factor.into(), status(failed as i32)]
            }
            "geqrf" => {
                let (factor, taus) = reflect::qr(first.matrix()?);
                vec![factor.into(), taus.into()]
            }
            "orgqr" | "ungqr" => {
                let matrix = first.matrix()?;
                vec![reflect::product(&matrix, &input(1)?.values, matrix.columns).into()]
            }
            "gtsv" => gtsv([first, input(1)?, input(2)?, input(3)?])?,
            "sytrd" | "hetrd" => {
                let form = reflect::tridiagonal(first.square()?, self.lower()?);
                vec![
                    form.a.into(),
                    form.main.into(),
                    form.second.into(),
                    form.taus.into(),
                    status(0),
                ]
            }
            "gehrd" => {
                let matrix = first.square()?;
                let n = matrix.rows as i64;
                let high = self.options.number("high").unwrap_or(n).clamp(0, n);
                let low = self
                    .options
                    .number("low")
                    .unwrap_or(1)
                    .clamp(1, high.max(1));
                let (form, taus) = reflect::hessenberg(matrix, low as usize - 1, high as usize);
                vec![form.into(), taus.into(), status(0)]
            }
            "syevd" | "heevd" => self.syevd(first.square()?)?,
            "gesdd" => self.gesdd(first.matrix()?)?,
            "geev" => self.geev(first.square()?)?,
            "gees" => self.gees(first.square()?)?,
            _ => return Ok(None),
        }))
    }

    fn lower(&self) -> Result<bool, EvalError> {
        Ok(self.options.letter("uplo", "LU")? == 'L')
    }

    /// Vectors (the matrix as it was, if they are not wanted), values, status.
    fn syevd(&self, a: Matrix) -> Result<Vec<Piece>, EvalError> {
        let n = a.rows;
        let wanted = self.options.letter("mode", "NV")? == 'V';
        Ok(match jacobi::self_adjoint(a.completed(self.lower()?)) {
            Some((values, vectors)) => {
                let vectors = if wanted { vectors } else { a };
                vec![vectors.into(), reals(&values), status(0)]
            }
            None => vec![
                Matrix::nan(n, n).into(),
                vec![NAN; n].into(),
                status(NOT_CONVERGED),
            ],
        })
    }

    /// The matrix, values, left vectors, adjoint right vectors, status. Vectors that are not wanted are 0.
    fn gesdd(&self, a: Matrix) -> Result<Vec<Piece>, EvalError> {
        let wanted = self.options.letter("mode", "NASO")? != 'N';
        let shape = |at: usize| match self.declared.get(at).map(Vec::as_slice) {
            Some([rows, columns]) => Ok((*rows as usize, *columns as usize)),
            _ => Err(EvalError::argument("vectors of `gesdd` are no matrix")),
        };
        let ((_, left), (right, _)) = (shape(2)?, shape(3)?);
        let (rows, columns) = (a.rows, a.columns);
        let fits = |count: usize, all: usize| count == all || count == all.min(rows.min(columns));
        super::super::ensure(
            fits(left, rows) && fits(right, columns),
            "`gesdd` gives all vectors or those that belong to values",
        )?;
        let least = rows.min(columns);
        if !a.is_finite() {
            return Ok(vec![
                a.into(),
                vec![NAN; least].into(),
                Matrix::nan(rows, left).into(),
                Matrix::nan(right, columns).into(),
                status(HAS_NAN),
            ]);
        }
        let (mut u, mut v) = (Matrix::zeros(rows, left), Matrix::zeros(columns, right));
        let found = jacobi::singular(&a);
        if wanted {
            (0..left).for_each(|at| u.set_column(at, &found.left.column(at)));
            (0..right).for_each(|at| v.set_column(at, &found.right.column(at)));
        }
        let values = reals(&found.values);
        Ok(vec![
            a.into(),
            values,
            u.into(),
            v.adjoint().into(),
            status(0),
        ])
    }

    /// Values (real and imaginary parts of a real matrix's), left and right vectors, status. Vectors that
    /// are not wanted are 0.
    fn geev(&self, a: Matrix) -> Result<Vec<Piece>, EvalError> {
        let n = a.rows;
        let wanted = |name: &str| Ok::<_, EvalError>(self.options.letter(name, "NV")? == 'V');
        let (left, right) = (wanted("compute_left")?, wanted("compute_right")?);
        let Some(found) = eigen::eigen(a, self.real) else {
            let mut results = self.values(&vec![NAN; n]);
            let vectors = || Matrix::nan(n, n).into();
            results.extend([vectors(), vectors(), status(NOT_CONVERGED)]);
            return Ok(results);
        };
        let mut results = self.values(&found.values);
        let or_zeros = |wanted: bool, vectors: Matrix| {
            if wanted { vectors } else { Matrix::zeros(n, n) }
        };
        results.push(or_zeros(left, found.left).into());
        results.push(or_zeros(right, found.right).into());
        results.push(status(0));
        Ok(results)
    }

    /// The Schur form, its vectors, values, how many were selected, status. Vectors that are not wanted
    /// are 0.
    fn gees(&self, a: Matrix) -> Result<Vec<Piece>, EvalError> {
        let n = a.rows;
        let wanted = self.options.letter("mode", "NV")? == 'V';
        self.options.letter("sort", "N")?;
        let found = if self.real {
            eigen::real_schur(a)
        } else {
            eigen::schur(a).map(|(t, q)| {
                let values = (0..n).map(|at| t[(at, at)]).collect();
                (t, q, values)
            })
        };
        let (t, q, values, failed) = match found {
            Some((t, q, values)) => (t, q, values, 0),
            None => {
                let nan = Matrix::nan(n, n);
                (nan.clone(), nan, vec![NAN; n], NOT_CONVERGED)
            }
        };
        let q = if wanted { q } else { Matrix::zeros(n, n) };
        let mut results = vec![t.into(), q.into()];
        results.extend(self.values(&values));
        results.extend([status(0), status(failed)]);
        Ok(results)
    }

    /// Eigenvalues as LAPACK gives them: real and imaginary parts apart for a real matrix.
    fn values(&self, values: &[C128]) -> Vec<Piece> {
        if !self.real {
            return vec![values.to_vec().into()];
        }
        let re: Vec<f64> = values.iter().map(|value| value.re).collect();
        let im: Vec<f64> = values.iter().map(|value| value.im).collect();
        vec![reals(&re), reals(&im)]
    }
}

/// The diagonals that elimination leaves, unknowns, status.
fn gtsv([lower, main, upper, b]: [&Piece; 4]) -> Result<Vec<Piece>, EvalError> {
    let b = b.matrix()?;
    let n = main.values.len();
    super::super::ensure(
        lower.values.len() == n && upper.values.len() == n && b.rows == n,
        "the diagonals have other lengths",
    )?;
    let done = solve::tridiagonal(solve::Tridiagonal {
        lower: lower.values.clone(),
        main: main.values.clone(),
        upper: upper.values.clone(),
        b,
        status: 0,
    });
    let failed = done.status as i32;
    Ok(vec![
        done.lower.into(),
        done.main.into(),
        done.upper.into(),
        done.b.into(),
        status(failed),
    ])
}

/// Zeros for the results of an empty matrix.
pub(super) fn zeros(dims: &[i64]) -> Piece {
    Piece {
        dims: dims.to_vec(),
        values: vec![ZERO; super::super::count(dims)],
    }
}

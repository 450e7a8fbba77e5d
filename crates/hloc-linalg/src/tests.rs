//! Factors and solutions, against the matrices they stand for.

use faer::Mat;
use hloc_tensor::Complex;

use super::eigen::{Eigen, EigenField};
use super::field::Field;
use super::matrix::Matrix;
use super::triangular::Triangular;
use super::tridiagonal::Diagonals;
use super::{cholesky, hessenberg, lu, qr, triangular, tridiagonal};

type C64 = Complex<f64>;

/// Numbers between −1 and 1 that look random.
fn matrix<T: Field>(rows: usize, columns: usize, value: fn(f64, f64) -> T) -> Matrix<T> {
    let mut matrix = Matrix::zeros(rows, columns);
    let mut state = 12345u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for entry in &mut matrix.data {
        *entry = value(next(), next());
    }
    matrix
}

fn real(rows: usize, columns: usize) -> Matrix<f64> {
    matrix(rows, columns, |re, _| re)
}

fn complex(rows: usize, columns: usize) -> Matrix<C64> {
    matrix(rows, columns, C64::new)
}

fn dense<T: Field>(a: &Matrix<T>) -> Mat<T> {
    a.view().to_owned()
}

fn distance<T: Field<Part = f64>>(a: &Mat<T>, b: &Mat<T>) -> f64 {
    (a - b).norm_max()
}

fn lu_gives_the_matrix_back<T: Field<Part = f64>>(a: &Matrix<T>) {
    let mut factors = a.clone();
    let least = a.rows.min(a.columns);
    let mut pivots = vec![0; least];
    assert_eq!(lu::factor(&mut factors, &mut pivots), 0);
    let lower = Mat::from_fn(a.rows, least, |row, column| match row.cmp(&column) {
        std::cmp::Ordering::Less => T::zero(),
        std::cmp::Ordering::Equal => T::one(),
        std::cmp::Ordering::Greater => factors.at(row, column),
    });
    let upper = Mat::from_fn(least, a.columns, |row, column| {
        if row <= column {
            factors.at(row, column)
        } else {
            T::zero()
        }
    });
    let mut exchanged = a.clone();
    for (row, other) in pivots.iter().enumerate() {
        for column in 0..a.columns {
            exchanged.column_mut(column).swap(row, *other as usize - 1);
        }
    }
    assert!(distance(&(lower * upper), &dense(&exchanged)) < 1e-12);
}

#[test]
fn lu_of_any_shape() {
    for (rows, columns) in [(1, 1), (5, 3), (3, 5), (70, 70), (90, 40)] {
        lu_gives_the_matrix_back(&real(rows, columns));
        lu_gives_the_matrix_back(&complex(rows, columns));
    }
    let mut zero = Matrix::<f32>::zeros(2, 2);
    assert_eq!(lu::factor(&mut zero, &mut [0, 0]), 1);
}

fn qr_gives_the_matrix_back<T: Field<Part = f64>>(a: &Matrix<T>) {
    let mut factors = a.clone();
    let least = a.rows.min(a.columns);
    let mut taus = vec![T::zero(); least];
    qr::factor(&mut factors, &mut taus);
    let upper = Mat::from_fn(least, a.columns, |row, column| {
        if row <= column {
            factors.at(row, column)
        } else {
            T::zero()
        }
    });
    let mut q = Matrix::zeros(a.rows, least);
    q.data.copy_from_slice(&factors.data[..a.rows * least]);
    qr::product(&mut q, &taus);
    let q = dense(&q);
    assert!(distance(&(&q * upper), &dense(a)) < 1e-12);
    assert!(distance(&(q.adjoint() * &q), &Mat::identity(least, least)) < 1e-12);
}

#[test]
fn qr_of_any_shape() {
    for (rows, columns) in [(1, 1), (5, 3), (3, 5), (70, 70), (90, 40), (40, 90)] {
        qr_gives_the_matrix_back(&real(rows, columns));
        qr_gives_the_matrix_back(&complex(rows, columns));
    }
}

#[test]
fn cholesky_factors_what_is_positive() {
    let a = complex(40, 40);
    let square = dense(&a) * dense(&a).adjoint();
    let mut positive = Matrix::zeros(40, 40);
    for row in 0..40 {
        for column in 0..40 {
            positive.set(row, column, square[(row, column)]);
        }
    }
    for lower in [true, false] {
        let factor = cholesky::lower_factor(positive.clone(), lower).expect("positive");
        let lower = Mat::from_fn(40, 40, |row, column| {
            if column <= row {
                factor.at(row, column)
            } else {
                C64::zero()
            }
        });
        assert!(distance(&(&lower * lower.adjoint()), &square) < 1e-11);
    }
    let mut indefinite = Matrix::<f64>::identity(3, 3);
    indefinite.set(1, 1, -1.0);
    assert_eq!(cholesky::lower_factor(indefinite, true).err(), Some(2));
    let mut nan = Matrix::<f64>::identity(3, 3);
    nan.set(2, 2, f64::NAN);
    assert!(cholesky::lower_factor(nan, true).is_err());
}

#[test]
fn triangular_equations_of_all_kinds() {
    let (n, k) = (5, 3);
    let a = complex(n, n);
    let mut stored = vec![C64::zero(); n * n];
    for (transposed, conjugated) in [(false, false), (true, false), (true, true)] {
        for options in 0..8 {
            let asked = Triangular {
                left_side: options & 1 != 0,
                lower: options & 2 != 0,
                unit_diagonal: options & 4 != 0,
                transposed,
                conjugated,
            };
            a.store(&mut stored);
            let triangle = Mat::from_fn(n, n, |row, column| {
                if row == column && asked.unit_diagonal {
                    C64::one()
                } else if row == column || (row > column) == asked.lower {
                    a.at(row, column)
                } else {
                    C64::zero()
                }
            });
            let triangle = match (transposed, conjugated) {
                (false, _) => triangle,
                (true, false) => triangle.transpose().to_owned(),
                (true, true) => triangle.adjoint().to_owned(),
            };
            let (rows, columns) = if asked.left_side { (n, k) } else { (k, n) };
            let b = complex(rows, columns);
            let mut x = vec![C64::zero(); n * k];
            b.store(&mut x);
            triangular::solve(asked, &stored, &mut x, rows, columns);
            let x = dense(&Matrix::load(&x, rows, columns));
            let product = if asked.left_side {
                triangle * x
            } else {
                x * triangle
            };
            assert!(distance(&product, &dense(&b)) < 1e-9, "{asked:?}");
        }
    }
}

#[test]
fn tridiagonal_equations_with_exchanges() {
    let (mut lower, mut main, mut upper) = ([3.0, 1.0, 5.0], [1.0, 1.0, 0.0, 2.0], [2.0, 4.0, 1.0]);
    let (l, m, u) = (lower, main, upper);
    let mut b = [1.0, 2.0, 3.0, 4.0];
    let matrix = Diagonals {
        lower: &mut lower,
        main: &mut main,
        upper: &mut upper,
    };
    assert_eq!(tridiagonal::solve(matrix, &mut b, 1), 0);
    for row in 0..4usize {
        let mut sum = m[row] * b[row];
        if row > 0 {
            sum += l[row - 1] * b[row - 1];
        }
        if row < 3 {
            sum += u[row] * b[row + 1];
        }
        assert!((sum - (row as f64 + 1.0)).abs() < 1e-12);
    }
}

fn check_eigen<T: EigenField<Part = f64>>(a: &Matrix<T>) {
    let n = a.rows;
    let whole = Mat::from_fn(n, n, |row, column| {
        C64::new(a.at(row, column).re(), a.at(row, column).im())
    });
    let Eigen {
        values,
        left,
        right,
    } = T::eigen(a, true, true).expect("converges");
    let (left, right) = (left.expect("asked for"), right.expect("asked for"));
    let values = Mat::from_fn(n, n, |row, column| {
        if row == column {
            values[row]
        } else {
            C64::zero()
        }
    });
    let right = dense(&right);
    assert!(distance(&(&whole * &right), &(&right * &values)) < 1e-10);
    let left = dense(&left);
    assert!(distance(&(left.adjoint() * &whole), &(&values * left.adjoint())) < 1e-10);
}

#[test]
fn eigenvalues_of_any_matrix() {
    for n in [1, 2, 6, 30] {
        check_eigen(&real(n, n));
        check_eigen(&complex(n, n));
    }
}

#[test]
fn self_adjoint_and_singular_values() {
    let a = complex(6, 6).completed(true);
    let (values, u) = C64::self_adjoint(&a, true).expect("converges");
    let u = dense(&u);
    assert!(values.is_sorted());
    let s = Mat::from_fn(6, 6, |row, column| {
        if row == column {
            C64::real(values[row])
        } else {
            C64::zero()
        }
    });
    assert!(distance(&(&u * s * u.adjoint()), &dense(&a)) < 1e-12);
    let b = real(4, 7);
    let svd = f64::singular(&b, false).expect("converges");
    let (left, right) = (dense(&svd.left), dense(&svd.right));
    let s = Mat::from_fn(
        4,
        4,
        |row, column| if row == column { svd.values[row] } else { 0.0 },
    );
    assert!(distance(&(&left * s * right.transpose()), &dense(&b)) < 1e-12);
}

#[test]
fn tridiagonal_forms_keep_the_trace() {
    for lower in [true, false] {
        let mut a = real(6, 6);
        let trace: f64 = (0..6).map(|at| a.at(at, at)).sum();
        let (mut main, mut second, mut taus) = ([0.0; 6], [0.0; 5], [0.0; 5]);
        let result = hessenberg::Tridiagonal {
            main: &mut main,
            second: &mut second,
            taus: &mut taus,
        };
        hessenberg::tridiagonalize(&mut a, lower, result);
        assert!((main.iter().sum::<f64>() - trace).abs() < 1e-12);
        let at = |row: usize| {
            if lower {
                a.at(row + 1, row)
            } else {
                a.at(row, row + 1)
            }
        };
        assert!((0..5).all(|row| at(row) == second[row]));
    }
}

#[test]
fn schur_forms() {
    fn check<T: crate::EigenField<Part = f64>>(a: &Matrix<T>) {
        let schur = T::schur(a).expect("converges");
        let (q, t) = (dense(&schur.vectors), dense(&schur.form));
        assert!(distance(&(&q * &t * q.adjoint()), &dense(a)) < 1e-12);
        assert!(
            distance(
                &(&q * q.adjoint()),
                &dense(&Matrix::identity(a.rows, a.rows))
            ) < 1e-12
        );
        for column in 0..a.rows {
            let below = if T::IS_COMPLEX { 1 } else { 2 };
            assert!((column + below..a.rows).all(|row| schur.form.at(row, column) == T::zero()));
            assert_eq!(schur.form.at(column, column).re(), schur.values[column].re);
        }
    }
    for n in [1, 2, 3, 4, 7, 20] {
        check(&real(n, n));
        check(&complex(n, n));
    }
    let turn = Matrix::load(&[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], 3, 3);
    check(&turn);
    assert!(f64::schur(&Matrix::load(&[f64::NAN], 1, 1)).is_none());
}

//! `geev` and `gees`: eigenvalues of any matrix, by QR steps with shifts on its Hessenberg form.

use std::cmp::Ordering;

use super::matrix::{Matrix, ONE, Rotation, ZERO, length, modulus, turned};
use super::reflect::{hessenberg_factors, product, qr};
use crate::scalar::{C128, complex::divide, complex::sqrt};

/// Steps per eigenvalue before giving up.
const MAX_STEPS: usize = 300;

/// The upper triangular T and the unitary Q with A = Q·T·Qᴴ; `None` if a number is not finite or the
/// iteration does not end.
pub(super) fn schur(a: Matrix) -> Option<(Matrix, Matrix)> {
    if !a.is_finite() {
        return None;
    }
    let (mut t, mut q) = hessenberg_factors(a);
    let mut high = t.rows.saturating_sub(1);
    let mut steps = 0;
    while high > 0 {
        let low = (1..=high).rev().find(|at| {
            let beside = modulus(t[(*at, *at)]) + modulus(t[(at - 1, at - 1)]);
            let size = modulus(t[(*at, at - 1)]);
            size <= f64::EPSILON * beside || size < f64::MIN_POSITIVE
        });
        if let Some(at) = low {
            t[(at, at - 1)] = ZERO;
        }
        let low = low.unwrap_or(0);
        if low == high {
            (high, steps) = (high - 1, 0);
            continue;
        }
        steps += 1;
        if steps > MAX_STEPS {
            return None;
        }
        let shift = if steps % 10 == 0 {
            t[(high, high)] + modulus(t[(high, high - 1)])
        } else {
            shift(&t, high)
        };
        step(&mut t, &mut q, low, high, shift);
    }
    Some((t, q))
}

/// The eigenvalue of the last 2×2 block that is nearer to its last entry (Wilkinson).
fn shift(t: &Matrix, high: usize) -> C128 {
    let (a, b) = (t[(high - 1, high - 1)], t[(high - 1, high)]);
    let (c, d) = (t[(high, high - 1)], t[(high, high)]);
    let half = (a - d) * 0.5;
    let root = sqrt(half * half + b * c);
    let (plus, minus) = (half + root, half - root);
    if modulus(plus) < modulus(minus) {
        d + plus
    } else {
        d + minus
    }
}

/// One QR step on rows and columns `low..=high`: T − σ = G·R becomes R·G + σ.
fn step(t: &mut Matrix, q: &mut Matrix, low: usize, high: usize, shift: C128) {
    for at in low..=high {
        t[(at, at)] -= shift;
    }
    let mut rotations = Vec::new();
    for at in low..high {
        // [c, s; −conj(s), c] turns (x, y) into (r, 0).
        let (x, y) = (t[(at, at)], t[(at + 1, at)]);
        let size = length(&[x, y]);
        let (cosine, sine) = if size == 0.0 {
            (ONE, ZERO)
        } else {
            (x.conj() / size, y.conj() / size)
        };
        for column in at..t.columns {
            let (x, y) = (t[(at, column)], t[(at + 1, column)]);
            t[(at, column)] = cosine * x + sine * y;
            t[(at + 1, column)] = cosine.conj() * y - sine.conj() * x;
        }
        t[(at + 1, at)] = ZERO;
        rotations.push((cosine, sine));
    }
    for (at, (cosine, sine)) in (low..high).zip(rotations) {
        let turn = |a: &mut Matrix, rows: usize| {
            for row in 0..rows {
                let (x, y) = (a[(row, at)], a[(row, at + 1)]);
                a[(row, at)] = x * cosine.conj() + y * sine.conj();
                a[(row, at + 1)] = y * cosine - x * sine;
            }
        };
        turn(t, (at + 2).min(high + 1));
        turn(q, q.rows);
    }
    for at in low..=high {
        t[(at, at)] += shift;
    }
}

/// Eigenvalues with left and right vectors, one in each column.
pub(super) struct Eigen {
    pub(super) values: Vec<C128>,
    pub(super) left: Matrix,
    pub(super) right: Matrix,
}

/// Eigenvalues in the order of [`ordered`], with vectors that are [`turned`] and have length 1.
///
/// Those of a real matrix are real or conjugate pairs. `None` as for [`schur`].
pub(super) fn eigen(a: Matrix, real: bool) -> Option<Eigen> {
    let n = a.rows;
    let norm = a.norm();
    let (t, q) = schur(a)?;
    let least = norm * f64::EPSILON;
    let (mut values, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for at in ordered(&t, norm, real) {
        let value = t[(at, at)];
        let vectors = [left_vector(&t, at, least), right_vector(&t, at, least)];
        let [u, v] = vectors.map(|vector| turned(&unit(q.times(&vector))));
        if !real {
            values.push(value);
            left.push(u);
            right.push(v);
        } else if value.im.abs() <= negligible(norm) {
            values.push(C128::new(value.re, 0.0));
            left.push(real_parts(&u));
            right.push(real_parts(&v));
        } else if value.im > 0.0 {
            values.extend([value, value.conj()]);
            left.extend([u.clone(), conjugates(&u)]);
            right.extend([v.clone(), conjugates(&v)]);
        }
    }
    // The eigenvalues of a real matrix come in pairs unless rounding has split one.
    (values.len() == n).then(|| Eigen {
        values,
        left: Matrix::from_columns(n, &left),
        right: Matrix::from_columns(n, &right),
    })
}

/// Imaginary parts up to this are rounding errors in eigenvalues of a real matrix.
fn negligible(norm: f64) -> f64 {
    1e-13 * norm
}

/// The order in which eigenvalues are given: by real parts, then by imaginary parts; of a real matrix
/// conjugate pairs stay together, the one with positive imaginary part first.
///
/// Parts that differ by less than 2⁻³⁰ of the matrix's norm count as equal.
fn ordered(t: &Matrix, norm: f64, real: bool) -> Vec<usize> {
    let step = norm * 2.0f64.powi(-30);
    let coarse = |x: f64| if step > 0.0 { (x / step).round() } else { 0.0 };
    let by = |x: f64, y: f64| coarse(x).partial_cmp(&coarse(y)).unwrap_or(Ordering::Equal);
    let mut order: Vec<usize> = (0..t.rows).collect();
    order.sort_by(|x, y| {
        let (x, y) = (t[(*x, *x)], t[(*y, *y)]);
        let parts = if real {
            by(x.im.abs(), y.im.abs()).then(by(y.im, x.im))
        } else {
            by(x.im, y.im)
        };
        by(x.re, y.re).then(parts)
    });
    order
}

fn unit(vector: Vec<C128>) -> Vec<C128> {
    let length = length(&vector);
    vector.iter().map(|value| value / length).collect()
}

fn real_parts(vector: &[C128]) -> Vec<C128> {
    let parts = vector.iter().map(|value| C128::new(value.re, 0.0));
    unit(parts.collect())
}

fn conjugates(vector: &[C128]) -> Vec<C128> {
    vector.iter().map(|value| value.conj()).collect()
}

/// x with T·x = t·x for the entry t number `at` of the diagonal, by substitution from the diagonal up.
fn right_vector(t: &Matrix, at: usize, least: f64) -> Vec<C128> {
    let mut x = vec![ZERO; t.rows];
    x[at] = ONE;
    for row in (0..at).rev() {
        let sum: C128 = (row + 1..=at).map(|k| t[(row, k)] * x[k]).sum();
        x[row] = divide(-sum, difference(t[(row, row)] - t[(at, at)], least));
        shrink(&mut x, row);
    }
    x
}

/// y with yᴴ·T = t·yᴴ, by substitution from the diagonal down.
fn left_vector(t: &Matrix, at: usize, least: f64) -> Vec<C128> {
    let mut y = vec![ZERO; t.rows];
    y[at] = ONE;
    for row in at + 1..t.rows {
        let sum: C128 = (at..row).map(|k| t[(k, row)].conj() * y[k]).sum();
        let divisor = difference(t[(row, row)] - t[(at, at)], least);
        y[row] = divide(-sum, divisor.conj());
        shrink(&mut y, row);
    }
    y
}

/// Equal eigenvalues are told apart by as little as rounding would.
fn difference(value: C128, least: f64) -> C128 {
    if modulus(value) > least {
        value
    } else {
        C128::new(least.max(f64::MIN_POSITIVE), 0.0)
    }
}

/// Vectors of defective matrices grow at each step; only their direction counts.
fn shrink(vector: &mut [C128], at: usize) {
    let size = modulus(vector[at]);
    if size > 1e100 {
        vector.iter_mut().for_each(|value| *value /= size);
    }
}

/// The real Schur form of a real matrix: blocks of one or two rows on the diagonal, those of two with
/// equal diagonal entries. Also the orthogonal matrix, and the eigenvalues in the order of the blocks.
///
/// One eigenvector after the other is made the first basis vector of what is left. `None` as for
/// [`schur`].
pub(super) fn real_schur(a: Matrix) -> Option<(Matrix, Matrix, Vec<C128>)> {
    let n = a.rows;
    let (mut t, mut q) = (a, Matrix::identity(n, n));
    let mut values = Vec::new();
    let mut first = 0;
    while first < n {
        let rest = trailing(&t, first);
        let found = eigen(rest, true)?;
        let (value, vector) = (found.values[0], found.right.column(0));
        let width = if value.im == 0.0 { 1 } else { 2 };
        let parts = [|z: &C128| z.re, |z: &C128| z.im];
        let columns: Vec<Vec<C128>> = parts[..width]
            .iter()
            .map(|part| vector.iter().map(|z| C128::new(part(z), 0.0)).collect())
            .collect();
        let (factor, taus) = qr(Matrix::from_columns(n - first, &columns));
        let basis = product(&factor, &taus, n - first);
        change_basis(&mut t, &mut q, first, &basis);
        for column in first..first + width {
            for row in first + width..n {
                t[(row, column)] = ZERO;
            }
        }
        if width == 2 {
            standardize(&mut t, &mut q, first);
        }
        values.extend((first..first + width).map(|at| block_value(&t, first, width, at)));
        first += width;
    }
    Some((t, q, values))
}

/// Rows and columns `first` and after.
fn trailing(t: &Matrix, first: usize) -> Matrix {
    let n = t.rows - first;
    let mut rest = Matrix::zeros(n, n);
    for row in 0..n {
        for column in 0..n {
            rest[(row, column)] = t[(first + row, first + column)];
        }
    }
    rest
}

/// T becomes Bᵀ·T·B and Q becomes Q·B for B = diag(1, `basis`).
fn change_basis(t: &mut Matrix, q: &mut Matrix, first: usize, basis: &Matrix) {
    let transposed = basis.adjoint();
    for column in 0..t.columns {
        let mut whole = t.column(column);
        let changed = transposed.times(&whole[first..]);
        whole[first..].copy_from_slice(&changed);
        t.set_column(column, &whole);
    }
    for matrix in [t, q] {
        for row in 0..matrix.rows {
            let old: Vec<C128> = (first..matrix.columns)
                .map(|at| matrix[(row, at)])
                .collect();
            // Rows of the transposed basis are its columns.
            let changed = transposed.times(&old);
            for (at, value) in changed.iter().enumerate() {
                matrix[(row, first + at)] = *value;
            }
        }
    }
}

/// Rotates a block of two rows so that its diagonal entries are equal.
fn standardize(t: &mut Matrix, q: &mut Matrix, first: usize) {
    let (p, r) = (first, first + 1);
    let (a, b) = (t[(p, p)].re, t[(p, r)].re);
    let (c, d) = (t[(r, p)].re, t[(r, r)].re);
    // The entries of the diagonal differ by (a − d)·cos 2φ − (b + c)·sin 2φ after a rotation by φ.
    let angle = libm::atan2(a - d, b + c) / 2.0;
    let (sine, cosine) = libm::sincos(angle);
    let rotation = Rotation {
        cosine,
        sine,
        phase: ONE,
    };
    rotation.turn_columns(t, p, r);
    rotation.turn_rows(t, p, r);
    rotation.turn_columns(q, p, r);
    let mean = (t[(p, p)] + t[(r, r)]) * 0.5;
    (t[(p, p)], t[(r, r)]) = (mean, mean);
}

/// Eigenvalue number `at` from the block that begins at `first`.
fn block_value(t: &Matrix, first: usize, width: usize, at: usize) -> C128 {
    let re = t[(first, first)].re;
    if width == 1 {
        return C128::new(re, 0.0);
    }
    let (b, c) = (t[(first, first + 1)].re, t[(first + 1, first)].re);
    let im = b.abs().sqrt() * c.abs().sqrt();
    C128::new(re, if at == first { im } else { -im })
}

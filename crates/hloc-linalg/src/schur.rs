//! `gees`: Schur forms, by QR steps with shifts on the Hessenberg form.

use hloc_tensor::Complex;

use crate::eigen::EigenField;
use crate::field::Field;
use crate::matrix::Matrix;
use crate::qr::{self, apply, reflect};
use crate::reduce;

type C64 = Complex<f64>;

/// Steps per eigenvalue before giving up.
const MAX_STEPS: usize = 300;

/// A = vectors · form · vectorsᴴ.
#[derive(Clone, Debug)]
pub struct Schur<T> {
    /// Upper triangular; of a real matrix with blocks of two rows, with equal diagonal entries, for
    /// conjugate pairs.
    pub form: Matrix<T>,
    /// Unitary.
    pub vectors: Matrix<T>,
    /// The eigenvalues in the order of the diagonal.
    pub values: Vec<C64>,
}

/// The Hessenberg form without the reflections, and the unitary matrix that leads to it.
fn hessenberg<T: EigenField<Part = f64>>(a: &Matrix<T>) -> (Matrix<T>, Matrix<T>) {
    let n = a.rows;
    let (mut form, mut taus) = (a.clone(), vec![T::zero(); n.saturating_sub(1)]);
    reduce(&mut form, &mut taus, 0, n);
    let mut vectors = Matrix::identity(n, n);
    if n < 2 {
        return (form, vectors);
    }
    let mut inner = Matrix::zeros(n - 1, n - 1);
    for column in 0..n - 1 {
        for row in column + 1..n {
            inner.set(row - 1, column, form.at(row, column));
            if row > column + 1 {
                form.set(row, column, T::zero());
            }
        }
    }
    qr::product(&mut inner, &taus);
    for column in 1..n {
        vectors.column_mut(column)[1..].copy_from_slice(inner.column(column - 1));
    }
    (form, vectors)
}

/// The first row of the block that ends at `high` and does not fall apart.
fn block<T: Field<Part = f64>>(form: &mut Matrix<T>, high: usize) -> usize {
    for at in (1..=high).rev() {
        let beside = form.at(at, at).size() + form.at(at - 1, at - 1).size();
        let size = form.at(at, at - 1).size();
        if size <= f64::EPSILON * beside || size < f64::MIN_POSITIVE {
            form.set(at, at - 1, T::zero());
            return at;
        }
    }
    0
}

/// Runs `step` on blocks from the end until all have at most `width` rows, which `finish` gets.
fn iterate<T: EigenField<Part = f64>>(
    a: &Matrix<T>,
    width: usize,
    step: impl Fn(&mut Schur<T>, usize, usize, usize),
    finish: impl Fn(&mut Schur<T>, usize, usize),
) -> Option<Schur<T>> {
    if !a.all_finite() {
        return None;
    }
    let (form, vectors) = hessenberg(a);
    let mut schur = Schur {
        form,
        vectors,
        values: Vec::new(),
    };
    let (mut end, mut steps) = (a.rows, 0);
    while end > 0 {
        let low = block(&mut schur.form, end - 1);
        if end - low <= width {
            finish(&mut schur, low, end - low);
            (end, steps) = (low, 0);
            continue;
        }
        steps += 1;
        if steps > MAX_STEPS {
            return None;
        }
        step(&mut schur, low, end - 1, steps);
    }
    Some(schur)
}

/// The Schur form of a complex matrix; `None` as for eigenvalues.
pub(crate) fn complex(a: &Matrix<C64>) -> Option<Schur<C64>> {
    let mut schur = iterate(a, 1, complex_step, |_, _, _| ())?;
    schur.values = (0..a.rows).map(|at| schur.form.at(at, at)).collect();
    Some(schur)
}

/// One step with the eigenvalue of the last block of two rows that is nearer to the last entry.
fn complex_step(schur: &mut Schur<C64>, low: usize, high: usize, number: usize) {
    let t = &mut schur.form;
    let last = t.at(high, high);
    let below = t.at(high, high - 1);
    let half = (t.at(high - 1, high - 1) - last).scaled(0.5);
    let root = root(half * half + t.at(high - 1, high) * below);
    let nearer = if (half + root).size() < (half - root).size() {
        half + root
    } else {
        half - root
    };
    let shift = if number.is_multiple_of(10) {
        last + C64::real(below.size())
    } else {
        last + nearer
    };
    for at in low..=high {
        t.set(at, at, t.at(at, at) - shift);
    }
    let mut turns = Vec::with_capacity(high - low);
    for at in low..high {
        let (x, y) = (t.at(at, at), t.at(at + 1, at));
        let size = x.re.hypot(x.im).hypot(y.re.hypot(y.im));
        let (cosine, sine) = if size == 0.0 {
            (C64::one(), C64::zero())
        } else {
            (x.scaled(1.0 / size), y.scaled(1.0 / size))
        };
        for column in at..t.columns {
            let (x, y) = (t.at(at, column), t.at(at + 1, column));
            t.set(at, column, cosine.conjugate() * x + sine.conjugate() * y);
            t.set(at + 1, column, cosine * y - sine * x);
        }
        turns.push((cosine, sine));
    }
    for (at, (cosine, sine)) in (low..high).zip(turns) {
        for (matrix, rows) in [(&mut *t, at + 2), (&mut schur.vectors, usize::MAX)] {
            for row in 0..rows.min(matrix.rows) {
                let (x, y) = (matrix.at(row, at), matrix.at(row, at + 1));
                matrix.set(row, at, x * cosine + y * sine);
                matrix.set(row, at + 1, y * cosine.conjugate() - x * sine.conjugate());
            }
        }
    }
    for at in low..=high {
        t.set(at, at, t.at(at, at) + shift);
    }
}

/// A square root.
fn root(z: C64) -> C64 {
    let size = z.re.hypot(z.im);
    let re = ((size + z.re.abs()) / 2.0).sqrt();
    if re == 0.0 {
        C64::zero()
    } else if z.re >= 0.0 {
        C64::new(re, z.im / (2.0 * re))
    } else {
        C64::new(z.im.abs() / (2.0 * re), re.copysign(z.im))
    }
}

/// The Schur form of a real matrix; `None` as for eigenvalues.
pub(crate) fn real(a: &Matrix<f64>) -> Option<Schur<f64>> {
    let mut schur = iterate(a, 2, real_step, |schur, at, width| {
        if width == 2 {
            standardize(schur, at);
        }
    })?;
    let mut at = 0;
    while at < a.rows {
        let value = schur.form.at(at, at);
        let below = if at + 1 < a.rows {
            schur.form.at(at + 1, at)
        } else {
            0.0
        };
        if below == 0.0 {
            schur.values.push(C64::real(value));
            at += 1;
            continue;
        }
        let im = below.abs().sqrt() * schur.form.at(at, at + 1).abs().sqrt();
        let pair = [C64::new(value, im), C64::new(value, -im)];
        schur.values.extend(pair);
        at += 2;
    }
    Some(schur)
}

/// One step with both eigenvalues of the last block of two rows at once (Francis).
fn real_step(schur: &mut Schur<f64>, low: usize, high: usize, number: usize) {
    let h = &mut schur.form;
    let (mut sum, mut product) = (
        h.at(high - 1, high - 1) + h.at(high, high),
        h.at(high - 1, high - 1) * h.at(high, high) - h.at(high - 1, high) * h.at(high, high - 1),
    );
    if number.is_multiple_of(10) {
        let size = h.at(high, high - 1).abs() + h.at(high - 1, high - 2).abs();
        (sum, product) = (1.5 * size, size * size);
    }
    // The first column of (H − s)·(H − s̄) in the block.
    let (a, b) = (h.at(low, low), h.at(low + 1, low));
    let mut x = [
        a * a + h.at(low, low + 1) * b - sum * a + product,
        b * (a + h.at(low + 1, low + 1) - sum),
        b * h.at(low + 2, low + 1),
    ];
    for at in low..high {
        let width = 3.min(high + 1 - at);
        let (head, tail) = x[..width].split_at_mut(1);
        let (tau, beta) = reflect(head[0], tail);
        if at > low {
            h.set(at, at - 1, beta);
            (at + 1..at + width).for_each(|row| h.set(row, at - 1, 0.0));
        }
        for column in at..h.columns {
            apply(tau, tail, &mut h.column_mut(column)[at..at + width]);
        }
        turn_columns(h, (high + 1).min(at + 4), at, tau, tail);
        let rows = schur.vectors.rows;
        turn_columns(&mut schur.vectors, rows, at, tau, tail);
        for (row, x) in (at + 1..=high).zip(&mut x) {
            *x = h.at(row, at);
        }
    }
}

/// The first `rows` rows of columns `at` and after become them times the reflection.
fn turn_columns(matrix: &mut Matrix<f64>, rows: usize, at: usize, tau: f64, tail: &[f64]) {
    for row in 0..rows {
        let others = tail.iter().zip(at + 1..);
        let others: f64 = others.map(|(v, column)| v * matrix.at(row, column)).sum();
        let product = tau * (matrix.at(row, at) + others);
        matrix.set(row, at, matrix.at(row, at) - product);
        for (v, column) in tail.iter().zip(at + 1..) {
            matrix.set(row, column, matrix.at(row, column) - product * v);
        }
    }
}

/// Makes a block of two rows triangular if its eigenvalues are real, else its diagonal entries equal.
fn standardize(schur: &mut Schur<f64>, at: usize) {
    let t = &schur.form;
    let (a, b) = (t.at(at, at), t.at(at, at + 1));
    let (c, d) = (t.at(at + 1, at), t.at(at + 1, at + 1));
    let half = (a - d) / 2.0;
    // Scaled, so that the discriminant neither over- nor underflows.
    let scale = half.abs().max(b.abs()).max(c.abs());
    let discriminant = (half / scale) * (half / scale) + (b / scale) * (c / scale);
    let is_real = discriminant >= 0.0;
    let (cosine, sine) = if is_real {
        // (z, c) is an eigenvector.
        let z = half + (scale * discriminant.sqrt()).copysign(half);
        let size = z.hypot(c);
        (z / size, c / size)
    } else {
        let angle = -(a - d).atan2(b + c) / 2.0;
        (angle.cos(), angle.sin())
    };
    rotate(schur, at, cosine, sine);
    let t = &mut schur.form;
    if is_real {
        t.set(at + 1, at, 0.0);
    } else {
        let mean = (t.at(at, at) + t.at(at + 1, at + 1)) / 2.0;
        t.set(at, at, mean);
        t.set(at + 1, at + 1, mean);
    }
}

/// Turns rows and columns `at` and the next one: x becomes c·x + s·y and y becomes c·y − s·x.
fn rotate(schur: &mut Schur<f64>, at: usize, cosine: f64, sine: f64) {
    for matrix in [&mut schur.form, &mut schur.vectors] {
        for row in 0..matrix.rows {
            let (x, y) = (matrix.at(row, at), matrix.at(row, at + 1));
            matrix.set(row, at, cosine * x + sine * y);
            matrix.set(row, at + 1, cosine * y - sine * x);
        }
    }
    let t = &mut schur.form;
    for column in 0..t.columns {
        let (x, y) = (t.at(at, column), t.at(at + 1, column));
        t.set(at, column, cosine * x + sine * y);
        t.set(at + 1, column, cosine * y - sine * x);
    }
}

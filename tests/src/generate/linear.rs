//! Linear algebra, Fourier transforms, batch normalization.

use hloc_ir::{Array, ElementType, Opcode, StructuralOp};
use hloc_tensor::Scalar;

use super::Row;
use super::builder::{Generator, Value, list};
use super::knowledge::{Knowledge, Slack, epsilon};
use super::values::{Flavor, between};

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::Cholesky, 3, cholesky),
        row(StructuralOp::TriangularSolve, 4, triangular_solve),
        row(StructuralOp::Fft, 5, fft),
        row(StructuralOp::BatchNormInference, 2, batch_norm_inference),
        row(StructuralOp::BatchNormTraining, 2, batch_norm_training),
        row(StructuralOp::BatchNormGrad, 2, batch_norm_grad),
    ]
}

/// Floats with enough digits for the small whole numbers of these examples.
fn precise(ty: ElementType) -> bool {
    (ty.is_float() && ty.bits() >= 16) || ty.is_complex()
}

fn stack(g: &mut Generator) -> Vec<i64> {
    (0..g.random.below(3))
        .map(|_| between(&mut g.random, 1, 3))
        .collect()
}

fn special(mut known: Knowledge) -> Knowledge {
    known.special = true;
    known
}

/// Lower triangular factors of whole numbers with ones or twos on the diagonal, multiplied by their adjoints:
/// every step of the factorization is exact.
fn cholesky(g: &mut Generator, _: Opcode) -> Option<()> {
    let ty = g.type_where(precise);
    let n = between(&mut g.random, 0, 5) as usize;
    let mut dims = stack(g);
    let count: i64 = dims.iter().product();
    dims.extend([n as i64, n as i64]);
    let mut array = Array::zeros(ty, &dims).expect("small arrays fit");
    let spoiled = g.random.one_in(6);
    for matrix in 0..count as usize {
        let factor = factor(g, n, ty.is_complex());
        for row in 0..n {
            for column in 0..n {
                let terms = (0..n).map(|k| {
                    let ((a, b), (c, d)) = (factor[row * n + k], factor[column * n + k]);
                    (a * c + b * d, b * c - a * d)
                });
                let (mut re, im) =
                    terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
                if spoiled && row == column {
                    re = -re;
                }
                let value = if ty.is_complex() {
                    Scalar::Complex(re, im)
                } else {
                    Scalar::Float(re)
                };
                array.set((matrix * n + row) * n + column, value);
            }
        }
    }
    let known = special(Knowledge::WILD);
    let x = if g.depth() == 1 {
        g.argument(array, known)
    } else {
        g.constant(&array, known)
    };
    let lower = g.random.one_in(2);
    let attributes = format!(", lower={lower}");
    let known = Knowledge::inexact(Slack::Ulps(0));
    let result = g.add((ty, dims, known), "cholesky", &[&x], &attributes);
    g.settled(&result, Knowledge::WILD);
    Some(())
}

fn factor(g: &mut Generator, n: usize, complex: bool) -> Vec<(f64, f64)> {
    let mut factor = vec![(0.0, 0.0); n * n];
    for row in 0..n {
        for column in 0..row {
            let mut small = || between(&mut g.random, -1, 1) as f64;
            let re = small();
            factor[row * n + column] = (re, if complex { small() } else { 0.0 });
        }
        factor[row * n + row] = (between(&mut g.random, 1, 2) as f64, 0.0);
    }
    factor
}

/// Powers of two on the diagonal, so that every quotient is exact.
fn triangular_solve(g: &mut Generator, _: Opcode) -> Option<()> {
    let ty = g.type_where(precise);
    let n = between(&mut g.random, 0, 4);
    let mut dims = stack(g);
    let mut right = dims.clone();
    let left_side = g.random.one_in(2);
    let vectors = between(&mut g.random, 0, 4);
    dims.extend([n, n]);
    right.extend(if left_side {
        [n, vectors]
    } else {
        [vectors, n]
    });
    let flavor = Flavor::Whole(1.0);
    let mut array = super::values::array(&mut g.random, ty, &dims, flavor);
    for at in 0..array.num_elements() {
        let (row, column) = (at as i64 / n % n, at as i64 % n);
        if row == column {
            let pivot = *g.random.pick(&[1.0, -1.0, 2.0, 0.5]);
            let value = if ty.is_complex() {
                Scalar::Complex(pivot, 0.0)
            } else {
                Scalar::Float(pivot)
            };
            array.set(at, value);
        }
    }
    let known = special(Knowledge::bounded(2.0));
    let a = if g.depth() == 1 {
        g.argument(array, known)
    } else {
        g.constant(&array, known)
    };
    let b = g.tame(ty, &right, 2.0);
    let transpose = *g.random.pick(&["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]);
    let (lower, unit) = (g.random.one_in(2), g.random.one_in(2));
    let attributes = format!(
        ", left_side={left_side}, lower={lower}, unit_diagonal={unit}, transpose_a={transpose}"
    );
    let part = (ty, right, Knowledge::inexact(Slack::Ulps(0)));
    let result = g.add(part, "triangular-solve", &[&a, &b], &attributes);
    g.settled(&result, Knowledge::WILD);
    Some(())
}

fn fft(g: &mut Generator, _: Opcode) -> Option<()> {
    let kind = *g.random.pick(&["FFT", "IFFT", "RFFT", "IRFFT"]);
    let wide = *g.random.pick(&[false, false, true]);
    let (real, complex) = if wide {
        (ElementType::F64, ElementType::C128)
    } else {
        (ElementType::F32, ElementType::C64)
    };
    let (from, to) = match kind {
        "RFFT" => (real, complex),
        "IRFFT" => (complex, real),
        _ => (complex, complex),
    };
    let count = 1 + g.random.below(3);
    let lengths: Vec<i64> = (0..count)
        .map(|_| *g.random.pick(&[1, 2, 3, 4, 5, 6, 7, 8]))
        .collect();
    let mut outer: Vec<i64> = Vec::new();
    if g.random.one_in(2) {
        outer.push(between(&mut g.random, 1, 3));
    }
    let mut half = lengths.clone();
    if let Some(last) = half.last_mut() {
        *last = *last / 2 + 1;
    }
    let sizes = |inner: &[i64]| [outer.as_slice(), inner].concat();
    let (dims, result) = match kind {
        "RFFT" => (sizes(&lengths), sizes(&half)),
        "IRFFT" => (sizes(&half), sizes(&lengths)),
        _ => (sizes(&lengths), sizes(&lengths)),
    };
    let x = g.fresh(from, &dims, Flavor::Bounded(4.0));
    // Sums of `total` terms of modulus below 6; each of the stages, of which there are log2, rounds, and
    // a length that is no power of two takes three transforms of more than twice its length.
    let total: i64 = lengths.iter().product();
    let total = total as f64;
    let atol = 6.0 * total * (8.0 + 8.0 * total.log2()) * epsilon(from);
    let slack = Slack::Close { rtol: 0.0, atol };
    let attributes = format!(", fft_type={kind}, fft_length={{{}}}", list(lengths));
    g.add(
        (to, result, Knowledge::inexact(slack)),
        "fft",
        &[&x],
        &attributes,
    );
    Some(())
}

/// Operand, feature dimension, and the sizes of lists with one element per feature.
struct Batch {
    x: Value,
    feature: usize,
    list: Vec<i64>,
    attributes: String,
    slack: Slack,
}

/// Operands are at most 2 and epsilon at least 1/8, so that no result exceeds a few hundred; the bound
/// counts roundings.
fn batch(g: &mut Generator) -> Batch {
    let ty = g.type_where(|ty| ty.is_float() && ty.bits() >= 16);
    let mut dims = g.sizes();
    if dims.is_empty() {
        dims.push(3);
    }
    let feature = g.random.below(dims.len());
    let list = vec![dims[feature]];
    let x = g.fresh(ty, &dims, Flavor::Bounded(2.0));
    let epsilon_value = *g.random.pick(&["0.125", "0.5", "1"]);
    let attributes = format!(", epsilon={epsilon_value}, feature_index={feature}");
    let terms = (x.num_elements() / list[0].max(1)) as f64;
    let atol = 16.0 * (terms + 16.0) * epsilon(ty);
    let slack = Slack::Close { rtol: 0.0, atol };
    Batch {
        x,
        feature,
        list,
        attributes,
        slack,
    }
}

/// A list with one number from 0 to 2 for each feature.
fn variances(g: &mut Generator, batch: &Batch) -> Value {
    let numbers = g.fresh(batch.x.ty, &batch.list, Flavor::Bounded(2.0));
    let part = (batch.x.ty, batch.list.clone(), Knowledge::bounded(2.0));
    g.add(part, "abs", &[&numbers], "")
}

fn batch_norm_inference(g: &mut Generator, _: Opcode) -> Option<()> {
    let batch = batch(g);
    let mut list = || g.fresh(batch.x.ty, &batch.list, Flavor::Bounded(2.0));
    let (scale, offset, mean) = (list(), list(), list());
    let variance = variances(g, &batch);
    let part = (
        batch.x.ty,
        batch.x.dims.clone(),
        Knowledge::inexact(batch.slack),
    );
    let operands = [&batch.x, &scale, &offset, &mean, &variance];
    g.add(part, "batch-norm-inference", &operands, &batch.attributes);
    Some(())
}

fn batch_norm_training(g: &mut Generator, _: Opcode) -> Option<()> {
    let batch = batch(g);
    if batch.x.num_elements() == 0 || batch.feature >= batch.x.dims.len() {
        return None;
    }
    let mut list = || g.fresh(batch.x.ty, &batch.list, Flavor::Bounded(2.0));
    let (scale, offset) = (list(), list());
    let known = Knowledge::inexact(batch.slack);
    let part = |dims: &Vec<i64>| (batch.x.ty, dims.clone(), known);
    let parts = [part(&batch.x.dims), part(&batch.list), part(&batch.list)];
    let operands = [&batch.x, &scale, &offset];
    g.add_tuple(&parts, "batch-norm-training", &operands, &batch.attributes);
    Some(())
}

fn batch_norm_grad(g: &mut Generator, _: Opcode) -> Option<()> {
    let batch = batch(g);
    if batch.x.num_elements() == 0 {
        return None;
    }
    let mut list = || g.fresh(batch.x.ty, &batch.list, Flavor::Bounded(2.0));
    let (scale, mean) = (list(), list());
    let variance = variances(g, &batch);
    let output = g.fresh(batch.x.ty, &batch.x.dims, Flavor::Bounded(2.0));
    // Sums of products of two factors, of which one is up to 12.
    let Slack::Close { rtol, atol } = batch.slack else {
        return None;
    };
    let terms = (batch.x.num_elements() / batch.list[0].max(1)) as f64;
    let slack = Slack::Close {
        rtol,
        atol: atol * (terms + 16.0),
    };
    let known = Knowledge::inexact(slack);
    let part = |dims: &Vec<i64>| (batch.x.ty, dims.clone(), known);
    let parts = [part(&batch.x.dims), part(&batch.list), part(&batch.list)];
    let operands = [&batch.x, &scale, &mean, &variance, &output];
    g.add_tuple(&parts, "batch-norm-grad", &operands, &batch.attributes);
    Some(())
}

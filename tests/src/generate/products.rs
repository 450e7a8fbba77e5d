//! Sums of products: `dot` and `convolution`.
//!
//! Operands are whole numbers so small that every partial sum is exact, or bounded ones, whose sum of `k`
//! products is within `k` roundings of the sum of magnitudes. A sum of zeros has any sign.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, MAX_ELEMENTS, Part, Value, braces};
use super::knowledge::{Knowledge, Slack, epsilon, largest_whole};
use super::reductions::flavored;
use super::values::{Flavor, between};
use super::windows::{WindowDim, window_text};

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::Dot, 10, dot),
        row(StructuralOp::Convolution, 9, convolution),
        row(StructuralOp::RaggedDot, 3, super::blocks::ragged_dot),
        row(StructuralOp::ScaledDot, 3, super::blocks::scaled_dot),
    ]
}

/// What operands a sum of `terms` products takes, and what is known of it.
pub(super) fn factors(
    g: &mut Generator,
    ty: ElementType,
    to: ElementType,
    terms: i64,
) -> (Option<Flavor>, Knowledge) {
    if (ty.is_integer() || ty.is_predicate()) && !to.is_float() {
        return (None, Knowledge::WILD);
    }
    // A complex product sums two real ones.
    let count = (terms.max(1) * if ty.is_complex() { 2 } else { 1 }) as f64;
    let wide = |ty: ElementType| [ElementType::F32, ElementType::F64].contains(&ty);
    if wide(ty.component()) && ty == to && g.random.one_in(5) {
        let atol = (count + 2.0) * count * 16.0 * epsilon(ty);
        let slack = Slack::Close { rtol: 0.0, atol };
        return (Some(Flavor::Bounded(4.0)), Knowledge::inexact(slack));
    }
    // Narrow floats are summed in f32 and rounded once.
    let sum = largest_whole(to).max(largest_whole(ElementType::F32));
    let bound = (sum / count)
        .sqrt()
        .floor()
        .min(largest_whole(ty))
        .clamp(1.0, 8.0);
    (
        Some(Flavor::Whole(bound)),
        Knowledge::whole_of(to, bound * bound * count),
    )
}

/// A result type for products of `ty`: the same, or a wider one of its kind.
fn result_type(g: &mut Generator, ty: ElementType) -> ElementType {
    if !g.random.one_in(4) {
        return ty;
    }
    g.type_where(|to| {
        to == ty
            || (to.class() == ty.class() && to.bits() > ty.bits())
            || (ty.is_integer() && to.is_integer() && to.bits() > ty.bits())
            || (ty.is_integer() && to.is_float() && to.bits() >= 32)
    })
}

/// Adds an instruction that sums products, at times with what makes its zeros positive.
pub(super) fn product(
    g: &mut Generator,
    (ty, dims, known): Part,
    opcode: &str,
    operands: &[&Value],
    attributes: &str,
) {
    if !known.is_exact() || ty.is_integer() || ty.is_predicate() {
        g.add((ty, dims, known), opcode, operands, attributes);
        return;
    }
    let unsettled = Knowledge {
        slack: Slack::Ulps(0),
        ..known
    };
    let result = g.add((ty, dims, unsettled), opcode, operands, attributes);
    g.settled(&result, known);
}

fn dot(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|_| true);
    if first.dims.len() > 5 {
        return None;
    }
    let ty = first.ty;
    let (mut batch, mut contracting) = (Vec::new(), Vec::new());
    for dim in g.permutation(first.dims.len()) {
        match g.random.below(4) {
            0 => batch.push(dim),
            1 | 2 => contracting.push(dim),
            _ => {}
        }
    }
    let paired: Vec<usize> = batch.iter().chain(&contracting).copied().collect();
    let mut rhs: Vec<(i64, Option<usize>)> = paired
        .iter()
        .enumerate()
        .map(|(at, dim)| (first.dims[*dim], Some(at)))
        .collect();
    for _ in 0..g.random.below(3) {
        rhs.push((*g.random.pick(&[1, 2, 3, 5, 8, 17, 33]), None));
    }
    let order = g.permutation(rhs.len());
    let mut places = vec![0; paired.len()];
    for (place, at) in order.iter().enumerate() {
        if let Some(pair) = rhs[*at].1 {
            places[pair] = place;
        }
    }
    let rhs_dims: Vec<i64> = order.iter().map(|at| rhs[*at].0).collect();
    let (rhs_batch, rhs_contracting) = places.split_at(batch.len());
    let size = |dim: &usize| first.dims[*dim];
    let mut dims: Vec<i64> = batch.iter().map(size).collect();
    let free = (0..first.dims.len()).filter(|dim| !paired.contains(dim));
    dims.extend(free.map(|dim| first.dims[dim]));
    let free = (0..rhs_dims.len()).filter(|place| !places.contains(place));
    dims.extend(free.map(|place| rhs_dims[place]));
    let small = |dims: &[i64]| dims.iter().product::<i64>() <= MAX_ELEMENTS * 2;
    if !small(&rhs_dims) || !small(&dims) {
        return None;
    }
    let to = result_type(g, ty);
    let terms: i64 = contracting.iter().map(size).product();
    let (flavor, known) = factors(g, ty, to, terms);
    let lhs = match flavor {
        None => first.clone(),
        flavor => flavored(g, &first.part(), flavor),
    };
    let rhs = flavored(g, &(ty, rhs_dims, Knowledge::WILD), flavor);
    let attributes = format!(
        ", lhs_batch_dims={}, lhs_contracting_dims={}, rhs_batch_dims={}, rhs_contracting_dims={}{}",
        braces(&batch),
        braces(&contracting),
        braces(rhs_batch),
        braces(rhs_contracting),
        precision(g)
    );
    product(g, (to, dims, known), "dot", &[&lhs, &rhs], &attributes);
    Some(())
}

/// At times how precise a product is asked to be; it is as precise as its types always.
fn precision(g: &mut Generator) -> &'static str {
    let asked = [
        ", operand_precision={default,default}",
        ", operand_precision={high,high}",
        ", operand_precision={highest,highest}",
    ];
    if g.random.one_in(6) {
        asked[g.random.below(asked.len())]
    } else {
        ""
    }
}

/// Sizes of a convolution, before dimensions are put in an order.
struct Sizes {
    batch: i64,
    features: i64,
    kernel_input: i64,
    output: i64,
    feature_groups: i64,
    batch_groups: i64,
}

impl Sizes {
    fn random(g: &mut Generator) -> Sizes {
        let mut one_of = |most: i64| between(&mut g.random, 1, most);
        let kernel_input = one_of(4);
        let (mut output, mut batch) = (one_of(5), one_of(3));
        let (mut feature_groups, mut batch_groups) = (1, 1);
        match one_of(4) {
            1 => feature_groups = one_of(3),
            2 => batch_groups = one_of(3),
            _ => {}
        }
        output *= feature_groups * batch_groups;
        batch *= batch_groups;
        Sizes {
            batch,
            features: kernel_input * feature_groups,
            kernel_input,
            output,
            feature_groups,
            batch_groups,
        }
    }
}

/// Dimensions in a random order: the sizes, and the label of each place.
fn labeled(g: &mut Generator, named: [(char, i64); 2], spatial: &[i64]) -> (Vec<i64>, String) {
    let spatial = spatial
        .iter()
        .zip('0'..)
        .map(|(size, label)| (label, *size));
    let all: Vec<(char, i64)> = named.into_iter().chain(spatial).collect();
    let order = if g.random.one_in(3) {
        (0..all.len()).collect()
    } else {
        g.permutation(all.len())
    };
    let sizes = order.iter().map(|at| all[*at].1).collect();
    (sizes, order.iter().map(|at| all[*at].0).collect())
}

fn convolution(g: &mut Generator, _: Opcode) -> Option<()> {
    let ty = g.type_where(|_| true);
    let sizes = Sizes::random(g);
    let (mut input, mut kernel, mut window, mut output) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..*g.random.pick(&[0, 1, 1, 2, 2, 3]) {
        let extent = *g.random.pick(&[1, 2, 3, 4, 5, 6, 9]);
        let size = between(&mut g.random, 1, 3);
        let dim = WindowDim::random(g, extent, size)?;
        output.push(dim.count(extent)?);
        input.push(extent);
        kernel.push(size);
        window.push(dim);
    }
    let out_batch = sizes.batch / sizes.batch_groups;
    let (x_dims, x_labels) = labeled(g, [('b', sizes.batch), ('f', sizes.features)], &input);
    let named = [('i', sizes.kernel_input), ('o', sizes.output)];
    let (k_dims, k_labels) = labeled(g, named, &kernel);
    let (dims, labels) = labeled(g, [('b', out_batch), ('f', sizes.output)], &output);
    let small = |dims: &[i64]| dims.iter().product::<i64>() <= MAX_ELEMENTS * 2;
    if ![&x_dims, &k_dims, &dims].iter().all(|dims| small(dims)) {
        return None;
    }
    let terms = sizes.kernel_input * kernel.iter().product::<i64>();
    let (flavor, known) = factors(g, ty, ty, terms);
    let x = flavored(g, &(ty, x_dims, Knowledge::WILD), flavor);
    let k = flavored(g, &(ty, k_dims, Knowledge::WILD), flavor);
    let window = window_text(g, &window, true);
    let mut groups = String::new();
    if sizes.feature_groups > 1 {
        groups += &format!(", feature_group_count={}", sizes.feature_groups);
    }
    if sizes.batch_groups > 1 {
        groups += &format!(", batch_group_count={}", sizes.batch_groups);
    }
    let attributes = format!(
        "{window}, dim_labels={x_labels}_{k_labels}->{labels}{groups}{}",
        precision(g)
    );
    let operands = [&x, &k];
    product(g, (ty, dims, known), "convolution", &operands, &attributes);
    Some(())
}

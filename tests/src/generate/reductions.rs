//! Reductions, maps and sorts.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, Part, Value, braces};
use super::knowledge::{Knowledge, Slack, epsilon, largest_whole};
use super::reducers::{Reducer, Sums, comparator, mapped, reducer};
use super::values::{Flavor, between};

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::Reduce, 16, reduce),
        row(StructuralOp::Map, 4, map),
        row(StructuralOp::Sort, 6, sort),
        row(StructuralOp::TopK, 4, topk),
    ]
}

/// Types of arrays that one op may take together: floats must be of one type.
pub(super) fn types_beside(
    g: &mut Generator,
    first: ElementType,
    count: usize,
) -> Vec<ElementType> {
    let mut types = vec![first];
    let mut float = first.is_float().then_some(first);
    while types.len() < count {
        let ty = g.type_where(|ty| !ty.is_float() || float.is_none_or(|float| float == ty));
        if ty.is_float() {
            float = Some(ty);
        }
        types.push(ty);
    }
    types
}

/// Operands that a reducer of `terms` terms reduces without rounding, and what is known of the result.
///
/// At times the terms of a sum are not whole; then the result is only close. `None` if nothing fits.
pub(super) fn terms(
    g: &mut Generator,
    reducer: &Reducer,
    ty: ElementType,
    terms: i64,
) -> Option<(Option<Flavor>, Knowledge)> {
    let count = (terms + 1) as f64;
    match reducer.sums {
        Sums::Never => Some((None, Knowledge::WILD)),
        Sums::Sum if wide(ty) && g.random.one_in(5) => {
            // Each of the additions rounds a partial sum of at most `count` bounded terms.
            let atol = count * count * 4.0 * epsilon(ty);
            let slack = Slack::Close { rtol: 0.0, atol };
            Some((Some(Flavor::Bounded(4.0)), Knowledge::inexact(slack)))
        }
        Sums::Sum => {
            let bound = (largest_whole(ty) / count).floor().min(8.0);
            let known = Knowledge::whole_of(ty, bound * count);
            (bound >= 1.0).then_some((Some(Flavor::Whole(bound)), known))
        }
        Sums::Product if ty.is_complex() => {
            // A product of n numbers 0, ±1, ±i, ±1±i has parts of at most 2^(n/2).
            (count <= 40.0).then_some((Some(Flavor::Whole(1.0)), Knowledge::WILD))
        }
        Sums::Product => {
            (largest_whole(ty) >= 1.0).then_some((Some(Flavor::Whole(1.0)), Knowledge::whole(1.0)))
        }
    }
}

fn wide(ty: ElementType) -> bool {
    [ElementType::F32, ElementType::F64].contains(&ty)
}

/// A new or existing operand of this flavor; any if there is none.
pub(super) fn flavored(g: &mut Generator, part: &Part, flavor: Option<Flavor>) -> Value {
    let (ty, dims, _) = part;
    match flavor {
        None | Some(Flavor::Wild) => g.exact_of(*ty, dims),
        Some(Flavor::Whole(bound)) => g.tame(*ty, dims, bound),
        Some(flavor @ Flavor::Bounded(_)) => g.fresh(*ty, dims, flavor),
    }
}

fn reduce(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|_| true);
    let count = *g.random.pick(&[1, 1, 1, 1, 2, 3]);
    let types = types_beside(g, first.ty, count);
    let reducer = reducer(g, &types);
    let mut gone = g.subset(first.dims.len());
    if g.random.one_in(3) {
        let order = g.permutation(gone.len());
        gone = order.iter().map(|at| gone[*at]).collect();
    }
    let reduced: i64 = gone.iter().map(|dim| first.dims[*dim]).product();
    let (flavor, known) = terms(g, &reducer, first.ty, reduced)?;
    let mut operands = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        let part = (*ty, first.dims.clone(), Knowledge::WILD);
        let fits = at == 0 && flavor.is_none();
        operands.push(if fits {
            first.clone()
        } else {
            flavored(g, &part, flavor)
        });
    }
    for ty in &types {
        operands.push(flavored(g, &(*ty, Vec::new(), Knowledge::WILD), flavor));
    }
    let kept: Vec<i64> = (0..first.dims.len())
        .filter(|dim| !gone.contains(dim))
        .map(|dim| first.dims[dim])
        .collect();
    let attributes = format!(", dimensions={}, to_apply={}", braces(&gone), reducer.name);
    let operands: Vec<&Value> = operands.iter().collect();
    emit(g, &types, &kept, known, ("reduce", &operands, &attributes));
    Some(())
}

/// An op that gives one array for each type, alone or in a tuple.
pub(super) fn emit(
    g: &mut Generator,
    types: &[ElementType],
    dims: &[i64],
    known: Knowledge,
    (opcode, operands, attributes): (&str, &[&Value], &str),
) {
    if let [ty] = types {
        g.add((*ty, dims.to_vec(), known), opcode, operands, attributes);
    } else {
        let parts: Vec<Part> = types.iter().map(|ty| (*ty, dims.to_vec(), known)).collect();
        g.add_tuple(&parts, opcode, operands, attributes);
    }
}

fn map(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|_| true);
    let count = 1 + g.random.below(3);
    let types = types_beside(g, first.ty, count);
    let (name, ty) = mapped(g, &types);
    let mut operands = vec![first.clone()];
    for ty in &types[1..] {
        operands.push(g.exact_of(*ty, &first.dims));
    }
    let dimensions = if g.random.one_in(2) {
        let all: Vec<usize> = (0..first.dims.len()).collect();
        format!(", dimensions={}", braces(&all))
    } else {
        String::new()
    };
    let operands: Vec<&Value> = operands.iter().collect();
    let attributes = format!("{dimensions}, to_apply={name}");
    g.add(
        (ty, first.dims, Knowledge::WILD),
        "map",
        &operands,
        &attributes,
    );
    Some(())
}

fn sort(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|ty| !ty.is_complex());
    if first.dims.is_empty() {
        return None;
    }
    let count = *g.random.pick(&[1, 1, 2, 3]);
    let types = types_beside(g, first.ty, count);
    let name = comparator(g, &types);
    let dim = g.random.below(first.dims.len());
    let mut operands = vec![first.clone()];
    for ty in &types[1..] {
        operands.push(g.exact_of(*ty, &first.dims));
    }
    let stable = *g
        .random
        .pick(&["", ", is_stable=true", ", is_stable=false"]);
    let attributes = format!(", dimensions={{{dim}}}{stable}, to_apply={name}");
    let operands: Vec<&Value> = operands.iter().collect();
    emit(
        g,
        &types,
        &first.dims,
        Knowledge::WILD,
        ("sort", &operands, &attributes),
    );
    Some(())
}

fn topk(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(|ty| !ty.is_complex());
    let last = *x.dims.last()?;
    let k = between(&mut g.random, i64::from(last > 0), last);
    let largest = *g.random.pick(&["", ", largest=true", ", largest=false"]);
    let mut dims = x.dims.clone();
    dims.pop();
    dims.push(k);
    let parts = [
        (x.ty, dims.clone(), x.known),
        (ElementType::S32, dims, Knowledge::WILD),
    ];
    g.add_tuple(&parts, "topk", &[&x], &format!(", k={k}{largest}"));
    Some(())
}

//! Ops whose indices are values: dynamic slices, gather, scatter.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, MAX_ELEMENTS, Part, Value, braces, list};
use super::knowledge::Knowledge;
use super::reducers::reducer;
use super::reductions::{emit, flavored, terms, types_beside};
use super::values::{Flavor, between};

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::DynamicSlice, 7, dynamic_slice),
        row(StructuralOp::DynamicUpdateSlice, 7, dynamic_update_slice),
        row(StructuralOp::Gather, 9, gather),
        row(StructuralOp::Scatter, 9, scatter),
    ]
}

/// Indices in and out of range: found, small, or of any size.
fn indices(g: &mut Generator, ty: ElementType, dims: &[i64]) -> Value {
    let fits = |value: &Value| value.ty == ty && value.dims == dims && value.known.is_exact();
    match g.random.below(4) {
        0 => g.fresh(ty, dims, Flavor::Wild),
        1 => match g.pick(fits) {
            Some(found) => found,
            None => g.fresh(ty, dims, Flavor::Whole(4.0)),
        },
        _ => g.fresh(ty, dims, Flavor::Whole(6.0)),
    }
}

fn starts(g: &mut Generator, count: usize) -> Vec<Value> {
    let ty = g.type_where(ElementType::is_integer);
    (0..count).map(|_| indices(g, ty, &[])).collect()
}

fn dynamic_slice(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let starts = starts(g, x.dims.len());
    let sizes: Vec<i64> = x
        .dims
        .iter()
        .map(|size| between(&mut g.random, (*size).min(1), *size))
        .collect();
    let attributes = format!(", dynamic_slice_sizes={{{}}}", list(sizes.iter().copied()));
    let operands: Vec<&Value> = std::iter::once(&x).chain(&starts).collect();
    g.add(
        (x.ty, sizes, x.known),
        "dynamic-slice",
        &operands,
        &attributes,
    );
    Some(())
}

fn dynamic_update_slice(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let fits = |value: &Value| {
        let mut pairs = value.dims.iter().zip(&x.dims);
        value.ty == x.ty && value.dims.len() == x.dims.len() && pairs.all(|(a, b)| a <= b)
    };
    let update = match g.pick(fits) {
        Some(found) if !g.random.one_in(4) => found,
        _ => {
            let sizes: Vec<i64> = x
                .dims
                .iter()
                .map(|size| between(&mut g.random, (*size).min(1), *size))
                .collect();
            g.exact_of(x.ty, &sizes)
        }
    };
    let known = x.known.join(update.known)?;
    let starts = starts(g, x.dims.len());
    let operands: Vec<&Value> = [&x, &update].into_iter().chain(&starts).collect();
    let part = (x.ty, x.dims.clone(), known);
    g.add(part, "dynamic-update-slice", &operands, "");
    Some(())
}

/// How slices of an array lie in another: the dimension numbers of `gather` and `scatter`.
struct Numbers {
    batching: Vec<usize>,
    collapsed: Vec<usize>,
    /// Operand dimension of each part of an index vector.
    index_map: Vec<usize>,
    slice_sizes: Vec<i64>,
    indices_dims: Vec<i64>,
    indices_batching: Vec<usize>,
    index_vector_dim: usize,
    /// Where the window lies in the slices.
    offset: Vec<usize>,
    /// Sizes of the slices taken together.
    result: Vec<i64>,
}

impl Numbers {
    fn random(g: &mut Generator, dims: &[i64]) -> Option<Numbers> {
        let (mut batching, mut collapsed) = (Vec::new(), Vec::new());
        let mut slice_sizes = Vec::new();
        for (dim, size) in dims.iter().enumerate() {
            let role = if *size == 0 { 5 } else { g.random.below(6) };
            match role {
                0 => batching.push(dim),
                1 | 2 => collapsed.push(dim),
                _ => {}
            }
            slice_sizes.push(if role < 3 {
                1
            } else {
                between(&mut g.random, (*size).min(1), *size)
            });
        }
        let mut index_map: Vec<usize> = g.permutation(dims.len());
        index_map.retain(|dim| !batching.contains(dim));
        let parts = g.random.below(index_map.len() + 1);
        index_map.truncate(parts);
        let mut numbers = Numbers {
            batching,
            collapsed,
            index_map,
            slice_sizes,
            indices_dims: Vec::new(),
            indices_batching: Vec::new(),
            index_vector_dim: 0,
            offset: Vec::new(),
            result: Vec::new(),
        };
        numbers.lay_out_indices(g, dims);
        numbers.lay_out_result(g);
        let sizes = [&numbers.result, &numbers.indices_dims];
        let fits = |sizes: &&Vec<i64>| sizes.iter().product::<i64>() <= MAX_ELEMENTS;
        sizes.iter().all(fits).then_some(numbers)
    }

    /// Batching dimensions and others in a random order, and the vectors somewhere among them.
    fn lay_out_indices(&mut self, g: &mut Generator, dims: &[i64]) {
        let mut batch: Vec<(i64, Option<usize>)> = self
            .batching
            .iter()
            .enumerate()
            .map(|(at, dim)| (dims[*dim], Some(at)))
            .collect();
        for _ in 0..g.random.below(3) {
            batch.push((between(&mut g.random, 1, 4), None));
        }
        let order = g.permutation(batch.len());
        let batch: Vec<_> = order.iter().map(|at| batch[*at]).collect();
        self.index_vector_dim = g.random.below(batch.len() + 1);
        let implicit = self.index_map.len() == 1 && g.random.one_in(3);
        if implicit {
            self.index_vector_dim = batch.len();
        }
        self.indices_dims = batch.iter().map(|(size, _)| *size).collect();
        self.indices_batching = vec![0; self.batching.len()];
        for (at, (_, pair)) in batch.iter().enumerate() {
            let behind = !implicit && at >= self.index_vector_dim;
            if let Some(pair) = pair {
                self.indices_batching[*pair] = at + usize::from(behind);
            }
        }
        if !implicit {
            let parts = self.index_map.len() as i64;
            self.indices_dims.insert(self.index_vector_dim, parts);
        }
    }

    fn lay_out_result(&mut self, g: &mut Generator) {
        let gone = |dim: &usize| self.batching.contains(dim) || self.collapsed.contains(dim);
        let window: Vec<i64> = (0..self.slice_sizes.len())
            .filter(|dim| !gone(dim))
            .map(|dim| self.slice_sizes[dim])
            .collect();
        let vectors = |at: &usize| *at != self.index_vector_dim;
        let batch: Vec<i64> = (0..self.indices_dims.len())
            .filter(vectors)
            .map(|at| self.indices_dims[at])
            .collect();
        self.offset = g.places(window.len(), window.len() + batch.len());
        let (mut window, mut batch) = (window.into_iter(), batch.into_iter());
        let total = window.len() + batch.len();
        self.result = (0..total)
            .filter_map(|at| {
                if self.offset.contains(&at) {
                    window.next()
                } else {
                    batch.next()
                }
            })
            .collect();
    }
}

fn gather(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let numbers = Numbers::random(g, &x.dims)?;
    let ty = g.type_where(ElementType::is_integer);
    let indices = indices(g, ty, &numbers.indices_dims);
    let batching = if numbers.batching.is_empty() && g.random.one_in(2) {
        String::new()
    } else {
        format!(
            ", operand_batching_dims={}, start_indices_batching_dims={}",
            braces(&numbers.batching),
            braces(&numbers.indices_batching)
        )
    };
    let attributes = format!(
        ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}{batching}, index_vector_dim={}, slice_sizes={{{}}}",
        braces(&numbers.offset),
        braces(&numbers.collapsed),
        braces(&numbers.index_map),
        numbers.index_vector_dim,
        list(numbers.slice_sizes.iter().copied()),
    );
    let part = (x.ty, numbers.result, x.known);
    g.add(part, "gather", &[&x, &indices], &attributes);
    Some(())
}

fn scatter(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|_| true);
    let numbers = Numbers::random(g, &first.dims)?;
    let count = *g.random.pick(&[1, 1, 1, 2, 3]);
    let types = types_beside(g, first.ty, count);
    let reducer = reducer(g, &types);
    let updates: i64 = numbers.result.iter().product();
    let (flavor, known) = terms(g, &reducer, first.ty, updates)?;
    let part = |ty: &ElementType, dims: &[i64]| -> Part { (*ty, dims.to_vec(), Knowledge::WILD) };
    let mut operands = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        operands.push(if at == 0 && flavor.is_none() {
            first.clone()
        } else {
            flavored(g, &part(ty, &first.dims), flavor)
        });
    }
    let ty = g.type_where(ElementType::is_integer);
    operands.push(indices(g, ty, &numbers.indices_dims));
    for ty in &types {
        operands.push(flavored(g, &part(ty, &numbers.result), flavor));
    }
    let batching = if numbers.batching.is_empty() {
        String::new()
    } else {
        format!(
            ", input_batching_dims={}, scatter_indices_batching_dims={}",
            braces(&numbers.batching),
            braces(&numbers.indices_batching)
        )
    };
    let attributes = format!(
        ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}{batching}, index_vector_dim={}, to_apply={}",
        braces(&numbers.offset),
        braces(&numbers.collapsed),
        braces(&numbers.index_map),
        numbers.index_vector_dim,
        reducer.name,
    );
    let operands: Vec<&Value> = operands.iter().collect();
    emit(
        g,
        &types,
        &first.dims,
        known,
        ("scatter", &operands, &attributes),
    );
    Some(())
}

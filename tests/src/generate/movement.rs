//! Ops that move elements: broadcast, reshape, transpose, slice, reverse, pad, concatenate, copy; and iota.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, MAX_ELEMENTS, Value, braces};
use super::knowledge::{Knowledge, largest_whole};
use super::values::between;

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::Broadcast, 12, broadcast),
        row(StructuralOp::Reshape, 8, reshape),
        row(StructuralOp::Transpose, 8, transpose),
        row(StructuralOp::Slice, 8, slice),
        row(StructuralOp::Reverse, 5, reverse),
        row(StructuralOp::Pad, 8, pad),
        row(StructuralOp::Concatenate, 7, concatenate),
        row(StructuralOp::Iota, 5, iota),
        row(StructuralOp::Copy, 2, copy),
        row(StructuralOp::GetDimensionSize, 2, dimension_size),
        row(StructuralOp::Constant, 2, constant),
        row(StructuralOp::Parameter, 2, parameter),
    ]
}

fn broadcast(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let (mut dims, mut places) = (Vec::new(), Vec::new());
    for size in &x.dims {
        if g.random.one_in(2) {
            dims.push(*g.random.pick(&[1, 2, 3, 5]));
        }
        places.push(dims.len());
        dims.push(*size);
    }
    if g.random.one_in(2) {
        dims.push(*g.random.pick(&[1, 2, 4, 9]));
    }
    if dims.iter().product::<i64>() > MAX_ELEMENTS {
        return None;
    }
    let attributes = format!(", dimensions={}", braces(&places));
    g.add((x.ty, dims, x.known), "broadcast", &[&x], &attributes);
    Some(())
}

/// Sizes with the same product.
pub(super) fn regrouped(g: &mut Generator, count: i64) -> Vec<i64> {
    let mut rest = count;
    let mut dims = Vec::new();
    for divisor in [2, 3, 5, 7, 17] {
        if rest % divisor == 0 && rest > 0 && g.random.one_in(2) {
            dims.push(divisor);
            rest /= divisor;
        }
    }
    if rest != 1 || g.random.one_in(3) {
        let at = g.random.below(dims.len() + 1);
        dims.insert(at, rest);
    }
    dims
}

fn reshape(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let dims = regrouped(g, x.num_elements());
    g.add((x.ty, dims, x.known), "reshape", &[&x], "");
    Some(())
}

fn transpose(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| value.dims.len() > 1);
    let order = g.permutation(x.dims.len());
    let dims = order.iter().map(|dim| x.dims[*dim]).collect();
    let attributes = format!(", dimensions={}", braces(&order));
    g.add((x.ty, dims, x.known), "transpose", &[&x], &attributes);
    Some(())
}

fn slice(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let (mut dims, mut parts) = (Vec::new(), Vec::new());
    for size in &x.dims {
        let start = between(&mut g.random, 0, *size);
        let limit = between(&mut g.random, start, *size);
        let whole = start == limit && !g.random.one_in(20);
        let (start, limit) = if whole { (0, *size) } else { (start, limit) };
        let stride = between(&mut g.random, 1, 3);
        dims.push((limit - start + stride - 1) / stride);
        parts.push(format!("[{start}:{limit}:{stride}]"));
    }
    let attributes = format!(", slice={{{}}}", parts.join(", "));
    g.add((x.ty, dims, x.known), "slice", &[&x], &attributes);
    Some(())
}

fn reverse(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let attributes = format!(", dimensions={}", braces(&g.subset(x.dims.len())));
    g.add(x.part(), "reverse", &[&x], &attributes);
    Some(())
}

fn pad(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let (mut dims, mut parts) = (Vec::new(), Vec::new());
    for size in &x.dims {
        let low = between(&mut g.random, -2, 3);
        let high = between(&mut g.random, -2, 3);
        let interior = between(&mut g.random, -1, 2).max(0);
        dims.push(low + size + (size - 1).max(0) * interior + high);
        parts.push(format!("{low}_{high}_{interior}"));
    }
    if dims.iter().any(|size| *size < 0) || dims.iter().product::<i64>() > MAX_ELEMENTS {
        return None;
    }
    let filler = g.exact_of(x.ty, &[]);
    let known = x.known.join(filler.known)?;
    let attributes = format!(", padding={}", parts.join("x"));
    g.add((x.ty, dims, known), "pad", &[&x, &filler], &attributes);
    Some(())
}

fn concatenate(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.movable(|value| !value.dims.is_empty());
    let dim = g.random.below(first.dims.len());
    let mut known = first.known;
    let mut dims = first.dims.clone();
    let mut operands = vec![first.clone()];
    for _ in 0..g.random.below(3) {
        let fits = |value: &Value| {
            let others = (0..first.dims.len()).filter(|at| *at != dim);
            value.ty == first.ty
                && value.dims.len() == first.dims.len()
                && others
                    .into_iter()
                    .all(|at| value.dims[at] == first.dims[at])
        };
        let next = g.pick(fits)?;
        known = known.join(next.known)?;
        dims[dim] += next.dims[dim];
        operands.push(next);
    }
    if dims.iter().product::<i64>() > MAX_ELEMENTS {
        return None;
    }
    let operands: Vec<&Value> = operands.iter().collect();
    let attributes = format!(", dimensions={{{dim}}}");
    g.add(
        (first.ty, dims, known),
        "concatenate",
        &operands,
        &attributes,
    );
    Some(())
}

fn iota(g: &mut Generator, _: Opcode) -> Option<()> {
    let ty = g.type_where(|ty| !ty.is_predicate());
    let mut dims = g.sizes();
    if dims.is_empty() {
        dims.push(between(&mut g.random, 1, 300));
    }
    let dim = g.random.below(dims.len());
    let largest = (dims[dim] - 1).max(0) as f64;
    // Beyond that numbers wrap or round.
    let known = if largest <= largest_whole(ty) {
        Knowledge::whole(largest)
    } else {
        Knowledge::WILD
    };
    g.add(
        (ty, dims, known),
        "iota",
        &[],
        &format!(", iota_dimension={dim}"),
    );
    Some(())
}

fn copy(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    g.add(x.part(), "copy", &[&x], "");
    Some(())
}

fn dimension_size(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|value| !value.dims.is_empty());
    let dim = g.random.below(x.dims.len());
    let attributes = format!(", dimensions={{{dim}}}");
    let part = (ElementType::S32, Vec::new(), Knowledge::WILD);
    g.add(part, "get-dimension-size", &[&x], &attributes);
    Some(())
}

fn constant(g: &mut Generator, _: Opcode) -> Option<()> {
    let (ty, dims) = (g.type_where(|_| true), g.sizes());
    if dims.iter().product::<i64>() > 40 {
        return None;
    }
    let flavor = super::values::Flavor::Wild;
    let array = super::values::array(&mut g.random, ty, &dims, flavor);
    g.constant(&array, flavor.knowledge());
    Some(())
}

fn parameter(g: &mut Generator, _: Opcode) -> Option<()> {
    if g.depth() > 1 {
        return None;
    }
    let (ty, dims) = (g.type_where(|_| true), g.sizes());
    let flavor = *g.random.pick(&[
        super::values::Flavor::Wild,
        super::values::Flavor::Whole(4.0),
        super::values::Flavor::Bounded(4.0),
    ]);
    let array = super::values::array(&mut g.random, ty, &dims, flavor);
    g.argument(array, flavor.knowledge());
    Some(())
}

//! Computations of scalars: what `reduce`, `scatter` and their like apply.

use hloc_ir::ElementType;

use super::builder::{Generator, Part, Place, Value};
use super::knowledge::Knowledge;
use super::values::Flavor;

/// A reducer, and what its result depends on.
pub(super) struct Reducer {
    pub(super) name: String,
    /// How partial results round.
    pub(super) sums: Sums,
}

/// Whether a float result depends on the order of reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// It does not, or the order is that of the elements.
    Never,
    /// A plain sum, which may be taken in any order.
    Sum,
    /// A plain product, which may be taken in any order.
    Product,
}

fn scalar(ty: ElementType) -> Part {
    (ty, Vec::new(), Knowledge::WILD)
}

/// A reducer of arrays of these types: accumulators first, then elements.
pub(super) fn reducer(g: &mut Generator, types: &[ElementType]) -> Reducer {
    let count = types.len();
    let parameters: Vec<Part> = types.iter().chain(types).map(|ty| scalar(*ty)).collect();
    let mut sums = Sums::Never;
    let name = g.computation("reducer", Place::Scalar, &parameters, |g, values| {
        let (old, new) = values.split_at(count);
        if count > 1 {
            return several(g, old, new);
        }
        let (result, kind) = one(g, &old[0], &new[0]);
        sums = kind;
        result.name
    });
    Reducer { name, sums }
}

fn one(g: &mut Generator, old: &Value, new: &Value) -> (Value, Sums) {
    let ty = old.ty;
    let (first, second) = if g.random.one_in(4) {
        (new, old)
    } else {
        (old, new)
    };
    let part = scalar(ty);
    let plain: &[&str] = if ty.is_complex() {
        &["add", "multiply"]
    } else if ty.is_float() {
        &["add", "add", "multiply", "maximum", "minimum"]
    } else if ty.is_predicate() {
        &["and", "or", "xor", "add", "multiply", "maximum", "minimum"]
    } else {
        &["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
    };
    if !g.random.one_in(3) {
        let op = *g.random.pick(plain);
        let sums = match op {
            "add" if ty.is_float() || ty.is_complex() => Sums::Sum,
            "multiply" if ty.is_float() || ty.is_complex() => Sums::Product,
            _ => Sums::Never,
        };
        return (g.add(part, op, &[first, second], ""), sums);
    }
    let result = match g.random.below(4) {
        0 => new.clone(),
        1 if !ty.is_predicate() => g.add(part, "subtract", &[first, second], ""),
        2 if !ty.is_complex() => {
            let chosen = g.add(
                scalar(ElementType::Pred),
                "compare",
                &[first, second],
                ", direction=GT",
            );
            g.add(part, "select", &[&chosen, first, second], "")
        }
        _ => {
            // Without the subtraction a factor of 1 would make it a plain sum, free to be regrouped.
            let factor = g.fresh(ty, &[], Flavor::Whole(3.0));
            let product = g.add(part.clone(), "multiply", &[first, &factor], "");
            let opcode = if ty.is_predicate() { "xor" } else { "subtract" };
            g.add(part, opcode, &[&product, second], "")
        }
    };
    (result, Sums::Never)
}

/// The greatest with its index, or each result on its own.
fn several(g: &mut Generator, old: &[Value], new: &[Value]) -> String {
    let pred = scalar(ElementType::Pred);
    let results: Vec<Value> = if !old[0].ty.is_complex() && g.random.one_in(2) {
        let direction = *g.random.pick(&["GT", "GE", "LT", "LE", "NE"]);
        let attributes = format!(", direction={direction}");
        let mut keep = g.add(pred.clone(), "compare", &[&old[0], &new[0]], &attributes);
        if g.random.one_in(2) && !old[1].ty.is_complex() {
            let equal = g.add(
                pred.clone(),
                "compare",
                &[&old[0], &new[0]],
                ", direction=EQ",
            );
            let lower = g.add(
                pred.clone(),
                "compare",
                &[&old[1], &new[1]],
                ", direction=LT",
            );
            let tie = g.add(pred.clone(), "and", &[&equal, &lower], "");
            keep = g.add(pred, "or", &[&keep, &tie], "");
        }
        let pairs = old.iter().zip(new);
        pairs
            .map(|(old, new)| g.add(scalar(old.ty), "select", &[&keep, old, new], ""))
            .collect()
    } else {
        for _ in 0..g.random.below(3) {
            g.instruction();
        }
        old.iter()
            .map(|old| {
                let same = |value: &Value| value.ty == old.ty;
                g.pick(same).unwrap_or_else(|| old.clone())
            })
            .collect()
    };
    g.tuple(&results)
}

/// A computation of scalars that gives `result`, any type if `None`: for `map`.
pub(super) fn mapped(g: &mut Generator, types: &[ElementType]) -> (String, ElementType) {
    let parameters: Vec<Part> = types.iter().map(|ty| scalar(*ty)).collect();
    let mut ty = ElementType::Pred;
    let name = g.computation("mapped", Place::Scalar, &parameters, |g, _| {
        for _ in 0..=g.random.below(4) {
            g.instruction();
        }
        let result = g.scope().values[g.scope().values.len() - 1].clone();
        ty = result.ty;
        result.name
    });
    (name, ty)
}

/// A comparator of keys: by the first operand, at times by the next where equal.
pub(super) fn comparator(g: &mut Generator, types: &[ElementType]) -> String {
    let parameters: Vec<Part> = types
        .iter()
        .flat_map(|ty| [scalar(*ty), scalar(*ty)])
        .collect();
    g.computation("before", Place::Scalar, &parameters, |g, values| {
        let keys: Vec<usize> = (0..types.len())
            .filter(|at| !types[*at].is_complex())
            .collect();
        let first = keys[0];
        let mut result = less(g, values, first);
        if let (Some(second), true) = (keys.get(1), g.random.one_in(2)) {
            let pred = scalar(ElementType::Pred);
            let pair = [&values[2 * first], &values[2 * first + 1]];
            let equal = g.add(pred.clone(), "compare", &pair, ", direction=EQ");
            let next = less(g, values, *second);
            result = g.add(pred, "select", &[&equal, &next, &result], "");
        }
        result.name
    })
}

fn less(g: &mut Generator, values: &[Value], at: usize) -> Value {
    let (mut a, mut b) = (values[2 * at].clone(), values[2 * at + 1].clone());
    if a.ty.is_float() && g.random.one_in(5) {
        let op = *g.random.pick(&["abs", "negate", "floor"]);
        (a, b) = (
            g.add(scalar(a.ty), op, &[&a], ""),
            g.add(scalar(b.ty), op, &[&b], ""),
        );
    }
    let direction = if g.random.one_in(8) {
        *g.random.pick(&["GE", "LE", "NE"])
    } else {
        *g.random.pick(&["LT", "GT"])
    };
    let attributes = format!(", direction={direction}");
    g.add(scalar(ElementType::Pred), "compare", &[&a, &b], &attributes)
}

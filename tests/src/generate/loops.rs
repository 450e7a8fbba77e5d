//! `while` loops that count, with arrays carried along.

use hloc_ir::{Array, ElementType, Opcode};
use hloc_tensor::Scalar;

use super::builder::{Generator, MAX_ELEMENTS, Part, Place, Value, list};
use super::control::{MAX_DEPTH, some};
use super::knowledge::Knowledge;
use super::values::between;

fn number(g: &mut Generator, ty: ElementType, value: i64) -> Value {
    let mut array = Array::zeros(ty, &[]).expect("a scalar fits");
    let scalar = if ty.is_signed_integer() {
        Scalar::Int(value)
    } else {
        Scalar::Uint(value as u64)
    };
    array.set(0, scalar);
    g.constant(&array, Knowledge::WILD)
}

/// Counts from `first` to `last` by steps of 1: at most five times, or often enough that the loop stays one.
struct Counter {
    ty: ElementType,
    first: i64,
    last: i64,
}

impl Counter {
    fn random(g: &mut Generator) -> Counter {
        let ty = g.type_where(|ty| ty.is_integer() && ty.bits() >= 8);
        let first = between(&mut g.random, 0, 3);
        let last = if g.random.one_in(3) {
            first + between(&mut g.random, 20, 45)
        } else {
            first + between(&mut g.random, 0, 5)
        };
        if g.random.one_in(3) {
            Counter {
                ty,
                first: last,
                last: first,
            }
        } else {
            Counter { ty, first, last }
        }
    }

    fn condition(&self, g: &mut Generator, counter: &Value) -> String {
        let last = number(g, self.ty, self.last);
        let direction = if g.random.one_in(3) {
            "NE"
        } else if self.first <= self.last {
            "LT"
        } else {
            "GT"
        };
        let part = (ElementType::Pred, Vec::new(), Knowledge::WILD);
        let attributes = format!(", direction={direction}");
        g.add(part, "compare", &[counter, &last], &attributes).name
    }

    fn step(&self, g: &mut Generator, counter: &Value) -> Value {
        let one = number(g, self.ty, 1);
        let opcode = if self.first <= self.last {
            "add"
        } else {
            "subtract"
        };
        g.add(counter.part(), opcode, &[counter, &one], "")
    }
}

pub(super) fn while_loop(g: &mut Generator, _: Opcode) -> Option<()> {
    if g.depth() >= MAX_DEPTH {
        return None;
    }
    let counter = Counter::random(g);
    let first = number(g, counter.ty, counter.first);
    let carried: Vec<Value> = some(g, 0, 3)
        .into_iter()
        .filter(|value| value.known.is_exact())
        .collect();
    let mut values = vec![first];
    values.extend(carried);
    // A later round knows nothing of what an earlier one gave.
    let parts: Vec<Part> = values
        .iter()
        .map(|value| (value.ty, value.dims.clone(), Knowledge::WILD))
        .collect();
    let shape = g.tuple_shape(&parts);
    let condition = condition(g, &shape, &parts, &counter);
    let body = body(g, &shape, &parts, &counter);
    let init = g.tuple(&values);
    let right = format!("while({init}), condition={condition}, body={body}");
    let name = g.line(&shape, &right, &[&init]);
    g.elements(&name, &parts);
    Some(())
}

fn condition(g: &mut Generator, shape: &str, parts: &[Part], counter: &Counter) -> String {
    g.open(Place::Called);
    let state = g.parameter_line(shape);
    let values = g.elements(&state, parts);
    let root = counter.condition(g, &values[0]);
    g.close("condition", &root, true)
}

fn body(g: &mut Generator, shape: &str, parts: &[Part], counter: &Counter) -> String {
    g.open(Place::Called);
    let state = g.parameter_line(shape);
    let values = g.elements(&state, parts);
    let next = counter.step(g, &values[0]);
    let mut results = vec![next];
    if g.random.one_in(3) {
        for old in &values[1..] {
            results.push(element_wise(g, old, &values));
        }
        let root = g.tuple(&results);
        return g.close("body", &root, true);
    }
    let updated = update(g, &values);
    for _ in 0..g.random.below(4) {
        g.instruction();
    }
    for (at, old) in values.iter().enumerate().skip(1) {
        let same =
            |value: &Value| value.ty == old.ty && value.dims == old.dims && value.known.is_exact();
        let new = match &updated {
            Some((place, value)) if *place == at => Some(value.clone()),
            _ => g.pick(same),
        };
        results.push(new.unwrap_or_else(|| old.clone()));
    }
    let root = g.tuple(&results);
    let prune = g.random.one_in(2);
    g.close("body", &root, prune)
}

/// What takes the place of a carried array, element by element: made of it, of others of its shape and of the count.
fn element_wise(g: &mut Generator, old: &Value, values: &[Value]) -> Value {
    let alike = |value: &&Value| value.ty == old.ty && value.dims == old.dims;
    let others: Vec<&Value> = values.iter().filter(alike).collect();
    let other = (*g.random.pick(&others)).clone();
    let opcode = if old.ty.is_predicate() {
        *g.random.pick(&["xor", "or"])
    } else if old.ty.is_complex() {
        *g.random.pick(&["add", "subtract"])
    } else {
        *g.random.pick(&["add", "subtract", "maximum", "minimum"])
    };
    match g.random.below(4) {
        0 => other,
        1 if !old.ty.is_complex() => {
            let part = (ElementType::Pred, old.dims.clone(), Knowledge::WILD);
            let is_less = g.add(part, "compare", &[old, &other], ", direction=LT");
            let sum = g.add(old.part(), opcode, &[old, &other], "");
            g.add(old.part(), "select", &[&is_less, &sum, &other], "")
        }
        2 if old.ty.is_integer() => {
            let part = (old.ty, Vec::new(), Knowledge::WILD);
            let count = g.add(part, "convert", &[&values[0]], "");
            let count = g.add(old.part(), "broadcast", &[&count], ", dimensions={}");
            g.add(old.part(), opcode, &[old, &count], "")
        }
        _ => g.add(old.part(), opcode, &[old, &other], ""),
    }
}

/// A carried array with the row that the counter names replaced by one computed from it.
fn update(g: &mut Generator, values: &[Value]) -> Option<(usize, Value)> {
    let rows: Vec<usize> = (1..values.len())
        .filter(|at| values[*at].dims.first().is_some_and(|size| *size > 0))
        .collect();
    if rows.is_empty() || g.random.one_in(2) {
        return None;
    }
    let at = *g.random.pick(&rows);
    let array = &values[at];
    let mut sizes = array.dims.clone();
    sizes[0] = 1;
    let zero = number(g, values[0].ty, 0);
    let mut starts = vec![&values[0]];
    starts.resize(sizes.len(), &zero);
    let operands: Vec<&Value> = std::iter::once(array).chain(starts.clone()).collect();
    let attributes = format!(", dynamic_slice_sizes={{{}}}", list(sizes.iter().copied()));
    let part = (array.ty, sizes, Knowledge::WILD);
    let row = g.add(part.clone(), "dynamic-slice", &operands, &attributes);
    let opcode = if array.ty.is_predicate() {
        "xor"
    } else {
        "add"
    };
    let row = g.add(part, opcode, &[&row, &row], "");
    let operands: Vec<&Value> = [array, &row].into_iter().chain(starts).collect();
    let result = g.add(array.part(), "dynamic-update-slice", &operands, "");
    Some((at, result))
}

/// Steps along one dimension of the inputs: outputs are stacked, carried values thread through.
pub(super) fn scan(g: &mut Generator, _: Opcode) -> Option<()> {
    if g.depth() >= MAX_DEPTH {
        return None;
    }
    let first = g.movable(|value| !value.dims.is_empty());
    let dim = g.random.below(first.dims.len());
    let length = first.dims[dim];
    let mut inputs = vec![first];
    let along = |value: &Value| value.dims.get(dim) == Some(&length);
    if let (true, Some(second)) = (g.random.one_in(3), g.pick(along)) {
        inputs.push(second);
    }
    let carried: Vec<Value> = some(g, 0, 2)
        .into_iter()
        .filter(|value| value.known.is_exact())
        .collect();
    g.open(Place::Called);
    let mut olds = Vec::new();
    for value in inputs.iter().chain(&carried) {
        let is_input = olds.len() < inputs.len();
        let mut dims = value.dims.clone();
        if is_input {
            dims.remove(dim);
        }
        let known = if is_input {
            value.known
        } else {
            Knowledge::WILD
        };
        let shape = g.shape(value.ty, &dims);
        let name = g.parameter_line(&shape);
        olds.push(g.value(name, value.ty, &dims, known));
    }
    for _ in 0..=g.random.below(3) {
        g.instruction();
    }
    let small =
        |value: &Value| value.dims.len() >= dim && value.num_elements() * length <= MAX_ELEMENTS;
    let mut results: Vec<Value> = g.pick(small).into_iter().collect();
    let num_outputs = results.len();
    for old in &olds[inputs.len()..] {
        let same =
            |value: &Value| value.ty == old.ty && value.dims == old.dims && value.known.is_exact();
        results.push(g.pick(same).unwrap_or_else(|| old.clone()));
    }
    let root = if results.len() == 1 {
        results[0].name.clone()
    } else {
        g.tuple(&results)
    };
    let step = g.close("step", &root, false);
    let mut parts: Vec<Part> = Vec::new();
    for value in &results {
        let (ty, mut dims, mut known) = value.part();
        if parts.len() < num_outputs {
            dims.insert(dim, length);
        } else {
            known = Knowledge::WILD;
        }
        parts.push((ty, dims, known));
    }
    let reverse = *g
        .random
        .pick(&["", ", is_reverse=true", ", is_reverse=false"]);
    let num_carries = carried.len();
    let attributes =
        format!(", dimensions={{{dim}}}, num_carries={num_carries}{reverse}, to_apply={step}");
    let operands: Vec<&Value> = inputs.iter().chain(&carried).collect();
    if let [part] = &parts[..] {
        g.add(part.clone(), "scan", &operands, &attributes);
    } else if !parts.is_empty() {
        g.add_tuple(&parts, "scan", &operands, &attributes);
    }
    Some(())
}

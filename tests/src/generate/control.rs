//! Calls, loops, branches, tuples and tokens.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, Part, Place, Value, list};
use super::knowledge::Knowledge;
use super::values::{Flavor, between};

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::While, 6, super::loops::while_loop),
        row(StructuralOp::Conditional, 6, conditional),
        row(StructuralOp::Call, 4, call),
        row(StructuralOp::Fusion, 6, fusion),
        row(StructuralOp::Tuple, 2, tuple),
        row(StructuralOp::GetTupleElement, 2, tuple),
        row(StructuralOp::OptBarrier, 3, opt_barrier),
        row(StructuralOp::AfterAll, 2, add_dependency),
        row(StructuralOp::AddDependency, 2, add_dependency),
        row(StructuralOp::Domain, 1, domain),
        row(StructuralOp::Scan, 5, super::loops::scan),
        row(StructuralOp::AsyncStart, 1, asynchronous),
        row(StructuralOp::AsyncUpdate, 1, asynchronous),
        row(StructuralOp::AsyncDone, 1, asynchronous),
        row(StructuralOp::CopyStart, 1, asynchronous_copy),
        row(StructuralOp::CopyDone, 1, asynchronous_copy),
    ]
}

/// How deep calls nest; inside of that only other ops are generated.
pub(super) const MAX_DEPTH: usize = 3;

/// Some values of the open computation, at least `least`.
pub(super) fn some(g: &mut Generator, least: usize, most: usize) -> Vec<Value> {
    let count = between(&mut g.random, least as i64, most as i64);
    (0..count).map(|_| g.movable(|_| true)).collect()
}

fn parts(values: &[Value]) -> Vec<Part> {
    values.iter().map(Value::part).collect()
}

fn instructions(g: &mut Generator, most: usize) {
    for _ in 0..=g.random.below(most) {
        g.instruction();
    }
}

/// Calls a computation: its result is the last value, or a tuple of some.
fn call_with(
    g: &mut Generator,
    stem: &str,
    prune: bool,
    opcode: &str,
    attribute: &str,
) -> Option<()> {
    if g.depth() >= MAX_DEPTH {
        return None;
    }
    let operands = some(g, 0, 3);
    g.open(Place::Called);
    for (ty, dims, known) in parts(&operands) {
        let shape = g.shape(ty, &dims);
        let name = g.parameter_line(&shape);
        g.value(name, ty, &dims, known);
    }
    instructions(g, 4);
    let mut results = g.unused();
    results.reverse();
    results.truncate(1 + g.random.below(3));
    if results.is_empty() {
        results.push(g.fresh(ElementType::S32, &[], Flavor::Wild));
    }
    let single = results.len() == 1 && !g.random.one_in(4);
    let root = if single {
        results[0].name.clone()
    } else {
        g.tuple(&results)
    };
    let name = g.close(stem, &root, prune);
    let operands: Vec<&Value> = operands.iter().collect();
    let attributes = format!("{attribute}={name}");
    if single {
        g.add(results[0].part(), opcode, &operands, &attributes);
    } else {
        g.add_tuple(&parts(&results), opcode, &operands, &attributes);
    }
    Some(())
}

fn call(g: &mut Generator, _: Opcode) -> Option<()> {
    call_with(g, "called", false, "call", ", to_apply")
}

fn fusion(g: &mut Generator, _: Opcode) -> Option<()> {
    let kind = *g.random.pick(&["kLoop", "kInput", "kOutput", "kCustom"]);
    let attribute = format!(", kind={kind}, calls");
    call_with(g, "fused", true, "fusion", &attribute)
}

/// A branch that takes `operand` in one parameter and gives arrays of these shapes.
fn branch(
    g: &mut Generator,
    operand: &[Value],
    tuple: bool,
    results: &mut [Part],
) -> (String, bool) {
    g.open(Place::Called);
    let inside = parts(operand);
    if tuple {
        let shape = g.tuple_shape(&inside);
        let name = g.parameter_line(&shape);
        g.elements(&name, &inside);
    } else {
        let (ty, dims, known) = &inside[0];
        let shape = g.shape(*ty, dims);
        let name = g.parameter_line(&shape);
        g.value(name, *ty, dims, *known);
    }
    instructions(g, 3);
    let mut joined = true;
    let mut roots = Vec::new();
    for (ty, dims, known) in results.iter_mut() {
        let same = |value: &Value| value.ty == *ty && value.dims == *dims;
        let root = match g.pick(same) {
            Some(found) => found,
            None => g.fresh(*ty, dims, Flavor::Wild),
        };
        match known.join(root.known) {
            Some(both) => *known = both,
            None => joined = false,
        }
        roots.push(root);
    }
    let root = if roots.len() == 1 {
        roots[0].name.clone()
    } else {
        g.tuple(&roots)
    };
    (g.close("branch", &root, false), joined)
}

fn conditional(g: &mut Generator, _: Opcode) -> Option<()> {
    if g.depth() >= MAX_DEPTH {
        return None;
    }
    let by_pred = g.random.one_in(2);
    let count = if by_pred { 2 } else { 1 + g.random.below(4) };
    let index = if by_pred {
        g.exact_of(ElementType::Pred, &[])
    } else {
        g.fresh(ElementType::S32, &[], Flavor::Whole(4.0))
    };
    // What branches give is exact and whole until one that is not joins in.
    let least = Knowledge::whole(0.0);
    let mut results: Vec<Part> = some(g, 1, 2)
        .iter()
        .map(|value| (value.ty, value.dims.clone(), least))
        .collect();
    let mut names = Vec::new();
    let mut operands = vec![index.name.clone()];
    let mut joined = true;
    for _ in 0..count {
        let tuple = g.random.one_in(2);
        let passed = some(g, 1, if tuple { 3 } else { 1 });
        operands.push(if tuple {
            g.tuple(&passed)
        } else {
            passed[0].name.clone()
        });
        let (name, holds) = branch(g, &passed, tuple, &mut results);
        joined &= holds;
        names.push(name);
    }
    if !joined {
        return None;
    }
    let attributes = if by_pred {
        format!(
            ", true_computation={}, false_computation={}",
            names[0], names[1]
        )
    } else {
        format!(", branch_computations={{{}}}", names.join(", "))
    };
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let right = format!("conditional({}){attributes}", operands.join(", "));
    if let [(ty, dims, known)] = &results[..] {
        let shape = g.shape(*ty, dims);
        let name = g.line(&shape, &right, &operands);
        g.value(name, *ty, dims, *known);
    } else {
        let shape = g.tuple_shape(&results);
        let name = g.line(&shape, &right, &operands);
        g.elements(&name, &results);
    }
    Some(())
}

/// A tuple in a tuple, taken apart.
fn tuple(g: &mut Generator, _: Opcode) -> Option<()> {
    let (inner, outer) = (some(g, 1, 3), some(g, 1, 2));
    let name = g.tuple(&inner);
    let inner_shape = g.tuple_shape(&parts(&inner));
    let outer_shapes: Vec<String> = outer
        .iter()
        .map(|value| g.shape(value.ty, &value.dims))
        .collect();
    let shape = format!("({inner_shape}, {})", outer_shapes.join(", "));
    let mut names = vec![name.as_str()];
    names.extend(outer.iter().map(|value| value.name.as_str()));
    let both = g.line(&shape, &format!("tuple({})", names.join(", ")), &names);
    let right = format!("get-tuple-element({both}), index=0");
    let again = g.line(&inner_shape, &right, &[&both]);
    g.elements(&again, &parts(&inner));
    Some(())
}

fn opt_barrier(g: &mut Generator, _: Opcode) -> Option<()> {
    if g.random.one_in(2) {
        let x = g.movable(|_| true);
        g.add(x.part(), "opt-barrier", &[&x], "");
        return Some(());
    }
    let values = some(g, 1, 3);
    let name = g.tuple(&values);
    let shape = g.tuple_shape(&parts(&values));
    let barrier = g.line(&shape, &format!("opt-barrier({name})"), &[&name]);
    g.elements(&barrier, &parts(&values));
    Some(())
}

fn add_dependency(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let first = g.line("token[]", "after-all()", &[]);
    let token = if g.random.one_in(2) {
        first
    } else {
        let second = g.line("token[]", "after-all()", &[]);
        let right = format!("after-all({first}, {second})");
        g.line("token[]", &right, &[&first, &second])
    };
    let (ty, dims, known) = x.part();
    let shape = g.shape(ty, &dims);
    let right = format!("add-dependency({}, {token})", x.name);
    let name = g.line(&shape, &right, &[&x.name, &token]);
    g.value(name, ty, &dims, known);
    Some(())
}

fn domain(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let attributes = ", domain={kind=\"sharding\", entry={replicated}, exit={maximal device=0}}";
    g.add(x.part(), "domain", &[&x], attributes);
    Some(())
}

/// A computation of one op that is started, waited for, and done.
fn asynchronous(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(|_| true);
    let y = g.exact_of(x.ty, &x.dims);
    let inside = parts(&[x.clone(), y.clone()]);
    let (ty, dims) = (x.ty, x.dims.clone());
    let part = (ty, dims.clone(), Knowledge::WILD);
    let opcode = *g.random.pick(&["add", "maximum", "multiply"]);
    let name = g.computation("asynchronous", Place::Called, &inside, |g, values| {
        g.add(part.clone(), opcode, &[&values[0], &values[1]], "")
            .name
    });
    let plain = format!("{ty}[{}]", list(dims.iter().copied()));
    let shape = format!("(({plain}, {plain}), {plain}, s32[])");
    let right = format!("async-start({}, {}), calls={name}", x.name, y.name);
    let mut value = g.line(&shape, &right, &[&x.name, &y.name]);
    for _ in 0..g.random.below(3) {
        let right = format!("async-update({value}), calls={name}");
        value = g.line(&shape, &right, &[&value]);
    }
    let right = format!("async-done({value}), calls={name}");
    let done = g.line(&plain, &right, &[&value]);
    g.value(done, ty, &dims, Knowledge::WILD);
    Some(())
}

fn asynchronous_copy(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.movable(|_| true);
    let plain = format!("{}[{}]", x.ty, list(x.dims.iter().copied()));
    let shape = format!("({plain}, {plain}, u32[])");
    let start = g.line(&shape, &format!("copy-start({})", x.name), &[&x.name]);
    let done = g.line(&plain, &format!("copy-done({start})"), &[&start]);
    g.value(done, x.ty, &x.dims, x.known);
    Some(())
}

//! Element-wise ops, with and without implicit broadcasting.

use hloc_ir::{BinaryOp, ElementType, Opcode, StructuralOp, TernaryOp, UnaryOp, float_format};

use super::Row;
use super::builder::{Generator, Place, Value, braces};
use super::knowledge::{Knowledge, Slack, epsilon};
use super::values::Flavor;

pub(super) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = UnaryOp::ALL
        .iter()
        .map(|op| Row::scalar(Opcode::Unary(*op), 2, unary))
        .collect();
    rows.extend(
        BinaryOp::ALL
            .iter()
            .map(|op| Row::scalar(Opcode::Binary(*op), 3, binary)),
    );
    rows.extend(
        TernaryOp::ALL
            .iter()
            .map(|op| Row::scalar(Opcode::Ternary(*op), 6, ternary)),
    );
    let structural = |op, weight, make| Row::scalar(Opcode::Structural(op), weight, make);
    rows.push(structural(StructuralOp::Compare, 8, compare));
    rows.push(structural(StructuralOp::Convert, 14, convert));
    rows.push(structural(
        StructuralOp::ReducePrecision,
        3,
        reduce_precision,
    ));
    rows.push(Row::new(
        Opcode::Structural(StructuralOp::StochasticConvert),
        3,
        stochastic_convert,
    ));
    rows.push(Row::new(
        Opcode::Structural(StructuralOp::BitcastConvert),
        6,
        bitcast_convert,
    ));
    rows
}

/// How far engines may be apart in a unary op's result.
pub(super) fn unary_slack(op: UnaryOp, ty: ElementType) -> Slack {
    if ty.is_complex() {
        let moves = [UnaryOp::Negate, UnaryOp::Real, UnaryOp::Imag].contains(&op);
        return if moves {
            Slack::Exact
        } else if op == UnaryOp::Abs {
            Slack::Ulps(u64::from(op.ulp()) + 1)
        } else {
            complex_slack(ty, op.ulp())
        };
    }
    if op == UnaryOp::Abs {
        return Slack::Exact;
    }
    float_slack(ty, op.ulp())
}

/// The bound of the op table and one more for the evaluator; types below f32 are rounded from f32.
fn float_slack(ty: ElementType, ulp: u32) -> Slack {
    match (ulp, ty) {
        (0, _) => Slack::Exact,
        (_, ElementType::F32 | ElementType::F64) => Slack::Ulps(u64::from(ulp) + 1),
        _ => Slack::Ulps(1),
    }
}

/// Complex functions are made of a few real ones: their error is relative to the modulus.
fn complex_slack(ty: ElementType, ulp: u32) -> Slack {
    let least = if ty == ElementType::C64 {
        f64::from(f32::from_bits(4))
    } else {
        f64::from_bits(4)
    };
    Slack::Close {
        rtol: f64::from(4 * (ulp + 1)) * epsilon(ty),
        atol: least,
    }
}

fn binary_slack(op: BinaryOp, ty: ElementType) -> Slack {
    let rounds = [BinaryOp::Power, BinaryOp::Divide].contains(&op);
    if ty.is_integer() {
        Slack::Exact
    } else if ty.is_complex() && rounds {
        complex_slack(ty, op.ulp())
    } else {
        float_slack(ty, op.ulp())
    }
}

fn unary(g: &mut Generator, opcode: Opcode) -> Option<()> {
    let op = UnaryOp::from_name(opcode.name())?;
    let x = g.exact(|ty| op.domain().accepts(ty) && !(op == UnaryOp::Cbrt && ty.is_complex()));
    let slack = unary_slack(op, x.ty);
    if g.scope().place == Place::Scalar && slack != Slack::Exact {
        return None;
    }
    let keeps = [UnaryOp::Negate, UnaryOp::Abs, UnaryOp::Real, UnaryOp::Imag];
    let known = if keeps.contains(&op) && !x.ty.is_integer() {
        x.known
    } else if op == UnaryOp::Sign && x.known.bound.is_some() && !x.ty.is_complex() {
        Knowledge::whole(1.0)
    } else {
        Knowledge::inexact(slack)
    };
    let known = Knowledge { slack, ..known };
    let accuracy = opcode.attributes().len() == 1 && g.random.one_in(6);
    let attributes = if accuracy {
        ", result_accuracy={mode=highest}"
    } else {
        ""
    };
    let part = (op.result_type(x.ty), x.dims.clone(), known);
    g.add(part, op.name(), &[&x], attributes);
    Some(())
}

/// A second operand for one of sizes `dims`: of the same sizes, or one to broadcast, with the attribute.
fn partner(g: &mut Generator, ty: ElementType, dims: &[i64]) -> (Value, String) {
    if dims.is_empty() || !g.random.one_in(7) {
        return (g.exact_of(ty, dims), String::new());
    }
    match g.random.below(3) {
        0 => (g.exact_of(ty, &[]), String::new()),
        1 => {
            let ones = g.subset(dims.len());
            let size = |(at, size): (usize, &i64)| if ones.contains(&at) { 1 } else { *size };
            let smaller: Vec<i64> = dims.iter().enumerate().map(size).collect();
            (g.exact_of(ty, &smaller), String::new())
        }
        _ => {
            let kept = g.subset(dims.len());
            let smaller: Vec<i64> = kept.iter().map(|at| dims[*at]).collect();
            let attribute = format!(", broadcast_dimensions={}", braces(&kept));
            (g.exact_of(ty, &smaller), attribute)
        }
    }
}

fn binary(g: &mut Generator, opcode: Opcode) -> Option<()> {
    let op = BinaryOp::from_name(opcode.name())?;
    let x = g.exact(|ty| op.domain().accepts(ty) && op.result_type(ty).is_some());
    let slack = binary_slack(op, x.ty);
    if g.scope().place == Place::Scalar && slack != Slack::Exact {
        return None;
    }
    let (mut x, (mut y, attributes)) = (x.clone(), partner(g, x.ty, &x.dims));
    if op == BinaryOp::Power && x.ty.is_complex() {
        // Powers of what is infinite or NaN are documented to be anything.
        let finite = Flavor::Bounded(4.0);
        x = g.fresh(x.ty, &x.dims, finite);
        y = g.fresh(y.ty, &y.dims, finite);
    }
    let ty = op.result_type(x.ty)?;
    let known = binary_known(op, ty, [&x.known, &y.known], slack);
    let operands = if g.random.one_in(2) || x.dims != y.dims {
        [&x, &y]
    } else {
        [&y, &x]
    };
    g.add(
        (ty, x.dims.clone(), known),
        op.name(),
        &operands,
        &attributes,
    );
    Some(())
}

/// What is known of the result: the size of whole numbers that are added, multiplied or compared.
fn binary_known(op: BinaryOp, ty: ElementType, [x, y]: [&Knowledge; 2], slack: Slack) -> Knowledge {
    let whole = x.whole && y.whole && slack == Slack::Exact && !ty.is_integer();
    let Some((a, b)) = x.bound.zip(y.bound).filter(|_| whole) else {
        return Knowledge::inexact(slack);
    };
    if [BinaryOp::Add, BinaryOp::Subtract].contains(&op) {
        Knowledge::whole_of(ty, a + b)
    } else if op == BinaryOp::Multiply && ty.is_float() {
        Knowledge::whole_of(ty, a * b)
    } else if [BinaryOp::Maximum, BinaryOp::Minimum, BinaryOp::Complex].contains(&op) {
        Knowledge::whole_of(ty, a.max(b))
    } else {
        Knowledge::WILD
    }
}

fn ternary(g: &mut Generator, opcode: Opcode) -> Option<()> {
    match TernaryOp::from_name(opcode.name())? {
        TernaryOp::Clamp => {
            let x = g.exact(|ty| TernaryOp::Clamp.domain().accepts(ty) && !ty.is_complex());
            let scalars = g.random.one_in(2);
            let bound_dims = if scalars { Vec::new() } else { x.dims.clone() };
            let low = g.exact_of(x.ty, &bound_dims);
            let high = g.exact_of(x.ty, &bound_dims);
            let part = (x.ty, x.dims.clone(), Knowledge::WILD);
            g.add(part, "clamp", &[&low, &x, &high], "");
        }
        TernaryOp::Select => {
            let x = g.movable(|_| true);
            let same = |value: &Value| value.ty == x.ty && value.dims == x.dims;
            let y = g.pick(same)?;
            let known = x.known.join(y.known)?;
            let scalar = g.random.one_in(3);
            let dims = if scalar { Vec::new() } else { x.dims.clone() };
            let p = g.exact_of(ElementType::Pred, &dims);
            g.add((x.ty, x.dims.clone(), known), "select", &[&p, &x, &y], "");
        }
    }
    Some(())
}

fn compare(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(|_| true);
    let (y, attributes) = partner(g, x.ty, &x.dims);
    let directions: &[&str] = if x.ty.is_complex() {
        &["EQ", "NE"]
    } else {
        &["EQ", "NE", "LT", "LE", "GT", "GE"]
    };
    let direction = *g.random.pick(directions);
    // Which NaN an engine gives is its own affair, and the total order tells them apart.
    let ordered = x.ty.is_float() && x.known.bound.is_some() && y.known.bound.is_some();
    let kind = if ordered && g.random.one_in(2) {
        ", type=TOTALORDER"
    } else if !g.random.one_in(6) {
        ""
    } else if x.ty.is_signed_integer() {
        ", type=SIGNED"
    } else if x.ty.is_float() || x.ty.is_complex() {
        ", type=FLOAT"
    } else {
        ", type=UNSIGNED"
    };
    let part = (ElementType::Pred, x.dims.clone(), Knowledge::WILD);
    let attributes = format!(", direction={direction}{kind}{attributes}");
    g.add(part, "compare", &[&x, &y], &attributes);
    Some(())
}

/// Whether the sign of a NaN in `x`, which is free, does not show in `ty`: types without a NaN make it ±0.
fn keeps_nan(x: &Value, ty: ElementType) -> bool {
    let number = x.ty.is_integer() || x.ty.is_predicate() || x.known.bound.is_some();
    number || float_format(ty).is_none_or(|format| format.has_nan())
}

fn convert(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(|_| true);
    let ty = g.type_where(|ty| keeps_nan(&x, ty));
    let known = match x.known.bound {
        Some(bound) if x.known.whole && !ty.is_integer() && !x.ty.is_complex() => {
            Knowledge::whole_of(ty, bound)
        }
        _ if x.ty.is_predicate() && !ty.is_integer() => Knowledge::whole_of(ty, 1.0),
        _ => Knowledge::WILD,
    };
    g.add((ty, x.dims.clone(), known), "convert", &[&x], "");
    Some(())
}

fn reduce_precision(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(ElementType::is_float);
    let exponent = 1 + g.random.below(11);
    let mantissa = g.random.below(24);
    let attributes = format!(", exponent_bits={exponent}, mantissa_bits={mantissa}");
    let part = (x.ty, x.dims.clone(), Knowledge::WILD);
    g.add(part, "reduce-precision", &[&x], &attributes);
    Some(())
}

/// Random operands are as wide as the floats.
fn stochastic_convert(g: &mut Generator, _: Opcode) -> Option<()> {
    let unsigned = |ty: ElementType| {
        let fits = |other: &&ElementType| other.is_unsigned_integer() && other.bits() == ty.bits();
        ElementType::ALL.iter().copied().find(|other| fits(&other))
    };
    let x = g.exact(|ty| ty.is_float() && unsigned(ty).is_some());
    let random = g.exact_of(unsigned(x.ty)?, &x.dims);
    let ty = g.type_where(|ty| (ty.is_float() || ty.is_integer()) && keeps_nan(&x, ty));
    let part = (ty, x.dims.clone(), Knowledge::WILD);
    g.add(part, "stochastic-convert", &[&x, &random], "");
    Some(())
}

/// Between widths where one divides the other; never of NaN, of which engines may give any.
fn bitcast_convert(g: &mut Generator, _: Opcode) -> Option<()> {
    let integral = |ty: ElementType| ty.is_integer() || ty.is_predicate();
    let plain = |value: &Value| {
        value.known.is_exact() && (integral(value.ty) || value.known.bound.is_some())
    };
    let x = match g.pick(plain) {
        Some(found) if !g.random.one_in(3) => found,
        _ => {
            let (ty, dims) = (g.type_where(|_| true), g.sizes());
            g.fresh(ty, &dims, Flavor::Bounded(8.0))
        }
    };
    let from = x.ty.bits();
    let fits = |ty: ElementType| {
        let to = ty.bits();
        let divides = if from >= to {
            from.is_multiple_of(to)
        } else {
            to.is_multiple_of(from) && x.dims.last() == Some(&i64::from(to / from))
        };
        // A byte above 1 is no pred.
        divides && ty.is_complex() == x.ty.is_complex() && !(ty.is_predicate() && ty != x.ty)
    };
    let ty = g.type_where(fits);
    let mut dims = x.dims.clone();
    if ty.bits() < from {
        dims.push(i64::from(from / ty.bits()));
    } else if ty.bits() > from {
        dims.pop();
    }
    if dims.iter().product::<i64>() > super::builder::MAX_ELEMENTS * 4 {
        return None;
    }
    let part = (ty, dims, Knowledge::WILD);
    g.add(part, "bitcast-convert", &[&x], "");
    Some(())
}

//! `stochastic-convert`: toward zero, then one step away from it where the random bits are below the
//! fraction of a step that was cut off, scaled to their width.

use hloc_ir::{ArrayShape, Op};
use hloc_tensor::{Array, ElementType};

use super::{Operands, ensure, zeros};
use crate::EvalError;
use crate::scalar::{Lane, Value};

/// Steps of integers are 1; what is out of range gives the nearest integer and NaN 0. Steps of floats are
/// the distance to the next one; from the greatest finite value on this is `convert`.
pub(super) fn convert(
    op: &Op,
    operands: &Operands,
    shape: &ArrayShape,
) -> Result<Array, EvalError> {
    let (x, random) = (operands.array(0)?, operands.array(1)?);
    let (from, bits, to) = (x.element_type(), random.element_type(), shape.element_type);
    if !from.is_float() || !bits.is_unsigned_integer() || !(to.is_integer() || to.is_float()) {
        return Err(EvalError::unsupported(op, Some(to)));
    }
    ensure(
        x.dims() == random.dims(),
        "operand and random bits have different dimensions",
    )?;
    let mut result = zeros(to, x.dims())?;
    let elements = x
        .bytes()
        .chunks_exact(from.size())
        .zip(random.bytes().chunks_exact(bits.size()));
    for (target, (x, random)) in result.bytes_mut().chunks_exact_mut(to.size()).zip(elements) {
        let x = f64::read(from, x);
        let random = i128::read(bits, random) as f64;
        let is_below = |fraction: f64| {
            // A power of two: the product is exact.
            random < (fraction * libm::exp2(bits.bits().into())).floor()
        };
        let rounded = if to.is_integer() {
            to_integer(x, is_below)
        } else {
            to_float(x, to, is_below)
        };
        Value::Float(rounded)
            .converted(ElementType::F64, to)
            .write(to, target);
    }
    Ok(result)
}

fn to_integer(x: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    let whole = x.trunc();
    if is_below((x - whole).abs()) {
        whole + 1.0f64.copysign(x)
    } else {
        whole
    }
}

/// The float of type `to` that `x` goes to, or `x` itself where this is `convert`.
fn to_float(x: f64, to: ElementType, is_below: impl Fn(f64) -> bool) -> f64 {
    let rounded = |value: f64| match Value::Float(value).converted(ElementType::F64, to) {
        Value::Float(value) => value,
        Value::Pred(_) | Value::Int(_) | Value::Complex(_) => f64::NAN,
    };
    let nearest = rounded(x.abs());
    if x.is_nan() || !nearest.is_finite() || nearest == x.abs() {
        return x;
    }
    // The other neighbor is the value of the code before or behind, as codes count away from zero.
    let mut bytes = [0; 8];
    let bytes = &mut bytes[..to.size()];
    nearest.store(to, bytes);
    let mut code = [0; 8];
    code[..bytes.len()].copy_from_slice(bytes);
    let code = u64::from_le_bytes(code);
    let is_above = nearest > x.abs();
    let Some(other) = (if is_above {
        code.checked_sub(1)
    } else {
        code.checked_add(1)
    }) else {
        return x;
    };
    bytes.copy_from_slice(&other.to_le_bytes()[..to.size()]);
    let other = f64::read(to, bytes);
    let (low, high) = if is_above {
        (other, nearest)
    } else {
        (nearest, other)
    };
    if !(low < x.abs() && x.abs() < high && high.is_finite()) {
        return x;
    }
    let away = is_below((x.abs() - low) / (high - low));
    (if away { high } else { low }).copysign(x)
}

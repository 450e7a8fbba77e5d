//! Divisions by constants as products with the same bits.
//!
//! before:  x = f32[9] convert(bytes)   ROOT r = f32[9] divide(x, b)   b is 255 everywhere
//! after:   x = f32[9] convert(bytes)   h = f32[9] multiply(x, high)   l = f32[9] multiply(x, low)
//!          ROOT r = f32[9] add(h, l)
//!
//! - By a power of two: the product with its inverse is the same number before it is rounded.
//! - Of 8-bit integers as f32: the inverse is a sum, `high` of so few bits that products with it are exact, and
//!   `low` the rest. The sum of both products then misses the quotient by less than 2^-38 of it, which rounds to
//!   something else for hardly any divisor; whether it does for this one is tried for all 256 integers.
//!
//! A division keeps the processor busy as long as ten products and sums.

use hloc_ir::{Array, ArrayShape, BinaryOp, ElementType, InstrId, Op, Shape};

use super::{Draft, Simplifier, Step, sized, static_array};

/// Bits of `high` that are 0, beside an 8-bit factor: 24 bits of f32 hold the product.
const LOW_BITS: u32 = 8;

/// Applies the rules.
pub(super) fn simplify(cx: &mut Simplifier<'_>, draft: &Draft) -> Option<Step> {
    let Op::Binary {
        op: BinaryOp::Divide,
        broadcast_dimensions: None,
    } = draft.op
    else {
        return None;
    };
    let result = static_array(&draft.shape)?.clone();
    let [numerator, divisor] = draft.operands[..] else {
        return None;
    };
    let same_dims = |id: InstrId| cx.array(id).is_some_and(|shape| shape.same_dims(&result));
    if !same_dims(numerator) || !same_dims(divisor) {
        return None;
    }
    let value = cx.splat(divisor)?.float()?;
    let inverse = inverse_of_power(value);
    if result.element_type == ElementType::F64 {
        let inverse = spread(cx, Array::scalar(inverse?), &result);
        return Some(product(numerator, inverse, &result));
    }
    if result.element_type != ElementType::F32 {
        return None;
    }
    if let Some(inverse) = inverse {
        let inverse = spread(cx, Array::scalar(inverse as f32), &result);
        return Some(product(numerator, inverse, &result));
    }
    let (high, low) = halves(value as f32, integers(cx, numerator)?)?;
    let high = spread(cx, Array::scalar(high), &result);
    let low = spread(cx, Array::scalar(low), &result);
    let shape = sized(&result, &result.dims);
    let multiply = Op::binary(BinaryOp::Multiply);
    let high = cx.build(multiply.clone(), &[numerator, high], shape.clone());
    let low = cx.build(multiply, &[numerator, low], shape.clone());
    let sum = Draft::new(Op::binary(BinaryOp::Add), &[high, low], shape);
    Some(Step::Become(sum))
}

fn product(numerator: InstrId, factor: InstrId, result: &ArrayShape) -> Step {
    let op = Op::binary(BinaryOp::Multiply);
    let shape = sized(result, &result.dims);
    Step::Become(Draft::new(op, &[numerator, factor], shape))
}

/// A constant everywhere in an array of these sizes.
fn spread(cx: &mut Simplifier<'_>, scalar: Array, like: &ArrayShape) -> InstrId {
    let shape = Shape::scalar(like.element_type);
    let literal = scalar.into();
    let constant = cx.build(Op::Constant { literal }, &[], shape);
    if like.dims.is_empty() {
        return constant;
    }
    let op = Op::Broadcast { dimensions: vec![] };
    cx.build(op, &[constant], sized(like, &like.dims))
}

/// The inverse of a power of two, but for the largest, whose inverses have fewer bits.
fn inverse_of_power(value: f64) -> Option<f64> {
    let fraction = value.to_bits() & ((1 << 52) - 1);
    let is_usual = (-100.0..=100.0).contains(&value.abs().log2());
    // 1 is for `algebra`.
    (fraction == 0 && is_usual && value != 1.0).then(|| 1.0 / value)
}

/// The integers that the elements of `id` are, if it is converted from 8-bit ones.
fn integers(cx: &Simplifier<'_>, id: InstrId) -> Option<std::ops::RangeInclusive<i16>> {
    let Op::Convert {} = cx.op(id) else {
        return None;
    };
    let ty = cx.array(cx.operand(id, 0))?.element_type;
    if ty == ElementType::U8 {
        Some(0..=255)
    } else {
        (ty == ElementType::S8).then_some(-128..=127)
    }
}

/// Two numbers whose products with each of the integers add to the quotient.
fn halves(divisor: f32, mut integers: std::ops::RangeInclusive<i16>) -> Option<(f32, f32)> {
    if !divisor.is_normal() {
        return None;
    }
    let inverse = 1.0 / f64::from(divisor);
    let high = f32::from_bits((inverse as f32).to_bits() >> LOW_BITS << LOW_BITS);
    let low = (inverse - f64::from(high)) as f32;
    let is_quotient = |integer: i16| {
        let x = f32::from(integer);
        (x * high + x * low).to_bits() == (x / divisor).to_bits()
    };
    (low != 0.0 && integers.all(is_quotient)).then_some((high, low))
}

#[cfg(test)]
mod tests {
    use super::{halves, inverse_of_power};

    #[test]
    fn only_powers_of_two_have_exact_inverses() {
        assert_eq!(inverse_of_power(8.0), Some(0.125));
        assert_eq!(inverse_of_power(-0.5), Some(-2.0));
        for other in [1.0, 0.0, -0.0, 3.0, f64::INFINITY, f64::NAN, 1e-300] {
            assert_eq!(inverse_of_power(other), None, "{other}");
        }
    }

    #[test]
    fn most_divisors_of_bytes_have_halves() {
        let found = |divisor: f32| halves(divisor, 0..=255).is_some();
        assert!(found(255.0) && found(127.5) && found(0.225) && found(-58.395));
        let few = (2..1000).filter(|n| !found(*n as f32)).count();
        assert!(few < 60, "{few}");
        for other in [0.0, f32::INFINITY, f32::NAN, 1e-40, 1e38] {
            assert!(!found(other) || halves(other, 0..=255).is_some());
        }
    }
}

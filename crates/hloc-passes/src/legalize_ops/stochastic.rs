//! `stochastic-convert`: toward zero, then a step away from it if the random bits are below the fraction
//! of a step that was cut off, scaled to their width.
//!
//! Everything is computed in `f64`, which holds all operands and fractions exactly.

use hloc_ir::{BinaryOp, ComparisonDirection, ElementType, InstrId, UnaryOp, float_format};
use hloc_tensor::FloatFormat;

use super::in_place;
use crate::make::Make;
use crate::rewriter::Rewriter;

/// The value of a `stochastic-convert`, spelled out; `None` for results that are no real numbers.
pub(super) fn spell_out(rebuilt: &mut Rewriter<'_>, id: InstrId) -> Option<InstrId> {
    let to = rebuilt.old().instructions[id]
        .shape
        .as_array()?
        .element_type;
    let operands = rebuilt.mapped_operands(id);
    let (x, random) = (operands[0], operands[1]);
    let mut make = in_place(rebuilt, id);
    let from = make.array(x).element_type;
    // Nothing lies between the values of `f64`.
    if to == from || to == ElementType::F64 {
        return Some(make.convert(x, to));
    }
    let bits = make.array(random).element_type.bits();
    let wide = make.convert(x, ElementType::F64);
    let random = make.convert(random, ElementType::U64);
    if to.is_integer() {
        Some(to_integer(&mut make, wide, random, (bits, to)))
    } else if to.is_float() {
        to_float(&mut make, (x, wide), random, (bits, to))
    } else {
        None
    }
}

/// Whether the random bits are below a fraction in 0..1.
fn is_below(make: &mut impl Make, random: InstrId, fraction: InstrId, bits: u32) -> InstrId {
    let scale = make.number_like(fraction, 2.0f64.powi(bits as i32));
    let threshold = make.binary(BinaryOp::Multiply, fraction, scale);
    let threshold = make.convert(threshold, ElementType::U64);
    make.compare(ComparisonDirection::Lt, random, threshold)
}

fn to_integer(
    make: &mut impl Make,
    wide: InstrId,
    random: InstrId,
    (bits, to): (u32, ElementType),
) -> InstrId {
    let magnitude = make.unary(UnaryOp::Abs, wide);
    let whole = make.unary(UnaryOp::Floor, magnitude);
    let fraction = make.binary(BinaryOp::Subtract, magnitude, whole);
    let away = is_below(make, random, fraction, bits);
    let one = make.number_like(whole, 1.0);
    let more = make.binary(BinaryOp::Add, whole, one);
    let rounded = make.select(away, more, whole);
    let zero = make.number_like(wide, 0.0);
    let negative = make.compare(ComparisonDirection::Lt, wide, zero);
    let opposite = make.unary(UnaryOp::Negate, rounded);
    let signed = make.select(negative, opposite, rounded);
    make.convert(signed, to)
}

/// The neighbors of `x` in the type are multiples of its step, which the binade of `x` decides.
///
/// Exact values, those beyond the greatest finite one, and what is no number are left to `convert`.
fn to_float(
    make: &mut impl Make,
    (x, wide): (InstrId, InstrId),
    random: InstrId,
    (bits, to): (u32, ElementType),
) -> Option<InstrId> {
    let format = float_format(to)?;
    let nearest = make.convert(x, to);
    let magnitude = make.unary(UnaryOp::Abs, wide);
    let step = step(make, magnitude, &format);
    let steps = make.binary(BinaryOp::Divide, magnitude, step);
    let whole = make.unary(UnaryOp::Floor, steps);
    let fraction = make.binary(BinaryOp::Subtract, steps, whole);
    let away = is_below(make, random, fraction, bits);
    let one = make.number_like(whole, 1.0);
    let more = make.binary(BinaryOp::Add, whole, one);
    let high = make.binary(BinaryOp::Multiply, more, step);
    let rounded = make.select(away, more, whole);
    let rounded = make.binary(BinaryOp::Multiply, rounded, step);
    let zero = make.number_like(wide, 0.0);
    let negative = make.compare(ComparisonDirection::Lt, wide, zero);
    let opposite = make.unary(UnaryOp::Negate, rounded);
    let signed = make.select(negative, opposite, rounded);
    let signed = make.convert(signed, to);
    let inexact = make.compare(ComparisonDirection::Gt, fraction, zero);
    let greatest = make.number_like(high, format.max_finite);
    let finite = make.compare(ComparisonDirection::Le, high, greatest);
    let mut between = make.binary(BinaryOp::And, inexact, finite);
    if !format.has_zero() {
        let positive = make.compare(ComparisonDirection::Gt, whole, zero);
        between = make.binary(BinaryOp::And, between, positive);
    }
    Some(make.select(between, signed, nearest))
}

/// The distance of the neighbors of a number in a format: a power of two.
fn step(make: &mut impl Make, magnitude: InstrId, format: &FloatFormat) -> InstrId {
    let bits = make.bits(magnitude, ElementType::U64);
    let digits = make.number_like(bits, 52.0);
    let exponent = make.binary(BinaryOp::ShiftRightLogical, bits, digits);
    let power = make.binary(BinaryOp::ShiftLeft, exponent, digits);
    let power = make.bits(power, ElementType::F64);
    let least = make.number_like(power, format.min_normal());
    let power = make.binary(BinaryOp::Maximum, power, least);
    let unit = 2.0f64.powi(-(format.mantissa_bits as i32));
    let unit = make.number_like(power, unit);
    make.binary(BinaryOp::Multiply, power, unit)
}

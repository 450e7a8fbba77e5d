//! `x^y` of `f32` as arithmetic on lanes.
//!
//! `x^y = 2^(y log2 x)`. The exponent may be as great as 128, so an error of its logarithm grows by as
//! much: the logarithm and the product are computed in two parts each, the upper of 12 bits, so that the
//! products of upper parts are exact (Dekker, "A floating-point technique for extending the available
//! precision", 1971). Special values are those of IEEE 754's `pow`.

use super::Machine;
use super::inline::{
    clamped, magnitude, mantissa_and_exponent, nearest, normal, polynomial, scaled_by,
};

/// Clears the lower 12 of 24 significant bits.
const UPPER: u32 = 0xffff_f000;
/// `2 / (3 ln 2)`: its upper 12 bits, and the rest.
const SCALE_UPPER: f32 = f32::from_bits(0x3f76_3000);
const SCALE_LOWER: f32 = 1.267_721e-4;
const SCALE: f32 = 0.961_796_7;

/// A number as the sum of two.
#[derive(Clone, Copy)]
struct Parts<F> {
    upper: F,
    lower: F,
}

/// `x^y`.
pub(crate) fn power<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let size = magnitude(m, x);
    let logarithm = log2(m, size);
    // No finite result has a greater exponent: the logarithm is 0 or at least 2^-24.
    let limit = 2f32.powi(33);
    let exponent = clamped(m, y, -limit, limit);
    let result = exp2_of_product(m, exponent, logarithm);
    let result = ends(m, size, y, result);
    let (is_integer, odd) = parity(m, y);
    let signed = with_sign(m, x, odd, result);
    let result = without_real_result(m, x, is_integer, signed);
    let result = or_nan(m, y, result);
    ones(m, x, y, result)
}

/// The upper 12 bits of a number and what is left.
fn halves<M: Machine>(m: &mut M, x: M::Float) -> Parts<M::Float> {
    let upper = upper(m, x);
    let lower = m.sub(x, upper);
    Parts { upper, lower }
}

fn upper<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let (bits, mask) = (m.to_bits(x), m.bits(UPPER));
    let bits = m.and(bits, mask);
    m.float_of_bits(bits)
}

/// `log2 x` of a positive finite number; the upper part has 12 bits.
fn log2<M: Machine>(m: &mut M, x: M::Float) -> Parts<M::Float> {
    let (normal, shift) = normal(m, x);
    let (mantissa, exponent) = mantissa_and_exponent(m, normal, shift);
    let s = ratio(m, mantissa);
    let product = log_product(m, s);
    let (scale, scale_upper) = (m.float(SCALE), m.float(SCALE_UPPER));
    let scale_lower = m.float(SCALE_LOWER);
    let leading = m.mul(scale_upper, product.upper);
    let first = m.mul(scale_lower, product.upper);
    let second = m.mul(scale, product.lower);
    let rest = m.add(first, second);
    let sum = m.add(exponent, leading);
    let back = m.sub(sum, exponent);
    let lost = m.sub(leading, back);
    let rest = m.add(rest, lost);
    let total = m.add(sum, rest);
    let upper = upper(m, total);
    let above = m.sub(upper, sum);
    let lower = m.sub(rest, above);
    Parts { upper, lower }
}

/// `3 atanh s`, which is `s (3 + s^2 + 3/5 s^4 + ...)`; the upper part has 12 bits.
fn log_product<M: Machine>(m: &mut M, s: Parts<M::Float>) -> Parts<M::Float> {
    let whole = m.add(s.upper, s.lower);
    let square = m.mul(whole, whole);
    let series = polynomial(
        m,
        square,
        &[3.0 / 13.0, 3.0 / 11.0, 3.0 / 9.0, 3.0 / 7.0, 3.0 / 5.0],
    );
    let fourth = m.mul(square, square);
    let series = m.mul(series, fourth);
    // s^2 is the square of the upper part, which is exact, and this.
    let both = m.add(s.upper, whole);
    let square_lower = m.mul(s.lower, both);
    let rest = m.add(series, square_lower);
    let square_upper = m.mul(s.upper, s.upper);
    let three = m.float(3.0);
    let sum = m.add(three, square_upper);
    let sum = m.add(sum, rest);
    let factor_upper = upper(m, sum);
    let above = m.sub(factor_upper, three);
    let above = m.sub(above, square_upper);
    let factor_lower = m.sub(rest, above);
    let leading = m.mul(s.upper, factor_upper);
    let first = m.mul(s.lower, factor_upper);
    let second = m.mul(factor_lower, whole);
    let tail = m.add(first, second);
    let total = m.add(leading, tail);
    let upper = upper(m, total);
    let above = m.sub(upper, leading);
    let lower = m.sub(tail, above);
    Parts { upper, lower }
}

/// `(x - 1) / (x + 1)` for a mantissa; the upper part has 12 bits.
fn ratio<M: Machine>(m: &mut M, x: M::Float) -> Parts<M::Float> {
    let one = m.float(1.0);
    let (above, below) = (m.sub(x, one), m.add(x, one));
    let quotient = m.div(above, below);
    let upper = upper(m, quotient);
    // x + 1 may have one bit too many for a float; both parts together are exact.
    let below_upper = self::upper(m, below);
    let known = m.sub(below_upper, one);
    let below_lower = m.sub(x, known);
    let first = m.mul(upper, below_upper);
    let second = m.mul(upper, below_lower);
    let rest = m.sub(above, first);
    let rest = m.sub(rest, second);
    let lower = m.div(rest, below);
    Parts { upper, lower }
}

/// `2^(y * logarithm)`; `y` is at most 2^33 in size.
fn exp2_of_product<M: Machine>(m: &mut M, y: M::Float, logarithm: Parts<M::Float>) -> M::Float {
    let factor = halves(m, y);
    let high = m.mul(factor.upper, logarithm.upper);
    let first = m.mul(factor.lower, logarithm.upper);
    let second = m.mul(y, logarithm.lower);
    let low = m.add(first, second);
    let product = m.add(high, low);
    let product = clamped(m, product, -160.0, 140.0);
    let (n, bits) = nearest(m, product);
    let rest = m.sub(high, n);
    let rest = m.add(rest, low);
    // Beyond the limits of the product the rest is anything.
    let rest = clamped(m, rest, -1.0, 1.0);
    // (ln 2)^k / k!
    let series = polynomial(
        m,
        rest,
        &[
            1.525_273_4e-5,
            1.540_353e-4,
            1.333_355_8e-3,
            9.618_129e-3,
            5.550_411e-2,
            2.402_265e-1,
            6.931_472e-1,
        ],
    );
    let above_one = m.mul(series, rest);
    let one = m.float(1.0);
    let result = m.add(above_one, one);
    scaled_by(m, result, bits)
}

/// Results for 0 and infinity, of the right size.
fn ends<M: Machine>(m: &mut M, size: M::Float, y: M::Float, result: M::Float) -> M::Float {
    let (zero, infinity) = (m.float(0.0), m.float(f32::INFINITY));
    let is_raised = m.lt(zero, y);
    let at_zero = m.select(is_raised, zero, infinity);
    let at_infinity = m.select(is_raised, infinity, zero);
    let is_positive = m.lt(zero, size);
    let result = m.select(is_positive, result, at_zero);
    let is_finite = m.lt(size, infinity);
    m.select(is_finite, result, at_infinity)
}

/// Whether `y` is an integer; and 1 if it is an odd one, else 0.
fn parity<M: Machine>(m: &mut M, y: M::Float) -> (M::Mask, M::Bits) {
    let size = magnitude(m, y);
    // From 2^23 on all are integers, from 2^24 on all are even.
    let magic = m.float(8_388_608.0);
    let is_small = m.lt(size, magic);
    let shifted = m.add(size, magic);
    let rounded = m.sub(shifted, magic);
    let whole = m.select(is_small, rounded, size);
    let (size_bits, whole_bits) = (m.to_bits(size), m.to_bits(whole));
    let is_integer = m.ieq(size_bits, whole_bits);
    let shifted_bits = m.to_bits(shifted);
    let low = m.select_bits(is_small, shifted_bits, size_bits);
    let one = m.bits(1);
    let odd = m.and(low, one);
    let limit = m.float(16_777_216.0);
    let may_be_odd = m.lt(size, limit);
    let none = m.bits(0);
    let odd = m.select_bits(is_integer, odd, none);
    (is_integer, m.select_bits(may_be_odd, odd, none))
}

/// `result`, negative if `x` is (-0 too) and the exponent is odd.
fn with_sign<M: Machine>(m: &mut M, x: M::Float, odd: M::Bits, result: M::Float) -> M::Float {
    let flip = m.shl(odd, 31);
    let bits = m.to_bits(x);
    let flip = m.and(bits, flip);
    let bits = m.to_bits(result);
    let bits = m.xor(bits, flip);
    m.float_of_bits(bits)
}

/// NaN for NaN and for a negative finite number to a power that is no integer.
fn without_real_result<M: Machine>(
    m: &mut M,
    x: M::Float,
    is_integer: M::Mask,
    result: M::Float,
) -> M::Float {
    let (zero, nan) = (m.float(0.0), m.float(f32::NAN));
    let minus_infinity = m.float(f32::NEG_INFINITY);
    let is_negative = m.lt(x, zero);
    let is_finite = m.lt(minus_infinity, x);
    let fractional = m.select(is_integer, result, nan);
    let of_negative = m.select(is_finite, fractional, result);
    let result = m.select(is_negative, of_negative, result);
    or_nan(m, x, result)
}

/// `result`, but `x` if that is NaN.
fn or_nan<M: Machine>(m: &mut M, x: M::Float, result: M::Float) -> M::Float {
    let size = magnitude(m, x);
    let (bits, infinity) = (m.to_bits(size), m.bits(f32::INFINITY.to_bits()));
    let is_nan = m.ilt(infinity, bits);
    m.select(is_nan, x, result)
}

/// 1 for base 1 and for exponent 0, NaN or not.
fn ones<M: Machine>(m: &mut M, x: M::Float, y: M::Float, result: M::Float) -> M::Float {
    let one = m.float(1.0);
    let (x_bits, one_bits) = (m.to_bits(x), m.bits(1f32.to_bits()));
    let is_one = m.ieq(x_bits, one_bits);
    let result = m.select(is_one, one, result);
    let size = magnitude(m, y);
    let (y_bits, zero_bits) = (m.to_bits(size), m.bits(0));
    let is_zero = m.ieq(y_bits, zero_bits);
    m.select(is_zero, one, result)
}

#[cfg(test)]
mod tests {
    use super::power;
    use crate::math::plain::Plain;
    use crate::math::real;

    fn pow(x: f32, y: f32) -> f32 {
        power(&mut Plain, x, y)
    }

    /// Units in the last place between the result and the rounded double-precision power.
    fn error(x: f32, y: f32) -> f64 {
        let (actual, exact) = (pow(x, y), real::pow(f64::from(x), f64::from(y)));
        let rounded = exact as f32;
        if actual == rounded || actual.is_nan() && rounded.is_nan() {
            return if actual.is_sign_negative() == rounded.is_sign_negative() || actual.is_nan() {
                0.0
            } else {
                f64::INFINITY
            };
        }
        if rounded.is_infinite() || actual.is_infinite() {
            let next = f64::from(f32::MAX) * (1.0 + 2f64.powi(-23));
            return if exact.abs() < next
                && exact.abs() > f64::from(f32::MAX) * (1.0 - 2f64.powi(-23))
            {
                1.0
            } else {
                f64::INFINITY
            };
        }
        let exponent = ((rounded.to_bits() >> 23) & 0xff).max(1).cast_signed();
        (f64::from(actual) - exact).abs() / 2f64.powi(exponent - 150)
    }

    #[test]
    fn special_values_are_those_of_ieee_754() {
        let inf = f32::INFINITY;
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.0,
            -2.0,
            3.0,
            -3.0,
            inf,
            -inf,
            f32::NAN,
            1.5,
            -1.5,
            1e-40,
            -1e-40,
            f32::MAX,
            f32::MIN,
            8_388_609.0,
            16_777_216.0,
            1e30,
            -1e30,
            0.999_999_94,
            8_388_607.5,
            4_194_303.5,
            8_388_607.0,
        ];
        for x in values {
            for y in values {
                let e = error(x, y);
                assert!(e <= 1.0, "{x:e}^{y:e} = {:e}, off by {e}", pow(x, y));
            }
        }
    }

    #[test]
    fn finite_results_are_within_one_and_a_half_units() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f32 / 2f32.powi(31)
        };
        let count = if cfg!(debug_assertions) {
            20_000
        } else {
            2_000_000
        };
        let mut worst = (0.0, 0f32, 0f32);
        for _ in 0..count {
            let x = (next() * 60.0 - 30.0).exp2();
            let y = (next() * 2.0 - 1.0) * 150.0 / x.log2().abs().max(1e-6);
            let e = error(x, y);
            if e > worst.0 {
                worst = (e, x, y);
            }
        }
        assert!(
            worst.0 <= 1.5,
            "{:e}^{:e} is off by {} ulp",
            worst.1,
            worst.2,
            worst.0
        );
    }
}

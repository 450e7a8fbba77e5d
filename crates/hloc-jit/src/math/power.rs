//! `x^y` of `f32` as arithmetic on lanes.
//!
//! `x^y = 2^(y log2 x)`. The exponent may be as great as 128, so an error of its logarithm grows by as
//! much: the logarithm and the product are computed as sums of two numbers each, and fused operations give what a
//! product loses. Special values are those of IEEE 754's `pow`.

use super::Machine;
use super::exponential::{nearest, scaled};
use super::logarithm::{mantissa_and_exponent, normal};
use super::steps::{clamped, magnitude, polynomial};

/// `2 / (3 ln 2)` and what is missing.
const SCALE: [f32; 2] = [0.961_796_7, -7.028462e-9];
/// `(2^r - 1 - r ln 2) / r^2` for `|r| <= 1/2`, highest power first; its error is 2^-27.8 of `2^r`.
const EXP2: [f32; 5] = [
    1.528_829_7e-4,
    1.339_026_5e-3,
    9.618_661e-3,
    5.550_362e-2,
    2.402_264_6e-1,
];

/// `(3 atanh s / s - 3 - s^2) / s^4` as a polynomial of `s^2`, highest power first.
const ATANH: [f32; 3] = [3.512_959e-1, 4.282_063_3e-1, 6.000_023e-1];

/// A number as the sum of two, the second being what the first lacks.
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

/// `a b`, exactly.
fn product<M: Machine>(m: &mut M, a: M::Float, b: M::Float) -> Parts<M::Float> {
    let upper = m.mul(a, b);
    Parts {
        upper,
        lower: m.fms(a, b, upper),
    }
}

/// `log2 x` of a positive finite number.
fn log2<M: Machine>(m: &mut M, x: M::Float) -> Parts<M::Float> {
    let (normal, shift) = normal(m, x);
    let (mantissa, exponent) = mantissa_and_exponent(m, normal, shift);
    let s = ratio(m, mantissa);
    let of_mantissa = log_product(m, s);
    let [high, low] = SCALE.map(|part| m.float(part));
    let leading = product(m, of_mantissa.upper, high);
    let rest = m.fma(of_mantissa.upper, low, leading.lower);
    let rest = m.fma(of_mantissa.lower, high, rest);
    let sum = m.add(exponent, leading.upper);
    let back = m.sub(sum, exponent);
    let lost = m.sub(leading.upper, back);
    Parts {
        upper: sum,
        lower: m.add(rest, lost),
    }
}

/// `3 atanh s`, which is `s (3 + s^2 + 3/5 s^4 + ...)`.
fn log_product<M: Machine>(m: &mut M, s: Parts<M::Float>) -> Parts<M::Float> {
    let square = product(m, s.upper, s.upper);
    let doubled = m.add(s.upper, s.upper);
    let square_lower = m.fma(doubled, s.lower, square.lower);
    let fourth = m.mul(square.upper, square.upper);
    let series = polynomial(m, square.upper, fourth, &ATANH);
    let rest = m.fma(series, fourth, square_lower);
    let three = m.float(3.0);
    let factor = m.add(three, square.upper);
    let back = m.sub(factor, three);
    let lost = m.sub(square.upper, back);
    let rest = m.add(rest, lost);
    let leading = product(m, s.upper, factor);
    let lower = m.fma(s.upper, rest, leading.lower);
    Parts {
        upper: leading.upper,
        lower: m.fma(s.lower, factor, lower),
    }
}

/// `s = (x - 1) / (x + 1)` for a mantissa. Its lower part takes `1 / (x + 1)`, which is `(1 - s) / 2`.
fn ratio<M: Machine>(m: &mut M, x: M::Float) -> Parts<M::Float> {
    let one = m.float(1.0);
    let (above, below) = (m.sub(x, one), m.add(x, one));
    let upper = m.div(above, below);
    // x + 1 may have one bit too many for a float; both parts together are exact.
    let known = m.sub(below, one);
    let below_lower = m.sub(x, known);
    let rest = m.fnma(upper, below, above);
    let rest = m.fnma(upper, below_lower, rest);
    let half = m.float(0.5);
    let inverse = m.fnma(upper, half, half);
    Parts {
        upper,
        lower: m.mul(rest, inverse),
    }
}

/// `2^(y * logarithm)`; `y` is at most 2^33 in size.
fn exp2_of_product<M: Machine>(m: &mut M, y: M::Float, logarithm: Parts<M::Float>) -> M::Float {
    let exponent = product(m, y, logarithm.upper);
    let low = m.fma(y, logarithm.lower, exponent.lower);
    // Beyond the limits of the product this is anything.
    let low = clamped(m, low, -1.0, 1.0);
    let high = clamped(m, exponent.upper, -160.0, 140.0);
    let (n, biased) = nearest(m, high, 1.0, 254.0);
    let exact = m.sub(high, n);
    let rest = m.add(exact, low);
    let square = m.mul(rest, rest);
    let series = polynomial(m, rest, square, &EXP2);
    let logarithm = m.float(std::f32::consts::LN_2);
    // Half a unit of the rest would show: the sum starts with what is exact.
    let small = m.mul(square, series);
    let small = m.fma(low, logarithm, small);
    let above_one = m.fma(exact, logarithm, small);
    scaled(m, above_one, biased)
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
    fn finite_results_are_within_one_unit() {
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
            worst.0 <= 1.0,
            "{:e}^{:e} is off by {} ulp",
            worst.1,
            worst.2,
            worst.0
        );
    }
}

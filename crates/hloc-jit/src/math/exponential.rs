//! `e^x` of `f32` and what is made of it, as arithmetic on lanes.
//!
//! All reduce their argument to `x = n ln 2 + r` and use one polynomial, `e^r - 1 = r + r^2 q(r)`, that adds less
//! than 2^-27 of `e^r` to the error, and 2^-30 where units of the result are smallest. It was fitted by least
//! squares of growing weights (Lawson), the coefficients rounded one after the other.

use super::Machine;
use super::steps::{SIGN, clamped, magnitude, polynomial, with_sign_of};

/// Adding it to a number below 2^22 rounds that to an integer, left in the low bits.
const MAGIC: f32 = 12_582_912.0;
/// Exponent bias of `f32`.
const BIAS: f32 = 127.0;
/// `ln 2` as an `f32`, and what is missing.
const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
/// The polynomial `q` for `|r| <= ln 2 / 2`, highest power first.
const Q: [f32; 5] = [
    1.351_749_5e-3,
    8.368_259e-3,
    4.167_353_4e-2,
    1.666_652_6e-1,
    4.999_997_3e-1,
];
/// `2 q(2r)`, rounded for itself: `(e^2r - 1) / 2 = r + r^2 p(r)` for `|r| <= ln 2 / 4`.
const P: [f32; 5] = [
    4.438_102e-2,
    1.338_661_2e-1,
    3.333_396_6e-1,
    6.666_617_4e-1,
    0.999_999_94,
];

/// An argument as `n ln 2 + r`.
struct Reduced<M: Machine> {
    /// `n` and a bias, in the low bits.
    biased: M::Bits,
    rest: M::Float,
}

/// `x factor` to the nearest integer, as a float and with `bias` in the low bits.
pub(super) fn nearest<M: Machine>(
    m: &mut M,
    x: M::Float,
    factor: f32,
    bias: f32,
) -> (M::Float, M::Bits) {
    let magic = m.float(MAGIC + bias);
    let shifted = if factor == 1.0 {
        m.add(x, magic)
    } else {
        let factor = m.float(factor);
        m.fma(x, factor, magic)
    };
    (m.sub(shifted, magic), m.to_bits(shifted))
}

/// The first product is exact with what it is subtracted from: both are multiples of the last bit of `ln 2`.
fn reduced<M: Machine>(m: &mut M, x: M::Float, bias: f32) -> Reduced<M> {
    let (n, biased) = nearest(m, x, std::f32::consts::LOG2_E, bias);
    let [high, low] = LN_2.map(|part| m.float(part));
    let rest = m.fnma(n, high, x);
    let rest = m.fnma(n, low, rest);
    Reduced { biased, rest }
}

/// `e^r - 1`.
fn above_one<M: Machine>(m: &mut M, r: M::Float) -> M::Float {
    let square = m.mul(r, r);
    let series = polynomial(m, r, square, &Q);
    m.fma(square, series, r)
}

/// 2 to the power of a number that has the exponent's bias in its low 8 bits.
fn power_of_two<M: Machine>(m: &mut M, biased: M::Bits) -> M::Float {
    let bits = m.shl(biased, 23);
    m.float_of_bits(bits)
}

/// `(1 + p) 2^n`, where `n` has the bias 254. In two steps, so that subnormal results come out right and only
/// true overflow is infinite.
pub(super) fn scaled<M: Machine>(m: &mut M, p: M::Float, biased: M::Bits) -> M::Float {
    let half = m.shr(biased, 1);
    let rest = m.isub(biased, half);
    let (first, second) = (power_of_two(m, half), power_of_two(m, rest));
    let y = m.fma(p, first, first);
    m.mul(y, second)
}

/// `e^x`.
pub(super) fn exp<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let x = clamped(m, x, -105.0, 89.0);
    exp_limited(m, x)
}

/// `e^x` for -105 to 89. Half a unit of `r` would show: the sum starts with what is exact.
fn exp_limited<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let (n, biased) = nearest(m, x, std::f32::consts::LOG2_E, 2.0 * BIAS);
    let (high, minus_low) = (m.float(LN_2[0]), m.float(-LN_2[1]));
    let exact = m.fnma(n, high, x);
    let low = m.mul(n, minus_low);
    let r = m.add(exact, low);
    let square = m.mul(r, r);
    let series = polynomial(m, r, square, &Q);
    let small = m.fma(square, series, low);
    let p = m.add(small, exact);
    scaled(m, p, biased)
}

/// `e^x - 1`.
pub(super) fn expm1<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let limited = clamped(m, x, -20.0, 89.0);
    // Half the result, so that the power of two stays in range.
    let Reduced { biased, rest } = reduced(m, limited, BIAS - 1.0);
    let p = above_one(m, rest);
    let scale = power_of_two(m, biased);
    let half = m.float(0.5);
    let whole = m.sub(scale, half);
    let result = m.fma(p, scale, whole);
    let result = m.add(result, result);
    // Half of a subnormal number would lose its last bit, and -0 its sign.
    let size = magnitude(m, x);
    let limit = m.float(f32::EPSILON / 2.0);
    let is_small = m.lt(size, limit);
    m.select(is_small, x, result)
}

/// `1 / (1 + e^-x)`, by `p / (1 + p) = p - p (p / (1 + p))` of the power that does not overflow.
pub(super) fn logistic<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let (bits, sign) = (m.to_bits(x), m.bits(SIGN));
    let negative = m.or(bits, sign);
    let negative = m.float_of_bits(negative);
    let low = m.float(-105.0);
    let too_low = m.lt(negative, low);
    let limited = m.select(too_low, low, negative);
    let power = exp_limited(m, limited);
    let (zero, one) = (m.float(0.0), m.float(1.0));
    let denominator = m.add(one, power);
    let quotient = m.div(power, denominator);
    // The quotient again, with its error times what it is.
    let low = m.fnma(power, quotient, power);
    let high = m.sub(one, low);
    let is_negative = m.lt(x, zero);
    m.select(is_negative, low, high)
}

/// `tanh x`, as `h / (h + 1)` with `h = (e^2x - 1) / 2` of the magnitude.
pub(super) fn tanh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let size = magnitude(m, x);
    // From 9.02 on the result is 1.
    let limit = m.float(10.0);
    let is_great = m.lt(limit, size);
    let limited = m.select(is_great, limit, size);
    let (n, biased) = nearest(m, limited, 2.0 * std::f32::consts::LOG2_E, BIAS);
    // The result needs the rest of the logarithm less the more of it there is.
    let logarithm = m.float(LN_2[0] / 2.0);
    let r = m.fnma(n, logarithm, limited);
    let square = m.mul(r, r);
    let series = polynomial(m, r, square, &P);
    let p = m.fma(square, series, r);
    let scale = power_of_two(m, biased);
    let half = m.float(0.5);
    let minus_half = m.float(-0.5);
    let whole = m.fma(scale, half, minus_half);
    let h = m.fma(p, scale, whole);
    let one = m.float(1.0);
    let denominator = m.add(h, one);
    let is_below = m.lt(h, one);
    let least = m.select(is_below, h, one);
    let quotient = m.div(least, denominator);
    let result = m.fnma(least, quotient, least);
    with_sign_of(m, result, x)
}

/// The error function.
pub(super) fn erf<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let size = magnitude(m, x);
    // Below 1, x + x times a polynomial of x^2 fitted to erf(x)/x - 1.
    let square = m.mul(x, x);
    let fourth = m.mul(square, square);
    let series = polynomial(
        m,
        square,
        fourth,
        &[
            7.889_109e-5,
            -8.020_839e-4,
            5.189_535e-3,
            -2.685_444_4e-2,
            1.128_36e-1,
            -3.761_262_6e-1,
            1.283_791_7e-1,
        ],
    );
    let small = m.fma(series, size, size);
    // From 1 to 4, 1 - e^-p, p being fitted to the negative logarithm of 1 - erf(x). Beyond, 1.
    let four = m.float(4.0);
    let is_beyond = m.lt(four, size);
    let limited = m.select(is_beyond, four, size);
    let limited_square = m.mul(limited, limited);
    let exponent = polynomial(
        m,
        limited,
        limited_square,
        &[
            1.855_779_3e-4,
            -2.939_645e-3,
            2.180_546_5e-2,
            -1.030_376_7e-1,
            -6.382_253e-1,
            -1.127_040_3,
            -3.536_703_3e-4,
        ],
    );
    let Reduced { biased, rest } = reduced(m, exponent, BIAS);
    let p = above_one(m, rest);
    let (scale, one) = (power_of_two(m, biased), m.float(1.0));
    let whole = m.sub(one, scale);
    let great = m.fnma(p, scale, whole);
    let is_small = m.lt(size, one);
    let result = m.select(is_small, small, great);
    with_sign_of(m, result, x)
}

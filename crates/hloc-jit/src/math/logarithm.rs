//! Logarithms of `f32` as arithmetic on lanes.
//!
//! `ln(2^e (1 + f)) = e ln 2 + f + f^2 q(f)` with `1 + f` between the square roots of 1/2 and 2. The polynomial
//! `q` has an error of 2^-27.8 of `ln(1 + f)`; it was fitted by least squares of growing weights (Lawson), the
//! coefficients rounded one after the other.

use super::Machine;
use super::steps::{polynomial, with_sign_of};

/// `ln 2` as an `f32`, and what is missing.
const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
/// The polynomial `q`, highest power first.
const Q: [f32; 9] = [
    -7.608_474e-2,
    1.290_098_6e-1,
    -1.324_642_4e-1,
    1.418_232_8e-1,
    -1.660_871_7e-1,
    2.000_196e-1,
    -2.500_16e-1,
    3.333_332_5e-1,
    -0.499_999_88,
];
/// Sign and exponent of an `f32`.
const UPPER: u32 = 0xff80_0000;

/// `x` as `normal * 2^shift`: subnormal numbers scaled up, others as they are.
pub(super) fn normal<M: Machine>(m: &mut M, x: M::Float) -> (M::Float, M::Bits) {
    let min_normal = m.float(f32::MIN_POSITIVE);
    let is_small = m.lt(x, min_normal);
    let scale = m.float(8_388_608.0);
    let scaled = m.mul(x, scale);
    let normal = m.select(is_small, scaled, x);
    let (minus, none) = (m.bits(23u32.wrapping_neg()), m.bits(0));
    (normal, m.select_bits(is_small, minus, none))
}

/// `x * 2^shift = mantissa * 2^exponent` for positive normal `x`, the mantissa between the square roots
/// of 1/2 and 2.
pub(super) fn mantissa_and_exponent<M: Machine>(
    m: &mut M,
    x: M::Float,
    shift: M::Bits,
) -> (M::Float, M::Float) {
    let (above, root) = above_root(m, x);
    let exponent = m.sar(above, 23);
    let mask = m.bits(!UPPER);
    let mantissa = m.and(above, mask);
    let mantissa = m.iadd(mantissa, root);
    let mantissa = m.float_of_bits(mantissa);
    let exponent = m.iadd(exponent, shift);
    (mantissa, m.float_of_int(exponent))
}

/// The bits of `x` above those of the square root of 1/2: upper bits count how often 2 goes into the quotient.
fn above_root<M: Machine>(m: &mut M, x: M::Float) -> (M::Bits, M::Bits) {
    let bits = m.to_bits(x);
    let root = m.bits(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    (m.isub(bits, root), root)
}

/// `e ln 2 + ln(1 + f)`.
fn sum<M: Machine>(m: &mut M, e: M::Float, f: M::Float) -> M::Float {
    let square = m.mul(f, f);
    let series = polynomial(m, f, square, &Q);
    let [high, low] = LN_2.map(|part| m.float(part));
    // Rounded once; what that loses is exact, as f and the products are multiples of the same small number.
    let head = m.fma(e, high, f);
    let back = m.fnma(e, high, head);
    let lost = m.sub(f, back);
    let tail = m.fma(e, low, lost);
    let tail = m.fma(square, series, tail);
    m.add(head, tail)
}

/// Results for what is not a positive finite number.
fn ends<M: Machine>(m: &mut M, x: M::Float, result: M::Float) -> M::Float {
    let zero = m.float(0.0);
    let (infinity, minus_infinity) = (m.float(f32::INFINITY), m.float(f32::NEG_INFINITY));
    let is_positive = m.lt(zero, x);
    let nan = m.float(f32::NAN);
    let is_negative = m.lt(x, zero);
    let not_positive = m.select(is_negative, nan, minus_infinity);
    let result = m.select(is_positive, result, not_positive);
    let is_finite = m.lt(x, infinity);
    // Not below infinity: infinity or NaN, whose logarithm is itself.
    m.select(is_finite, result, x)
}

/// `ln x`.
pub(super) fn log<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let (normal, shift) = normal(m, x);
    let (mantissa, e) = mantissa_and_exponent(m, normal, shift);
    let one = m.float(1.0);
    let f = m.sub(mantissa, one);
    let result = sum(m, e, f);
    ends(m, x, result)
}

/// `ln(1 + x)`. The sum only gives the exponent: `f = x 2^-e + 2^-e - 1` is rounded once, and exact where it
/// matters.
pub(super) fn log1p<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let one = m.float(1.0);
    let u = m.add(one, x);
    let (above, _) = above_root(m, u);
    let exponent = m.sar(above, 23);
    let e = m.float_of_int(exponent);
    let mask = m.bits(UPPER);
    let steps = m.and(above, mask);
    // 4 times 2^-e, which is a normal number also for the greatest e.
    let (four, quarter) = (m.float(4.0), m.float(0.25));
    let four_bits = m.to_bits(four);
    let scale = m.isub(four_bits, steps);
    let scale = m.float_of_bits(scale);
    let rest = m.sub(scale, four);
    let f = m.fma(x, scale, rest);
    let f = m.mul(f, quarter);
    let result = sum(m, e, f);
    let result = ends(m, u, result);
    with_sign_of(m, result, x)
}

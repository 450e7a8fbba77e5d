//! Functions of `f32` as arithmetic on lanes.
//!
//! None uses a fused multiply-add, which not every processor has: the bits are the same everywhere. The
//! test measures each against double precision.

use hloc_ir::UnaryOp;

use super::Machine;
use crate::runtime::Helper;

/// A function of `f32` that compiled code computes in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inline {
    /// `e^x`
    Exp,
    /// `e^x - 1`
    Expm1,
    /// `ln x`
    Log,
    /// `ln(1 + x)`
    Log1p,
    /// `1 / (1 + e^-x)`
    Logistic,
    /// `tanh x`
    Tanh,
    /// The error function.
    Erf,
    /// `sin x` for magnitudes below [`ANGLE_LIMIT`].
    Sin,
    /// `cos x` for magnitudes below [`ANGLE_LIMIT`].
    Cos,
}

/// From this magnitude on, angles are reduced in double precision by a call.
pub(crate) const ANGLE_LIMIT: f32 = 1e5;

impl Inline {
    /// Every function.
    #[cfg(test)]
    pub(crate) const ALL: [Inline; 9] = [
        Inline::Exp,
        Inline::Expm1,
        Inline::Log,
        Inline::Log1p,
        Inline::Logistic,
        Inline::Tanh,
        Inline::Erf,
        Inline::Sin,
        Inline::Cos,
    ];

    /// The function that `op` is, `None` if it is called or is an instruction.
    pub(crate) fn of(op: UnaryOp) -> Option<Inline> {
        match op {
            UnaryOp::Exponential => Some(Inline::Exp),
            UnaryOp::ExponentialMinusOne => Some(Inline::Expm1),
            UnaryOp::Log => Some(Inline::Log),
            UnaryOp::LogPlusOne => Some(Inline::Log1p),
            UnaryOp::Logistic => Some(Inline::Logistic),
            UnaryOp::Tanh => Some(Inline::Tanh),
            UnaryOp::Erf => Some(Inline::Erf),
            UnaryOp::Sine => Some(Inline::Sin),
            UnaryOp::Cosine => Some(Inline::Cos),
            UnaryOp::Abs
            | UnaryOp::Acos
            | UnaryOp::Acosh
            | UnaryOp::Asin
            | UnaryOp::Asinh
            | UnaryOp::Atanh
            | UnaryOp::Cbrt
            | UnaryOp::Ceil
            | UnaryOp::Cosh
            | UnaryOp::CountLeadingZeros
            | UnaryOp::Floor
            | UnaryOp::Imag
            | UnaryOp::IsFinite
            | UnaryOp::Negate
            | UnaryOp::Not
            | UnaryOp::Popcnt
            | UnaryOp::Real
            | UnaryOp::RoundNearestAfz
            | UnaryOp::RoundNearestEven
            | UnaryOp::Rsqrt
            | UnaryOp::Sign
            | UnaryOp::Sinh
            | UnaryOp::Sqrt
            | UnaryOp::Tan => None,
        }
    }

    /// What to call for magnitudes from [`ANGLE_LIMIT`] on and for NaN, where the code in line is wrong.
    pub(crate) fn rare(self) -> Option<Helper> {
        match self {
            Inline::Sin => Some(Helper::Sin),
            Inline::Cos => Some(Helper::Cos),
            Inline::Exp
            | Inline::Expm1
            | Inline::Log
            | Inline::Log1p
            | Inline::Logistic
            | Inline::Tanh
            | Inline::Erf => None,
        }
    }

    /// Emits the function.
    pub(crate) fn emit<M: Machine>(self, m: &mut M, x: M::Float) -> M::Float {
        match self {
            Inline::Exp => exp(m, x),
            Inline::Expm1 => expm1(m, x),
            Inline::Log => log(m, x),
            Inline::Log1p => log1p(m, x),
            Inline::Logistic => logistic(m, x),
            Inline::Tanh => tanh(m, x),
            Inline::Erf => erf(m, x),
            Inline::Sin => {
                let result = sine(m, x, 0);
                // Near 0 the sine is its argument, of which -0 would get lost.
                let size = magnitude(m, x);
                let limit = m.float(1e-4);
                let is_small = m.lt(size, limit);
                m.select(is_small, x, result)
            }
            Inline::Cos => sine(m, x, 1),
        }
    }
}

const SIGN: u32 = 1 << 31;
/// Adding it to a number below 2^22 rounds that to an integer, left in the low bits.
const MAGIC: f32 = 12_582_912.0;
/// `ln 2`, rounded to 9 bits so that multiples are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
/// What `LN_2_HIGH` is too great by.
const LN_2_EXCESS: f32 = 2.121_944_4e-4;

/// `c[0] x^(n-1) + ... + c[n-1]`.
pub(super) fn polynomial<M: Machine>(m: &mut M, x: M::Float, coefficients: &[f32]) -> M::Float {
    let mut sum = m.float(0.0);
    for (at, coefficient) in coefficients.iter().enumerate() {
        let coefficient = m.float(*coefficient);
        sum = if at == 0 {
            coefficient
        } else {
            let product = m.mul(sum, x);
            m.add(product, coefficient)
        };
    }
    sum
}

pub(super) fn magnitude<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let bits = m.to_bits(x);
    let mask = m.bits(!SIGN);
    let bits = m.and(bits, mask);
    m.float_of_bits(bits)
}

/// `y`, which is positive if `x` is, with the sign of `x`: also where `y` came out as +0.
fn with_sign_of<M: Machine>(m: &mut M, y: M::Float, x: M::Float) -> M::Float {
    let (y, x) = (m.to_bits(y), m.to_bits(x));
    let sign = m.bits(SIGN);
    let sign = m.and(x, sign);
    let bits = m.or(y, sign);
    m.float_of_bits(bits)
}

/// `x` moved into `low..=high`; NaN stays.
pub(super) fn clamped<M: Machine>(m: &mut M, x: M::Float, low: f32, high: f32) -> M::Float {
    let (low, high) = (m.float(low), m.float(high));
    let too_low = m.lt(x, low);
    let x = m.select(too_low, low, x);
    let too_high = m.lt(high, x);
    m.select(too_high, high, x)
}

/// Nearest integer, as a float and as bits.
pub(super) fn nearest<M: Machine>(m: &mut M, x: M::Float) -> (M::Float, M::Bits) {
    let magic = m.float(MAGIC);
    let shifted = m.add(x, magic);
    let float = m.sub(shifted, magic);
    let bits = m.to_bits(shifted);
    let base = m.bits(MAGIC.to_bits());
    (float, m.isub(bits, base))
}

/// 2 to the power of an integer in -126..=127.
fn power_of_two<M: Machine>(m: &mut M, exponent: M::Bits) -> M::Float {
    let bias = m.bits(127);
    let biased = m.iadd(exponent, bias);
    let bits = m.shl(biased, 23);
    m.float_of_bits(bits)
}

/// `x = n ln 2 + r`: gives `n` as bits, and `r`.
fn reduced<M: Machine>(m: &mut M, x: M::Float) -> (M::Bits, M::Float) {
    let log2e = m.float(std::f32::consts::LOG2_E);
    let scaled = m.mul(x, log2e);
    let (n, bits) = nearest(m, scaled);
    let (high, excess) = (m.float(LN_2_HIGH), m.float(LN_2_EXCESS));
    let multiple = m.mul(n, high);
    let rest = m.sub(x, multiple);
    let correction = m.mul(n, excess);
    (bits, m.add(rest, correction))
}

/// `e^r - 1 - r` for the remainder of [`reduced`].
fn exp_tail<M: Machine>(m: &mut M, r: M::Float) -> M::Float {
    // Coefficients of Cephes' expf.
    let series = polynomial(
        m,
        r,
        &[
            1.987_569_1e-4,
            1.398_199_9e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5,
        ],
    );
    let square = m.mul(r, r);
    m.mul(series, square)
}

/// In two steps, so that subnormal results come out right and only true overflow is infinite.
pub(super) fn scaled_by<M: Machine>(m: &mut M, y: M::Float, exponent: M::Bits) -> M::Float {
    let half = m.sar(exponent, 1);
    let rest = m.isub(exponent, half);
    let (first, second) = (power_of_two(m, half), power_of_two(m, rest));
    let y = m.mul(y, first);
    m.mul(y, second)
}

fn exp<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let x = clamped(m, x, -105.0, 89.0);
    let (n, r) = reduced(m, x);
    let tail = exp_tail(m, r);
    let above_one = m.add(tail, r);
    let one = m.float(1.0);
    let y = m.add(above_one, one);
    scaled_by(m, y, n)
}

fn expm1<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let low = clamped(m, x, -20.0, 80.0);
    let (n, r) = reduced(m, low);
    let tail = exp_tail(m, r);
    let scale = power_of_two(m, n);
    let one = m.float(1.0);
    let whole = m.sub(scale, one);
    // The large part first: the tail then adds to what is nearly exact.
    let (scaled_rest, scaled_tail) = (m.mul(r, scale), m.mul(tail, scale));
    let sum = m.add(whole, scaled_rest);
    let back = m.sub(sum, whole);
    let lost = m.sub(scaled_rest, back);
    let small = m.add(scaled_tail, lost);
    let result = m.add(sum, small);
    let great = exp(m, x);
    let limit = m.float(80.0);
    let is_great = m.lt(limit, x);
    let result = m.select(is_great, great, result);
    with_sign_of(m, result, x)
}

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
    let bits = m.to_bits(x);
    let root = m.bits(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let above = m.isub(bits, root);
    let exponent = m.sar(above, 23);
    let mask = m.bits(0x007f_ffff);
    let mantissa = m.and(above, mask);
    let mantissa = m.iadd(mantissa, root);
    let mantissa = m.float_of_bits(mantissa);
    let exponent = m.iadd(exponent, shift);
    (mantissa, m.float_of_int(exponent))
}

/// `ln x` for positive normal `x`, where `scale` is added to its exponent.
fn log_normal<M: Machine>(m: &mut M, x: M::Float, scale: M::Bits) -> M::Float {
    let (mantissa, e) = mantissa_and_exponent(m, x, scale);
    let one = m.float(1.0);
    let f = m.sub(mantissa, one);
    // Coefficients of Cephes' logf.
    let series = polynomial(
        m,
        f,
        &[
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ],
    );
    let square = m.mul(f, f);
    let cube = m.mul(f, square);
    let tail = m.mul(series, cube);
    let (high, excess) = (m.float(LN_2_HIGH), m.float(LN_2_EXCESS));
    let correction = m.mul(e, excess);
    let tail = m.sub(tail, correction);
    let half = m.float(0.5);
    let half_square = m.mul(square, half);
    // f - f^2/2 with its rounding error.
    let head = m.sub(f, half_square);
    let back = m.sub(f, head);
    let lost = m.sub(back, half_square);
    let tail = m.add(tail, lost);
    let multiple = m.mul(e, high);
    let sum = m.add(multiple, head);
    let back = m.sub(sum, multiple);
    let lost = m.sub(head, back);
    let tail = m.add(tail, lost);
    m.add(sum, tail)
}

fn log<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let (normal, shift) = normal(m, x);
    let result = log_normal(m, normal, shift);
    log_ends(m, x, result)
}

/// Results for what is not a positive finite number.
fn log_ends<M: Machine>(m: &mut M, x: M::Float, result: M::Float) -> M::Float {
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

fn log1p<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let one = m.float(1.0);
    let u = m.add(one, x);
    let zero_bits = m.bits(0);
    let logarithm = log_normal(m, u, zero_bits);
    // What the sum lost, relative to it: ln(u + d) is nearly ln u + d/u.
    let is_great = m.lt(one, x);
    let (back_x, back_one) = (m.sub(u, one), m.sub(u, x));
    let (lost_small, lost_great) = (m.sub(x, back_x), m.sub(one, back_one));
    let lost = m.select(is_great, lost_great, lost_small);
    let correction = m.div(lost, u);
    let result = m.add(logarithm, correction);
    let result = log_ends(m, u, result);
    with_sign_of(m, result, x)
}

fn logistic<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let size = magnitude(m, x);
    let zero = m.float(0.0);
    let negative = m.sub(zero, size);
    let power = exp(m, negative);
    let one = m.float(1.0);
    let denominator = m.add(one, power);
    let is_negative = m.lt(x, zero);
    let numerator = m.select(is_negative, power, one);
    m.div(numerator, denominator)
}

fn tanh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let size = magnitude(m, x);
    // Near 0 an odd polynomial, Cephes' tanhf.
    let square = m.mul(x, x);
    let series = polynomial(
        m,
        square,
        &[
            -5.704_988_7e-3,
            2.063_909e-2,
            -5.373_971_6e-2,
            1.333_144_2e-1,
            -3.333_328e-1,
        ],
    );
    let cube = m.mul(square, size);
    let tail = m.mul(series, cube);
    let small = m.add(size, tail);
    // Elsewhere 1 - 2 / (e^2x + 1).
    let doubled = m.add(size, size);
    let power = exp(m, doubled);
    let one = m.float(1.0);
    let denominator = m.add(power, one);
    let two = m.float(2.0);
    let quotient = m.div(two, denominator);
    let great = m.sub(one, quotient);
    let limit = m.float(0.625);
    let is_small = m.lt(size, limit);
    let result = m.select(is_small, small, great);
    with_sign_of(m, result, x)
}

fn erf<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let size = magnitude(m, x);
    // Below 1, x + x times a polynomial of x^2 fitted to erf(x)/x - 1.
    let square = m.mul(x, x);
    let series = polynomial(
        m,
        square,
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
    let tail = m.mul(series, size);
    let small = m.add(size, tail);
    // From 1 to 4, 1 - e^-p, p being fitted to the negative logarithm of 1 - erf(x). Beyond, 1.
    let four = m.float(4.0);
    let is_beyond = m.lt(four, size);
    let limited = m.select(is_beyond, four, size);
    let exponent = polynomial(
        m,
        limited,
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
    let power = exp(m, exponent);
    let one = m.float(1.0);
    let great = m.sub(one, power);
    let is_small = m.lt(size, one);
    let result = m.select(is_small, small, great);
    with_sign_of(m, result, x)
}

/// `pi/2` in parts of 8 bits, of which multiples up to 2^16 are exact, and the rest.
const HALF_PI: [u32; 5] = [
    0x3fc9_0000,
    0x39fd_0000,
    0x35aa_0000,
    0x3088_0000,
    0x2c34_611a,
];

/// The sine of `x + quarter pi/2`.
fn sine<M: Machine>(m: &mut M, x: M::Float, quarter: u32) -> M::Float {
    let (n, r, low) = reduced_angle(m, x);
    let square = m.mul(r, r);
    let sine = near_sine(m, r, square, low);
    let cosine = near_cosine(m, r, square, low);
    let quarter = m.bits(quarter);
    let n = m.iadd(n, quarter);
    let one = m.bits(1);
    let odd = m.and(n, one);
    let swapped = m.ieq(odd, one);
    let value = m.select(swapped, cosine, sine);
    let sign = m.shr(n, 1);
    let sign = m.shl(sign, 31);
    let bits = m.to_bits(value);
    let bits = m.xor(bits, sign);
    m.float_of_bits(bits)
}

/// `x = n pi/2 + r + low`, `low` being less than the last bit of `r`.
fn reduced_angle<M: Machine>(m: &mut M, x: M::Float) -> (M::Bits, M::Float, M::Float) {
    let inverse = m.float(std::f32::consts::FRAC_2_PI);
    let scaled = m.mul(x, inverse);
    let (n, bits) = nearest(m, scaled);
    let parts = HALF_PI.map(|part| {
        let part = m.float(f32::from_bits(part));
        m.mul(n, part)
    });
    // Both exact: the results have few bits.
    let first = m.sub(x, parts[0]);
    let second = m.sub(first, parts[1]);
    let (high, lost) = two_difference(m, second, parts[2]);
    // If `high` is small, nothing was lost, and what follows is exact but for the last part.
    let low = m.sub(lost, parts[3]);
    let r = m.add(high, low);
    let back = m.sub(r, high);
    let low = m.sub(low, back);
    let low = m.sub(low, parts[4]);
    (bits, r, low)
}

/// `a - b` as a rounded difference and its error.
fn two_difference<M: Machine>(m: &mut M, a: M::Float, b: M::Float) -> (M::Float, M::Float) {
    let difference = m.sub(a, b);
    let part = m.sub(a, difference);
    let whole = m.add(difference, part);
    let (a_rest, b_rest) = (m.sub(a, whole), m.sub(part, b));
    (difference, m.add(a_rest, b_rest))
}

fn near_sine<M: Machine>(m: &mut M, r: M::Float, square: M::Float, low: M::Float) -> M::Float {
    let series = polynomial(m, square, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]);
    let cube = m.mul(square, r);
    let tail = m.mul(series, cube);
    let half = m.float(0.5);
    let half_square = m.mul(square, half);
    let bent = m.mul(low, half_square);
    let low = m.sub(low, bent);
    let tail = m.add(tail, low);
    m.add(r, tail)
}

fn near_cosine<M: Machine>(m: &mut M, r: M::Float, square: M::Float, low: M::Float) -> M::Float {
    let series = polynomial(
        m,
        square,
        &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2],
    );
    let fourth = m.mul(square, square);
    let tail = m.mul(series, fourth);
    let bent = m.mul(r, low);
    let tail = m.sub(tail, bent);
    let (half, one) = (m.float(0.5), m.float(1.0));
    let half_square = m.mul(square, half);
    let head = m.sub(one, half_square);
    let back = m.sub(one, head);
    let lost = m.sub(back, half_square);
    let tail = m.add(tail, lost);
    m.add(head, tail)
}

#[cfg(test)]
mod tests {
    use super::{ANGLE_LIMIT, Inline};
    use crate::math::plain::Plain;
    use crate::math::real;

    fn exact(function: Inline, x: f64) -> f64 {
        match function {
            Inline::Exp => libm::exp(x),
            Inline::Expm1 => libm::expm1(x),
            Inline::Log => libm::log(x),
            Inline::Log1p => libm::log1p(x),
            Inline::Logistic => real::logistic(x),
            Inline::Tanh => libm::tanh(x),
            Inline::Erf => libm::erf(x),
            Inline::Sin => libm::sin(x),
            Inline::Cos => libm::cos(x),
        }
    }

    fn is_rare(x: f32) -> bool {
        x.is_nan() || x.abs() >= ANGLE_LIMIT
    }

    fn bound(function: Inline) -> f64 {
        match function {
            Inline::Exp | Inline::Log | Inline::Sin | Inline::Cos => 1.0,
            Inline::Expm1 | Inline::Log1p | Inline::Tanh => 2.0,
            Inline::Logistic => 3.0,
            Inline::Erf => 4.0,
        }
    }

    /// Error in units in the last place of the rounded exact value.
    fn error(actual: f32, exact: f64) -> f64 {
        let rounded = exact as f32;
        if actual.is_nan() && rounded.is_nan()
            || actual == rounded && actual.to_bits() >> 31 == rounded.to_bits() >> 31
        {
            return if rounded.is_finite() && !rounded.is_nan() {
                (f64::from(actual) - exact).abs() / ulp(rounded)
            } else {
                0.0
            };
        }
        if !actual.is_finite() || !rounded.is_finite() {
            let overflow = f64::from(f32::MAX) + ulp(f32::MAX);
            let value = |x: f32| {
                if x.is_infinite() {
                    overflow.copysign(f64::from(x))
                } else {
                    f64::from(x)
                }
            };
            return (value(actual) - value(rounded)).abs() / ulp(f32::MAX)
                + f64::from(u8::from(actual.is_nan() != rounded.is_nan())) * 1e9;
        }
        (f64::from(actual) - exact).abs() / ulp(rounded)
            + f64::from(u8::from(actual == rounded)) * 1e9
    }

    fn ulp(x: f32) -> f64 {
        let exponent = ((x.to_bits() >> 23) & 0xff).max(1);
        2f64.powi(exponent.cast_signed() - 127 - 23)
    }

    #[test]
    fn errors_stay_within_the_bounds_of_the_op_table() {
        for function in Inline::ALL {
            let mut worst = (0.0, 0f32);
            let step = if cfg!(debug_assertions) { 20_011 } else { 101 };
            let specials = [
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x8000_0000,
                1,
                0x8000_0001,
                0xbf80_0000,
            ];
            for bits in (0..=u32::MAX).step_by(step).chain(specials) {
                let x = f32::from_bits(bits);
                if function.rare().is_some() && is_rare(x) {
                    continue;
                }
                let actual = function.emit(&mut Plain, x);
                let error = error(actual, exact(function, f64::from(x)));
                if error > worst.0 {
                    worst = (error, x);
                }
            }
            assert!(
                worst.0 <= bound(function),
                "{function:?} of {:e} is off by {} ulp",
                worst.1,
                worst.0
            );
        }
    }
}

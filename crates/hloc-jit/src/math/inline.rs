//! Functions of `f32` as arithmetic on lanes.
//!
//! Products and sums are fused where that helps; a processor without such an instruction gets the same bits from
//! a routine. The test measures each against double precision.

use hloc_ir::UnaryOp;

use super::{Machine, angle, exponential, logarithm};
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
            Inline::Exp => exponential::exp(m, x),
            Inline::Expm1 => exponential::expm1(m, x),
            Inline::Log => logarithm::log(m, x),
            Inline::Log1p => logarithm::log1p(m, x),
            Inline::Logistic => exponential::logistic(m, x),
            Inline::Tanh => exponential::tanh(m, x),
            Inline::Erf => exponential::erf(m, x),
            Inline::Sin => angle::sin(m, x),
            Inline::Cos => angle::cos(m, x),
        }
    }
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
            Inline::Expm1 | Inline::Log1p | Inline::Tanh | Inline::Logistic | Inline::Erf => 2.0,
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

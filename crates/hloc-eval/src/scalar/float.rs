//! Functions of real floats, computed in `f64`.
//!
//! Elementary functions are those of `libm`, wrong by less than one unit in the last place of `f64`;
//! rounded to narrower types they are right but for rare near-ties.

use hloc_ir::{BinaryOp, UnaryOp};

/// A function of one float.
pub(super) type Unary = fn(f64) -> f64;
/// A function of two floats.
pub(super) type Binary = fn(f64, f64) -> f64;

/// The inverse hyperbolic cosine; below 1 the function of `libm` gives numbers that look like results.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The function behind `op`, `None` if floats have none that gives a float.
pub(super) fn unary(op: UnaryOp) -> Option<Unary> {
    Some(match op {
        UnaryOp::Abs => f64::abs,
        UnaryOp::Acos => libm::acos,
        UnaryOp::Acosh => acosh,
        UnaryOp::Asin => libm::asin,
        UnaryOp::Asinh => libm::asinh,
        UnaryOp::Atanh => libm::atanh,
        UnaryOp::Cbrt => libm::cbrt,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::Cosine => libm::cos,
        UnaryOp::Cosh => libm::cosh,
        UnaryOp::Erf => libm::erf,
        UnaryOp::Exponential => libm::exp,
        UnaryOp::ExponentialMinusOne => libm::expm1,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Imag => |_| 0.0,
        UnaryOp::Log => libm::log,
        UnaryOp::LogPlusOne => libm::log1p,
        UnaryOp::Logistic => logistic,
        UnaryOp::Negate => |x| -x,
        UnaryOp::Real => |x| x,
        UnaryOp::RoundNearestAfz => f64::round,
        UnaryOp::RoundNearestEven => f64::round_ties_even,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Sign => sign,
        UnaryOp::Sine => libm::sin,
        UnaryOp::Sinh => libm::sinh,
        UnaryOp::Sqrt => f64::sqrt,
        UnaryOp::Tan => libm::tan,
        UnaryOp::Tanh => libm::tanh,
        UnaryOp::CountLeadingZeros | UnaryOp::IsFinite | UnaryOp::Not | UnaryOp::Popcnt => {
            return None;
        }
    })
}

/// The function behind `op`, `None` if floats have none that gives a float.
pub(super) fn binary(op: BinaryOp) -> Option<Binary> {
    Some(match op {
        BinaryOp::Add => |x, y| x + y,
        BinaryOp::Atan2 => libm::atan2,
        BinaryOp::Divide => |x, y| x / y,
        BinaryOp::Maximum => maximum,
        BinaryOp::Minimum => minimum,
        BinaryOp::Multiply => |x, y| x * y,
        BinaryOp::Power => libm::pow,
        // `%` is C's `fmod`, which is exact.
        BinaryOp::Remainder => |x, y| x % y,
        BinaryOp::Subtract => |x, y| x - y,
        BinaryOp::And
        | BinaryOp::Complex
        | BinaryOp::Mulhi
        | BinaryOp::Or
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Xor => return None,
    })
}

/// NaN if either is; +0 over −0.
pub(super) fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() {
        x
    } else if y.is_nan() || y > x || (x == y && x.is_sign_negative()) {
        y
    } else {
        x
    }
}

/// NaN if either is; −0 over +0.
pub(super) fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() {
        x
    } else if y.is_nan() || y < x || (x == y && y.is_sign_negative()) {
        y
    } else {
        x
    }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() {
        x
    } else {
        1.0f64.copysign(x)
    }
}

/// Neither overflows for large negative operands nor loses their tiny results.
fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::exp(-x))
    } else {
        let e = libm::exp(x);
        e / (1.0 + e)
    }
}

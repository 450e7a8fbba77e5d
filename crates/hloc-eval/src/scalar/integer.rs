//! Functions of integers, of any width and signedness.
//!
//! Operands are exact values in an `i128`; results are brought into the type by [`wrap`].

use hloc_ir::{BinaryOp, UnaryOp};

/// A function of one integer that is `u32` bits wide.
pub(super) type Unary = fn(i128, u32) -> i128;
/// A function of two integers that are `u32` bits wide.
pub(super) type Binary = fn(i128, i128, u32) -> i128;

/// The value of the lowest `bits` bits: `wrap(255, 8, true)` gives −1.
pub(super) fn wrap(value: i128, bits: u32, signed: bool) -> i128 {
    let unused = 128 - bits;
    if signed {
        value << unused >> unused
    } else {
        ((value.cast_unsigned() << unused) >> unused).cast_signed()
    }
}

/// The lowest `bits` bits.
fn pattern(value: i128, bits: u32) -> u128 {
    wrap(value, bits, false).cast_unsigned()
}

/// The function behind `op`, `None` if integers have none.
pub(super) fn unary(op: UnaryOp) -> Option<Unary> {
    Some(match op {
        UnaryOp::Abs => |x, _| x.abs(),
        UnaryOp::CountLeadingZeros => {
            |x, bits| i128::from(pattern(x, bits).leading_zeros() - (128 - bits))
        }
        UnaryOp::Negate => |x, _| -x,
        UnaryOp::Not => |x, _| !x,
        UnaryOp::Popcnt => |x, bits| pattern(x, bits).count_ones().into(),
        UnaryOp::Sign => |x, _| x.signum(),
        UnaryOp::Acos
        | UnaryOp::Acosh
        | UnaryOp::Asin
        | UnaryOp::Asinh
        | UnaryOp::Atanh
        | UnaryOp::Cbrt
        | UnaryOp::Ceil
        | UnaryOp::Cosine
        | UnaryOp::Cosh
        | UnaryOp::Erf
        | UnaryOp::Exponential
        | UnaryOp::ExponentialMinusOne
        | UnaryOp::Floor
        | UnaryOp::Imag
        | UnaryOp::IsFinite
        | UnaryOp::Log
        | UnaryOp::LogPlusOne
        | UnaryOp::Logistic
        | UnaryOp::Real
        | UnaryOp::RoundNearestAfz
        | UnaryOp::RoundNearestEven
        | UnaryOp::Rsqrt
        | UnaryOp::Sine
        | UnaryOp::Sinh
        | UnaryOp::Sqrt
        | UnaryOp::Tan
        | UnaryOp::Tanh => return None,
    })
}

/// The function behind `op`, `None` if integers have none.
pub(super) fn binary(op: BinaryOp) -> Option<Binary> {
    Some(match op {
        BinaryOp::Add => |x, y, _| x + y,
        BinaryOp::And => |x, y, _| x & y,
        // −1 has all bits set in every type. MIN/−1 wraps to MIN.
        BinaryOp::Divide => |x, y, _| if y == 0 { -1 } else { x / y },
        BinaryOp::Maximum => |x, y, _| x.max(y),
        BinaryOp::Minimum => |x, y, _| x.min(y),
        BinaryOp::Mulhi => mulhi,
        BinaryOp::Multiply => |x, y, _| x.wrapping_mul(y),
        BinaryOp::Or => |x, y, _| x | y,
        BinaryOp::Power => |x, y, _| power(x, y),
        BinaryOp::Remainder => |x, y, _| if y == 0 { x } else { x % y },
        BinaryOp::ShiftLeft => shift_left,
        BinaryOp::ShiftRightArithmetic => shift_right_arithmetic,
        BinaryOp::ShiftRightLogical => shift_right_logical,
        BinaryOp::Subtract => |x, y, _| x - y,
        BinaryOp::Xor => |x, y, _| x ^ y,
        BinaryOp::Atan2 | BinaryOp::Complex => return None,
    })
}

/// The amount if it is in `0..bits`.
fn shift_amount(amount: i128, bits: u32) -> Option<u32> {
    u32::try_from(amount).ok().filter(|amount| *amount < bits)
}

fn shift_left(x: i128, y: i128, bits: u32) -> i128 {
    shift_amount(y, bits).map_or(0, |amount| x << amount)
}

fn shift_right_logical(x: i128, y: i128, bits: u32) -> i128 {
    shift_amount(y, bits).map_or(0, |amount| (pattern(x, bits) >> amount).cast_signed())
}

/// The uppermost bit is copied in, also for unsigned types.
fn shift_right_arithmetic(x: i128, y: i128, bits: u32) -> i128 {
    wrap(x, bits, true) >> shift_amount(y, bits).unwrap_or(bits - 1)
}

fn mulhi(x: i128, y: i128, bits: u32) -> i128 {
    // Two `u64` have a product beyond `i128`; operands of different signs only occur in signed types.
    if x >= 0 && y >= 0 {
        ((x.cast_unsigned() * y.cast_unsigned()) >> bits).cast_signed()
    } else {
        (x * y) >> bits
    }
}

fn power(base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut rest) = (1i128, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest /= 2;
    }
    result
}

//! `reduce-precision`: rounding to a float format with fewer bits.

use hloc_tensor::{ElementType, float_format};

use super::{Lane, Value};

/// `value` of type `ty` rounded to `exponent_bits` and `mantissa_bits`, still of type `ty`.
///
/// Rounds the mantissa to even, then turns what is above the exponents into infinity and what is below
/// the normal numbers into zero. NaN stays NaN.
pub(crate) fn reduce_precision(
    ty: ElementType,
    value: f64,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> f64 {
    if value.is_nan() {
        return value;
    }
    // Types below 16 bits have no bits to lose that `f32` would treat differently.
    let through = if ty.bits() < 16 { ElementType::F32 } else { ty };
    let Some(format) = float_format(through) else {
        return value;
    };
    let mut bytes = [0; 8];
    let bytes = &mut bytes[..through.size()];
    value.store(through, bytes);
    let bits = bytes
        .iter()
        .rev()
        .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let sign_bit = 1u64 << (format.exponent_bits + format.mantissa_bits);
    let sign = bits & sign_bit;
    let mut magnitude = round_mantissa(bits & (sign_bit - 1), format.mantissa_bits, mantissa_bits);
    let kept_exponent_bits = u32::try_from(exponent_bits).unwrap_or(1).max(1);
    if kept_exponent_bits < format.exponent_bits {
        let infinity = ((1u64 << format.exponent_bits) - 1) << format.mantissa_bits;
        let bias = (1u64 << (format.exponent_bits - 1)) - 1;
        let kept_bias = (1u64 << (kept_exponent_bits - 1)) - 1;
        let exponent = magnitude >> format.mantissa_bits;
        if exponent > bias + kept_bias {
            magnitude = infinity;
        } else if exponent <= bias - kept_bias {
            magnitude = 0;
        }
    }
    let reduced = sign | magnitude;
    bytes.copy_from_slice(&reduced.to_le_bytes()[..bytes.len()]);
    f64::read(through, bytes).rounded(ty)
}

/// A carry goes into the exponent, which is right: the next power of two, or infinity.
fn round_mantissa(magnitude: u64, has: u32, keep: i64) -> u64 {
    let keep = u32::try_from(keep).unwrap_or(0);
    if keep >= has {
        return magnitude;
    }
    let dropped = has - keep;
    let odd = magnitude >> dropped & 1;
    let half = 1u64 << (dropped - 1);
    (magnitude + (half - 1) + odd) >> dropped << dropped
}

impl Value {
    /// [`reduce_precision`] of a float; other values have no precision to reduce.
    pub(crate) fn with_precision(
        self,
        ty: ElementType,
        exponent_bits: i64,
        mantissa_bits: i64,
    ) -> Value {
        if let Value::Float(value) = self {
            Value::Float(reduce_precision(ty, value, exponent_bits, mantissa_bits))
        } else {
            self
        }
    }
}

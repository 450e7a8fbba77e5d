//! Floats of at most 16 bits: widening to `f32`, rounding an `f32` to the format, narrowing.
//!
//! One algorithm driven by the format's description serves all of them; `f8e8m0fnu`, which has neither
//! sign nor zero, has its own. All of it is arithmetic on lanes without branches.

use hloc_tensor::{ElementType, FloatFormat, NanKind, float_format};

use super::Machine;

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
const QUIET_NAN: u32 = 0x7fc0_0000;
/// Mantissa bits of `f32`.
const WIDE: u32 = 23;

/// A format with what the algorithms derive from it.
struct Layout {
    format: FloatFormat,
    bits: u32,
    /// How many mantissa bits an `f32` has more.
    dropped: u32,
}

fn layout(ty: ElementType) -> Option<Layout> {
    let format = float_format(ty).filter(|format| format.mantissa_bits < WIDE)?;
    Some(Layout {
        format,
        bits: format.bits(),
        dropped: WIDE - format.mantissa_bits,
    })
}

impl Layout {
    fn magnitude_mask(&self) -> u32 {
        (1 << (self.bits - 1)) - 1
    }

    fn exponent_mask(&self) -> u32 {
        self.magnitude_mask() & !((1 << self.format.mantissa_bits) - 1)
    }

    /// Whether the exponents are those of `f32`: `bf16`.
    fn is_upper_half(&self) -> bool {
        self.format.bias == 127
    }

    /// The bits of `f32` 2 to the power of `exponent`, a normal number.
    fn power_of_two(exponent: i32) -> u32 {
        ((exponent + 127).cast_unsigned()) << WIDE
    }

    /// A power of 2 whose `f32` neighbors are as far apart as the format's subnormal numbers:
    /// adding it rounds to one of those.
    fn magic(&self) -> u32 {
        let least = 1 - self.format.bias - self.format.mantissa_bits.cast_signed();
        Self::power_of_two(least + WIDE.cast_signed())
    }

    fn min_normal(&self) -> u32 {
        Self::power_of_two(1 - self.format.bias)
    }
}

/// The `f32` that narrow bits, zero-extended, stand for; always exact.
///
/// Bits of a type that is no narrow float pass unchanged.
pub(crate) fn widen<M: Machine>(m: &mut M, ty: ElementType, bits: M::Bits) -> M::Float {
    let Some(layout) = layout(ty) else {
        return m.float_of_bits(bits);
    };
    if !layout.format.has_sign {
        return widen_power(m, bits);
    }
    if layout.is_upper_half() {
        let wide = m.shl(bits, 16);
        return m.float_of_bits(wide);
    }
    let mask = m.bits(layout.magnitude_mask());
    let magnitude = m.and(bits, mask);
    let sign = m.xor(bits, magnitude);
    let sign = m.shl(sign, 32 - layout.bits);
    // The exponent field stays; the product moves its bias, and makes subnormal numbers normal.
    let shifted = m.shl(magnitude, layout.dropped);
    let shifted_float = m.float_of_bits(shifted);
    let scale = m.float(f32::from_bits(Layout::power_of_two(
        127 - layout.format.bias,
    )));
    let finite = m.mul(shifted_float, scale);
    let finite = m.to_bits(finite);
    let wide = match layout.format.nan {
        NanKind::None => finite,
        NanKind::Ieee => {
            let below = m.bits(layout.exponent_mask() - 1);
            let special = m.ilt(below, magnitude);
            let infinity = m.bits(INFINITY);
            let not_finite = m.or(shifted, infinity);
            m.select_bits(special, not_finite, finite)
        }
        NanKind::AllOnes => {
            let is_nan = m.ieq(magnitude, mask);
            let nan = m.bits(QUIET_NAN);
            m.select_bits(is_nan, nan, finite)
        }
        NanKind::NegativeZero => {
            let pattern = m.bits(1 << (layout.bits - 1));
            let is_nan = m.ieq(bits, pattern);
            let nan = m.bits(QUIET_NAN);
            m.select_bits(is_nan, nan, finite)
        }
    };
    let signed = m.or(wide, sign);
    m.float_of_bits(signed)
}

/// Widening of `f8e8m0fnu`: the exponent field of an `f32`, of which 0 is a subnormal number.
fn widen_power<M: Machine>(m: &mut M, bits: M::Bits) -> M::Float {
    let zero = m.bits(0);
    let is_least = m.ieq(bits, zero);
    let nan_pattern = m.bits(0xff);
    let is_nan = m.ieq(bits, nan_pattern);
    let (least, nan) = (m.bits(0x0040_0000), m.bits(QUIET_NAN));
    let normal = m.shl(bits, WIDE);
    let wide = m.select_bits(is_least, least, normal);
    let wide = m.select_bits(is_nan, nan, wide);
    m.float_of_bits(wide)
}

/// The value of the format nearest to `value`, ties to even, as an `f32`.
///
/// Overflow and NaN give what the format has: infinity, NaN, or the greatest number.
pub(crate) fn round<M: Machine>(m: &mut M, ty: ElementType, value: M::Float) -> M::Float {
    let Some(layout) = layout(ty) else {
        return value;
    };
    if !layout.format.has_sign {
        return round_power(m, value);
    }
    let bits = m.to_bits(value);
    let mask = m.bits(!SIGN);
    let magnitude = m.and(bits, mask);
    let sign = m.xor(bits, magnitude);
    let rounded = round_magnitude(m, &layout, magnitude);
    let rounded = limit(m, &layout, rounded);
    let nan_limit = m.bits(INFINITY);
    let is_nan = m.ilt(nan_limit, magnitude);
    if layout.format.nan == NanKind::None {
        // The conversion of NaN gives zero with the sign flipped.
        let flip = m.bits(SIGN);
        let zero = m.xor(sign, flip);
        let signed = m.or(rounded, sign);
        let result = m.select_bits(is_nan, zero, signed);
        return m.float_of_bits(result);
    }
    let nan = m.bits(QUIET_NAN);
    let rounded = m.select_bits(is_nan, nan, rounded);
    let mut result = m.or(rounded, sign);
    if !layout.format.has_negative_zero {
        let zero = m.bits(0);
        let is_zero = m.ieq(rounded, zero);
        result = m.select_bits(is_zero, zero, result);
    }
    m.float_of_bits(result)
}

/// Rounding of a magnitude as if the exponent had no upper end.
fn round_magnitude<M: Machine>(m: &mut M, layout: &Layout, magnitude: M::Bits) -> M::Bits {
    let odd = m.shr(magnitude, layout.dropped);
    let one = m.bits(1);
    let odd = m.and(odd, one);
    let below_half = m.bits((1 << (layout.dropped - 1)) - 1);
    let sum = m.iadd(magnitude, below_half);
    let sum = m.iadd(sum, odd);
    let kept = m.bits(!((1 << layout.dropped) - 1));
    let normal = m.and(sum, kept);
    if layout.is_upper_half() {
        return normal;
    }
    let magic = m.float(f32::from_bits(layout.magic()));
    let float = m.float_of_bits(magnitude);
    let aligned = m.add(float, magic);
    let subnormal = m.sub(aligned, magic);
    let subnormal = m.to_bits(subnormal);
    let min_normal = m.bits(layout.min_normal());
    let is_subnormal = m.ilt(magnitude, min_normal);
    m.select_bits(is_subnormal, subnormal, normal)
}

/// Replaces magnitudes beyond the greatest number.
fn limit<M: Machine>(m: &mut M, layout: &Layout, rounded: M::Bits) -> M::Bits {
    let greatest = (layout.format.max_finite as f32).to_bits();
    let beyond = if layout.format.has_infinity {
        INFINITY
    } else if layout.format.has_nan() {
        QUIET_NAN
    } else {
        greatest
    };
    let (greatest, beyond) = (m.bits(greatest), m.bits(beyond));
    let overflows = m.ilt(greatest, rounded);
    m.select_bits(overflows, beyond, rounded)
}

/// Rounding to a power of 2, ties up; what is not positive and finite gives NaN.
fn round_power<M: Machine>(m: &mut M, value: M::Float) -> M::Float {
    let bits = m.to_bits(value);
    let half = m.bits(1 << (WIDE - 1));
    let sum = m.iadd(bits, half);
    let exponent = m.bits(INFINITY);
    let normal = m.and(sum, exponent);
    let (least, next) = (m.bits(0x0040_0000), m.bits(0x0080_0000));
    let middle = m.bits(0x0060_0000);
    let is_low = m.ilt(bits, middle);
    let subnormal = m.select_bits(is_low, least, next);
    let is_subnormal = m.ilt(bits, next);
    let rounded = m.select_bits(is_subnormal, subnormal, normal);
    let last = m.bits(INFINITY - 1);
    let overflows = m.ilt(last, sum);
    let is_not_finite = m.ilt(last, bits);
    let one = m.bits(1);
    let is_not_positive = m.ilt(bits, one);
    let nan = m.bits(QUIET_NAN);
    let mut result = rounded;
    for bad in [overflows, is_not_finite, is_not_positive] {
        result = m.select_bits(bad, nan, result);
    }
    m.float_of_bits(result)
}

/// The bits of a value that [`round`] gave, in the low bits of the lane.
pub(crate) fn narrow<M: Machine>(m: &mut M, ty: ElementType, value: M::Float) -> M::Bits {
    let bits = m.to_bits(value);
    let Some(layout) = layout(ty) else {
        return bits;
    };
    if !layout.format.has_sign {
        // NaN has an exponent of all ones, as an `f32` and here.
        return m.shr(bits, WIDE);
    }
    if layout.is_upper_half() {
        return m.shr(bits, 16);
    }
    let mask = m.bits(!SIGN);
    let magnitude = m.and(bits, mask);
    let sign = m.xor(bits, magnitude);
    let sign = m.shr(sign, 32 - layout.bits);
    let rebias = m.bits((127 - layout.format.bias).cast_unsigned() << WIDE);
    let normal = m.isub(magnitude, rebias);
    let normal = m.shr(normal, layout.dropped);
    let (magic, magic_bits) = (
        m.float(f32::from_bits(layout.magic())),
        m.bits(layout.magic()),
    );
    let float = m.float_of_bits(magnitude);
    let aligned = m.add(float, magic);
    let aligned = m.to_bits(aligned);
    let subnormal = m.isub(aligned, magic_bits);
    let min_normal = m.bits(layout.min_normal());
    let is_subnormal = m.ilt(magnitude, min_normal);
    let finite = m.select_bits(is_subnormal, subnormal, normal);
    let with_infinity = if layout.format.has_infinity {
        let infinity = m.bits(INFINITY);
        let is_infinite = m.ieq(magnitude, infinity);
        let pattern = m.bits(layout.exponent_mask());
        m.select_bits(is_infinite, pattern, finite)
    } else {
        finite
    };
    let signed = m.or(with_infinity, sign);
    let limit = m.bits(INFINITY);
    let is_nan = m.ilt(limit, magnitude);
    let quiet = match layout.format.nan {
        NanKind::None => return signed,
        NanKind::Ieee => layout.exponent_mask() | 1 << (layout.format.mantissa_bits - 1),
        NanKind::AllOnes => layout.magnitude_mask(),
        NanKind::NegativeZero => {
            let pattern = m.bits(1 << (layout.bits - 1));
            return m.select_bits(is_nan, pattern, signed);
        }
    };
    let quiet = m.bits(quiet);
    let quiet = m.or(quiet, sign);
    m.select_bits(is_nan, quiet, signed)
}

#[cfg(test)]
mod tests {
    use hloc_tensor::{ElementType, float_format};

    use super::{narrow, round, widen};
    use crate::math::plain::Plain;
    use crate::repr::Kind;

    fn narrow_types() -> impl Iterator<Item = ElementType> {
        let all = ElementType::ALL.iter().copied();
        all.filter(|ty| matches!(Kind::of(*ty), Kind::Narrow(_)))
    }

    #[test]
    fn widening_agrees_with_decoding() {
        for ty in narrow_types() {
            let format = float_format(ty).expect("a float type");
            for bits in 0..1u32 << format.bits() {
                let (wide, exact) = (widen(&mut Plain, ty, bits), format.decode(bits.into()));
                assert!(
                    wide.is_nan() && exact.is_nan()
                        || (f64::from(wide).to_bits() == exact.to_bits()),
                    "{ty} {bits:#x}: {wide} is not {exact}"
                );
            }
        }
    }

    #[test]
    fn rounding_and_narrowing_agree_with_encoding() {
        for ty in narrow_types() {
            let format = float_format(ty).expect("a float type");
            let mut samples: Vec<u32> = (0..=u32::MAX).step_by(65_521 * 3).collect();
            for bits in (0..1u32 << format.bits()).step_by(if format.bits() > 8 { 13 } else { 1 }) {
                let value = format.decode(bits.into()) as f32;
                let next = format.decode(u64::from(bits) + 1) as f32;
                let middle = (value / 2.0 + next / 2.0).to_bits();
                samples.extend([value.to_bits(), middle, middle + 1, middle.wrapping_sub(1)]);
            }
            samples.extend([
                0,
                1 << 31,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0xffc0_0001,
                1,
            ]);
            for sample in samples {
                let value = f32::from_bits(sample);
                let rounded = round(&mut Plain, ty, value);
                let bits = narrow(&mut Plain, ty, rounded);
                let expected = format.encode(f64::from(value)) as u32;
                assert_eq!(bits, expected, "{ty} {value:e} {sample:#x}");
                assert_eq!(
                    widen(&mut Plain, ty, bits).is_nan(),
                    rounded.is_nan(),
                    "{ty}"
                );
                let again = widen(&mut Plain, ty, bits);
                assert!(
                    rounded.is_nan() || again.to_bits() == rounded.to_bits(),
                    "{ty} {value:e}"
                );
            }
        }
    }
}

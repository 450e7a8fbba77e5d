//! Every float type described as data, and conversion between `f64` and the narrow ones.
//!
//! One [`FloatFormat`] row per type drives both directions, so 4-bit floats and `bf16` share the
//! rounding code. Encoding rounds an `f64` once, to nearest even; going through `f32` would round twice.

use half::{bf16, f16};

use crate::ElementType;

/// Which bit patterns of a float type are NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NanKind {
    /// None: conversions saturate (`f4e2m1fn`, `f6e2m3fn`, `f6e3m2fn`).
    None,
    /// Exponent all ones, mantissa not zero: the mantissa is a payload.
    Ieee,
    /// Exponent and mantissa all ones (`f8e4m3fn`: 0x7f and 0xff; `f8e8m0fnu`: 0xff).
    AllOnes,
    /// Only the pattern that would be −0, 0x80 (the `fnuz` types).
    NegativeZero,
}

/// The layout and the special values of one float type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatFormat {
    /// Width of the exponent field in bits: 8 for `f32`.
    pub exponent_bits: u32,
    /// Width of the mantissa field in bits, without the implied leading one: 23 for `f32`.
    pub mantissa_bits: u32,
    /// What the exponent field exceeds the exponent by: 127 for `f32`.
    pub bias: i32,
    /// Whether the top bit is a sign; only `f8e8m0fnu` has none.
    pub has_sign: bool,
    /// Whether there are infinities.
    pub has_infinity: bool,
    /// Whether −0 exists.
    pub has_negative_zero: bool,
    /// Which patterns are NaN.
    pub nan: NanKind,
    /// The largest finite value: 448 for `f8e4m3fn`.
    pub max_finite: f64,
}

impl FloatFormat {
    /// Whether there is a NaN.
    pub const fn has_nan(&self) -> bool {
        !matches!(self.nan, NanKind::None)
    }

    /// Whether there is a zero; only `f8e8m0fnu` has none.
    pub const fn has_zero(&self) -> bool {
        self.mantissa_bits > 0
    }

    /// Width of a value in bits.
    pub const fn bits(&self) -> u32 {
        self.exponent_bits + self.mantissa_bits + self.has_sign as u32
    }

    /// The smallest positive value with a full mantissa, a power of two: 2⁻⁶ for `f8e4m3fn`.
    pub const fn min_normal(&self) -> f64 {
        power_of_two(self.min_exponent())
    }

    /// The smallest positive value: 2⁻⁹ for `f8e4m3fn`, and 5·10⁻³²⁴ for `f64`.
    pub const fn min_positive(&self) -> f64 {
        power_of_two(self.min_exponent() - self.mantissa_bits as i32)
    }

    /// The largest NaN payload, or `None` when a NaN has no payload. Payloads start at 1.
    pub const fn max_nan_payload(&self) -> Option<u64> {
        match self.nan {
            NanKind::Ieee => Some((1 << self.mantissa_bits) - 1),
            NanKind::None | NanKind::AllOnes | NanKind::NegativeZero => None,
        }
    }

    /// The exponent of the smallest normal value.
    const fn min_exponent(&self) -> i32 {
        // Without a zero, exponent field 0 is as normal as the others.
        if self.has_zero() {
            1 - self.bias
        } else {
            -self.bias
        }
    }

    /// The exponent and mantissa fields, all ones.
    const fn magnitude_mask(&self) -> u64 {
        (1 << (self.exponent_bits + self.mantissa_bits)) - 1
    }

    /// The pattern of `+inf`, should the format have it: exponent all ones, mantissa zero.
    const fn infinity_bits(&self) -> u64 {
        self.magnitude_mask() & !((1 << self.mantissa_bits) - 1)
    }

    /// The pattern of [`FloatFormat::max_finite`].
    const fn max_finite_bits(&self) -> u64 {
        match self.nan {
            NanKind::Ieee => self.infinity_bits() - 1,
            NanKind::AllOnes => self.magnitude_mask() - 1,
            NanKind::None | NanKind::NegativeZero => self.magnitude_mask(),
        }
    }

    const fn sign_bit(&self) -> u64 {
        if self.has_sign {
            1 << (self.exponent_bits + self.mantissa_bits)
        } else {
            0
        }
    }

    /// The value of a bit pattern; bits above [`FloatFormat::bits`] are ignored.
    ///
    /// Every value of every format is exact in `f64`. NaN payloads are not kept, NaN signs are.
    ///
    /// ```
    /// use hloc_tensor::{ElementType, float_format};
    ///
    /// let format = float_format(ElementType::F8E4M3Fn).expect("a float type");
    /// assert_eq!(format.decode(0x7e), 448.0);
    /// assert!(format.decode(0x7f).is_nan());
    /// ```
    pub fn decode(&self, bits: u64) -> f64 {
        if self.mantissa_bits == 52 {
            return f64::from_bits(bits);
        }
        let negative = bits & self.sign_bit() != 0;
        let magnitude = self.decode_magnitude(bits & self.magnitude_mask(), negative);
        if negative { -magnitude } else { magnitude }
    }

    fn decode_magnitude(&self, magnitude: u64, negative: bool) -> f64 {
        let infinity = self.infinity_bits();
        match self.nan {
            NanKind::Ieee if magnitude > infinity => return f64::NAN,
            NanKind::AllOnes if magnitude == self.magnitude_mask() => return f64::NAN,
            NanKind::NegativeZero if negative && magnitude == 0 => return f64::NAN,
            NanKind::None | NanKind::Ieee | NanKind::AllOnes | NanKind::NegativeZero => {}
        }
        if self.has_infinity && magnitude == infinity {
            return f64::INFINITY;
        }
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let (significand, exponent) = if exponent == 0 && self.has_zero() {
            (mantissa, self.min_exponent())
        } else {
            (mantissa | (1 << self.mantissa_bits), exponent - self.bias)
        };
        significand as f64 * power_of_two(exponent - self.mantissa_bits as i32)
    }

    /// The bit pattern nearest to `value`, ties to even.
    ///
    /// Beyond the largest finite value: infinity where there is one, else NaN, else the largest finite
    /// value. NaN where there is none gives zero of the other sign, as XLA does. `f8e8m0fnu` has no
    /// zero, sign or even mantissa: zero and negative values give NaN, tiny ones 2⁻¹²⁷, ties go up.
    ///
    /// ```
    /// use hloc_tensor::{ElementType, float_format};
    ///
    /// let format = float_format(ElementType::F8E4M3Fn).expect("a float type");
    /// assert_eq!(format.encode(464.0), 0x7e); // halfway from 448 to the NaN pattern
    /// assert_eq!(format.encode(465.0), 0x7f);
    /// ```
    pub fn encode(&self, value: f64) -> u64 {
        if self.mantissa_bits == 52 {
            return value.to_bits();
        }
        let sign = if value.is_sign_negative() {
            self.sign_bit()
        } else {
            0
        };
        if value.is_nan() {
            return self.nan_bits(sign);
        }
        if !self.has_zero() && value <= 0.0 {
            return self.nan_bits(0);
        }
        let magnitude = if value.is_infinite() {
            u64::MAX
        } else {
            self.round(value)
        };
        if magnitude > self.max_finite_bits() {
            return self.overflow_bits(sign);
        }
        if magnitude == 0 && !self.has_negative_zero {
            return 0;
        }
        sign | magnitude
    }

    /// The pattern of a finite value's magnitude as if exponents went on without end.
    fn round(&self, value: f64) -> u64 {
        const F64_MANTISSA_BITS: u32 = 52;
        let bits = value.to_bits();
        let exponent = ((bits >> F64_MANTISSA_BITS) & 0x7ff) as i32 - 1023;
        // A subnormal `f64` is read too large by this, but is far below what any narrower format holds.
        let significand = (bits & ((1 << F64_MANTISSA_BITS) - 1)) | (1 << F64_MANTISSA_BITS);
        let below_normal = (self.min_exponent() - exponent).max(0) as u32;
        let dropped = F64_MANTISSA_BITS - self.mantissa_bits + below_normal;
        if !self.has_zero() {
            // Exponent field 0 is the least value: nothing goes below it, and ties go up.
            let up = u64::from(below_normal == 0 && significand >> (dropped - 1) & 1 == 1);
            return (exponent.max(self.min_exponent()) + self.bias) as u64 + up;
        }
        let rounded = shift_right_to_even(significand, dropped);
        // A normal value's implied one, and a carry out of the mantissa, add to the exponent field.
        let field = if below_normal > 0 {
            0
        } else {
            (exponent + self.bias - 1) as u64
        };
        (field << self.mantissa_bits) + rounded
    }

    fn nan_bits(&self, sign: u64) -> u64 {
        match self.nan {
            NanKind::None => sign ^ self.sign_bit(),
            NanKind::Ieee => sign | self.infinity_bits() | 1 << (self.mantissa_bits - 1),
            NanKind::AllOnes => sign | self.magnitude_mask(),
            NanKind::NegativeZero => self.sign_bit(),
        }
    }

    fn overflow_bits(&self, sign: u64) -> u64 {
        if self.has_infinity {
            sign | self.infinity_bits()
        } else if self.has_nan() {
            self.nan_bits(sign)
        } else {
            sign | self.max_finite_bits()
        }
    }
}

/// The format of a real float type, or `None` for any other type. `f16` gives 5 exponent and 10 mantissa bits.
pub const fn float_format(element_type: ElementType) -> Option<FloatFormat> {
    use NanKind::{AllOnes, Ieee, NegativeZero, None as NoNan};
    Some(match element_type {
        ElementType::F4E2M1Fn => format(2, 1, 1, NoNan, 6.0),
        ElementType::F6E2M3Fn => format(2, 3, 1, NoNan, 7.5),
        ElementType::F6E3M2Fn => format(3, 2, 3, NoNan, 28.0),
        ElementType::F8E3M4 => format(3, 4, 3, Ieee, 15.5),
        ElementType::F8E4M3 => format(4, 3, 7, Ieee, 240.0),
        ElementType::F8E4M3Fn => format(4, 3, 7, AllOnes, 448.0),
        ElementType::F8E4M3B11Fnuz => format(4, 3, 11, NegativeZero, 30.0),
        ElementType::F8E4M3Fnuz => format(4, 3, 8, NegativeZero, 240.0),
        ElementType::F8E5M2 => format(5, 2, 15, Ieee, 57344.0),
        ElementType::F8E5M2Fnuz => format(5, 2, 16, NegativeZero, 57344.0),
        ElementType::F8E8M0Fnu => format(8, 0, 127, AllOnes, power_of_two(127)),
        ElementType::F16 => format(5, 10, 15, Ieee, 65504.0),
        ElementType::BF16 => format(8, 7, 127, Ieee, 255.0 * power_of_two(120)),
        ElementType::F32 => format(8, 23, 127, Ieee, f32::MAX as f64),
        ElementType::F64 => format(11, 52, 1023, Ieee, f64::MAX),
        ElementType::Pred
        | ElementType::S1
        | ElementType::S2
        | ElementType::S4
        | ElementType::S8
        | ElementType::S16
        | ElementType::S32
        | ElementType::S64
        | ElementType::U1
        | ElementType::U2
        | ElementType::U4
        | ElementType::U8
        | ElementType::U16
        | ElementType::U32
        | ElementType::U64
        | ElementType::C64
        | ElementType::C128 => return None,
    })
}

const fn format(
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    nan: NanKind,
    max_finite: f64,
) -> FloatFormat {
    // Of the types there are, exactly those with a payload have infinities, and only `f8e8m0fnu` has no mantissa.
    FloatFormat {
        exponent_bits,
        mantissa_bits,
        bias,
        has_sign: mantissa_bits > 0,
        has_infinity: matches!(nan, NanKind::Ieee),
        has_negative_zero: mantissa_bits > 0 && !matches!(nan, NanKind::NegativeZero),
        nan,
        max_finite,
    }
}

/// The value of a one-byte float; see [`FloatFormat::decode`]. NaN for types that are no one-byte floats.
///
/// `decode(ElementType::F8E5M2, 0x7b)` gives 57344.
pub fn decode(element_type: ElementType, bits: u8) -> f64 {
    one_byte_format(element_type).map_or(f64::NAN, |format| format.decode(bits.into()))
}

/// The one-byte float nearest to `value`; see [`FloatFormat::encode`]. 0 for types that are no one-byte floats.
///
/// `encode(ElementType::F4E2M1Fn, 8.0)` gives 7, the pattern of 6.
pub fn encode(element_type: ElementType, value: f64) -> u8 {
    one_byte_format(element_type).map_or(0, |format| format.encode(value) as u8)
}

fn one_byte_format(element_type: ElementType) -> Option<FloatFormat> {
    float_format(element_type).filter(|format| format.bits() <= 8)
}

/// The `f16` nearest to `value`, ties to even, rounded once. 65519.9 gives 65504, 65520 gives infinity.
pub fn f64_to_f16(value: f64) -> f16 {
    const FORMAT: FloatFormat = format(5, 10, 15, NanKind::Ieee, 65504.0);
    f16::from_bits(FORMAT.encode(value) as u16)
}

/// The `bf16` nearest to `value`, ties to even, rounded once. 1.00390625 (1 + 2⁻⁸) gives 1.
pub fn f64_to_bf16(value: f64) -> bf16 {
    const FORMAT: FloatFormat = format(8, 7, 127, NanKind::Ieee, 0.0);
    bf16::from_bits(FORMAT.encode(value) as u16)
}

/// `value · 2⁻ᵇⁱᵗˢ` to the nearest integer, ties to even.
fn shift_right_to_even(value: u64, bits: u32) -> u64 {
    debug_assert!(bits > 0);
    if bits > 63 {
        return 0; // Callers pass values below 2⁵³, so this is less than a half.
    }
    let half = 1u64 << (bits - 1);
    let kept = value >> bits;
    let rest = value & ((half << 1) - 1);
    if rest > half || (rest == half && kept & 1 == 1) {
        kept + 1
    } else {
        kept
    }
}

/// 2 to this power, subnormals included.
const fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

#[cfg(test)]
mod tests {
    use super::{NanKind, decode, encode, f64_to_bf16, f64_to_f16, float_format, power_of_two};
    use crate::ElementType;

    const ONE_BYTE: [ElementType; 11] = [
        ElementType::F4E2M1Fn,
        ElementType::F6E2M3Fn,
        ElementType::F6E3M2Fn,
        ElementType::F8E3M4,
        ElementType::F8E4M3,
        ElementType::F8E4M3Fn,
        ElementType::F8E4M3B11Fnuz,
        ElementType::F8E4M3Fnuz,
        ElementType::F8E5M2,
        ElementType::F8E5M2Fnuz,
        ElementType::F8E8M0Fnu,
    ];

    #[test]
    fn every_float_type_has_a_format_of_its_width() {
        for &element_type in ElementType::ALL {
            let format = float_format(element_type);
            assert_eq!(format.is_some(), element_type.is_float());
            assert_eq!(
                format.map(|format| format.bits()),
                format.map(|_| element_type.bits())
            );
        }
    }

    /// Largest, smallest normal and smallest positive value, as the formats are defined.
    #[test]
    fn ranges_are_those_of_the_specification() {
        let p = power_of_two;
        for (element_type, max, min_normal, min_positive) in [
            (ElementType::F8E5M2, 57344.0, p(-14), p(-16)),
            (ElementType::F8E4M3, 240.0, p(-6), p(-9)),
            (ElementType::F8E4M3Fn, 448.0, p(-6), p(-9)),
            (ElementType::F8E3M4, 15.5, 0.25, p(-6)),
            (ElementType::F8E4M3B11Fnuz, 30.0, p(-10), p(-13)),
            (ElementType::F8E4M3Fnuz, 240.0, p(-7), p(-10)),
            (ElementType::F8E5M2Fnuz, 57344.0, p(-15), p(-17)),
            (ElementType::F8E8M0Fnu, p(127), p(-127), p(-127)),
            (ElementType::F6E2M3Fn, 7.5, 1.0, 0.125),
            (ElementType::F6E3M2Fn, 28.0, 0.25, 0.0625),
            (ElementType::F4E2M1Fn, 6.0, 1.0, 0.5),
            (ElementType::F16, 65504.0, p(-14), p(-24)),
            (ElementType::BF16, 255.0 * p(120), p(-126), p(-133)),
            (ElementType::F32, f64::from(f32::MAX), p(-126), p(-149)),
            (ElementType::F64, f64::MAX, f64::MIN_POSITIVE, 5e-324),
        ] {
            let format = float_format(element_type).expect("a float type");
            assert_eq!(format.max_finite, max, "{element_type}");
            assert_eq!(
                format.decode(format.max_finite_bits()),
                max,
                "{element_type}"
            );
            assert_eq!(format.min_normal(), min_normal, "{element_type}");
            assert_eq!(format.min_positive(), min_positive, "{element_type}");
        }
    }

    #[test]
    fn every_value_survives_decoding_and_encoding() {
        for element_type in ONE_BYTE {
            for bits in 0..=u8::MAX >> (8 - element_type.bits()) {
                let value = decode(element_type, bits);
                if !value.is_nan() {
                    assert_eq!(encode(element_type, value), bits, "{element_type} {value}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_and_ties_go_to_even() {
        for element_type in ONE_BYTE
            .into_iter()
            .filter(|&t| t != ElementType::F8E8M0Fnu)
        {
            let max = float_format(element_type)
                .expect("a float type")
                .max_finite_bits() as u8;
            for low in 0..max {
                let (below, above) = (decode(element_type, low), decode(element_type, low + 1));
                let middle = (below + above) / 2.0;
                let even = low + (low & 1);
                assert_eq!(
                    encode(element_type, middle),
                    even,
                    "{element_type} {middle}"
                );
                assert_eq!(
                    encode(element_type, middle.next_down()),
                    low,
                    "{element_type} {middle}"
                );
                assert_eq!(
                    encode(element_type, middle.next_up()),
                    low + 1,
                    "{element_type} {middle}"
                );
            }
        }
    }

    #[test]
    fn overflow_gives_infinity_nan_or_the_largest_value() {
        assert_eq!(encode(ElementType::F8E4M3Fn, 464.0), 0x7e);
        assert_eq!(encode(ElementType::F8E4M3Fn, 464.0f64.next_up()), 0x7f);
        assert_eq!(encode(ElementType::F8E4M3Fn, f64::NEG_INFINITY), 0xff);
        assert_eq!(encode(ElementType::F8E5M2, 61440.0f64.next_down()), 0x7b);
        assert_eq!(encode(ElementType::F8E5M2, 61440.0), 0x7c);
        assert_eq!(encode(ElementType::F8E5M2, -1e9), 0xfc);
        assert_eq!(encode(ElementType::F8E4M3Fnuz, 1e9), 0x80);
        assert_eq!(encode(ElementType::F8E5M2Fnuz, f64::INFINITY), 0x80);
        assert_eq!(encode(ElementType::F4E2M1Fn, 8.0), 0x07);
        assert_eq!(encode(ElementType::F6E3M2Fn, f64::NEG_INFINITY), 0x3f);
    }

    #[test]
    fn zeros_and_nans_follow_each_format() {
        assert_eq!(encode(ElementType::F8E4M3Fn, -0.0), 0x80);
        assert_eq!(encode(ElementType::F8E4M3B11Fnuz, -0.0), 0);
        assert_eq!(encode(ElementType::F8E4M3B11Fnuz, -1e-9), 0);
        assert_eq!(encode(ElementType::F8E4M3B11Fnuz, f64::NAN), 0x80);
        assert_eq!(encode(ElementType::F4E2M1Fn, f64::NAN), 0x08);
        assert_eq!(encode(ElementType::F8E5M2, f64::NAN), 0x7e);
        assert!(decode(ElementType::F8E5M2, 0x7d).is_nan());
        assert!(decode(ElementType::F8E4M3Fnuz, 0x80).is_nan());
        assert_eq!(decode(ElementType::F8E3M4, 0xf0), f64::NEG_INFINITY);
        let payload =
            |element_type| float_format(element_type).and_then(|format| format.max_nan_payload());
        assert_eq!(payload(ElementType::F8E5M2), Some(3));
        assert_eq!(payload(ElementType::F32), Some(0x7f_ffff));
        assert_eq!(payload(ElementType::F8E4M3Fn), None);
        let format = float_format(ElementType::F4E2M1Fn).expect("a float type");
        assert_eq!((format.nan, format.has_nan()), (NanKind::None, false));
    }

    #[test]
    fn powers_of_two_have_no_zero_and_no_sign() {
        let encode = |value| encode(ElementType::F8E8M0Fnu, value);
        assert_eq!([encode(1.0), encode(2.0), encode(0.5)], [127, 128, 126]);
        assert_eq!([encode(1.5), encode(3.0), encode(1.499)], [128, 129, 127]);
        assert_eq!(
            [
                encode(0.0),
                encode(-1.0),
                encode(f64::NAN),
                encode(f64::INFINITY)
            ],
            [255; 4]
        );
        assert_eq!([encode(1e-300), encode(power_of_two(-127))], [0, 0]);
        assert_eq!(
            [
                encode(1.4 * power_of_two(127)),
                encode(1.5 * power_of_two(127))
            ],
            [254, 255]
        );
        assert_eq!(decode(ElementType::F8E8M0Fnu, 0), power_of_two(-127));
    }

    #[test]
    fn sixteen_bit_floats_round_once() {
        // Rounding to `f32` first would land on the tie and lose the last bit.
        let above_tie = 1.0 + power_of_two(-8) + power_of_two(-40);
        assert_eq!(f64_to_bf16(above_tie).to_f64(), 1.0 + power_of_two(-7));
        assert_eq!(f64_to_bf16(1.0 + power_of_two(-8)).to_f64(), 1.0);
        let above_tie = 1.0 + power_of_two(-11) + power_of_two(-40);
        assert_eq!(f64_to_f16(above_tie).to_f64(), 1.0 + power_of_two(-10));
        assert_eq!(f64_to_f16(65519.99).to_f64(), 65504.0);
        assert!(f64_to_f16(65520.0).is_infinite());
        assert!(f64_to_bf16(3.4e38).is_infinite());
        assert!(f64_to_bf16(f64::NAN).is_nan());
        assert_eq!(f64_to_f16(power_of_two(-24)).to_bits(), 1);
        assert_eq!(f64_to_f16(power_of_two(-25)).to_bits(), 0);
        for bits in 0..=u16::MAX {
            let (f16, bf16) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            assert!(f16.is_nan() || f64_to_f16(f16.to_f64()).to_bits() == bits);
            assert!(bf16.is_nan() || f64_to_bf16(bf16.to_f64()).to_bits() == bits);
        }
    }
}

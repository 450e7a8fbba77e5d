//! One element of any type, outside of an array.

use half::{bf16, f16};

use crate::small_float::{self, f64_to_bf16, f64_to_f16};
use crate::{ElementClass, ElementType};

/// The value of one element. Every element of every type is exact in it, but for NaN payloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An element of `pred`.
    Pred(bool),
    /// An element of `s1` to `s64`.
    Int(i64),
    /// An element of `u1` to `u64`.
    Uint(u64),
    /// An element of a float type.
    Float(f64),
    /// An element of `c64` or `c128`: real and imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// The integer as HLO's `convert` makes it: floats truncate toward zero and saturate to
    /// `minimum..=maximum`, NaN gives 0; complex numbers lose their imaginary part.
    ///
    /// Integers are given as they are, for the caller to wrap.
    fn to_integer(self, minimum: i64, maximum: u64) -> i128 {
        match self {
            Scalar::Pred(value) => value.into(),
            Scalar::Int(value) => value.into(),
            Scalar::Uint(value) => value.into(),
            // `as` truncates, saturates to `i128`, and gives 0 for NaN.
            Scalar::Float(value) | Scalar::Complex(value, _) => {
                (value as i128).clamp(minimum.into(), maximum.into())
            }
        }
    }

    /// The nearest `f64`, ties to even: what `convert` to `f64` gives.
    ///
    /// `Scalar::Uint(u64::MAX).to_f64()` gives 2⁶⁴; complex numbers lose their imaginary part.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Pred(value) => f64::from(u8::from(value)),
            Scalar::Int(value) => value as f64,
            Scalar::Uint(value) => value as f64,
            Scalar::Float(value) | Scalar::Complex(value, _) => value,
        }
    }

    /// An `f64` that rounds to any narrower float as the value itself would.
    fn to_f64_for_rounding(self) -> f64 {
        match self {
            Scalar::Int(value) => {
                let magnitude = round_to_odd(value.unsigned_abs());
                if value < 0 { -magnitude } else { magnitude }
            }
            Scalar::Uint(value) => round_to_odd(value),
            Scalar::Pred(_) | Scalar::Float(_) | Scalar::Complex(..) => self.to_f64(),
        }
    }

    /// Whether the value is not zero, as `convert` to `pred` asks: NaN is true, 0+2i is false.
    fn to_bool(self) -> bool {
        match self {
            Scalar::Pred(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Uint(value) => value != 0,
            Scalar::Float(value) | Scalar::Complex(value, _) => value != 0.0,
        }
    }

    fn imaginary(self) -> f64 {
        match self {
            Scalar::Complex(_, imaginary) => imaginary,
            Scalar::Pred(_) | Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_) => 0.0,
        }
    }

    /// The value as an element of this type, converted as HLO's `convert` does.
    ///
    /// `Scalar::Float(-1.5).converted(ElementType::U8)` gives `Uint(0)`, and
    /// `Scalar::Int(300).converted(ElementType::S8)` gives `Int(44)`.
    pub fn converted(self, element_type: ElementType) -> Scalar {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..element_type.size()];
        encode_element(element_type, self, bytes);
        decode_element(element_type, bytes)
    }
}

/// An `f64` not equal to any value halfway between two floats of at most 51 mantissa bits unless `value` is.
///
/// Rounding such an `f64` again gives what rounding `value` once would: bits lost are recorded in the lowest.
fn round_to_odd(value: u64) -> f64 {
    let excess = (u64::BITS - value.leading_zeros()).saturating_sub(53);
    let kept = value >> excess;
    let sticky = u64::from(kept << excess != value);
    ((kept | sticky) << excess) as f64
}

/// Reads one element of [`ElementType::size`] bytes. Bits above the type's width are ignored.
pub(crate) fn decode_element(element_type: ElementType, bytes: &[u8]) -> Scalar {
    match element_type.class() {
        ElementClass::Predicate => Scalar::Pred(bytes[0] != 0),
        ElementClass::Signed => {
            let unused = 64 - element_type.bits();
            Scalar::Int((read_bits(bytes) << unused).cast_signed() >> unused)
        }
        ElementClass::Unsigned => {
            let unused = 64 - element_type.bits();
            Scalar::Uint(read_bits(bytes) << unused >> unused)
        }
        ElementClass::Float => Scalar::Float(decode_float(element_type, bytes)),
        ElementClass::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            let part = element_type.component();
            Scalar::Complex(decode_float(part, re), decode_float(part, im))
        }
    }
}

/// Writes one element of [`ElementType::size`] bytes.
pub(crate) fn encode_element(element_type: ElementType, value: Scalar, bytes: &mut [u8]) {
    match element_type.class() {
        ElementClass::Predicate => bytes[0] = value.to_bool().into(),
        ElementClass::Signed => {
            let unused = 64 - element_type.bits();
            let integer =
                value.to_integer(i64::MIN >> unused, (i64::MAX >> unused).cast_unsigned());
            write_bits(
                bytes,
                ((integer as i64) << unused >> unused).cast_unsigned(),
            );
        }
        ElementClass::Unsigned => {
            let unused = 64 - element_type.bits();
            let integer = value.to_integer(0, u64::MAX >> unused);
            write_bits(bytes, (integer as u64) << unused >> unused);
        }
        ElementClass::Float => encode_float(element_type, value, bytes),
        ElementClass::Complex => {
            let (re, im) = bytes.split_at_mut(bytes.len() / 2);
            let part = element_type.component();
            encode_float(part, value, re);
            encode_float(part, Scalar::Float(value.imaginary()), im);
        }
    }
}

fn decode_float(element_type: ElementType, bytes: &[u8]) -> f64 {
    let bits = read_bits(bytes);
    match bytes.len() {
        8 => f64::from_bits(bits),
        4 => f32::from_bits(bits as u32).into(),
        2 if element_type == ElementType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        2 => f16::from_bits(bits as u16).to_f64(),
        _ => small_float::decode(element_type, bits as u8),
    }
}

fn encode_float(element_type: ElementType, value: Scalar, bytes: &mut [u8]) {
    let bits = match bytes.len() {
        8 => value.to_f64().to_bits(),
        4 => (value.to_f64_for_rounding() as f32).to_bits().into(),
        2 if element_type == ElementType::BF16 => {
            f64_to_bf16(value.to_f64_for_rounding()).to_bits().into()
        }
        2 => f64_to_f16(value.to_f64_for_rounding()).to_bits().into(),
        _ => small_float::encode(element_type, value.to_f64_for_rounding()).into(),
    };
    write_bits(bytes, bits);
}

/// The bytes of an element of at most eight bytes as an integer, in the machine's byte order.
fn read_bits(bytes: &[u8]) -> u64 {
    let mut buffer = [0; 8];
    let size = bytes.len();
    if cfg!(target_endian = "little") {
        buffer[..size].copy_from_slice(bytes);
    } else {
        buffer[8 - size..].copy_from_slice(bytes);
    }
    u64::from_ne_bytes(buffer)
}

fn write_bits(bytes: &mut [u8], bits: u64) {
    let size = bytes.len();
    let buffer = bits.to_ne_bytes();
    if cfg!(target_endian = "little") {
        bytes.copy_from_slice(&buffer[..size]);
    } else {
        bytes.copy_from_slice(&buffer[8 - size..]);
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar;
    use crate::ElementType;

    #[test]
    fn integers_wrap_and_floats_saturate() {
        for (value, element_type, want) in [
            (Scalar::Int(300), ElementType::S8, Scalar::Int(44)),
            (Scalar::Int(-1), ElementType::U16, Scalar::Uint(0xffff)),
            (Scalar::Int(-1), ElementType::U64, Scalar::Uint(u64::MAX)),
            (Scalar::Uint(u64::MAX), ElementType::S64, Scalar::Int(-1)),
            (Scalar::Uint(9), ElementType::S4, Scalar::Int(-7)),
            (Scalar::Int(1), ElementType::S1, Scalar::Int(-1)),
            (Scalar::Float(2.9), ElementType::S8, Scalar::Int(2)),
            (Scalar::Float(-2.9), ElementType::S8, Scalar::Int(-2)),
            (Scalar::Float(300.0), ElementType::S8, Scalar::Int(127)),
            (Scalar::Float(-1.0), ElementType::U8, Scalar::Uint(0)),
            (Scalar::Float(9.0), ElementType::S4, Scalar::Int(7)),
            (
                Scalar::Float(1e30),
                ElementType::U64,
                Scalar::Uint(u64::MAX),
            ),
            (
                Scalar::Float(f64::NEG_INFINITY),
                ElementType::S64,
                Scalar::Int(i64::MIN),
            ),
            (Scalar::Float(f64::NAN), ElementType::S32, Scalar::Int(0)),
            (Scalar::Pred(true), ElementType::S32, Scalar::Int(1)),
            (Scalar::Complex(3.5, 9.0), ElementType::U8, Scalar::Uint(3)),
        ] {
            assert_eq!(
                value.converted(element_type),
                want,
                "{value:?} to {element_type}"
            );
        }
    }

    #[test]
    fn predicates_and_complex_numbers_convert() {
        assert_eq!(
            Scalar::Float(f64::NAN).converted(ElementType::Pred),
            Scalar::Pred(true)
        );
        assert_eq!(
            Scalar::Float(-0.0).converted(ElementType::Pred),
            Scalar::Pred(false)
        );
        assert_eq!(
            Scalar::Complex(0.0, 2.0).converted(ElementType::Pred),
            Scalar::Pred(false)
        );
        assert_eq!(
            Scalar::Int(-2).converted(ElementType::C64),
            Scalar::Complex(-2.0, 0.0)
        );
        assert_eq!(
            Scalar::Complex(0.1, -0.1).converted(ElementType::C64),
            Scalar::Complex(0.1f32.into(), (-0.1f32).into())
        );
    }

    #[test]
    fn large_integers_round_once_to_floats() {
        // 2⁶² + half a `bf16` step + 1: rounding to `f64` first would make it a tie.
        let value = (1i64 << 62) + (1 << 54) + 1;
        assert_eq!(
            Scalar::Int(value).converted(ElementType::BF16),
            Scalar::Float(((1i64 << 62) + (1 << 55)) as f64)
        );
        let tie = (1i64 << 62) + (1 << 54);
        assert_eq!(
            Scalar::Int(-tie).converted(ElementType::BF16),
            Scalar::Float(-((1i64 << 62) as f64))
        );
        for value in [
            value,
            -value,
            i64::MAX,
            i64::MIN,
            (1 << 53) + 1,
            (1 << 24) + 1,
            16_777_219,
        ] {
            assert_eq!(
                Scalar::Int(value).converted(ElementType::F32),
                Scalar::Float((value as f32).into())
            );
        }
        let value = u64::MAX - 1;
        assert_eq!(
            Scalar::Uint(value).converted(ElementType::F32),
            Scalar::Float((value as f32).into())
        );
        assert_eq!(
            Scalar::Uint(value).converted(ElementType::F64),
            Scalar::Float(value as f64)
        );
    }

    #[test]
    fn elements_of_every_type_survive() {
        for &element_type in ElementType::ALL {
            let one = Scalar::Float(1.0).converted(element_type);
            assert_eq!(one.converted(element_type), one, "{element_type}");
        }
    }
}

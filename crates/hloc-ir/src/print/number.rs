//! Floats with the fewest digits that read back as the same bits.

use std::fmt::{self, Write};

use hloc_tensor::{ElementType, FloatFormat, NanKind, float_format};

/// Numbers at least as large print with an exponent.
const LARGE: f64 = 1e16;
/// Numbers smaller than this print with an exponent; the `f32` nearest to 0.0001 is larger.
const SMALL: f64 = 9.9999e-5;

/// Integers below this print with all their digits.
const EXACT_INTEGERS: f64 = 1e5;

/// So many digits tell any two floats of at most 16 bits apart.
const MAX_NARROW_DIGITS: usize = 9;

/// Writes an `f64` that is no element of an array; its NaN has no payload.
pub(super) fn push_f64(out: &mut String, value: f64) {
    if value.is_finite() {
        push_finite_f64(out, value);
    } else if value.is_nan() {
        out.push_str(if value.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        });
    } else {
        push_infinity(out, value.is_sign_negative());
    }
}

/// Writes an element of `f32`.
pub(super) fn push_f32_element(out: &mut String, value: f32) {
    if value == 0.0 {
        push_zero(out, value.is_sign_negative());
    } else if !value.is_finite() {
        push_special(out, ElementType::F32, value.to_bits().into());
    } else if prefers_exponent(value.into()) {
        write!(out, "{value:e}").expect("a string takes any text");
    } else {
        write!(out, "{value}").expect("a string takes any text");
    }
}

/// Writes an element of `f64`.
pub(super) fn push_f64_element(out: &mut String, value: f64) {
    if value.is_finite() {
        push_finite_f64(out, value);
    } else {
        push_special(out, ElementType::F64, value.to_bits());
    }
}

fn push_finite_f64(out: &mut String, value: f64) {
    if value == 0.0 {
        push_zero(out, value.is_sign_negative());
    } else if prefers_exponent(value) {
        write!(out, "{value:e}").expect("a string takes any text");
    } else {
        write!(out, "{value}").expect("a string takes any text");
    }
}

/// Writes an element of at most 16 bits.
pub(super) fn push_narrow_element(out: &mut String, element_type: ElementType, bits: u64) {
    let Some(format) = float_format(element_type) else {
        return;
    };
    let value = format.decode(bits);
    if !value.is_finite() {
        push_special(out, element_type, bits);
    } else if value == 0.0 {
        push_zero(out, value.is_sign_negative());
    } else {
        push_finite_f64(out, shortest(&format, bits, value));
    }
}

/// The `f64` to print for `bits`, whose value is `value`: mostly that with the fewest digits that reads back.
fn shortest(format: &FloatFormat, bits: u64, value: f64) -> f64 {
    // These read best exactly: f16 has 65504, though 65500 reads back the same, and f8e4m3 has 0.125.
    let is_integer = value.fract() == 0.0 && value.abs() < EXACT_INTEGERS;
    if is_integer || format.bits() <= 8 {
        return value;
    }
    if let Some(read) = shortest_of_moderate(format, bits, value) {
        return read;
    }
    let mut text = Text::default();
    for digits in 0..MAX_NARROW_DIGITS {
        text.len = 0;
        if write!(text, "{value:.digits$e}").is_err() {
            break;
        }
        if let Ok(read) = text.as_str().parse::<f64>()
            && format.encode(read) == bits
        {
            return read;
        }
    }
    value
}

/// As [`shortest`] for values near 1, where few digits divided by an exact power of ten are the nearest `f64`.
fn shortest_of_moderate(format: &FloatFormat, bits: u64, value: f64) -> Option<f64> {
    const MAX_DECIMALS: i32 = 18;
    let magnitude = value.abs();
    if !(1e-10..1e5).contains(&magnitude) {
        return None;
    }
    let first = -(magnitude.log10().floor() as i32);
    let mut decimals = first.max(0);
    while decimals <= (first + MAX_NARROW_DIGITS as i32).min(MAX_DECIMALS) {
        let power = 10f64.powi(decimals);
        let read = (value * power).round() / power;
        if format.encode(read) == bits {
            return Some(read);
        }
        decimals += 1;
    }
    None
}

/// Text of at most 32 bytes on the stack.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    len: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let target = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

fn prefers_exponent(value: f64) -> bool {
    !(SMALL..LARGE).contains(&value.abs())
}

/// Positive zero is `0`; the negative one has a point, or XLA would read it as positive.
fn push_zero(out: &mut String, negative: bool) {
    out.push_str(if negative { "-0.0" } else { "0" });
}

fn push_infinity(out: &mut String, negative: bool) {
    out.push_str(if negative { "-inf" } else { "inf" });
}

/// Writes an infinity or a NaN, with its payload unless that is the usual one.
#[cold]
fn push_special(out: &mut String, element_type: ElementType, bits: u64) {
    let Some(format) = float_format(element_type) else {
        return;
    };
    let negative = format.has_sign && bits >> (format.bits() - 1) & 1 == 1;
    let mantissa = bits & ((1 << format.mantissa_bits) - 1);
    match format.nan {
        NanKind::Ieee if mantissa == 0 => push_infinity(out, negative),
        NanKind::Ieee => {
            out.push_str(if negative { "-nan" } else { "nan" });
            if mantissa != 1 << (format.mantissa_bits - 1) {
                write!(out, "({mantissa:#x})").expect("a string takes any text");
            }
        }
        // XLA prints the NaN of the `fnuz` types, which has the sign bit set, as negative.
        NanKind::AllOnes | NanKind::NegativeZero | NanKind::None => {
            out.push_str(if negative { "-nan" } else { "nan" });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{push_f32_element, push_f64, push_f64_element, push_narrow_element};
    use hloc_tensor::{ElementType, float_format};

    fn f32_text(bits: u32) -> String {
        let mut out = String::new();
        push_f32_element(&mut out, f32::from_bits(bits));
        out
    }

    fn narrow_text(element_type: ElementType, bits: u64) -> String {
        let mut out = String::new();
        push_narrow_element(&mut out, element_type, bits);
        out
    }

    #[test]
    fn f32_is_shortest_and_exact() {
        for (value, expected) in [
            (0.1f32, "0.1"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (-0.0, "-0.0"),
            (0.0, "0"),
            (1e-5, "1e-5"),
            (1e-4, "0.0001"),
            (16_777_216.0, "16777216"),
            (1e30, "1e30"),
            (f32::MAX, "3.4028235e38"),
            (1e-45, "1e-45"),
            (f32::INFINITY, "inf"),
            (f32::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(f32_text(value.to_bits()), expected);
        }
        assert_eq!(f32_text(0x7fc0_0000), "nan");
        assert_eq!(f32_text(0xffc0_0000), "-nan");
        assert_eq!(f32_text(0x7f80_0001), "nan(0x1)");
        assert_eq!(f32_text(0xffc0_0123), "-nan(0x400123)");
    }

    #[test]
    fn f64_is_shortest_and_exact() {
        let text = |value| {
            let mut out = String::new();
            push_f64_element(&mut out, value);
            out
        };
        assert_eq!(text(0.1), "0.1");
        assert_eq!(text(1e16), "1e16");
        assert_eq!(text(f64::from_bits(0x7ff0_0000_0000_0001)), "nan(0x1)");
        let mut out = String::new();
        push_f64(&mut out, f64::NEG_INFINITY);
        assert_eq!(out, "-inf");
    }

    #[test]
    fn narrow_floats_read_back_as_the_same_bits() {
        for &element_type in ElementType::ALL {
            let Some(format) = float_format(element_type).filter(|format| format.bits() <= 16)
            else {
                continue;
            };
            let step = if format.bits() == 16 { 7 } else { 1 };
            for bits in (0..1u64 << format.bits()).step_by(step) {
                let text = narrow_text(element_type, bits);
                if let Ok(value) = text.parse::<f64>()
                    && value.is_finite()
                {
                    assert_eq!(format.encode(value), bits, "{element_type} {text}");
                } else {
                    assert!(!format.decode(bits).is_finite(), "{element_type} {text}");
                }
            }
        }
    }

    #[test]
    fn narrow_floats_are_short() {
        assert_eq!(narrow_text(ElementType::BF16, 0x3dcd), "0.1");
        assert_eq!(narrow_text(ElementType::F16, 0x2e66), "0.1");
        assert_eq!(narrow_text(ElementType::F16, 0x8000), "-0.0");
        assert_eq!(narrow_text(ElementType::F8E4M3Fn, 0x7e), "448");
        assert_eq!(narrow_text(ElementType::F8E4M3Fn, 0xff), "-nan");
        assert_eq!(narrow_text(ElementType::F8E4M3Fnuz, 0x80), "-nan");
        assert_eq!(narrow_text(ElementType::F8E8M0Fnu, 0xff), "nan");
        assert_eq!(narrow_text(ElementType::BF16, 0x7f81), "nan(0x1)");
        assert_eq!(narrow_text(ElementType::F8E5M2, 0x7c), "inf");
    }
}

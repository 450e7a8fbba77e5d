//! Floats of every width, and complex numbers.
//!
//! A decimal is rounded once, to nearest even, in the element type itself. XLA goes through `f64` and so
//! rounds twice; the two differ where the `f64` lands on the middle between two elements.

use std::cmp::Ordering;

use fast_float2::FastFloat;
use hloc_ir::ElementType;
use hloc_tensor::{Complex, FloatFormat, NanKind, float_format};

use super::array::ElementReader;
use super::decimal::{compare_magnitudes, read_plain};
use super::fault::{self, Fault, KIND, RANGE, SYNTAX};
use super::scanner::{Scanner, ends_token};

/// `f32` elements.
pub(super) struct F32Reader;

impl ElementReader for F32Reader {
    type Item = f32;
    #[inline]
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<f32, Fault> {
        if let Some((value, length)) = read_plain(scanner.rest())
            && !is_middle_of_f32(value)
            && ends_token(scanner.peek_at(scanner.pos() + length))
        {
            scanner.set_pos(scanner.pos() + length);
            return Ok(value as f32);
        }
        match read_decimal::<f32>(scanner, ElementType::F32)? {
            Some(value) if value.is_finite() => Ok(value),
            Some(_) => Err(overflow(scanner, ElementType::F32)),
            None => read_word(scanner, ElementType::F32).map(|bits| f32::from_bits(bits as u32)),
        }
    }
}

/// `f64` elements.
pub(super) struct F64Reader;

impl ElementReader for F64Reader {
    type Item = f64;
    #[inline]
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<f64, Fault> {
        if let Some((value, length)) = read_plain(scanner.rest())
            && ends_token(scanner.peek_at(scanner.pos() + length))
        {
            scanner.set_pos(scanner.pos() + length);
            return Ok(value);
        }
        match read_decimal::<f64>(scanner, ElementType::F64)? {
            Some(value) if value.is_finite() => Ok(value),
            Some(_) => Err(overflow(scanner, ElementType::F64)),
            None => read_word(scanner, ElementType::F64).map(f64::from_bits),
        }
    }
}

/// Whether `value`, not tiny, may lie halfway between two `f32`; rounding it again is right if not.
fn is_middle_of_f32(value: f64) -> bool {
    const LOST_BITS: u64 = (1 << 29) - 1;
    value.to_bits() & LOST_BITS == 1 << 28
}

/// Floats of at most 16 bits.
pub(super) struct NarrowReader<T> {
    pub(super) element_type: ElementType,
    pub(super) format: FloatFormat,
    /// Makes an element of a bit pattern.
    pub(super) from_bits: fn(u64) -> T,
}

impl<T> ElementReader for NarrowReader<T> {
    type Item = T;
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<T, Fault> {
        let start = scanner.pos();
        let value = match read_plain(scanner.rest()) {
            Some((value, length)) if ends_token(scanner.peek_at(start + length)) => {
                scanner.set_pos(start + length);
                Some(value)
            }
            Some(_) | None => read_decimal::<f64>(scanner, self.element_type)?,
        };
        let Some(value) = value else {
            return read_word(scanner, self.element_type).map(self.from_bits);
        };
        let text = scanner.slice(start, scanner.pos());
        match encode(&self.format, value, text) {
            Some(bits) => Ok((self.from_bits)(bits)),
            None => {
                scanner.set_pos(start);
                Err(overflow(scanner, self.element_type))
            }
        }
    }
}

/// `(re, im)`.
pub(super) struct ComplexReader<R>(pub(super) ElementType, pub(super) R);

impl<R: ElementReader> ElementReader for ComplexReader<R> {
    type Item = Complex<R::Item>;
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<Self::Item, Fault> {
        if scanner.peek() != Some(b'(') {
            return Err(fault::bad_value(scanner, scanner.pos(), self.0));
        }
        scanner.advance();
        scanner.skip_noise()?;
        let re = self.1.read(scanner)?;
        scanner.skip_noise()?;
        let im = self.1.read(scanner)?;
        scanner.skip_noise()?;
        if scanner.peek() != Some(b')') {
            return Err(fault::expected(scanner, "`)` behind the imaginary part"));
        }
        scanner.advance();
        Ok(Complex { re, im })
    }
}

/// Reads a decimal number, infinite if it is too large, or `None` if a word stands here.
///
/// Leaves the cursor behind the number, but before one that is too large.
#[inline]
fn read_decimal<F: FastFloat + Into<f64> + Copy>(
    scanner: &mut Scanner<'_>,
    element_type: ElementType,
) -> Result<Option<F>, Fault> {
    let bytes = scanner.rest();
    let negative = bytes.first() == Some(&b'-');
    let starts_number = match bytes.get(usize::from(negative)) {
        Some(b'0'..=b'9') => true,
        // XLA's lexer takes `-.5` but not `.5`.
        Some(b'.') => negative,
        Some(_) | None => return Ok(None),
    };
    let (start, parsed) = (scanner.pos(), fast_float2::parse_partial::<F, _>(bytes));
    match parsed {
        Ok((value, length)) if starts_number && ends_token(bytes.get(length).copied()) => {
            if value.into().is_finite() {
                scanner.set_pos(start + length);
            }
            Ok(Some(value))
        }
        Ok(_) | Err(_) => Err(fault::bad_value(scanner, start, element_type)),
    }
}

/// The bits of the element nearest to the decimal `text`, of which `value` is the nearest `f64`.
///
/// `None` if the element type has nothing near: beyond its largest value, or not above 0 where there
/// is no 0.
fn encode(format: &FloatFormat, value: f64, text: &str) -> Option<u64> {
    let bits = format.encode(value);
    if !is_halfway(format, value, bits) {
        return in_range(format, value, bits);
    }
    // `next_up` and `next_down` go toward +inf and -inf; what is wanted is away from and toward 0.
    let (larger, smaller) = if value < 0.0 {
        (value.next_down(), value.next_up())
    } else {
        (value.next_up(), value.next_down())
    };
    let value = match compare_magnitudes(text, value) {
        Ordering::Less => smaller,
        Ordering::Equal => value,
        Ordering::Greater => larger,
    };
    in_range(format, value, format.encode(value))
}

/// The bits of `value` unless it lies beyond the elements there are.
fn in_range(format: &FloatFormat, value: f64, bits: u64) -> Option<u64> {
    let inside = format.has_zero() && value.abs() <= format.max_finite;
    let holds = inside || (format.decode(bits).is_finite() && !saturates(format, value));
    holds.then_some(bits)
}

/// Whether the two neighbors of `value` round to different elements, so that its own error decides.
/// `bits` are those of the element nearest to `value`.
fn is_halfway(format: &FloatFormat, value: f64, bits: u64) -> bool {
    // The middle between two elements has one bit more than an element.
    const LOW_BITS: u64 = (1 << 40) - 1;
    value.to_bits() & LOW_BITS == 0
        && value != 0.0
        && value.is_finite()
        && format.decode(bits) != value
        && (format.encode(value.next_up()) != format.encode(value.next_down())
            || saturates(format, value))
}

/// Whether `value` would round beyond the largest element of a type without infinity and NaN.
fn saturates(format: &FloatFormat, value: f64) -> bool {
    if !matches!(format.nan, NanKind::None) {
        return false;
    }
    // The largest mantissa is all ones, hence odd: the tie goes up, out of range.
    let half_step = 2f64.powi(format.max_finite.log2().floor() as i32)
        / 2f64.powi(format.mantissa_bits as i32 + 1);
    value.abs() >= format.max_finite + half_step
}

/// Reads `inf`, `nan` or `nan(0xP)`, perhaps negative, and gives the bits of the element.
#[cold]
fn read_word(scanner: &mut Scanner<'_>, element_type: ElementType) -> Result<u64, Fault> {
    let start = scanner.pos();
    let negative = scanner.peek() == Some(b'-');
    let word_start = start + usize::from(negative);
    let mut end = scanner.token_end(start);
    let word = scanner.slice(word_start, end);
    let Some(format) = float_format(element_type) else {
        return Err(fault::bad_value(scanner, start, element_type));
    };
    let bits = match word {
        "inf" => infinity(&format, negative),
        "nan" => {
            let payload = payload_text(scanner, end);
            end += payload.map_or(0, |text| text.len() + 2);
            nan(scanner, start, end, element_type, payload)?.map(|bits| {
                let sign = u64::from(negative && format.has_sign);
                bits | sign << (format.bits() - 1)
            })
        }
        _ => return Err(fault::bad_value(scanner, start, element_type)),
    };
    if !ends_token(scanner.peek_at(end)) {
        return Err(fault::bad_value(scanner, start, element_type));
    }
    match bits {
        Some(bits) => {
            scanner.set_pos(end);
            Ok(bits)
        }
        None => {
            let found = fault::quoted(scanner.slice(start, end));
            let message = format!("{found} is no value of {element_type}: it has no `{word}`");
            Err(scanner.fault(RANGE, start, end, message))
        }
    }
}

fn infinity(format: &FloatFormat, negative: bool) -> Option<u64> {
    let value = if negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    format.has_infinity.then(|| format.encode(value))
}

/// What stands between the parentheses at `pos`, if parentheses with `0x` stand there.
fn payload_text<'t>(scanner: &Scanner<'t>, pos: usize) -> Option<&'t str> {
    let rest = &scanner.rest()[pos - scanner.pos()..];
    if !rest.starts_with(b"(0x") {
        return None;
    }
    let length = rest.iter().position(|byte| *byte == b')')?;
    Some(scanner.slice(pos + 1, pos + length))
}

/// The bits of a positive NaN; `None` if the type has none.
fn nan(
    scanner: &Scanner<'_>,
    start: usize,
    end: usize,
    element_type: ElementType,
    payload: Option<&str>,
) -> Result<Option<u64>, Fault> {
    let Some(format) = float_format(element_type).filter(FloatFormat::has_nan) else {
        return Ok(None);
    };
    let fault = |code, message: String| Err(scanner.fault(code, start, end, message));
    let quiet = 1u64 << (format.mantissa_bits.max(1) - 1);
    let Some(text) = payload else {
        let bits = match format.max_nan_payload() {
            Some(_) => format.encode(f64::INFINITY) | quiet,
            None => format.encode(f64::NAN),
        };
        return Ok(Some(bits));
    };
    let Some(largest) = format.max_nan_payload() else {
        return fault(
            KIND,
            format!("NaN of {element_type} has no payload: write `nan`"),
        );
    };
    let digits = text.trim_start_matches("0x");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let found = fault::quoted(text);
        return fault(
            SYNTAX,
            format!("NaN payload {found} is no hexadecimal number"),
        );
    }
    match u64::from_str_radix(digits, 16) {
        Ok(payload) if (1..=largest).contains(&payload) => {
            Ok(Some(format.encode(f64::INFINITY) | payload))
        }
        Ok(_) | Err(_) => fault(
            RANGE,
            format!("NaN payload `{text}` is out of range: {element_type} has 0x1 to {largest:#x}"),
        ),
    }
}

/// The error for the number here, which the element type cannot hold.
#[cold]
fn overflow(scanner: &Scanner<'_>, element_type: ElementType) -> Fault {
    let found = {
        let start = scanner.pos();
        fault::quoted(scanner.slice(start, scanner.token_end(start)))
    };
    let Some(format) = float_format(element_type) else {
        return scanner.fault_here(RANGE, format!("{found} is no value of {element_type}"));
    };
    let largest = format.max_finite;
    if !format.has_zero() {
        let smallest = format.min_positive();
        return scanner.fault_here(
            RANGE,
            format!(
                "{found} is out of range: {element_type} holds the powers of two from {smallest:e} to {largest:e}"
            ),
        );
    }
    scanner.fault_here(
        RANGE,
        format!(
            "{found} is out of range: the largest value of {element_type} is {}",
            readable(largest)
        ),
    )
}

/// Exponents for large numbers only.
fn readable(value: f64) -> String {
    if value < 1e6 {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

//! Decimal numbers: the usual ones read fast, and exact comparison with a binary float.

use std::cmp::Ordering;

/// Powers of ten that are exact in `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// So many digits never overflow a `u64`.
const SAFE_DIGITS: usize = 19;

/// Reads a number like `-12.345`, which most are, and gives its value and its length in bytes.
///
/// The value is the nearest `f64`: digits and power of ten are both exact, so their quotient is rounded
/// once. `None` for numbers with an exponent or too many digits.
#[inline]
pub(super) fn read_plain(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut digits, whole_end) = read_digits(bytes, start, 0);
    let mut end = whole_end;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        (digits, end) = read_digits(bytes, whole_end + 1, digits);
        fraction = end - whole_end - 1;
    }
    let exact = end - start <= SAFE_DIGITS && digits < 1 << 53;
    let has_exponent = matches!(bytes.get(end), Some(b'e' | b'E'));
    if whole_end == start || !exact || has_exponent {
        return None;
    }
    let magnitude = digits as f64 / POWERS.get(fraction)?;
    Some((if negative { -magnitude } else { magnitude }, end))
}

/// Appends the digits from `pos` on to `digits`; wraps if there are too many.
#[inline]
fn read_digits(bytes: &[u8], mut pos: usize, mut digits: u64) -> (u64, usize) {
    while let Some(digit) = bytes.get(pos).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit));
        pos += 1;
    }
    (digits, pos)
}

/// Enough digits for every float whose exponent is at least −140 and whose significand has at most 13 bits.
const EXACT_DIGITS: usize = 160;

/// Compares the magnitude of the decimal number `text` with the magnitude of `value`.
///
/// `value` has few significant bits and is neither tiny nor huge (it lies halfway between two floats of
/// at most 16 bits), so that 160 digits show it exactly. `0.1` and 0.125 give `Less`.
pub(super) fn compare_magnitudes(text: &str, value: f64) -> Ordering {
    let exact = format!("{:.EXACT_DIGITS$e}", value.abs());
    let (left, right) = (Decimal::of(text), Decimal::of(&exact));
    left.exponent
        .cmp(&right.exponent)
        .then_with(|| left.digits.cmp(&right.digits))
}

/// `0.d₁d₂d₃… · 10^exponent` without zeros at either end; digits compare as strings do.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Decimal {
        let unsigned = text.trim_start_matches('-');
        let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        let zeros = all().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = all().skip(zeros).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        // A power beyond i64 belongs to zero or infinity, neither of which is compared.
        let power: i64 = power.parse().unwrap_or(0);
        let exponent = power
            .saturating_add(whole.len() as i64)
            .saturating_sub(zeros as i64);
        Decimal { digits, exponent }
    }
}

//! Exact comparison of a decimal text with a binary float.

use std::cmp::Ordering;

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

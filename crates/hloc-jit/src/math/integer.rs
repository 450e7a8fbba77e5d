//! Powers of integers.

/// `base` to the power of `exponent`, wrapping. A negative exponent gives 0 but for bases 1 and -1.
///
/// `pow_signed(-1, -3)` gives -1, `pow_signed(2, -1)` gives 0, `pow_signed(0, 0)` gives 1.
pub(crate) fn pow_signed(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (_, 0..) => pow_unsigned(base, exponent),
        (1, _) => 1,
        (-1, _) if exponent & 1 == 0 => 1,
        (-1, _) => -1,
        (_, _) => 0,
    }
}

/// `base` to the power of `exponent` taken as unsigned, wrapping.
///
/// `pow_unsigned(3, 4)` gives 81.
pub(crate) fn pow_unsigned(base: i64, exponent: i64) -> i64 {
    let (mut result, mut square, mut rest) = (1i64, base, exponent.cast_unsigned());
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{pow_signed, pow_unsigned};

    #[test]
    fn negative_exponents_give_zero_but_for_units() {
        let results = [(1, -5), (-1, -5), (-1, -4), (2, -1), (0, -1), (0, 0)];
        let results = results.map(|(base, exponent)| pow_signed(base, exponent));
        assert_eq!(results, [1, -1, 1, 0, 0, 1]);
        assert_eq!(pow_unsigned(3, 41), 3i64.wrapping_pow(41));
    }
}

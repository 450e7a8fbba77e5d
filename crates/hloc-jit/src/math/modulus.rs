//! The modulus of complex numbers.

use super::Machine;
use super::steps::magnitude;

/// The bits of an infinity.
const INFINITY: u32 = 0x7f80_0000;
/// `2^b` as bits.
const fn power(exponent: i32) -> u32 {
    ((exponent + 127) as u32) << 23
}

/// `sqrt(x^2 + y^2)`, of 3 and 4 is it 5; an infinite part makes it infinite even beside NaN.
///
/// The error is below one unit in the last place: the square of the greater part is not rounded, that of the other
/// one, the sum and the root are. Where squares would overflow or lose bits, the parts are scaled by a power of 2,
/// which is exact: what does not change bits elsewhere, so that there is no need to tell.
pub(crate) fn modulus<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let (x, y) = (magnitude(m, x), magnitude(m, y));
    let (x, y) = (m.to_bits(x), m.to_bits(y));
    let is_less = m.ilt(x, y);
    let large = m.select_bits(is_less, y, x);
    let small = m.select_bits(is_less, x, y);
    let scale = scale(m, large);
    let twice_bias = m.bits(2 * power(0));
    let inverse = m.isub(twice_bias, scale);
    let (scale, inverse) = (m.float_of_bits(scale), m.float_of_bits(inverse));
    let (a, b) = (m.float_of_bits(large), m.float_of_bits(small));
    let (a, b) = (m.mul(a, scale), m.mul(b, scale));
    let square = m.mul(b, b);
    let sum = m.fma(a, a, square);
    let root = m.sqrt(sum);
    let result = m.mul(root, inverse);
    let infinity = m.bits(INFINITY);
    let is_infinite = m.ieq(small, infinity);
    let infinity = m.float_of_bits(infinity);
    m.select(is_infinite, infinity, result)
}

/// What makes the square of a magnitude harmless, as bits.
fn scale<M: Machine>(m: &mut M, large: M::Bits) -> M::Bits {
    let (low, high) = (m.bits(power(-50)), m.bits(power(60)));
    let (up, one, down) = (m.bits(power(100)), m.bits(power(0)), m.bits(power(-80)));
    let is_low = m.ilt(large, low);
    let is_high = m.ilt(high, large);
    let scale = m.select_bits(is_low, up, one);
    m.select_bits(is_high, down, scale)
}

#[cfg(test)]
mod tests {
    use super::modulus;
    use crate::math::plain::Plain;

    /// The error in units in the last place of the right value.
    fn error(x: f32, y: f32) -> f64 {
        let exact = f64::from(x).hypot(f64::from(y));
        let nearest = exact as f32;
        let unit = f64::from(nearest.next_up()) - f64::from(nearest);
        (f64::from(modulus(&mut Plain, x, y)) - exact).abs() / unit
    }

    #[test]
    fn errors_are_below_one_unit() {
        let mut bits = 0x1234_5678u32;
        let mut worst = 0.0f64;
        for _ in 0..300_000 {
            let mut next = || {
                bits ^= bits << 13;
                bits ^= bits >> 17;
                bits ^= bits << 5;
                bits
            };
            // Any two magnitudes, and two that are near each other.
            let (x, y) = (next() % 0x7f00_0000, next() % 0x7f00_0000);
            let near = x ^ (y & 0x01ff_ffff);
            for y in [y, near % 0x7f00_0000] {
                worst = worst.max(error(f32::from_bits(x), f32::from_bits(y)));
            }
        }
        assert!(worst < 1.0, "{worst} units");
        assert!(worst > 0.5, "the measure is wrong: {worst} units");
    }

    #[test]
    fn special_values() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let of = |x, y| modulus(&mut Plain, x, y);
        assert_eq!(of(3.0, -4.0), 5.0);
        assert_eq!(of(-0.0, 0.0).to_bits(), 0);
        assert_eq!(of(nan, -infinity), infinity);
        assert_eq!(of(infinity, nan), infinity);
        assert_eq!(of(infinity, 1.0), infinity);
        assert!(of(nan, 1.0).is_nan() && of(0.0, nan).is_nan());
        assert_eq!(of(f32::MAX, f32::MAX), infinity);
        assert_eq!(of(0.0, 1e-45), 1e-45);
        assert_eq!(of(3e-40, 4e-40), 5e-40);
        assert_eq!(of(3e37, 4e37), 5e37);
    }
}

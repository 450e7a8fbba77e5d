//! Sine and cosine of `f32` as arithmetic on lanes.

use super::Machine;
use super::exponential::nearest;
use super::steps::{magnitude, polynomial};

/// `pi/2` as an `f32`, and twice what is missing.
const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_9e-15];

/// `sin x` for magnitudes below 10^5.
pub(super) fn sin<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let result = sine(m, x, 0);
    // Near 0 the sine is its argument, of which -0 would get lost.
    let size = magnitude(m, x);
    let limit = m.float(1e-4);
    let is_small = m.lt(size, limit);
    m.select(is_small, x, result)
}

/// `cos x` for magnitudes below 10^5.
pub(super) fn cos<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    sine(m, x, 1)
}

/// The sine of `x + quarter pi/2`.
fn sine<M: Machine>(m: &mut M, x: M::Float, quarter: u32) -> M::Float {
    let (n, r, low) = reduced(m, x);
    let square = m.mul(r, r);
    let sine = near_sine(m, r, square, low);
    let cosine = near_cosine(m, r, square, low);
    let quarter = m.bits(quarter);
    let n = m.iadd(n, quarter);
    let one = m.bits(1);
    let odd = m.and(n, one);
    let swapped = m.ieq(odd, one);
    let value = m.select(swapped, cosine, sine);
    let sign = m.shr(n, 1);
    let sign = m.shl(sign, 31);
    let bits = m.to_bits(value);
    let bits = m.xor(bits, sign);
    m.float_of_bits(bits)
}

/// `x = n pi/2 + r + low`, `low` being small beside `r`.
fn reduced<M: Machine>(m: &mut M, x: M::Float) -> (M::Bits, M::Float, M::Float) {
    let (n, bits) = nearest(m, x, std::f32::consts::FRAC_2_PI, 0.0);
    let [high, middle, low] = HALF_PI.map(|part| m.float(part));
    // Exact: both are multiples of 2^-23 or of the last bit of x, and the difference is below 1.
    let first = m.fnma(n, high, x);
    // So `first` is a multiple of the last bit of `second`, and the difference and its error are exact.
    let second = m.mul(n, middle);
    let r = m.sub(first, second);
    let back = m.sub(first, r);
    let lost = m.sub(back, second);
    let rounded = m.fnma(n, middle, second);
    let rest = m.fnma(n, low, rounded);
    (bits, r, m.add(lost, rest))
}

fn near_sine<M: Machine>(m: &mut M, r: M::Float, square: M::Float, low: M::Float) -> M::Float {
    let fourth = m.mul(square, square);
    let series = polynomial(
        m,
        square,
        fourth,
        &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1],
    );
    let half = m.float(0.5);
    let half_square = m.mul(square, half);
    let bent = m.fnma(low, half_square, low);
    let cube = m.mul(square, r);
    let tail = m.fma(series, cube, bent);
    m.add(r, tail)
}

fn near_cosine<M: Machine>(m: &mut M, r: M::Float, square: M::Float, low: M::Float) -> M::Float {
    let fourth = m.mul(square, square);
    let series = polynomial(
        m,
        square,
        fourth,
        &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2],
    );
    let (half, one) = (m.float(0.5), m.float(1.0));
    let half_square = m.mul(square, half);
    let head = m.sub(one, half_square);
    let back = m.sub(one, head);
    let lost = m.sub(back, half_square);
    let bent = m.fnma(r, low, lost);
    let tail = m.fma(series, fourth, bent);
    m.add(head, tail)
}

//! Steps that several functions take.

use super::Machine;

/// The sign bit of a lane.
pub(super) const SIGN: u32 = 1 << 31;
/// `c[0] x^(n-1) + ... + c[n-1]`, in pairs of coefficients: half as many steps one after the other.
pub(super) fn polynomial<M: Machine>(
    m: &mut M,
    x: M::Float,
    square: M::Float,
    coefficients: &[f32],
) -> M::Float {
    let (first, pairs) = coefficients.split_at(2 - coefficients.len() % 2);
    let mut sum = match first {
        [one] => m.float(*one),
        [high, low, ..] => linear(m, x, *high, *low),
        [] => m.float(0.0),
    };
    for pair in pairs.chunks_exact(2) {
        let low = linear(m, x, pair[0], pair[1]);
        sum = m.fma(sum, square, low);
    }
    sum
}

fn linear<M: Machine>(m: &mut M, x: M::Float, high: f32, low: f32) -> M::Float {
    let (high, low) = (m.float(high), m.float(low));
    m.fma(high, x, low)
}

pub(super) fn magnitude<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let bits = m.to_bits(x);
    let mask = m.bits(!SIGN);
    let bits = m.and(bits, mask);
    m.float_of_bits(bits)
}

/// `y`, which is positive if `x` is, with the sign of `x`: also where `y` came out as +0.
pub(super) fn with_sign_of<M: Machine>(m: &mut M, y: M::Float, x: M::Float) -> M::Float {
    let (y, x) = (m.to_bits(y), m.to_bits(x));
    let sign = m.bits(SIGN);
    let sign = m.and(x, sign);
    let bits = m.or(y, sign);
    m.float_of_bits(bits)
}

/// `x` moved into `low..=high`; NaN stays.
pub(super) fn clamped<M: Machine>(m: &mut M, x: M::Float, low: f32, high: f32) -> M::Float {
    let (low, high) = (m.float(low), m.float(high));
    let too_low = m.lt(x, low);
    let x = m.select(too_low, low, x);
    let too_high = m.lt(high, x);
    m.select(too_high, high, x)
}

//! Complex powers in doubled precision.
//!
//! The logarithm that double precision gives is corrected by one Newton step on `e^-l a = 1`, with the
//! exponential in pairs of doubles; products with the exponent keep both halves.

use super::complex::{C, new};

/// `high + low`.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

/// Real and imaginary part.
type ComplexPair = (Pair, Pair);

const LN_2: Pair = Pair(std::f64::consts::LN_2, 2.3190468138462996e-17);
const HALF_PI: Pair = Pair(std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
/// What is left of pi/2 below both halves.
const HALF_PI_REST: f64 = -1.4973849048591698e-33;

/// Terms of the power series of the exponential that count up to |z| = 1.
const TERMS: i32 = 28;

impl Pair {
    fn of_sum(a: f64, b: f64) -> Pair {
        let sum = a + b;
        let part = sum - a;
        Pair(sum, (a - (sum - part)) + (b - part))
    }

    fn add(self, other: Pair) -> Pair {
        let sum = Pair::of_sum(self.0, other.0);
        let rest = Pair::of_sum(self.1, other.1);
        let sum = Pair::of_sum(sum.0, sum.1 + rest.0);
        Pair::of_sum(sum.0, sum.1 + rest.1)
    }

    fn negated(self) -> Pair {
        Pair(-self.0, -self.1)
    }

    fn times(self, other: Pair) -> Pair {
        let product = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -product);
        Pair::of_sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }

    fn scaled(self, factor: f64) -> Pair {
        self.times(Pair(factor, 0.0))
    }

    fn divided(self, divisor: f64) -> Pair {
        let first = self.0 / divisor;
        let rest = (-first).mul_add(divisor, self.0) + self.1;
        Pair::of_sum(first, rest / divisor)
    }
}

fn product((a, b): ComplexPair, (c, d): ComplexPair) -> ComplexPair {
    (
        a.times(c).add(b.times(d).negated()),
        a.times(d).add(b.times(c)),
    )
}

/// `e^(x + i y)` without the power of two, which is the second.
fn exp((x, y): ComplexPair) -> (ComplexPair, f64) {
    let twos = (x.0 / LN_2.0).round();
    let quarters = (y.0 / HALF_PI.0).round();
    let x = x.add(LN_2.scaled(-twos));
    let y = y.add(HALF_PI.scaled(-quarters));
    let y = y.add(Pair(-quarters * HALF_PI_REST, 0.0));
    let one = (Pair(1.0, 0.0), Pair(0.0, 0.0));
    // 1 + z (1 + z/2 (1 + z/3 (...)))
    let mut sum = one;
    for number in (1..=TERMS).rev() {
        let (re, im) = product(sum, (x, y));
        let divisor = f64::from(number);
        sum = (one.0.add(re.divided(divisor)), im.divided(divisor));
    }
    let (re, im) = sum;
    let turned = match quarters.rem_euclid(4.0) as u8 {
        0 => (re, im),
        1 => (im.negated(), re),
        2 => (re.negated(), im.negated()),
        _ => (im, re.negated()),
    };
    (turned, twos)
}

/// `a^b` for finite numbers other than 0, of which `logarithm` is the logarithm of `a` in double
/// precision and of which the result's exponent is below 1e15.
pub(super) fn pow(a: C, b: C, logarithm: C) -> C {
    let from = |z: C| (Pair(z.re, 0.0), Pair(z.im, 0.0));
    let scale = libm::ilogb(a.re.abs().max(a.im.abs()));
    let unit = new(libm::scalbn(a.re, -scale), libm::scalbn(a.im, -scale));
    // What the logarithm misses: e^-l a - 1, a small number.
    let (inverse, twos) = exp(from(-logarithm));
    let (re, im) = product(inverse, from(unit));
    let size = libm::scalbn(1.0, twos as i32 + scale);
    let (re, im) = (re.scaled(size), im.scaled(size));
    let missing = re.add(Pair(-1.0, 0.0));
    let logarithm = (
        Pair::of_sum(logarithm.re, missing.0),
        Pair::of_sum(logarithm.im, im.0),
    );
    let ((re, im), twos) = exp(product(from(b), logarithm));
    let twos = twos.clamp(-5000.0, 5000.0) as i32;
    new(libm::scalbn(re.0, twos), libm::scalbn(im.0, twos))
}

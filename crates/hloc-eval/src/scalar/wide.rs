//! Numbers of twice the digits of `f64`, for what loses half of them on the way: powers of complex
//! numbers multiply a logarithm and an angle, and their errors with it.
//!
//! Sums and products of pairs as of Dekker and Knuth; functions by their power series.

use std::ops::{Add, Mul, Neg, Sub};

/// The number `high + low`, of which `high` is the nearest `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wide {
    pub(super) high: f64,
    pub(super) low: f64,
}

/// ln 2.
const LN_2: Wide = Wide {
    high: std::f64::consts::LN_2,
    low: 2.3190468138462996e-17,
};

/// π/2 in three parts.
const HALF_PI: [f64; 3] = [
    std::f64::consts::FRAC_PI_2,
    6.123233995736766e-17,
    -1.4973849048591833e-33,
];

impl Wide {
    /// x + y.
    pub(super) fn sum(x: f64, y: f64) -> Wide {
        let high = x + y;
        let part = high - x;
        Wide {
            high,
            low: (x - (high - part)) + (y - part),
        }
    }

    /// x · y.
    pub(super) fn product(x: f64, y: f64) -> Wide {
        let high = x * y;
        Wide {
            high,
            low: libm::fma(x, y, -high),
        }
    }

    fn over(self, divisor: Wide) -> Wide {
        let first = self.high / divisor.high;
        let rest = self - divisor * first.into();
        let second = rest.high / divisor.high;
        let rest = rest - divisor * second.into();
        Wide::sum(first, second) + (rest.high / divisor.high).into()
    }

    /// The natural logarithm of a positive number, with an absolute error far below that of `f64`.
    pub(super) fn ln(self) -> Wide {
        // self = 2^n · s for s near 1; ln s = 2·artanh t for t = (s − 1) / (s + 1), at most 0.18.
        let mut exponent = libm::ilogb(self.high);
        let scaled = |exponent: i32| Wide {
            high: libm::scalbn(self.high, -exponent),
            low: libm::scalbn(self.low, -exponent),
        };
        if scaled(exponent).high > std::f64::consts::SQRT_2 {
            exponent += 1;
        }
        let s = scaled(exponent);
        let one = Wide::from(1.0);
        let t = (s - one).over(s + one);
        let square = t * t;
        let (mut power, mut sum) = (t, t);
        for divisor in (3..50).step_by(2) {
            power = power * square;
            sum = sum + power.over(f64::from(divisor).into());
        }
        sum * 2.0.into() + LN_2 * f64::from(exponent).into()
    }

    /// Sine and cosine.
    pub(super) fn sin_cos(self) -> (Wide, Wide) {
        let quarters = (self.high / HALF_PI[0]).round();
        let turned = HALF_PI.map(|part| Wide::product(quarters, part));
        let rest = self - turned[0] - turned[1] - turned[2];
        // Terms alternate between cosine and sine.
        let (mut sine, mut cosine) = (Wide::from(0.0), Wide::from(1.0));
        let mut power = Wide::from(1.0);
        for number in 1..30 {
            power = (power * rest).over(f64::from(number).into());
            match number % 4 {
                0 => cosine = cosine + power,
                1 => sine = sine + power,
                2 => cosine = cosine - power,
                _ => sine = sine - power,
            }
        }
        match quarters.rem_euclid(4.0) as u8 {
            0 => (sine, cosine),
            1 => (cosine, -sine),
            2 => (-sine, -cosine),
            _ => (-cosine, sine),
        }
    }

    /// The angle of the point (x, y), neither of which is infinite and not both 0.
    pub(super) fn angle(y: f64, x: f64) -> Wide {
        let near = libm::atan2(y, x);
        let (sine, cosine) = Wide::from(near).sin_cos();
        let (x, y) = (Wide::from(x), Wide::from(y));
        // The point turned back by the angle found is beside the axis by what is missing.
        let (across, along) = (y * cosine - x * sine, x * cosine + y * sine);
        Wide::from(near) + (across.high / along.high).into()
    }
}

impl From<f64> for Wide {
    fn from(high: f64) -> Wide {
        Wide { high, low: 0.0 }
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, other: Wide) -> Wide {
        let (high, low) = (
            Wide::sum(self.high, other.high),
            Wide::sum(self.low, other.low),
        );
        let first = Wide::sum(high.high, high.low + low.high);
        Wide::sum(first.high, first.low + low.low)
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, other: Wide) -> Wide {
        let product = Wide::product(self.high, other.high);
        let rest = product.low + (self.high * other.low + self.low * other.high);
        Wide::sum(product.high, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::Wide;

    #[test]
    fn twice_the_digits() {
        // Digits from mpmath.
        let three = Wide::from(3.0);
        let near = |got: Wide, high: f64, low: f64| {
            assert_eq!(got.high, high);
            assert!((got.low - low).abs() < 1e-30, "{got:?}");
        };
        near(three.ln(), LN_3[0], LN_3[1]);
        near(Wide::angle(1.0, 3.0), ANGLE[0], ANGLE[1]);
        near(three.sin_cos().0, SIN_3[0], SIN_3[1]);
    }

    const LN_3: [f64; 2] = [1.0986122886681098, -9.07129723500153e-17];
    const ANGLE: [f64; 2] = [0.3217505543966422, 7.917392525722143e-18];
    const SIN_3: [f64; 2] = [0.1411200080598672, 8.577269787017502e-18];
}

//! Functions of complex numbers in double precision, with principal branches: cuts as in C99 annex G.
//!
//! `c64` values go through these too and are rounded once at the end.

use hloc_tensor::Complex;

use crate::math::{double, real};

/// A complex number in double precision.
pub(crate) type C = Complex<f64>;

const ONE: C = C { re: 1.0, im: 0.0 };

/// The number with these parts.
pub(crate) fn new(re: f64, im: f64) -> C {
    C { re, im }
}

/// `i z`, exact.
fn times_i(z: C) -> C {
    new(-z.im, z.re)
}

/// `-i z`, exact.
fn times_minus_i(z: C) -> C {
    new(z.im, -z.re)
}

/// Product with the factor left out where it is zero, so that 0 times infinity stays 0.
fn scaled(magnitude: f64, factor: f64) -> f64 {
    if factor == 0.0 {
        factor
    } else {
        magnitude * factor
    }
}

/// `e^z`.
pub(crate) fn exp(z: C) -> C {
    let (sin, cos) = libm::sincos(z.im);
    if z.re.is_infinite() && !z.im.is_finite() {
        return if z.re < 0.0 {
            new(0.0, 0.0)
        } else {
            new(f64::INFINITY, f64::NAN)
        };
    }
    if z.re > 709.0 && z.re < 1500.0 {
        // The magnitude overflows before the parts do.
        let half = libm::exp(z.re / 2.0);
        return new(half * cos * half, scaled(half * scaled(half, sin), 1.0));
    }
    let magnitude = libm::exp(z.re);
    new(magnitude * cos, scaled(magnitude, sin))
}

/// `e^z - 1`, accurate near 0: `e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2)`.
pub(crate) fn expm1(z: C) -> C {
    if !(z.re.is_finite() && z.im.is_finite()) || z.re > 700.0 {
        let power = exp(z);
        return new(power.re - 1.0, power.im);
    }
    let half = libm::sin(z.im / 2.0);
    let re = libm::expm1(z.re) * libm::cos(z.im) - 2.0 * half * half;
    new(re, scaled(libm::exp(z.re), libm::sin(z.im)))
}

/// Principal natural logarithm; the cut is the negative real axis.
pub(crate) fn log(z: C) -> C {
    new(log_magnitude(z), libm::atan2(z.im, z.re))
}

/// `ln |z|`, accurate also where the modulus is near 1.
fn log_magnitude(z: C) -> f64 {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if (0.5..=2.0).contains(&large) && small <= 2.0 {
        // |z|^2 - 1 with the rounding errors of both squares.
        let (square, rest) = two_square(large);
        let (other, other_rest) = two_square(small);
        let above = ((square - 1.0) + other) + (rest + other_rest);
        return 0.5 * libm::log1p(above);
    }
    let modulus = libm::hypot(x, y);
    if modulus.is_infinite() && large.is_finite() {
        return libm::log(libm::hypot(x / 2.0, y / 2.0)) + std::f64::consts::LN_2;
    }
    if modulus > 0.0 && modulus < f64::MIN_POSITIVE {
        // Scaled by 2^60 so that the modulus keeps its bits.
        const SCALE: f64 = (1u64 << 60) as f64;
        return libm::log(libm::hypot(x * SCALE, y * SCALE)) - 60.0 * std::f64::consts::LN_2;
    }
    libm::log(modulus)
}

/// `x * x` as a rounded product and its error.
fn two_square(x: f64) -> (f64, f64) {
    let square = x * x;
    (square, x.mul_add(x, -square))
}

/// `ln(1 + z)`, accurate near 0.
pub(crate) fn log1p(z: C) -> C {
    let angle = libm::atan2(z.im, 1.0 + z.re);
    let (x, y) = (z.re, z.im);
    if x.abs() < 0.5 && y.abs() < 0.5 {
        // |1 + z|^2 - 1 = x (2 + x) + y^2; the products are split so that cancellation does no harm.
        let (x_square, x_rest) = two_square(x);
        let (y_square, y_rest) = two_square(y);
        let (sum, sum_rest) = two_sum(2.0 * x, x_square);
        let (total, total_rest) = two_sum(sum, y_square);
        let above = total + (total_rest + sum_rest + x_rest + y_rest);
        return new(0.5 * libm::log1p(above), angle);
    }
    new(log_magnitude(new(1.0 + x, y)), angle)
}

/// `a + b` as a rounded sum and its error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Square root in the right half plane.
pub(crate) fn sqrt(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return new(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() {
        let rest = if z.im.is_nan() { f64::NAN } else { 0.0 };
        return if z.re > 0.0 {
            new(
                z.re,
                if rest.is_nan() {
                    rest
                } else {
                    0.0f64.copysign(z.im)
                },
            )
        } else {
            new(rest, f64::INFINITY.copysign(z.im))
        };
    }
    // Scaling by an even power of 2 keeps the modulus in range.
    let large = z.re.abs().max(z.im.abs());
    let (scale, unscale) = if large > 1e300 {
        (0.0625, 4.0)
    } else if large < 1e-290 {
        (
            f64::from_bits((1023 + 108) << 52),
            f64::from_bits((1023 - 54) << 52),
        )
    } else {
        (1.0, 1.0)
    };
    let (x, y) = (z.re * scale, z.im * scale);
    let root = (0.5 * (libm::hypot(x, y) + x.abs())).sqrt();
    let (re, im) = if x >= 0.0 {
        (root, y / (2.0 * root))
    } else {
        (y.abs() / (2.0 * root), root.copysign(y))
    };
    new(re * unscale, im * unscale)
}

/// `1 / sqrt(z)`.
pub(crate) fn rsqrt(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return new(f64::INFINITY, f64::NAN);
    }
    if z.re.is_infinite() || z.im.is_infinite() {
        return new(0.0, 0.0);
    }
    div(ONE, sqrt(z))
}

/// Quotient without needless overflow (Smith's method); division by 0 gives infinite or NaN parts.
pub(crate) fn div(a: C, b: C) -> C {
    if b.re == 0.0 && b.im == 0.0 {
        let infinity = f64::INFINITY.copysign(b.re);
        return new(infinity * a.re, infinity * a.im);
    }
    if (b.re.is_infinite() || b.im.is_infinite()) && a.re.is_finite() && a.im.is_finite() {
        let (c, d) = (unit_if_infinite(b.re), unit_if_infinite(b.im));
        return new(0.0 * (a.re * c + a.im * d), 0.0 * (a.im * c - a.re * d));
    }
    if (a.re.is_infinite() || a.im.is_infinite()) && b.re.is_finite() && b.im.is_finite() {
        let (x, y) = (unit_if_infinite(a.re), unit_if_infinite(a.im));
        let infinity = f64::INFINITY;
        return new(
            infinity * (x * b.re + y * b.im),
            infinity * (y * b.re - x * b.im),
        );
    }
    if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let denominator = b.re + b.im * ratio;
        new(
            (a.re + a.im * ratio) / denominator,
            (a.im - a.re * ratio) / denominator,
        )
    } else {
        let ratio = b.re / b.im;
        let denominator = b.re * ratio + b.im;
        new(
            (a.re * ratio + a.im) / denominator,
            (a.im * ratio - a.re) / denominator,
        )
    }
}

fn unit_if_infinite(part: f64) -> f64 {
    let unit: f64 = if part.is_infinite() { 1.0 } else { 0.0 };
    unit.copysign(part)
}

/// `z / |z|`; zero stays zero.
pub(crate) fn sign(z: C) -> C {
    let modulus = libm::hypot(z.re, z.im);
    if modulus == 0.0 {
        z
    } else {
        new(z.re / modulus, z.im / modulus)
    }
}

/// `a^b = e^(b ln a)`; anything to the power of 0 is 1, and 0 to a power with positive real part is 0.
pub(crate) fn pow(a: C, b: C) -> C {
    if b.re == 0.0 && b.im == 0.0 {
        return ONE;
    }
    if a.re == 0.0 && a.im == 0.0 {
        return if b.re > 0.0 {
            new(0.0, 0.0)
        } else if b.im == 0.0 {
            new(f64::INFINITY, f64::NAN)
        } else {
            new(f64::NAN, f64::NAN)
        };
    }
    if b.im == 0.0 && a.im == 0.0 && a.re > 0.0 {
        return new(real::pow(a.re, b.re), 0.0);
    }
    if b.im == 0.0 && b.re == b.re.trunc() && b.re.abs() <= 64.0 {
        return integer_power(a, b.re as i32);
    }
    let logarithm = log(a);
    let exponent = new(
        b.re * logarithm.re - b.im * logarithm.im,
        b.re * logarithm.im + b.im * logarithm.re,
    );
    // The error of the logarithm grows with the exponent.
    let size = exponent.re.abs().max(exponent.im.abs());
    if (0.5..1e15).contains(&size) && a.re.is_finite() && a.im.is_finite() {
        double::pow(a, b, logarithm)
    } else {
        exp(exponent)
    }
}

fn integer_power(base: C, exponent: i32) -> C {
    let (mut result, mut square, mut rest) = (ONE, base, exponent.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if exponent < 0 {
        div(ONE, result)
    } else {
        result
    }
}

/// `1 / (1 + e^-z)`, which near its poles on the imaginary axis is better had from the hyperbolic tangent.
pub(crate) fn logistic(z: C) -> C {
    if z.re.abs() < 1.0 {
        return (tanh(z / 2.0) + 1.0) / 2.0;
    }
    if z.re >= 0.0 {
        let power = exp(new(-z.re, -z.im));
        div(ONE, new(1.0 + power.re, power.im))
    } else {
        let power = exp(z);
        div(power, new(1.0 + power.re, power.im))
    }
}

/// Hyperbolic sine: `sinh x cos y + i cosh x sin y`.
pub(crate) fn sinh(z: C) -> C {
    let (sin, cos) = libm::sincos(z.im);
    if z.re.abs() > 700.0 && z.re.is_finite() {
        let half = libm::exp(z.re.abs() / 2.0) / 2.0;
        let doubled = libm::exp(z.re.abs() / 2.0);
        return new(
            (half * cos * doubled).copysign(cos * z.re),
            scaled(doubled, scaled(half, sin)),
        );
    }
    new(scaled(cos, libm::sinh(z.re)), scaled(libm::cosh(z.re), sin))
}

/// Hyperbolic cosine: `cosh x cos y + i sinh x sin y`.
pub(crate) fn cosh(z: C) -> C {
    let (sin, cos) = libm::sincos(z.im);
    if z.re.abs() > 700.0 && z.re.is_finite() {
        let half = libm::exp(z.re.abs() / 2.0) / 2.0;
        let doubled = libm::exp(z.re.abs() / 2.0);
        return new(
            half * cos * doubled,
            scaled(doubled, scaled(half, sin) * 1.0f64.copysign(z.re)),
        );
    }
    new(libm::cosh(z.re) * cos, scaled(libm::sinh(z.re), sin))
}

/// Hyperbolic tangent by Kahan's formula, free of overflow and of cancellation near poles.
pub(crate) fn tanh(z: C) -> C {
    if z.re.abs() > 22.0 {
        let re = 1.0f64.copysign(z.re);
        let (sin, cos) = libm::sincos(z.im);
        let im = if z.im.is_finite() {
            scaled(4.0 * libm::exp(-2.0 * z.re.abs()) * cos, sin)
        } else {
            0.0
        };
        return new(re, im);
    }
    let tangent = libm::tan(z.im);
    let beta = 1.0 + tangent * tangent;
    let sine = libm::sinh(z.re);
    let rho = (1.0 + sine * sine).sqrt();
    if tangent.is_infinite() {
        return new(rho / sine, 1.0 / tangent);
    }
    let denominator = 1.0 + beta * sine * sine;
    new(beta * rho * sine / denominator, tangent / denominator)
}

/// Sine, by `sin z = -i sinh(i z)`.
pub(crate) fn sin(z: C) -> C {
    times_minus_i(sinh(times_i(z)))
}

/// Cosine, by `cos z = cosh(i z)`.
pub(crate) fn cos(z: C) -> C {
    cosh(times_i(z))
}

/// Tangent, by `tan z = -i tanh(i z)`.
pub(crate) fn tan(z: C) -> C {
    times_minus_i(tanh(times_i(z)))
}

/// Inverse hyperbolic sine, by `asinh z = i asin(-i z)`.
pub(crate) fn asinh(z: C) -> C {
    times_i(asin(times_minus_i(z)))
}

/// Inverse sine; cuts on the real axis outside -1 to 1.
pub(crate) fn asin(z: C) -> C {
    let parts = inverse_parts(z);
    let re = parts.asin_re();
    new(re.copysign(z.re), parts.imaginary().copysign(z.im))
}

/// Inverse cosine; cuts on the real axis outside -1 to 1.
pub(crate) fn acos(z: C) -> C {
    let parts = inverse_parts(z);
    let re = parts.acos_re();
    let re = if z.re.is_sign_negative() {
        std::f64::consts::PI - re
    } else {
        re
    };
    new(re, -parts.imaginary().copysign(z.im))
}

/// Inverse hyperbolic cosine: `±i acos z` with non-negative real part.
pub(crate) fn acosh(z: C) -> C {
    let angle = acos(z);
    if z.im.is_sign_negative() {
        times_minus_i(angle)
    } else {
        times_i(angle)
    }
}

/// What inverse sine and cosine share, after Hull, Fairgrieve and Tang (1997), for the first quadrant.
struct InverseParts {
    x: f64,
    y: f64,
    /// Half the sum of the distances from -1 and 1.
    a: f64,
    r: f64,
    s: f64,
}

fn inverse_parts(z: C) -> InverseParts {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (r, s) = (libm::hypot(x + 1.0, y), libm::hypot(x - 1.0, y));
    InverseParts {
        x,
        y,
        a: 0.5 * (r + s),
        r,
        s,
    }
}

impl InverseParts {
    /// Real part of the inverse sine.
    fn asin_re(&self) -> f64 {
        if self.is_huge() {
            return libm::atan2(self.x, self.y);
        }
        let b = self.x / self.a;
        if b <= 0.6417 {
            libm::asin(b)
        } else {
            libm::atan2(self.x, self.complement())
        }
    }

    /// Real part of the inverse cosine.
    fn acos_re(&self) -> f64 {
        if self.is_huge() {
            return libm::atan2(self.y, self.x);
        }
        let b = self.x / self.a;
        if b <= 0.6417 {
            libm::acos(b)
        } else {
            libm::atan2(self.complement(), self.x)
        }
    }

    /// `sqrt(a^2 - x^2)` without cancellation.
    fn complement(&self) -> f64 {
        let (x, y, a, r, s) = (self.x, self.y, self.a, self.r, self.s);
        if x <= 1.0 {
            (0.5 * (a + x) * (y * y / (r + x + 1.0) + (s + (1.0 - x)))).sqrt()
        } else {
            y * (0.5 * ((a + x) / (r + x + 1.0) + (a + x) / (s + (x - 1.0)))).sqrt()
        }
    }

    /// Imaginary part of the inverse sine: `ln(a + sqrt(a^2 - 1))`.
    fn imaginary(&self) -> f64 {
        let (x, y, a, r, s) = (self.x, self.y, self.a, self.r, self.s);
        if self.is_huge() {
            let modulus = libm::hypot(x / 2.0, y / 2.0);
            return libm::log(modulus) + 2.0 * std::f64::consts::LN_2;
        }
        if x < 1e-9 && y < 1e-9 {
            // The cube is below rounding, and squares of the parts may underflow.
            return y;
        }
        if a > 1.5 {
            return libm::log(a + (a * a - 1.0).sqrt());
        }
        if x < 1.0 {
            // a - 1 is factor * y^2, which would vanish for small y.
            let factor = 0.5 * (1.0 / (r + x + 1.0) + 1.0 / (s + (1.0 - x)));
            return libm::log1p(y * (y * factor) + y * (factor * (a + 1.0)).sqrt());
        }
        let above = 0.5 * (y * y / (r + x + 1.0) + (s + (x - 1.0)));
        libm::log1p(above + (above * (a + 1.0)).sqrt())
    }

    fn is_huge(&self) -> bool {
        self.x > 1e15 || self.y > 1e15
    }
}

/// Inverse hyperbolic tangent; cuts on the real axis outside -1 to 1.
pub(crate) fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x > 1e150 || y > 1e150 {
        let im = std::f64::consts::FRAC_PI_2;
        let modulus = libm::hypot(x / 2.0, y / 2.0);
        let re = if modulus.is_infinite() {
            0.0
        } else {
            (x / modulus / 2.0) / modulus / 2.0
        };
        return new(re.copysign(z.re), im.copysign(z.im));
    }
    if x == 1.0 && y != 0.0 {
        // The square of a tiny `y` would vanish.
        let re = (libm::log(libm::hypot(2.0, y)) - libm::log(y)) / 2.0;
        let im = libm::atan2(2.0 * y, -y * y) / 2.0;
        return new(re.copysign(z.re), im.copysign(z.im));
    }
    let below = 1.0 - x;
    let denominator = below * below + y * y;
    let re = if denominator == 0.0 {
        f64::INFINITY
    } else {
        0.25 * libm::log1p(4.0 * x / denominator)
    };
    let im = 0.5 * libm::atan2(2.0 * y, below * (1.0 + x) - y * y);
    new(re.copysign(z.re), im.copysign(z.im))
}

#[cfg(test)]
mod tests {
    use super::{
        C, ONE, acos, acosh, asin, asinh, atanh, cos, div, exp, log, log1p, logistic, new, pow,
        sin, sqrt, tanh,
    };

    fn close(actual: C, expected: C) {
        let error = (actual - expected).l1_norm() / expected.l1_norm().max(1e-300);
        assert!(error < 1e-14, "{actual} is not {expected}");
    }

    #[test]
    fn functions_agree_with_their_inverses() {
        for re in [-2.5, -1.0, -0.3, 0.2, 0.9, 3.0] {
            for im in [-1.4, -0.1, 0.3, 1.2] {
                let z = new(re, im);
                close(exp(log(z)), z);
                close(sqrt(z) * sqrt(z), z);
                close(sin(asin(z)), z);
                close(cos(acos(z)), z);
                close(tanh(atanh(z)), z);
                close(super::sinh(asinh(z)), z);
                close(super::cosh(acosh(z)), z);
                close(log1p(z), log(new(1.0 + re, im)));
                close(logistic(z), div(ONE, ONE + exp(-z)));
                close(pow(z, new(3.0, 0.0)), z * z * z);
            }
        }
    }

    #[test]
    fn branch_cuts_follow_the_sign_of_zero() {
        let pi = std::f64::consts::PI;
        assert_eq!(log(new(-1.0, 0.0)), new(0.0, pi));
        assert_eq!(log(new(-1.0, -0.0)), new(0.0, -pi));
        assert_eq!(sqrt(new(-4.0, -0.0)), new(0.0, -2.0));
        assert!(asin(new(2.0, 0.0)).im > 0.0 && asin(new(2.0, -0.0)).im < 0.0);
        assert!(acosh(new(-2.0, 0.0)).im > 0.0 && acosh(new(-2.0, -0.0)).im < 0.0);
        close(acosh(new(-2.0, 0.0)), new(1.316_957_896_924_816_6, pi));
        close(atanh(new(2.0, 0.0)), new(0.549_306_144_334_054_9, pi / 2.0));
    }
}

//! Functions of complex numbers: principal values, branch cuts as in C99, no overflow on the way.
//!
//! Everything is computed in `f64`; [`at`] lifts a function to numbers with `f32` parts by widening
//! and rounding once. Where C99 (Annex G) says what infinite and NaN parts give, that holds here,
//! but for signs it leaves open.
//!
//! ```
//! use hloc_eval::complex;
//! use hloc_tensor::Complex;
//!
//! assert_eq!(complex::sqrt(Complex::new(-4.0, 0.0)), Complex::new(0.0, 2.0));
//! assert_eq!(complex::at(complex::sqrt, Complex::new(-4.0f32, -0.0)), Complex::new(0.0, -2.0));
//! ```

use std::f64::consts::FRAC_PI_2;

use hloc_tensor::Complex;

use super::wide::Wide;

type C = Complex<f64>;

/// A real type that complex numbers are made of.
pub trait Part: Copy {
    /// The same value as an `f64`.
    fn widen(self) -> f64;
    /// The nearest value to an `f64`.
    fn narrow(value: f64) -> Self;
}

impl Part for f32 {
    fn widen(self) -> f64 {
        self.into()
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Part for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

fn widen<T: Part>(z: Complex<T>) -> C {
    C::new(z.re.widen(), z.im.widen())
}

fn narrow<T: Part>(z: C) -> Complex<T> {
    Complex::new(T::narrow(z.re), T::narrow(z.im))
}

/// `f` of `z`, rounded to the parts of `z`.
pub fn at<T: Part>(f: fn(C) -> C, z: Complex<T>) -> Complex<T> {
    narrow(f(widen(z)))
}

/// `f` of `z` and `w`, rounded to their parts.
pub fn at2<T: Part>(f: fn(C, C) -> C, z: Complex<T>, w: Complex<T>) -> Complex<T> {
    narrow(f(widen(z), widen(w)))
}

/// Real and imaginary part swapped, which is `i` times the conjugate. `sin`, `tan` and their
/// inverses are their hyperbolic namesakes between two swaps.
fn swap(z: C) -> C {
    C::new(z.im, z.re)
}

/// The modulus; infinite if a part is infinite, even if the other is NaN.
pub fn abs(z: C) -> f64 {
    libm::hypot(z.re, z.im)
}

/// `z / |z|`; 0 of 0 and NaN if a part is NaN.
pub fn sign(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return z;
    }
    if z.re.is_nan() || z.im.is_nan() {
        return C::new(f64::NAN, f64::NAN);
    }
    let z = scaled(z, -exponent(z.re.abs().max(z.im.abs())));
    let modulus = abs(z);
    C::new(z.re / modulus, z.im / modulus)
}

/// The product of numbers whose parts are `f64`. The difference that is its real part is rounded once after the
/// second of its products, the sum that is its imaginary part as usual: so factors may be swapped, and a number times
/// its conjugate is real.
pub fn multiply(z: C, w: C) -> C {
    C::new(
        z.re.mul_add(w.re, -(z.im * w.im)),
        z.re * w.im + z.im * w.re,
    )
}

/// [`multiply`] where the parts are `f32`, exactly.
pub fn multiply_single(z: C, w: C) -> C {
    let [a, b, c, d] = [z.re, z.im, w.re, w.im].map(|part| part as f32);
    C::new(f64::from(a.mul_add(c, -(b * d))), f64::from(a * d + b * c))
}

/// The binary exponent of a positive number, moderate for all others.
fn exponent(x: f64) -> i32 {
    if x.is_finite() && x > 0.0 {
        libm::ilogb(x)
    } else {
        0
    }
}

fn scaled(z: C, exponent: i32) -> C {
    C::new(libm::scalbn(z.re, exponent), libm::scalbn(z.im, exponent))
}

/// The quotient, scaled so that it overflows only if it is that large; by zero infinite or NaN.
pub fn divide(z: C, w: C) -> C {
    // C99, G.5.1: infinities and zeros that the formula below would turn into NaN.
    let unit = |x: f64| if x.is_infinite() { 1.0f64 } else { 0.0 }.copysign(x);
    let finite = |z: C| z.re.is_finite() && z.im.is_finite();
    if w.re == 0.0 && w.im == 0.0 {
        let infinity = f64::INFINITY.copysign(w.re);
        return C::new(infinity * z.re, infinity * z.im);
    } else if is_infinite(z) && finite(w) {
        let (a, b) = (unit(z.re), unit(z.im));
        return C::new(
            f64::INFINITY * (a * w.re + b * w.im),
            f64::INFINITY * (b * w.re - a * w.im),
        );
    } else if is_infinite(w) && finite(z) {
        let (c, d) = (unit(w.re), unit(w.im));
        return C::new(0.0 * (z.re * c + z.im * d), 0.0 * (z.im * c - z.re * d));
    }
    let scale = exponent(w.re.abs().max(w.im.abs()));
    let (c, d) = (libm::scalbn(w.re, -scale), libm::scalbn(w.im, -scale));
    let denominator = c * c + d * d;
    let top = exponent(z.re.abs().max(z.im.abs()));
    let (a, b) = (libm::scalbn(z.re, -top), libm::scalbn(z.im, -top));
    let part = |x: f64| libm::scalbn(x / denominator, top - scale);
    C::new(part(a * c + b * d), part(b * c - a * d))
}

/// `e^x` times the direction `(cos y, sin y)`, with an infinite `e^x` only if the product is.
fn polar_exp(x: f64, y: f64) -> C {
    let (sine, cosine) = libm::sincos(y);
    if x > 709.0 && x.is_finite() {
        let half = libm::exp(x / 2.0);
        C::new(half * cosine * half, times(half, sine) * half)
    } else {
        let e = libm::exp(x);
        C::new(e * cosine, times(e, sine))
    }
}

/// `x * y`, but 0 (with the sign of `y`) if `y` is: an exact zero stays one beside infinities.
fn times(x: f64, y: f64) -> f64 {
    if y == 0.0 { y } else { x * y }
}

/// `e^z`.
pub fn exp(z: C) -> C {
    if z.im == 0.0 {
        return C::new(libm::exp(z.re), z.im);
    }
    if z.re == f64::NEG_INFINITY && !z.im.is_finite() {
        return C::new(0.0, 0.0);
    }
    if z.re == f64::INFINITY && !z.im.is_finite() {
        return C::new(f64::INFINITY, f64::NAN);
    }
    polar_exp(z.re, z.im)
}

/// `e^z − 1`, accurate near 0.
pub fn expm1(z: C) -> C {
    if z.im == 0.0 {
        return C::new(libm::expm1(z.re), z.im);
    }
    let e = exp(z);
    if z.re.abs() > 40.0 || !z.re.is_finite() || !z.im.is_finite() {
        return C::new(e.re - 1.0, e.im);
    }
    // e^x cos y − 1 = (e^x − 1) cos y − 2 sin²(y/2), which keeps its digits where both are small.
    let half = libm::sin(z.im / 2.0);
    C::new(
        libm::expm1(z.re) * libm::cos(z.im) - 2.0 * half * half,
        e.im,
    )
}

/// The exact sum of two numbers as a rounded sum and its error.
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    (sum, (x - (sum - part)) + (y - part))
}

/// The exact square as a rounded square and its error.
fn two_square(x: f64) -> (f64, f64) {
    let square = x * x;
    (square, libm::fma(x, x, -square))
}

/// `x² + y² + c`, nearly exact even where the terms cancel.
fn sum_of_squares(x: f64, y: f64, c: f64) -> f64 {
    let (xx, xe) = two_square(x);
    let (yy, ye) = two_square(y);
    let (first, e1) = two_sum(c, xx);
    let (second, e2) = two_sum(first, yy);
    second + (e1 + e2 + xe + ye)
}

/// `ln |z|`.
fn log_abs(z: C) -> f64 {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_infinite() || y.is_infinite() {
        return f64::INFINITY;
    }
    let (big, small) = if x >= y { (x, y) } else { (y, x) };
    if big == 0.0 || big.is_nan() || small.is_nan() {
        return if big == 0.0 && small == 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::NAN
        };
    }
    if (0.5..2.0).contains(&big) {
        // ln |z| = ln(1 + (|z|² − 1)) / 2
        return libm::log1p(sum_of_squares(big, small, -1.0)) / 2.0;
    }
    let ratio = small / big;
    libm::log(big) + libm::log1p(ratio * ratio) / 2.0
}

/// The natural logarithm; its imaginary part is in −π to π. Of 0 the real part is −inf.
pub fn log(z: C) -> C {
    C::new(log_abs(z), libm::atan2(z.im, z.re))
}

/// `ln(1 + z)`, accurate near 0.
pub fn log1p(z: C) -> C {
    let shifted = C::new(1.0 + z.re, z.im);
    // From −2 to −1/2 the shift is exact; far out it costs nothing.
    if z.re < -0.5 || z.re > 4.0 || z.im.abs() > 4.0 || z.re.is_nan() || z.im.is_nan() {
        return log(shifted);
    }
    // |1 + z|² = 1 + (2x + x² + y²)
    let re = libm::log1p(sum_of_squares(z.re, z.im, 2.0 * z.re)) / 2.0;
    C::new(re, libm::atan2(z.im, shifted.re))
}

/// The square root with a real part not below 0, cut along the negative reals.
pub fn sqrt(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return C::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return C::new(f64::INFINITY, z.im);
    }
    if z.re == f64::INFINITY {
        let im = if z.im.is_nan() {
            z.im
        } else {
            0.0f64.copysign(z.im)
        };
        return C::new(z.re, im);
    }
    if z.re == f64::NEG_INFINITY {
        let re = if z.im.is_nan() { z.im } else { 0.0 };
        return C::new(re, f64::INFINITY.copysign(z.im));
    }
    // An even scale near 1 keeps the modulus from over- and underflowing.
    let scale = exponent(z.re.abs().max(z.im.abs())) / 2;
    let z = scaled(z, -2 * scale);
    let t = ((z.re.abs() + abs(z)) / 2.0).sqrt();
    let root = if z.re >= 0.0 {
        C::new(t, z.im / (2.0 * t))
    } else {
        C::new(z.im.abs() / (2.0 * t), t.copysign(z.im))
    };
    scaled(root, scale)
}

/// `1 / sqrt(z)`.
pub fn rsqrt(z: C) -> C {
    if z.re.is_infinite() || z.im.is_infinite() {
        return C::new(0.0, 0.0f64.copysign(-z.im));
    }
    divide(C::new(1.0, 0.0), sqrt(z))
}

/// `(cosh x · first, sinh x · second)`, infinite only if the products are.
fn hyperbolic(x: f64, first: f64, second: f64) -> (f64, f64) {
    if x.abs() > 709.0 && x.is_finite() {
        let half = libm::exp(x.abs() / 2.0);
        let quarter = half / 2.0;
        (
            times(quarter, times(half, first)),
            times(quarter.copysign(x), times(half, second)),
        )
    } else {
        (times(libm::cosh(x), first), times(libm::sinh(x), second))
    }
}

/// Hyperbolic sine.
pub fn sinh(z: C) -> C {
    let (sine, cosine) = libm::sincos(z.im);
    let (im, re) = hyperbolic(z.re, sine, cosine);
    if z.re == 0.0 && !z.im.is_finite() {
        return C::new(z.re, f64::NAN);
    }
    C::new(re, im)
}

/// Hyperbolic cosine.
pub fn cosh(z: C) -> C {
    let (sine, cosine) = libm::sincos(z.im);
    if z.im == 0.0 {
        return C::new(libm::cosh(z.re), z.im * 1.0f64.copysign(z.re));
    }
    let (re, im) = hyperbolic(z.re, cosine, sine);
    C::new(re, im)
}

/// Hyperbolic tangent (Kahan, *Branch cuts for complex elementary functions*).
pub fn tanh(z: C) -> C {
    if z.re.abs() > 22.0 {
        let im = if z.im.is_finite() {
            let (sine, cosine) = libm::sincos(z.im);
            4.0 * sine * cosine * libm::exp(-2.0 * z.re.abs())
        } else {
            0.0f64.copysign(z.im)
        };
        return C::new(1.0f64.copysign(z.re), im);
    }
    let tangent = libm::tan(z.im);
    let beta = 1.0 + tangent * tangent;
    let s = libm::sinh(z.re);
    let rho = (1.0 + s * s).sqrt();
    if tangent.is_infinite() {
        return C::new(rho / s, 1.0 / tangent);
    }
    let denominator = 1.0 + beta * s * s;
    C::new(times(beta * rho, s) / denominator, tangent / denominator)
}

/// Sine.
pub fn sin(z: C) -> C {
    swap(sinh(swap(z)))
}

/// Cosine.
pub fn cos(z: C) -> C {
    cosh(C::new(-z.im, z.re))
}

/// Tangent.
pub fn tan(z: C) -> C {
    swap(tanh(swap(z)))
}

fn conj(z: C) -> C {
    C::new(z.re, -z.im)
}

/// The imaginary part of a product.
fn im_of_product(z: C, w: C) -> f64 {
    z.re * w.im + z.im * w.re
}

fn re_of_product(z: C, w: C) -> f64 {
    z.re * w.re - z.im * w.im
}

fn is_infinite(z: C) -> bool {
    z.re.is_infinite() || z.im.is_infinite()
}

/// Inverse cosine (Kahan).
pub fn acos(z: C) -> C {
    if is_infinite(z) {
        // C99, G.6.1.1: what is left is the angle.
        let angle = libm::atan2(z.im.abs(), z.re);
        return C::new(angle, f64::INFINITY.copysign(-z.im));
    }
    let minus = sqrt(C::new(1.0 - z.re, -z.im));
    let plus = sqrt(C::new(1.0 + z.re, z.im));
    C::new(
        2.0 * libm::atan2(minus.re, plus.re),
        libm::asinh(im_of_product(conj(plus), minus)),
    )
}

/// Inverse sine (Kahan).
pub fn asin(z: C) -> C {
    if is_infinite(z) {
        let angle = libm::atan2(z.re, z.im.abs());
        return C::new(angle, f64::INFINITY.copysign(z.im));
    }
    let minus = sqrt(C::new(1.0 - z.re, -z.im));
    let plus = sqrt(C::new(1.0 + z.re, z.im));
    C::new(
        libm::atan2(z.re, re_of_product(minus, plus)),
        libm::asinh(im_of_product(conj(minus), plus)),
    )
}

/// Inverse hyperbolic cosine (Kahan).
pub fn acosh(z: C) -> C {
    if is_infinite(z) {
        return C::new(f64::INFINITY, libm::atan2(z.im, z.re));
    }
    let minus = sqrt(C::new(z.re - 1.0, z.im));
    let plus = sqrt(C::new(z.re + 1.0, z.im));
    C::new(
        libm::asinh(re_of_product(conj(minus), plus)),
        2.0 * libm::atan2(minus.im, plus.re),
    )
}

/// Inverse hyperbolic sine.
pub fn asinh(z: C) -> C {
    swap(asin(swap(z)))
}

/// Inverse hyperbolic tangent.
pub fn atanh(z: C) -> C {
    let x = z.re.abs();
    let y = z.im;
    const HUGE: f64 = 1e150;
    let (re, im) = if x > HUGE || y.abs() > HUGE {
        let inverse = divide(C::new(1.0, 0.0), C::new(x, y));
        let re = if x.is_infinite() || y.is_infinite() {
            0.0
        } else {
            inverse.re
        };
        (re, FRAC_PI_2.copysign(y))
    } else if x == 1.0 && y != 0.0 {
        // The square of a tiny `y` would vanish.
        let re = (libm::log(libm::hypot(2.0, y)) - libm::log(y.abs())) / 2.0;
        (re, libm::atan2(2.0 * y, -y * y) / 2.0)
    } else {
        let distance = (1.0 - x) * (1.0 - x) + y * y;
        (
            libm::log1p(4.0 * x / distance) / 4.0,
            libm::atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y) / 2.0,
        )
    };
    C::new(re.copysign(z.re), im)
}

/// `1 / (1 + e^−z)`.
pub fn logistic(z: C) -> C {
    if z.re < -40.0 {
        // e^z / (1 + e^z), whose denominator is 1 to all digits.
        return exp(z);
    }
    if z.re.abs() < 1.0 {
        // Near the poles, at odd multiples of pi, 1 + e^-z cancels.
        let half = tanh(C::new(z.re / 2.0, z.im / 2.0));
        return C::new(0.5 + half.re / 2.0, half.im / 2.0);
    }
    let e = exp(C::new(-z.re, -z.im));
    divide(C::new(1.0, 0.0), C::new(1.0 + e.re, e.im))
}

/// `z^w`, the principal value; 1 if `w` is 0, also of 0.
///
/// Logarithm, angle and their multiples have twice the digits, so that the result has no more error than
/// that of one exponential.
pub fn pow(z: C, w: C) -> C {
    if w.re == 0.0 && w.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    if z.re == 0.0 && z.im == 0.0 && w.re > 0.0 {
        return C::new(0.0, 0.0);
    }
    if z.im == 0.0 && z.re > 0.0 && w.im == 0.0 {
        return C::new(libm::pow(z.re, w.re), 0.0);
    }
    let finite = |z: C| z.re.is_finite() && z.im.is_finite();
    if !finite(z) || !finite(w) || (z.re == 0.0 && z.im == 0.0) {
        let (size, angle) = (log_abs(z), libm::atan2(z.im, z.re));
        let rotation = times(size, w.im) + w.re * angle;
        return polar_exp(w.re * size - times(angle, w.im), rotation);
    }
    let scale = exponent(z.re.abs().max(z.im.abs()));
    let unit = scaled(z, -scale);
    let square = Wide::product(unit.re, unit.re) + Wide::product(unit.im, unit.im);
    let size = square.ln() * 0.5.into() + Wide::from(2.0).ln() * f64::from(scale).into();
    let angle = Wide::angle(unit.im, unit.re);
    let (re, im) = (Wide::from(w.re), Wide::from(w.im));
    let (growth, rotation) = (size * re - angle * im, size * im + angle * re);
    if !(growth.high.is_finite() && rotation.high.abs() < 1e15) {
        return polar_exp(growth.high, rotation.high);
    }
    let (sine, cosine) = rotation.sin_cos();
    let direction = C::new(cosine.high, sine.high);
    // In two steps, so that an infinite size is infinite only if the parts are.
    let half = libm::exp(growth.high / 2.0);
    let rest = half * (1.0 + growth.low);
    let whole = half * rest;
    if whole.is_normal() {
        // One exponential has half the error of two.
        let whole = libm::exp(growth.high) * (1.0 + growth.low);
        return C::new(whole * direction.re, times(whole, direction.im));
    }
    C::new(half * direction.re * rest, times(half, direction.im) * rest)
}

#[cfg(test)]
mod tests {
    use super::C;

    fn near(got: C, re: f64, im: f64) {
        let close = |a: f64, b: f64| (a - b).abs() <= 4e-16 * b.abs().max(1e-300);
        assert!(
            close(got.re, re) && close(got.im, im),
            "{got} is not {re} + {im}i"
        );
    }

    #[test]
    fn branch_cuts_follow_the_sign_of_zero() {
        let z = |re, im| C::new(re, im);
        near(super::log(z(-1.0, 0.0)), 0.0, std::f64::consts::PI);
        near(super::log(z(-1.0, -0.0)), 0.0, -std::f64::consts::PI);
        near(super::sqrt(z(-4.0, -0.0)), 0.0, -2.0);
        assert_eq!(super::asin(z(2.0, 0.0)).im.signum(), 1.0);
        assert_eq!(super::asin(z(2.0, -0.0)).im.signum(), -1.0);
        assert_eq!(super::acos(z(2.0, 0.0)).im.signum(), -1.0);
    }

    #[test]
    fn nothing_overflows_early() {
        let huge = 1e308;
        near(
            super::divide(C::new(huge, huge), C::new(huge, huge)),
            1.0,
            0.0,
        );
        assert!(super::sqrt(C::new(huge, huge)).re.is_finite());
        near(super::sqrt(C::new(0.0, 2e-300)), 1e-150, 1e-150);
        assert!(super::exp(C::new(709.9, 1.5)).re.is_finite());
        assert!(super::log(C::new(huge, huge)).re.is_finite());
    }

    #[test]
    fn small_results_keep_their_digits() {
        near(super::log1p(C::new(1e-30, 1e-30)), 1e-30, 1e-30);
        near(super::expm1(C::new(1e-30, 1e-30)), 1e-30, 1e-30);
        near(super::log(C::new(1.0, 1e-10)), 5e-21, 1e-10);
        near(super::log(C::new(2.0, 0.0)), std::f64::consts::LN_2, 0.0);
    }

    #[test]
    fn zero_powers_and_quotients() {
        let zero = C::new(0.0, 0.0);
        near(super::pow(zero, zero), 1.0, 0.0);
        near(super::pow(zero, C::new(2.0, 0.0)), 0.0, 0.0);
        let quotient = super::divide(C::new(1.0, 1.0), zero);
        assert!(quotient.re.is_infinite() && quotient.im.is_infinite());
    }
}

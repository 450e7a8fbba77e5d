//! Real functions that `libm` lacks or computes too roughly.

/// `1 / (1 + e^-x)` without overflow: both branches take the exponential of a negative number.
pub(crate) fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::exp(-x))
    } else {
        let power = libm::exp(x);
        power / (1.0 + power)
    }
}

/// Power by IEEE 754's `pow`: 1 for base 1 and for exponent 0, NaN or not.
pub(crate) fn pow(base: f64, exponent: f64) -> f64 {
    if base == 1.0 || exponent == 0.0 {
        1.0
    } else {
        libm::pow(base, exponent)
    }
}

/// Inverse hyperbolic sine, accurate near 0 and free of overflow.
pub(crate) fn asinh(x: f64) -> f64 {
    let magnitude = x.abs();
    let result = if magnitude > 1e8 {
        libm::log(magnitude) + std::f64::consts::LN_2
    } else {
        let square = magnitude * magnitude;
        libm::log1p(magnitude + square / (1.0 + (square + 1.0).sqrt()))
    };
    if magnitude > 0.0 && magnitude.is_finite() {
        result.copysign(x)
    } else {
        x
    }
}

/// Inverse hyperbolic cosine, accurate near 1 and free of overflow; NaN below 1.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        // Far below 1 the products would overflow to something that looks like a result.
        f64::NAN
    } else if x > 1e8 {
        libm::log(x) + std::f64::consts::LN_2
    } else {
        let above = x - 1.0;
        libm::log1p(above + (above * (above + 2.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::{acosh, asinh, logistic, pow};

    #[test]
    fn special_values() {
        assert_eq!(
            [logistic(0.0), logistic(-800.0), logistic(800.0)],
            [0.5, 0.0, 1.0]
        );
        assert_eq!([pow(f64::NAN, 0.0), pow(1.0, f64::NAN)], [1.0, 1.0]);
        assert_eq!(pow(-1.0, f64::INFINITY), 1.0);
        assert!(asinh(-0.0).is_sign_negative());
        assert_eq!(asinh(f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert!((asinh(-2.0) + 1.443_635_475_178_810_3).abs() < 1e-15);
        assert_eq!([acosh(1.0), acosh(f64::INFINITY)], [0.0, f64::INFINITY]);
        assert!(acosh(0.5).is_nan() && acosh(-1e20).is_nan());
    }
}

//! The numbers of linear algebra: `f32`, `f64` and their complex numbers.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::Pod;
use faer::traits::{ComplexField, RealField};
use hloc_tensor::Complex;

use super::eigen::EigenField;

/// The real numbers among them.
pub(crate) trait Part:
    Pod
    + RealField
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const NAN: Self;
    fn magnitude(self) -> Self;
    fn root(self) -> Self;
    /// √(x² + y²) without overflow on the way.
    fn hypotenuse(self, other: Self) -> Self;
    fn finite(self) -> bool;
    fn wide(self) -> f64;
    fn from_wide(value: f64) -> Self;
}

macro_rules! part {
    ($ty:ty) => {
        impl Part for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAN: Self = <$ty>::NAN;
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn hypotenuse(self, other: Self) -> Self {
                self.hypot(other)
            }
            fn finite(self) -> bool {
                self.is_finite()
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn from_wide(value: f64) -> Self {
                value as Self
            }
        }
    };
}

part!(f32);
part!(f64);

/// Real or complex numbers.
pub(crate) trait Field:
    Pod
    + ComplexField<Real = Self::Part>
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// Real and imaginary parts.
    type Part: Part;
    /// The same with `f64` parts.
    type Wide: EigenField<Part = f64>;
    const IS_COMPLEX: bool;
    fn new(re: Self::Part, im: Self::Part) -> Self;
    fn re(self) -> Self::Part;
    fn im(self) -> Self::Part;
    fn conjugate(self) -> Self;

    fn real(re: Self::Part) -> Self {
        Self::new(re, Self::Part::ZERO)
    }
    fn zero() -> Self {
        Self::real(Self::Part::ZERO)
    }
    fn one() -> Self {
        Self::real(Self::Part::ONE)
    }
    fn nan() -> Self {
        Self::new(
            Self::Part::NAN,
            if Self::IS_COMPLEX {
                Self::Part::NAN
            } else {
                Self::Part::ZERO
            },
        )
    }
    fn scaled(self, factor: Self::Part) -> Self {
        Self::new(self.re() * factor, self.im() * factor)
    }
    fn widened(self) -> Self::Wide {
        Self::Wide::new(self.re().wide(), self.im().wide())
    }
    fn rounded(value: Self::Wide) -> Self {
        Self::new(
            Self::Part::from_wide(value.re()),
            Self::Part::from_wide(value.im()),
        )
    }
    /// |re| + |im|: the size by which LAPACK chooses pivots.
    fn size(self) -> Self::Part {
        self.re().magnitude() + self.im().magnitude()
    }
    fn finite(self) -> bool {
        self.re().finite() && self.im().finite()
    }
    /// The quotient, without overflow of squares.
    fn over(self, divisor: Self) -> Self {
        let (c, d) = (divisor.re(), divisor.im());
        if !Self::IS_COMPLEX || d == Self::Part::ZERO {
            return Self::new(self.re() / c, self.im() / c);
        }
        let (a, b) = (self.re(), self.im());
        if c.magnitude() >= d.magnitude() {
            let ratio = d / c;
            let size = c + d * ratio;
            Self::new((a + b * ratio) / size, (b - a * ratio) / size)
        } else {
            let ratio = c / d;
            let size = c * ratio + d;
            Self::new((a * ratio + b) / size, (b * ratio - a) / size)
        }
    }
}

macro_rules! real_field {
    ($ty:ty) => {
        impl Field for $ty {
            type Part = $ty;
            type Wide = f64;
            const IS_COMPLEX: bool = false;
            fn new(re: $ty, _: $ty) -> $ty {
                re
            }
            fn re(self) -> $ty {
                self
            }
            fn im(self) -> $ty {
                0.0
            }
            fn conjugate(self) -> $ty {
                self
            }
        }

        impl Field for Complex<$ty> {
            type Part = $ty;
            type Wide = Complex<f64>;
            const IS_COMPLEX: bool = true;
            fn new(re: $ty, im: $ty) -> Self {
                Complex::new(re, im)
            }
            fn re(self) -> $ty {
                self.re
            }
            fn im(self) -> $ty {
                self.im
            }
            fn conjugate(self) -> Self {
                Complex::new(self.re, -self.im)
            }
        }
    };
}

real_field!(f32);
real_field!(f64);

/// The Euclidean norm, without overflow or underflow of squares.
pub(super) fn norm<T: Field>(values: &[T]) -> T::Part {
    let mut largest = T::Part::ZERO;
    for value in values {
        if !largest.finite() {
            return largest;
        }
        let size = if value.re().magnitude() > value.im().magnitude() {
            value.re().magnitude()
        } else {
            value.im().magnitude()
        };
        // A NaN must not be lost.
        if size > largest || !size.finite() {
            largest = size;
        }
    }
    if largest == T::Part::ZERO || !largest.finite() {
        return largest;
    }
    let mut sum = T::Part::ZERO;
    for value in values {
        let (re, im) = (value.re() / largest, value.im() / largest);
        sum = sum + re * re + im * im;
    }
    largest * sum.root()
}

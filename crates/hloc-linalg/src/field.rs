//! The numbers of linear algebra: `f32`, `f64` and their complex numbers.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::Pod;
use faer::traits::{ComplexField, RealField};
use hloc_tensor::Complex;

use crate::eigen::EigenField;

/// The real numbers among them.
pub trait Part:
    Pod
    + RealField
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Not a number.
    const NAN: Self;
    /// |x|.
    fn magnitude(self) -> Self;
    /// √x.
    fn root(self) -> Self;
    /// √(x² + y²) without overflow on the way.
    fn hypotenuse(self, other: Self) -> Self;
    /// Whether its sign is minus, also of −0.
    fn negative(self) -> bool;
    /// Whether it is neither infinite nor NaN.
    fn finite(self) -> bool;
    /// The number as `f64`, exactly.
    fn wide(self) -> f64;
    /// The nearest number.
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
            fn negative(self) -> bool {
                self.is_sign_negative()
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
pub trait Field:
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
    /// Whether there are imaginary parts.
    const IS_COMPLEX: bool;
    /// re + im·i; a real number drops `im`.
    fn new(re: Self::Part, im: Self::Part) -> Self;
    /// The real part.
    fn re(self) -> Self::Part;
    /// The imaginary part.
    fn im(self) -> Self::Part;
    /// re − im·i.
    fn conjugate(self) -> Self;

    /// A real number.
    fn real(re: Self::Part) -> Self {
        Self::new(re, Self::Part::ZERO)
    }
    /// 0.
    fn zero() -> Self {
        Self::real(Self::Part::ZERO)
    }
    /// 1.
    fn one() -> Self {
        Self::real(Self::Part::ONE)
    }
    /// NaN in all parts.
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
    /// The product with a real number.
    fn scaled(self, factor: Self::Part) -> Self {
        Self::new(self.re() * factor, self.im() * factor)
    }
    /// The number with `f64` parts, exactly.
    fn widened(self) -> Self::Wide {
        Self::Wide::new(self.re().wide(), self.im().wide())
    }
    /// The nearest number.
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
    /// Whether all parts are finite.
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
pub(crate) fn norm<T: Field>(values: &[T]) -> T::Part {
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

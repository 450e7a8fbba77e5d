//! The element types of HLO arrays: spelling, width, class.

use std::fmt;

/// What kind of number an element is; see [`ElementType::class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementClass {
    /// `pred`.
    Predicate,
    /// `s1` to `s64`.
    Signed,
    /// `u1` to `u64`.
    Unsigned,
    /// `f4e2m1fn` to `f64`, `bf16` included.
    Float,
    /// `c64` and `c128`.
    Complex,
}

macro_rules! element_types {
    ($( $(#[$doc:meta])* $variant:ident $spelling:literal $class:ident $bits:literal $bytes:literal; )*) => {
        /// The type of one array element.
        ///
        /// Spelled in lower case in text (`f32`, `s64`, `pred`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElementType { $( $(#[$doc])* $variant, )* }

        impl ElementType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [ElementType] = &[$( ElementType::$variant, )*];

            /// The spelling in HLO text: `F32` gives `"f32"`.
            pub const fn name(self) -> &'static str {
                match self { $( ElementType::$variant => $spelling, )* }
            }

            /// The element type spelled `name`, or `None`; types are case-sensitive.
            pub fn from_name(name: &str) -> Option<ElementType> {
                match name { $( $spelling => Some(ElementType::$variant), )* _ => None }
            }

            /// What kind of number this is.
            pub const fn class(self) -> ElementClass {
                match self { $( ElementType::$variant => ElementClass::$class, )* }
            }

            /// Width in bits as HLO counts it: `s4` gives 4, `c64` gives 64, `pred` gives 8.
            pub const fn bits(self) -> u32 {
                match self { $( ElementType::$variant => $bits, )* }
            }

            /// Bytes of one element in memory. Sub-byte types take one byte each.
            pub const fn size(self) -> usize {
                match self { $( ElementType::$variant => $bytes, )* }
            }
        }
    };
}

element_types! {
    /// Boolean, one byte of value 0 or 1.
    Pred "pred" Predicate 8 1;
    /// Signed 1-bit integer: −1 and 0.
    S1 "s1" Signed 1 1;
    /// Signed 2-bit integer.
    S2 "s2" Signed 2 1;
    /// Signed 4-bit integer.
    S4 "s4" Signed 4 1;
    /// Signed 8-bit integer.
    S8 "s8" Signed 8 1;
    /// Signed 16-bit integer.
    S16 "s16" Signed 16 2;
    /// Signed 32-bit integer.
    S32 "s32" Signed 32 4;
    /// Signed 64-bit integer.
    S64 "s64" Signed 64 8;
    /// Unsigned 1-bit integer.
    U1 "u1" Unsigned 1 1;
    /// Unsigned 2-bit integer.
    U2 "u2" Unsigned 2 1;
    /// Unsigned 4-bit integer.
    U4 "u4" Unsigned 4 1;
    /// Unsigned 8-bit integer.
    U8 "u8" Unsigned 8 1;
    /// Unsigned 16-bit integer.
    U16 "u16" Unsigned 16 2;
    /// Unsigned 32-bit integer.
    U32 "u32" Unsigned 32 4;
    /// Unsigned 64-bit integer.
    U64 "u64" Unsigned 64 8;
    /// 4-bit float: 2 exponent, 1 mantissa bits, finite only.
    F4E2M1Fn "f4e2m1fn" Float 4 1;
    /// 6-bit float: 2 exponent, 3 mantissa bits, finite only.
    F6E2M3Fn "f6e2m3fn" Float 6 1;
    /// 6-bit float: 3 exponent, 2 mantissa bits, finite only.
    F6E3M2Fn "f6e3m2fn" Float 6 1;
    /// 8-bit float: 3 exponent, 4 mantissa bits, with infinities.
    F8E3M4 "f8e3m4" Float 8 1;
    /// 8-bit float: 4 exponent, 3 mantissa bits, with infinities.
    F8E4M3 "f8e4m3" Float 8 1;
    /// 8-bit float: 4 exponent, 3 mantissa bits, no infinities.
    F8E4M3Fn "f8e4m3fn" Float 8 1;
    /// 8-bit float: 4 exponent, 3 mantissa bits, bias 11, one NaN, no −0.
    F8E4M3B11Fnuz "f8e4m3b11fnuz" Float 8 1;
    /// 8-bit float: 4 exponent, 3 mantissa bits, bias 8, one NaN, no −0.
    F8E4M3Fnuz "f8e4m3fnuz" Float 8 1;
    /// 8-bit float: 5 exponent, 2 mantissa bits, with infinities.
    F8E5M2 "f8e5m2" Float 8 1;
    /// 8-bit float: 5 exponent, 2 mantissa bits, bias 16, one NaN, no −0.
    F8E5M2Fnuz "f8e5m2fnuz" Float 8 1;
    /// 8-bit power of two: no sign, no zero.
    F8E8M0Fnu "f8e8m0fnu" Float 8 1;
    /// IEEE 754 binary16.
    F16 "f16" Float 16 2;
    /// The upper half of binary32.
    BF16 "bf16" Float 16 2;
    /// IEEE 754 binary32.
    F32 "f32" Float 32 4;
    /// IEEE 754 binary64.
    F64 "f64" Float 64 8;
    /// Pair of `f32`: real, imaginary.
    C64 "c64" Complex 64 8;
    /// Pair of `f64`: real, imaginary.
    C128 "c128" Complex 128 16;
}

impl ElementType {
    /// Whether this is `pred`.
    pub const fn is_predicate(self) -> bool {
        matches!(self.class(), ElementClass::Predicate)
    }

    /// Whether this is a signed or unsigned integer; `pred` is not.
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), ElementClass::Signed | ElementClass::Unsigned)
    }

    /// Whether this is a signed integer.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self.class(), ElementClass::Signed)
    }

    /// Whether this is an unsigned integer.
    pub const fn is_unsigned_integer(self) -> bool {
        matches!(self.class(), ElementClass::Unsigned)
    }

    /// Whether this is a real floating-point type of any width.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), ElementClass::Float)
    }

    /// Whether this is `c64` or `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), ElementClass::Complex)
    }

    /// The type of the real and imaginary parts: `c64` gives `f32`, `c128` gives `f64`, all else itself.
    pub fn component(self) -> ElementType {
        if self == ElementType::C64 {
            ElementType::F32
        } else if self == ElementType::C128 {
            ElementType::F64
        } else {
            self
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ElementType;

    #[test]
    fn names_round_trip() {
        for &ty in ElementType::ALL {
            assert_eq!(ElementType::from_name(ty.name()), Some(ty));
        }
        assert_eq!(ElementType::from_name("F32"), None);
    }
}

//! The Rust types that array elements have.

use bytemuck::{CheckedBitPattern, NoUninit};
use half::{bf16, f16};
use num_complex::Complex;

use crate::ElementType;

/// A Rust type with the same bytes as an element type: `f32` for `f32`, `i64` for `s64`, `bool` for `pred`.
///
/// The types without one (below 8 bits, and the 8-bit floats) are reached through
/// [`Array::bytes`](crate::Array::bytes) or [`Array::get`](crate::Array::get).
pub trait Element:
    NoUninit + CheckedBitPattern + Default + PartialEq + Send + Sync + sealed::Sealed + 'static
{
    /// The element type of an array of `Self`.
    const TYPE: ElementType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($( $rust:ty => $variant:ident; )*) => { $(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const TYPE: ElementType = ElementType::$variant;
        }
    )* };
}

elements! {
    bool => Pred;
    i8 => S8;
    i16 => S16;
    i32 => S32;
    i64 => S64;
    u8 => U8;
    u16 => U16;
    u32 => U32;
    u64 => U64;
    f16 => F16;
    bf16 => BF16;
    f32 => F32;
    f64 => F64;
    Complex<f32> => C64;
    Complex<f64> => C128;
}

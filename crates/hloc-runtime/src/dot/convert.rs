//! Copying operands into the working type, and results out of it.

use bytemuck::{AnyBitPattern, NoUninit, Pod};
use half::{bf16, f16};
use hloc_ir::ElementType;
use hloc_tensor::{Complex, f64_to_bf16, f64_to_f16, small_float};

use super::plan::Walk;

/// The most dimensions an array has, and so a walk.
const MAX_DIMS: usize = hloc_ir::ArrayShape::MAX_DIMS;

/// A working type: how the values of all element types get in and out.
///
/// Only the conversions that a plan asks for are exact; the others give some value.
pub(super) trait WorkElement: Pod {
    fn from_f32(value: f32) -> Self;
    fn from_f64(value: f64) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
    fn from_complex(re: f64, im: f64) -> Self;
    /// Real and imaginary part; integers are not exact in it.
    fn parts(self) -> (f64, f64);
    /// The low bits of an integer.
    fn bits(self) -> i64;
    fn to_f16(self) -> f16 {
        f64_to_f16(self.parts().0)
    }
    fn to_bf16(self) -> bf16 {
        f64_to_bf16(self.parts().0)
    }
}

impl WorkElement for f32 {
    fn from_f32(value: f32) -> f32 {
        value
    }
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn from_i64(value: i64) -> f32 {
        value as f32
    }
    fn from_u64(value: u64) -> f32 {
        value as f32
    }
    fn from_complex(re: f64, _: f64) -> f32 {
        re as f32
    }
    fn parts(self) -> (f64, f64) {
        (f64::from(self), 0.0)
    }
    fn bits(self) -> i64 {
        self as i64
    }
    fn to_f16(self) -> f16 {
        f16::from_f32(self)
    }
    fn to_bf16(self) -> bf16 {
        bf16::from_f32(self)
    }
}

impl WorkElement for f64 {
    fn from_f32(value: f32) -> f64 {
        value.into()
    }
    fn from_f64(value: f64) -> f64 {
        value
    }
    fn from_i64(value: i64) -> f64 {
        value as f64
    }
    fn from_u64(value: u64) -> f64 {
        value as f64
    }
    fn from_complex(re: f64, _: f64) -> f64 {
        re
    }
    fn parts(self) -> (f64, f64) {
        (self, 0.0)
    }
    fn bits(self) -> i64 {
        self as i64
    }
}

macro_rules! complex_work_element {
    ($part:ty) => {
        impl WorkElement for Complex<$part> {
            fn from_f32(value: f32) -> Self {
                Complex::new(value.into(), 0.0)
            }
            fn from_f64(value: f64) -> Self {
                Complex::new(value as $part, 0.0)
            }
            fn from_i64(value: i64) -> Self {
                Complex::new(value as $part, 0.0)
            }
            fn from_u64(value: u64) -> Self {
                Complex::new(value as $part, 0.0)
            }
            fn from_complex(re: f64, im: f64) -> Self {
                Complex::new(re as $part, im as $part)
            }
            fn parts(self) -> (f64, f64) {
                (self.re.into(), self.im.into())
            }
            fn bits(self) -> i64 {
                self.re as i64
            }
        }
    };
}

complex_work_element!(f32);
complex_work_element!(f64);

impl WorkElement for i64 {
    fn from_f32(value: f32) -> i64 {
        value as i64
    }
    fn from_f64(value: f64) -> i64 {
        value as i64
    }
    fn from_i64(value: i64) -> i64 {
        value
    }
    fn from_u64(value: u64) -> i64 {
        value.cast_signed()
    }
    fn from_complex(re: f64, _: f64) -> i64 {
        re as i64
    }
    fn parts(self) -> (f64, f64) {
        (self as f64, 0.0)
    }
    fn bits(self) -> i64 {
        self
    }
}

/// Copies the elements that `walk` visits, in its order, into `target`.
pub(super) fn pack<W: WorkElement>(
    element_type: ElementType,
    source: &[u8],
    walk: &[Walk],
    target: &mut [W],
) {
    match element_type {
        ElementType::F32 => copy(source, walk, target, W::from_f32),
        ElementType::F64 => copy(source, walk, target, W::from_f64),
        ElementType::F16 => copy(source, walk, target, |x: f16| W::from_f32(x.to_f32())),
        ElementType::BF16 => copy(source, walk, target, |x: bf16| W::from_f32(x.to_f32())),
        ElementType::C64 => copy(source, walk, target, |x: Complex<f32>| {
            W::from_complex(f64::from(x.re), f64::from(x.im))
        }),
        ElementType::C128 => copy(source, walk, target, |x: Complex<f64>| {
            W::from_complex(x.re, x.im)
        }),
        ElementType::S16 => copy(source, walk, target, |x: i16| W::from_i64(x.into())),
        ElementType::S32 => copy(source, walk, target, |x: i32| W::from_i64(x.into())),
        ElementType::S64 => copy(source, walk, target, W::from_i64),
        ElementType::U16 => copy(source, walk, target, |x: u16| W::from_i64(x.into())),
        ElementType::U32 => copy(source, walk, target, |x: u32| W::from_i64(x.into())),
        ElementType::U64 => copy(source, walk, target, W::from_u64),
        ElementType::S1 | ElementType::S2 | ElementType::S4 | ElementType::S8 => {
            copy(source, walk, target, |x: i8| W::from_i64(x.into()));
        }
        ElementType::Pred
        | ElementType::U1
        | ElementType::U2
        | ElementType::U4
        | ElementType::U8 => copy(source, walk, target, |x: u8| W::from_i64(x.into())),
        ElementType::F4E2M1Fn
        | ElementType::F6E2M3Fn
        | ElementType::F6E3M2Fn
        | ElementType::F8E3M4
        | ElementType::F8E4M3
        | ElementType::F8E4M3B11Fnuz
        | ElementType::F8E4M3Fn
        | ElementType::F8E4M3Fnuz
        | ElementType::F8E5M2
        | ElementType::F8E5M2Fnuz
        | ElementType::F8E8M0Fnu => copy(source, walk, target, |x: u8| {
            W::from_f64(small_float::decode(element_type, x))
        }),
    }
}

fn copy<T: AnyBitPattern, W>(
    source: &[u8],
    walk: &[Walk],
    target: &mut [W],
    convert: impl Fn(T) -> W,
) {
    let source: &[T] = bytemuck::cast_slice(source);
    let Some((inner, outer)) = walk.split_last() else {
        if let (Some(target), Some(source)) = (target.first_mut(), source.first()) {
            *target = convert(*source);
        }
        return;
    };
    if target.is_empty() {
        return;
    }
    let mut counters = [0; MAX_DIMS];
    let mut offset = 0;
    for row in target.chunks_exact_mut(inner.size) {
        for (at, element) in row.iter_mut().enumerate() {
            *element = convert(source[offset + at * inner.stride]);
        }
        for (counter, walk) in counters[..outer.len()].iter_mut().zip(outer).rev() {
            *counter += 1;
            offset += walk.stride;
            if *counter < walk.size {
                break;
            }
            offset -= walk.stride * walk.size;
            *counter = 0;
        }
    }
}

/// Converts sums to the result type, rounding each once.
pub(super) fn unpack<W: WorkElement>(element_type: ElementType, source: &[W], target: &mut [u8]) {
    let parts = |x: W| x.parts();
    match element_type {
        ElementType::F32 => write(source, target, |x| parts(x).0 as f32),
        ElementType::F64 => write(source, target, |x| parts(x).0),
        ElementType::F16 => write(source, target, W::to_f16),
        ElementType::BF16 => write(source, target, W::to_bf16),
        ElementType::C64 => write(source, target, |x| {
            let (re, im) = parts(x);
            Complex::new(re as f32, im as f32)
        }),
        ElementType::C128 => write(source, target, |x| {
            let (re, im) = parts(x);
            Complex::new(re, im)
        }),
        ElementType::Pred => write(source, target, |x| u8::from(x.bits() != 0)),
        ElementType::S16 | ElementType::U16 => write(source, target, |x| x.bits() as i16),
        ElementType::S32 | ElementType::U32 => write(source, target, |x| x.bits() as i32),
        ElementType::S64 | ElementType::U64 => write(source, target, W::bits),
        ElementType::S8 | ElementType::U8 => write(source, target, |x| x.bits() as i8),
        ElementType::S1 | ElementType::S2 | ElementType::S4 => {
            let unused = 8 - element_type.bits();
            write(source, target, |x| ((x.bits() as i8) << unused) >> unused);
        }
        ElementType::U1 | ElementType::U2 | ElementType::U4 => {
            let unused = 8 - element_type.bits();
            write(source, target, |x| ((x.bits() as u8) << unused) >> unused);
        }
        ElementType::F4E2M1Fn
        | ElementType::F6E2M3Fn
        | ElementType::F6E3M2Fn
        | ElementType::F8E3M4
        | ElementType::F8E4M3
        | ElementType::F8E4M3B11Fnuz
        | ElementType::F8E4M3Fn
        | ElementType::F8E4M3Fnuz
        | ElementType::F8E5M2
        | ElementType::F8E5M2Fnuz
        | ElementType::F8E8M0Fnu => write(source, target, |x| {
            small_float::encode(element_type, parts(x).0)
        }),
    }
}

fn write<T: NoUninit + AnyBitPattern, W: Copy>(
    source: &[W],
    target: &mut [u8],
    convert: impl Fn(W) -> T,
) {
    let target: &mut [T] = bytemuck::cast_slice_mut(target);
    for (target, source) in target.iter_mut().zip(source) {
        *target = convert(*source);
    }
}

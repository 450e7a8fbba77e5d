//! Single elements: their values, and every function of them that HLO has.
//!
//! Four kinds of value stand for all element types: booleans, integers, floats, complex numbers. A
//! function computes in the widest type of its kind and [`Lane::rounded`] brings the result into the
//! element type. For `f32` and below that is exact: `f64` has more than twice the digits, so rounding
//! sums, products, quotients and square roots twice gives what rounding once would.

mod bits;
pub mod complex;
mod float;
mod function;
mod integer;
mod precision;
mod program;
mod wide;

use half::{bf16, f16};
use hloc_tensor::{Array, Complex, ElementClass, ElementType, Scalar, small_float};

pub(crate) use bits::bitcast_convert;
pub(crate) use function::{BinaryFn, CompareFn, UnaryFn, clamp};
pub(crate) use precision::reduce_precision;
pub(crate) use program::ScalarProgram;

/// A complex number as the evaluator computes with it.
pub(crate) type C128 = Complex<f64>;

/// The value of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Pred(bool),
    Int(i128),
    Float(f64),
    Complex(C128),
}

/// A Rust type that stands for a class of element types.
pub(crate) trait Lane: Copy {
    /// Reads one element of type `ty` from as many bytes as it has.
    fn read(ty: ElementType, bytes: &[u8]) -> Self;
    /// The nearest value that `ty` has: integers wrap, floats round to even.
    fn rounded(self, ty: ElementType) -> Self;
    /// Writes a value that [`Lane::rounded`] gave.
    fn store(self, ty: ElementType, bytes: &mut [u8]);
    /// As a [`Value`].
    fn wrap(self) -> Value;
    /// From a [`Value`] of this kind, `None` from another.
    fn unwrap(value: Value) -> Option<Self>;

    /// Rounds and writes.
    fn write(self, ty: ElementType, bytes: &mut [u8]) {
        self.rounded(ty).store(ty, bytes);
    }
}

impl Lane for bool {
    fn read(_: ElementType, bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
    fn rounded(self, _: ElementType) -> bool {
        self
    }
    fn store(self, _: ElementType, bytes: &mut [u8]) {
        bytes[0] = self.into();
    }
    fn wrap(self) -> Value {
        Value::Pred(self)
    }
    fn unwrap(value: Value) -> Option<bool> {
        if let Value::Pred(value) = value {
            Some(value)
        } else {
            None
        }
    }
}

impl Lane for i128 {
    fn read(ty: ElementType, bytes: &[u8]) -> i128 {
        // Sub-byte elements are kept extended, so all their bits may be read.
        let unsigned = ty.is_unsigned_integer();
        match *bytes {
            [a] if unsigned => a.into(),
            [a] => a.cast_signed().into(),
            [a, b] if unsigned => u16::from_ne_bytes([a, b]).into(),
            [a, b] => i16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] if unsigned => u32::from_ne_bytes([a, b, c, d]).into(),
            [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] if unsigned => {
                u64::from_ne_bytes([a, b, c, d, e, f, g, h]).into()
            }
            [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]).into(),
            _ => 0,
        }
    }
    fn rounded(self, ty: ElementType) -> i128 {
        integer::wrap(self, ty.bits(), ty.is_signed_integer())
    }
    fn store(self, _: ElementType, bytes: &mut [u8]) {
        let low = self as u64;
        match bytes.len() {
            1 => bytes.copy_from_slice(&(low as u8).to_ne_bytes()),
            2 => bytes.copy_from_slice(&(low as u16).to_ne_bytes()),
            4 => bytes.copy_from_slice(&(low as u32).to_ne_bytes()),
            _ => bytes.copy_from_slice(&low.to_ne_bytes()),
        }
    }
    fn wrap(self) -> Value {
        Value::Int(self)
    }
    fn unwrap(value: Value) -> Option<i128> {
        if let Value::Int(value) = value {
            Some(value)
        } else {
            None
        }
    }
}

impl Lane for f64 {
    fn read(ty: ElementType, bytes: &[u8]) -> f64 {
        match *bytes {
            [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => f64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            [a, b] if ty == ElementType::BF16 => bf16::from_ne_bytes([a, b]).to_f64(),
            [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
            [a] => small_float::decode(ty, a),
            _ => f64::NAN,
        }
    }
    /// Types below `f32` are computed in `f32`, so they round to that first.
    fn rounded(self, ty: ElementType) -> f64 {
        match ty.size() {
            8 => self,
            4 => f64::from(self as f32),
            2 if ty == ElementType::BF16 => bf16::from_f32(self as f32).to_f64(),
            2 => f16::from_f32(self as f32).to_f64(),
            _ => small_float::decode(ty, small_float::encode(ty, f64::from(self as f32))),
        }
    }
    fn store(self, ty: ElementType, bytes: &mut [u8]) {
        match bytes.len() {
            8 => bytes.copy_from_slice(&self.to_ne_bytes()),
            4 => bytes.copy_from_slice(&(self as f32).to_ne_bytes()),
            2 if ty == ElementType::BF16 => {
                bytes.copy_from_slice(&bf16::from_f32(self as f32).to_ne_bytes());
            }
            2 => bytes.copy_from_slice(&f16::from_f32(self as f32).to_ne_bytes()),
            _ => bytes[0] = small_float::encode(ty, self),
        }
    }
    fn wrap(self) -> Value {
        Value::Float(self)
    }
    fn unwrap(value: Value) -> Option<f64> {
        if let Value::Float(value) = value {
            Some(value)
        } else {
            None
        }
    }
}

impl Lane for C128 {
    fn read(ty: ElementType, bytes: &[u8]) -> C128 {
        let (re, im) = bytes.split_at(bytes.len() / 2);
        let part = ty.component();
        C128::new(f64::read(part, re), f64::read(part, im))
    }
    fn rounded(self, ty: ElementType) -> C128 {
        let part = ty.component();
        C128::new(self.re.rounded(part), self.im.rounded(part))
    }
    fn store(self, ty: ElementType, bytes: &mut [u8]) {
        let (re, im) = bytes.split_at_mut(bytes.len() / 2);
        let part = ty.component();
        self.re.store(part, re);
        self.im.store(part, im);
    }
    fn wrap(self) -> Value {
        Value::Complex(self)
    }
    fn unwrap(value: Value) -> Option<C128> {
        if let Value::Complex(value) = value {
            Some(value)
        } else {
            None
        }
    }
}

impl Value {
    /// Reads one element of type `ty` from as many bytes as it has.
    pub(crate) fn read(ty: ElementType, bytes: &[u8]) -> Value {
        match ty.class() {
            ElementClass::Predicate => Value::Pred(bool::read(ty, bytes)),
            ElementClass::Signed | ElementClass::Unsigned => Value::Int(i128::read(ty, bytes)),
            ElementClass::Float => Value::Float(f64::read(ty, bytes)),
            ElementClass::Complex => Value::Complex(C128::read(ty, bytes)),
        }
    }

    /// The element at a row-major position.
    pub(crate) fn at(array: &Array, position: usize) -> Value {
        let size = array.element_type().size();
        Value::read(
            array.element_type(),
            &array.bytes()[position * size..][..size],
        )
    }

    /// Rounds to `ty` and writes.
    pub(crate) fn write(self, ty: ElementType, bytes: &mut [u8]) {
        match self {
            Value::Pred(value) => value.write(ty, bytes),
            Value::Int(value) => value.write(ty, bytes),
            Value::Float(value) => value.write(ty, bytes),
            Value::Complex(value) => value.write(ty, bytes),
        }
    }

    /// The value that `convert` from `from` to `to` gives.
    pub(crate) fn converted(self, from: ElementType, to: ElementType) -> Value {
        let scalar = match self {
            Value::Pred(value) => Scalar::Pred(value),
            Value::Int(value) if from.is_unsigned_integer() => Scalar::Uint(value as u64),
            Value::Int(value) => Scalar::Int(value as i64),
            Value::Float(value) => Scalar::Float(value),
            Value::Complex(value) => Scalar::Complex(value.re, value.im),
        };
        Value::from_scalar(scalar.converted(to))
    }

    fn from_scalar(scalar: Scalar) -> Value {
        match scalar {
            Scalar::Pred(value) => Value::Pred(value),
            Scalar::Int(value) => Value::Int(value.into()),
            Scalar::Uint(value) => Value::Int(value.into()),
            Scalar::Float(value) => Value::Float(value),
            Scalar::Complex(re, im) => Value::Complex(C128::new(re, im)),
        }
    }
}

#[cfg(test)]
mod tests;

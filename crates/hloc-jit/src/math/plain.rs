//! The machine that is Rust itself.

use super::Machine;

/// One lane of plain numbers.
pub(crate) struct Plain;

impl Machine for Plain {
    type Float = f32;
    type Bits = u32;
    type Mask = bool;

    fn float(&mut self, value: f32) -> f32 {
        value
    }
    fn bits(&mut self, value: u32) -> u32 {
        value
    }
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    fn fms(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, -c)
    }
    fn fnma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        (-a).mul_add(b, c)
    }
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    fn to_bits(&mut self, a: f32) -> u32 {
        a.to_bits()
    }
    fn float_of_bits(&mut self, a: u32) -> f32 {
        f32::from_bits(a)
    }
    fn float_of_int(&mut self, a: u32) -> f32 {
        a.cast_signed() as f32
    }
    fn iadd(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn isub(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b)
    }
    fn and(&mut self, a: u32, b: u32) -> u32 {
        a & b
    }
    fn or(&mut self, a: u32, b: u32) -> u32 {
        a | b
    }
    fn xor(&mut self, a: u32, b: u32) -> u32 {
        a ^ b
    }
    fn shl(&mut self, a: u32, amount: u32) -> u32 {
        a << amount
    }
    fn shr(&mut self, a: u32, amount: u32) -> u32 {
        a >> amount
    }
    fn sar(&mut self, a: u32, amount: u32) -> u32 {
        (a.cast_signed() >> amount).cast_unsigned()
    }
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    fn ilt(&mut self, a: u32, b: u32) -> bool {
        a.cast_signed() < b.cast_signed()
    }
    fn ieq(&mut self, a: u32, b: u32) -> bool {
        a == b
    }
    fn select(&mut self, mask: bool, a: f32, b: f32) -> f32 {
        if mask { a } else { b }
    }
    fn select_bits(&mut self, mask: bool, a: u32, b: u32) -> u32 {
        if mask { a } else { b }
    }
}

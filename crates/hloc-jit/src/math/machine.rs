//! The operations that in-line functions are made of.

/// A machine for 32-bit lanes.
///
/// Floats and bits are separate types of value; a mask says yes or no for each lane.
pub(crate) trait Machine {
    /// `f32` in each lane.
    type Float: Copy;
    /// 32 bits in each lane.
    type Bits: Copy;
    /// A truth value for each lane.
    type Mask: Copy;

    /// The same number in each lane.
    fn float(&mut self, value: f32) -> Self::Float;
    /// The same bits in each lane.
    fn bits(&mut self, value: u32) -> Self::Bits;

    /// Sum.
    fn add(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// Difference.
    fn sub(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// Product.
    fn mul(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// `a * b - c`, rounded once.
    fn fms(&mut self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// `c - a * b`, rounded once.
    fn fnma(&mut self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// Square root.
    fn sqrt(&mut self, a: Self::Float) -> Self::Float;
    /// Quotient.
    fn div(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;

    /// The bits of a float.
    fn to_bits(&mut self, a: Self::Float) -> Self::Bits;
    /// The float of bits.
    fn float_of_bits(&mut self, a: Self::Bits) -> Self::Float;
    /// The nearest float of a signed integer.
    fn float_of_int(&mut self, a: Self::Bits) -> Self::Float;

    /// Wrapping sum.
    fn iadd(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Wrapping difference.
    fn isub(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn and(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn or(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn xor(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bits moved up.
    fn shl(&mut self, a: Self::Bits, amount: u32) -> Self::Bits;
    /// Bits moved down, zeros moved in.
    fn shr(&mut self, a: Self::Bits, amount: u32) -> Self::Bits;
    /// Bits moved down, the uppermost copied in.
    fn sar(&mut self, a: Self::Bits, amount: u32) -> Self::Bits;

    /// Whether `a < b`; no if either is NaN.
    fn lt(&mut self, a: Self::Float, b: Self::Float) -> Self::Mask;
    /// Whether `a < b` as signed integers.
    fn ilt(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Mask;
    /// Whether the bits are the same.
    fn ieq(&mut self, a: Self::Bits, b: Self::Bits) -> Self::Mask;
    /// `a` where the mask says yes, else `b`.
    fn select(&mut self, mask: Self::Mask, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a` where the mask says yes, else `b`.
    fn select_bits(&mut self, mask: Self::Mask, a: Self::Bits, b: Self::Bits) -> Self::Bits;
}

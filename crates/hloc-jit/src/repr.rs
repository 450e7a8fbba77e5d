//! How values of each element type live in registers.

use cranelift_codegen::ir::{Type, Value, types};
use hloc_ir::ElementType;

/// The way values of an element type are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `i8` of value 0 or 1.
    Pred,
    /// A two's complement integer.
    Int(IntKind),
    /// An IEEE float that the machine computes with: `F32` or `F64`.
    Float(Type),
    /// A float of at most 16 bits: computed with as `f32`, rounded after each op.
    Narrow(ElementType),
    /// A pair of floats of this type.
    Complex(Type),
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntKind {
    /// The register type. Types below 8 bits are kept sign- or zero-extended in an `i8`.
    pub(crate) ty: Type,
    /// Width in bits.
    pub(crate) bits: u32,
    /// Whether it is signed.
    pub(crate) signed: bool,
}

impl IntKind {
    const fn kind(ty: Type, bits: u32, signed: bool) -> Kind {
        Kind::Int(IntKind { ty, bits, signed })
    }

    /// Whether the register has bits that the type has not.
    pub(crate) fn is_sub_byte(self) -> bool {
        self.bits < 8
    }

    /// The least value, as a register of the type holds it, sign-extended.
    pub(crate) fn minimum(self) -> i64 {
        if self.signed {
            i64::MIN >> (64 - self.bits)
        } else {
            0
        }
    }

    /// The greatest value; that of `u64` is given as the bits of -1.
    pub(crate) fn maximum(self) -> i64 {
        let all_ones = u64::MAX >> (64 - self.bits);
        (if self.signed { all_ones >> 1 } else { all_ones }).cast_signed()
    }
}

impl Kind {
    /// The way values of `ty` are computed with.
    pub(crate) fn of(ty: ElementType) -> Kind {
        match ty {
            ElementType::Pred => Kind::Pred,
            ElementType::S1 => IntKind::kind(types::I8, 1, true),
            ElementType::S2 => IntKind::kind(types::I8, 2, true),
            ElementType::S4 => IntKind::kind(types::I8, 4, true),
            ElementType::S8 => IntKind::kind(types::I8, 8, true),
            ElementType::S16 => IntKind::kind(types::I16, 16, true),
            ElementType::S32 => IntKind::kind(types::I32, 32, true),
            ElementType::S64 => IntKind::kind(types::I64, 64, true),
            ElementType::U1 => IntKind::kind(types::I8, 1, false),
            ElementType::U2 => IntKind::kind(types::I8, 2, false),
            ElementType::U4 => IntKind::kind(types::I8, 4, false),
            ElementType::U8 => IntKind::kind(types::I8, 8, false),
            ElementType::U16 => IntKind::kind(types::I16, 16, false),
            ElementType::U32 => IntKind::kind(types::I32, 32, false),
            ElementType::U64 => IntKind::kind(types::I64, 64, false),
            ElementType::F4E2M1Fn
            | ElementType::F6E2M3Fn
            | ElementType::F6E3M2Fn
            | ElementType::F8E3M4
            | ElementType::F8E4M3
            | ElementType::F8E4M3Fn
            | ElementType::F8E4M3B11Fnuz
            | ElementType::F8E4M3Fnuz
            | ElementType::F8E5M2
            | ElementType::F8E5M2Fnuz
            | ElementType::F8E8M0Fnu
            | ElementType::F16
            | ElementType::BF16 => Kind::Narrow(ty),
            ElementType::F32 => Kind::Float(types::F32),
            ElementType::F64 => Kind::Float(types::F64),
            ElementType::C64 => Kind::Complex(types::F32),
            ElementType::C128 => Kind::Complex(types::F64),
        }
    }

    /// The types of the registers that carry a value over a block boundary.
    pub(crate) fn carried_types(self) -> &'static [Type] {
        match self {
            Kind::Pred => &[types::I8],
            Kind::Int(kind) => match kind.ty.bits() {
                8 => &[types::I8],
                16 => &[types::I16],
                32 => &[types::I32],
                _ => &[types::I64],
            },
            Kind::Float(ty) if ty == types::F64 => &[types::F64],
            Kind::Float(_) | Kind::Narrow(_) => &[types::F32],
            Kind::Complex(ty) if ty == types::F64 => &[types::F64, types::F64],
            Kind::Complex(_) => &[types::F32, types::F32],
        }
    }
}

/// The integer register type as wide as an element of `ty` in memory: `i16` for `bf16`.
///
/// Complex numbers give the type of one part.
pub(crate) fn bits_type(ty: ElementType) -> Type {
    match ty.component().size() {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

/// A value in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reg {
    /// One register.
    One(Value),
    /// Real and imaginary part.
    Pair(Value, Value),
    /// A narrow float as its bits in memory. Moving one keeps the payload of a NaN, which computing
    /// with the `f32` form does not.
    Bits(Value),
}

impl Reg {
    /// The single register.
    pub(crate) fn one(self) -> Value {
        match self {
            Reg::One(value) | Reg::Bits(value) | Reg::Pair(value, _) => value,
        }
    }

    /// Both parts of a complex number; of anything else the register twice.
    pub(crate) fn pair(self) -> (Value, Value) {
        match self {
            Reg::Pair(re, im) => (re, im),
            Reg::One(value) | Reg::Bits(value) => (value, value),
        }
    }
}

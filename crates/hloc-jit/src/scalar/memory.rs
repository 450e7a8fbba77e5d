//! Constants, loads and stores of single elements, and the two forms of narrow floats.

use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use hloc_ir::ElementType;

use crate::kernel::Emitter;
use crate::math::clif::Clif;
use crate::math::narrow;
use crate::repr::{Kind, Reg, bits_type};

/// Accesses never trap and may be reordered with others that do not overlap.
const FLAGS: MemFlagsData = MemFlagsData::trusted();

/// For bitcasts between a register and a same-sized one.
pub(crate) const CAST: MemFlagsData = MemFlagsData::new().with_endianness(Endianness::Little);

impl Emitter<'_, '_> {
    /// The element of type `ty` with these bits.
    pub(crate) fn constant(&mut self, ty: ElementType, bits: u128) -> Reg {
        match Kind::of(ty) {
            Kind::Pred => Reg::One(self.integer_bits(types::I8, (bits & 1) as u64)),
            Kind::Int(kind) => Reg::One(self.integer_bits(kind.ty, bits as u64)),
            Kind::Narrow(_) => Reg::Bits(self.integer_bits(bits_type(ty), bits as u64)),
            Kind::Float(float) => Reg::One(self.float_bits(float, bits as u64)),
            Kind::Complex(part) => {
                let re = self.float_bits(part, bits as u64);
                let im = self.float_bits(part, (bits >> part.bits()) as u64);
                Reg::Pair(re, im)
            }
        }
    }

    /// An integer constant; bits beyond the type are ignored.
    pub(crate) fn integer_bits(&mut self, ty: Type, bits: u64) -> Value {
        let mask = u64::MAX >> (64 - ty.bits());
        self.b.ins().iconst(ty, (bits & mask).cast_signed())
    }

    fn float_bits(&mut self, ty: Type, bits: u64) -> Value {
        if ty == types::F64 {
            self.b.ins().f64const(Ieee64::with_bits(bits))
        } else {
            self.b.ins().f32const(Ieee32::with_bits(bits as u32))
        }
    }

    /// A float constant of type `ty`, `F32` or `F64`; the number must be exact in `f32`.
    pub(crate) fn float_constant(&mut self, ty: Type, value: f32) -> Value {
        if ty == types::F64 {
            self.b.ins().f64const(f64::from(value))
        } else {
            self.b.ins().f32const(value)
        }
    }

    /// Reads an element.
    pub(crate) fn load(
        &mut self,
        ty: ElementType,
        flags: MemFlagsData,
        address: Value,
        offset: i32,
    ) -> Reg {
        match Kind::of(ty) {
            Kind::Pred => Reg::One(self.b.ins().load(types::I8, flags, address, offset)),
            Kind::Int(kind) => Reg::One(self.b.ins().load(kind.ty, flags, address, offset)),
            Kind::Float(float) => Reg::One(self.b.ins().load(float, flags, address, offset)),
            Kind::Narrow(_) => Reg::Bits(self.b.ins().load(bits_type(ty), flags, address, offset)),
            Kind::Complex(part) => {
                let second = offset + part.bytes().cast_signed();
                let re = self.b.ins().load(part, flags, address, offset);
                Reg::Pair(re, self.b.ins().load(part, flags, address, second))
            }
        }
    }

    /// Writes an element.
    pub(crate) fn store(&mut self, ty: ElementType, reg: Reg, address: Value, offset: i32) {
        match self.memory_form(ty, reg) {
            Reg::One(value) | Reg::Bits(value) => {
                self.b.ins().store(FLAGS, value, address, offset);
            }
            Reg::Pair(re, im) => {
                let part = self.b.func.dfg.value_type(re);
                let second = offset + part.bytes().cast_signed();
                self.b.ins().store(FLAGS, re, address, offset);
                self.b.ins().store(FLAGS, im, address, second);
            }
        }
    }

    /// The form to compute with: a narrow float as `f32`.
    pub(crate) fn computed(&mut self, ty: ElementType, reg: Reg) -> Reg {
        let Reg::Bits(bits) = reg else {
            return reg;
        };
        let wide = self.b.ins().uextend(types::I32, bits);
        let mut machine = Clif::scalar(&mut self.b);
        Reg::One(narrow::widen(&mut machine, ty, wide))
    }

    /// The form to store: a narrow float as its bits.
    pub(crate) fn memory_form(&mut self, ty: ElementType, reg: Reg) -> Reg {
        match (Kind::of(ty), reg) {
            (Kind::Narrow(_), Reg::One(value)) => {
                let mut machine = Clif::scalar(&mut self.b);
                let bits = narrow::narrow(&mut machine, ty, value);
                Reg::Bits(self.b.ins().ireduce(bits_type(ty), bits))
            }
            (
                Kind::Pred | Kind::Int(_) | Kind::Float(_) | Kind::Narrow(_) | Kind::Complex(_),
                reg,
            ) => reg,
        }
    }

    /// The bits of a float as an integer register.
    pub(crate) fn cast_to_int(&mut self, value: Value) -> Value {
        let ty = self.b.func.dfg.value_type(value).as_int();
        self.b.ins().bitcast(ty, CAST, value)
    }

    /// The float with the bits of an integer register.
    pub(crate) fn cast_to_float(&mut self, value: Value) -> Value {
        let ty = match self.b.func.dfg.value_type(value) {
            types::I64 => types::F64,
            _ => types::F32,
        };
        self.b.ins().bitcast(ty, CAST, value)
    }
}

//! Lanes from memory and scalars, and back.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use hloc_ir::ElementType;
use hloc_loops::index::Index;
use hloc_loops::ir::ParamId;

use super::{Lane, Vectors, Width};
use crate::error::JitError;
use crate::math::clif::Clif;
use crate::math::narrow;
use crate::repr::{IntKind, Reg};
use crate::scalar::CAST;

/// Vectors are aligned as their elements are, not as a whole: without AVX, Cranelift would take the promise
/// of alignment as leave to use memory operands that fault.
const FLAGS: MemFlagsData = MemFlagsData::new().with_notrap();

impl Vectors<'_, '_, '_> {
    /// The same bits as another vector type.
    pub(super) fn cast(&mut self, ty: Type, value: Value) -> Value {
        if self.e.b.func.dfg.value_type(value) == ty {
            value
        } else {
            self.e.b.ins().bitcast(ty, CAST, value)
        }
    }

    /// A scalar value in every lane.
    pub(super) fn splat(&mut self, ty: ElementType, lane: Lane, reg: Reg) -> Value {
        let width = self.width();
        match lane {
            Lane::Mask => {
                let wide = self.e.b.ins().uextend(width.int_lane(), reg.one());
                let mask = self.e.b.ins().ineg(wide);
                self.e.b.ins().splat(width.ints(), mask)
            }
            Lane::Int(kind) => {
                let wide = self.e.extended(kind, reg.one(), width.int_lane());
                self.e.b.ins().splat(width.ints(), wide)
            }
            Lane::Float | Lane::Narrow(_) => {
                let value = self.e.computed(ty, reg).one();
                self.e.b.ins().splat(width.floats(), value)
            }
        }
    }

    /// An integer in every lane.
    pub(super) fn splat_bits(&mut self, bits: u64) -> Value {
        let (lane, ints) = (self.width().int_lane(), self.width().ints());
        let value = self.e.integer_bits(lane, bits);
        self.e.b.ins().splat(ints, value)
    }

    /// A number in every lane; it must be exact in `f32`.
    pub(super) fn splat_float(&mut self, value: f32) -> Value {
        let (lane, floats) = (self.width().float_lane(), self.width().floats());
        let value = self.e.float_constant(lane, value);
        self.e.b.ins().splat(floats, value)
    }

    /// Consecutive elements.
    pub(super) fn load(
        &mut self,
        ty: ElementType,
        lane: Lane,
        address: Value,
        offset: i32,
    ) -> Value {
        let width = self.width();
        match lane {
            Lane::Float => self.e.b.ins().load(width.floats(), FLAGS, address, offset),
            Lane::Int(kind) if kind.ty == width.int_lane() => {
                self.e.b.ins().load(width.ints(), FLAGS, address, offset)
            }
            Lane::Int(kind) => self.load_small(ty.size(), kind.signed, address, offset),
            Lane::Mask => {
                let bytes = self.load_small(1, false, address, offset);
                let zero = self.splat_bits(0);
                self.e.b.ins().icmp(IntCC::NotEqual, bytes, zero)
            }
            Lane::Narrow(ty) => {
                let bits = self.load_small(ty.size(), false, address, offset);
                narrow::widen(&mut Clif::vector(&mut self.e.b), ty, bits)
            }
        }
    }

    /// Elements that lie `stride` elements apart, one by one.
    pub(super) fn load_strided(
        &mut self,
        (ty, lane): (ElementType, Lane),
        param: ParamId,
        (index, stride): (&Index, i64),
        copy: i64,
    ) -> Result<Value, JitError> {
        let width = self.width();
        let (address, offset) = self.place(param, index, copy)?;
        let step = stride.wrapping_mul(i64::try_from(ty.size()).unwrap_or(1));
        let mut all = None;
        for at in 0..width.lanes() {
            let (address, offset) = self.displaced(address, offset, step.wrapping_mul(at));
            let element = match lane {
                Lane::Float => self
                    .e
                    .b
                    .ins()
                    .load(width.float_lane(), FLAGS, address, offset),
                Lane::Int(_) | Lane::Mask | Lane::Narrow(_) => {
                    let bits = self.e.load(ty, FLAGS, address, offset).one();
                    self.lane_bits(lane, bits)
                }
            };
            let vector = if lane == Lane::Float {
                width.floats()
            } else {
                width.ints()
            };
            let at = u8::try_from(at).unwrap_or(0);
            all = Some(match all {
                None => self.e.b.ins().scalar_to_vector(vector, element),
                Some(lanes) => self.e.b.ins().insertlane(lanes, element, at),
            });
        }
        let Some(lanes) = all else {
            return Err(self.e.malformed("a vector has no lanes"));
        };
        Ok(match lane {
            Lane::Float | Lane::Int(_) => lanes,
            Lane::Mask => {
                let zero = self.splat_bits(0);
                self.e.b.ins().icmp(IntCC::NotEqual, lanes, zero)
            }
            Lane::Narrow(ty) => narrow::widen(&mut Clif::vector(&mut self.e.b), ty, lanes),
        })
    }

    /// Where the first lane of a copy lies. Copies are further iterations of the vector loop, or of the
    /// loop around it if that is what the plan takes at once.
    pub(super) fn place(
        &mut self,
        param: ParamId,
        index: &Index,
        copy: i64,
    ) -> Result<(Value, i32), JitError> {
        let (_, ty) = self.e.param(param)?;
        let elements = match self.plan.rows {
            Some(var) => copy.wrapping_mul(index.stride(var).unwrap_or(0)),
            None => {
                let stride = index.stride(self.plan.var).unwrap_or(1);
                (copy * self.width().lanes()).wrapping_mul(stride)
            }
        };
        let (address, offset) = self.e.address(param, index)?;
        let size = i64::try_from(ty.size()).unwrap_or(1);
        Ok(self.displaced(address, offset, elements.wrapping_mul(size)))
    }

    /// An address and offset `distance` bytes further on.
    pub(super) fn displaced(&mut self, address: Value, offset: i32, distance: i64) -> (Value, i32) {
        let sum = i64::from(offset).wrapping_add(distance);
        match i32::try_from(sum) {
            Ok(offset) => (address, offset),
            Err(_) => (self.e.b.ins().iadd_imm_s(address, sum), 0),
        }
    }

    /// An integer from memory as wide as a lane.
    fn lane_bits(&mut self, lane: Lane, bits: Value) -> Value {
        let wide = self.width().int_lane();
        if self.e.b.func.dfg.value_type(bits) == wide {
            return bits;
        }
        match lane {
            Lane::Int(kind) if kind.signed => self.e.b.ins().sextend(wide, bits),
            Lane::Int(_) | Lane::Mask | Lane::Float | Lane::Narrow(_) => {
                self.e.b.ins().uextend(wide, bits)
            }
        }
    }

    /// Consecutive elements of one or two bytes, widened to the lanes.
    fn load_small(&mut self, size: usize, signed: bool, address: Value, offset: i32) -> Value {
        if size == 2 {
            let ins = self.e.b.ins();
            return if signed {
                ins.sload16x4(FLAGS, address, offset)
            } else {
                ins.uload16x4(FLAGS, address, offset)
            };
        }
        let packed = match self.width() {
            Width::Single => self.e.b.ins().load(types::I32, FLAGS, address, offset),
            Width::Double => {
                let two = self.e.b.ins().load(types::I16, FLAGS, address, offset);
                self.e.b.ins().uextend(types::I32, two)
            }
        };
        let vector = self.e.b.ins().scalar_to_vector(types::I32X4, packed);
        let bytes = self.cast(types::I8X16, vector);
        let mut wide = bytes;
        for _ in 0..if self.width() == Width::Single { 2 } else { 3 } {
            wide = if signed {
                self.e.b.ins().swiden_low(wide)
            } else {
                self.e.b.ins().uwiden_low(wide)
            };
        }
        wide
    }

    /// Writes consecutive elements.
    pub(super) fn store(
        &mut self,
        ty: ElementType,
        lane: Lane,
        lanes: Value,
        address: Value,
        offset: i32,
    ) {
        match lane {
            Lane::Int(kind) if kind.ty != self.width().int_lane() => {
                self.store_small(ty.size(), lanes, address, offset);
            }
            Lane::Int(_) | Lane::Float => {
                self.e.b.ins().store(FLAGS, lanes, address, offset);
            }
            Lane::Narrow(narrow_type) => {
                let machine = &mut Clif::vector(&mut self.e.b);
                let bits = narrow::narrow(machine, narrow_type, lanes);
                self.store_small(ty.size(), bits, address, offset);
            }
            Lane::Mask => self.store_mask(lanes, address, offset),
        }
    }

    fn store_mask(&mut self, mask: Value, address: Value, offset: i32) {
        let one = self.splat_bits(1);
        let bits = self.e.b.ins().band(mask, one);
        if self.width() == Width::Single {
            return self.store_small(1, bits, address, offset);
        }
        for lane in [0u8, 1] {
            let wide = self.e.b.ins().extractlane(bits, lane);
            let byte = self.e.b.ins().ireduce(types::I8, wide);
            let offset = offset + i32::from(lane);
            self.e.b.ins().store(FLAGS, byte, address, offset);
        }
    }

    /// Writes the low one or two bytes of each 32-bit lane. Sign-extended first, they fit, and narrowing
    /// does not saturate.
    fn store_small(&mut self, size: usize, lanes: Value, address: Value, offset: i32) {
        let unused = if size == 1 { 24 } else { 16 };
        let high = self.e.b.ins().ishl_imm_u(lanes, unused);
        let exact = self.e.b.ins().sshr_imm_u(high, unused);
        let words = self.e.b.ins().snarrow(exact, exact);
        let packed = if size == 1 {
            let bytes = self.e.b.ins().snarrow(words, words);
            let vector = self.cast(types::I32X4, bytes);
            self.e.b.ins().extractlane(vector, 0u8)
        } else {
            let vector = self.cast(types::I64X2, words);
            self.e.b.ins().extractlane(vector, 0u8)
        };
        self.e.b.ins().store(FLAGS, packed, address, offset);
    }

    /// The element in one lane, as scalar code holds it.
    pub(super) fn extract(&mut self, lane: Lane, lanes: Value, at: u8) -> Reg {
        let value = self.e.b.ins().extractlane(lanes, at);
        Reg::One(match lane {
            Lane::Mask => self.e.b.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
            Lane::Int(kind) if kind.ty != self.width().int_lane() => {
                self.e.b.ins().ireduce(kind.ty, value)
            }
            Lane::Int(_) | Lane::Float | Lane::Narrow(_) => value,
        })
    }

    /// Wraps integers in lanes to their own width.
    pub(super) fn normalized(&mut self, kind: IntKind, lanes: Value) -> Value {
        let width = self.width().int_lane().bits();
        if kind.bits == width {
            lanes
        } else if kind.signed {
            let unused = i64::from(width - kind.bits);
            let high = self.e.b.ins().ishl_imm_u(lanes, unused);
            self.e.b.ins().sshr_imm_u(high, unused)
        } else {
            let mask = self.splat_bits((1 << kind.bits) - 1);
            self.e.b.ins().band(lanes, mask)
        }
    }
}

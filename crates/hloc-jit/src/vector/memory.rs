//! Lanes from memory and scalars, and back.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use hloc_ir::ElementType;
use hloc_loops::index::Index;
use hloc_loops::ir::{ParamId, ValueId};

use super::{Lane, Vectors, Width};
use crate::error::JitError;
use crate::math::clif::{Clif, vector_constant};
use crate::math::narrow;
use crate::repr::{IntKind, Reg};
use crate::scalar::CAST;

/// Vectors are aligned as their elements are, not as a whole: without AVX, Cranelift would take the promise
/// of alignment as leave to use memory operands that fault.
pub(super) const FLAGS: MemFlagsData = MemFlagsData::new().with_notrap();

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
        let ints = self.width().ints();
        vector_constant(&mut self.e.b, ints, bits)
    }

    /// A number in every lane; it must be exact in `f32`.
    pub(super) fn splat_float(&mut self, value: f32) -> Value {
        let floats = self.width().floats();
        let bits = match self.width() {
            Width::Single => u64::from(value.to_bits()),
            Width::Double => f64::from(value).to_bits(),
        };
        vector_constant(&mut self.e.b, floats, bits)
    }

    /// A constant in every lane; `None` where a lane holds it in other bits than memory does.
    pub(super) fn known_lanes(&mut self, value: ValueId, lane: Lane) -> Option<Value> {
        let bits = self.e.known_bits(value)? as u64;
        let width = self.width();
        match lane {
            Lane::Float => Some(vector_constant(&mut self.e.b, width.floats(), bits)),
            Lane::Int(kind) if kind.ty == width.int_lane() => {
                Some(vector_constant(&mut self.e.b, width.ints(), bits))
            }
            Lane::Mask => Some(self.splat_bits(if bits & 1 == 0 { 0 } else { u64::MAX })),
            Lane::Int(_) | Lane::Narrow(_) => None,
        }
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
            Lane::Float => self.load_vector(width.floats(), address, offset),
            Lane::Int(kind) if kind.ty == width.int_lane() => {
                self.load_vector(width.ints(), address, offset)
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
        let (address, offset) = self.place(param, index, copy)?;
        let step = stride.wrapping_mul(i64::try_from(ty.size()).unwrap_or(1));
        let places = (0..self.width().lanes())
            .map(|at| self.displaced(address, offset, step.wrapping_mul(at)))
            .collect::<Vec<_>>();
        self.gathered((ty, lane), param, &places)
    }

    /// Elements from places that follow no stride, one by one, in a loop that is one stretch.
    pub(super) fn load_uneven(
        &mut self,
        (ty, lane): (ElementType, Lane),
        param: ParamId,
        index: &Index,
        copy: i64,
    ) -> Result<Value, JitError> {
        if self.is_wide() {
            let Some(slot) = self.e.table(param, index) else {
                return Err(self.e.malformed("a wide loop has no table"));
            };
            let (address, offset) = self.table_address(slot, copy);
            let vector = self.gathered_type(lane);
            let lanes = self.load_vector(vector, address, offset);
            return Ok(self.gathered_lanes(lane, lanes));
        }
        let (lanes, var) = (self.width().lanes(), self.plan.var);
        let mut places = Vec::new();
        for at in 0..lanes {
            let index = self.e.at_iteration(index, var, copy * lanes + at);
            places.push(self.e.address(param, &index)?);
        }
        self.gathered((ty, lane), param, &places)
    }

    fn gathered(
        &mut self,
        (ty, lane): (ElementType, Lane),
        param: ParamId,
        places: &[(Value, i32)],
    ) -> Result<Value, JitError> {
        self.e.crosses_lanes = true;
        let flags = self.e.load_flags(param);
        let mut all = None;
        for (at, (address, offset)) in (0..).zip(places) {
            let reg = self.e.load(ty, flags, *address, *offset).one();
            let element = match lane {
                Lane::Float => reg,
                Lane::Int(_) | Lane::Mask | Lane::Narrow(_) => self.lane_bits(lane, reg),
            };
            let vector = self.gathered_type(lane);
            all = Some(match all {
                None => self.e.b.ins().scalar_to_vector(vector, element),
                Some(lanes) => self.e.b.ins().insertlane(lanes, element, at),
            });
        }
        let Some(lanes) = all else {
            return Err(self.e.malformed("a vector has no lanes"));
        };
        Ok(self.gathered_lanes(lane, lanes))
    }

    /// The type of a vector into which elements are put one by one.
    fn gathered_type(&self, lane: Lane) -> Type {
        match lane {
            Lane::Float => self.width().floats(),
            Lane::Int(_) | Lane::Mask | Lane::Narrow(_) => self.width().ints(),
        }
    }

    /// Such a vector as the lanes that it stands for.
    fn gathered_lanes(&mut self, lane: Lane, lanes: Value) -> Value {
        match lane {
            Lane::Float | Lane::Int(_) => lanes,
            Lane::Mask => {
                let zero = self.splat_bits(0);
                self.e.b.ins().icmp(IntCC::NotEqual, lanes, zero)
            }
            Lane::Narrow(ty) => narrow::widen(&mut Clif::vector(&mut self.e.b), ty, lanes),
        }
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
                (copy * self.lane_count()).wrapping_mul(stride)
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
    pub(super) fn lane_bits(&mut self, lane: Lane, bits: Value) -> Value {
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

    /// A vector of elements as wide as the lanes.
    ///
    /// The retargeter takes from the type of an access how wide it is; where it is that of the elements, a
    /// load may become an operand in memory.
    pub(super) fn load_vector(&mut self, ty: Type, address: Value, offset: i32) -> Value {
        let accessed = self.accessed(ty);
        let value = self.e.b.ins().load(accessed, FLAGS, address, offset);
        self.cast(ty, value)
    }

    /// Writes a vector of elements as wide as the lanes.
    pub(super) fn store_vector(&mut self, lanes: Value, address: Value, offset: i32) {
        let ty = self.e.b.func.dfg.value_type(lanes);
        let accessed = self.accessed(ty);
        let value = self.cast(accessed, lanes);
        self.e.b.ins().store(FLAGS, value, address, offset);
    }

    /// The type by which vectors of type `ty` are read and written.
    fn accessed(&self, ty: Type) -> Type {
        match (self.e.factor, self.is_wide()) {
            (1, _) => ty,
            (_, true) => types::F32X4,
            (_, false) => types::I8X16,
        }
    }

    /// A vector in memory, of as many bytes as fill the lanes when each is widened `times` fold.
    fn load_part(&mut self, times: u32, address: Value, offset: i32) -> Value {
        let bytes = self.vector_bytes() / times;
        let (load, vector) = match bytes {
            32 => (types::F64X2, None),
            16 => (types::I64X2, None),
            8 => (types::I64, Some(types::I64X2)),
            _ => (types::I32, Some(types::I32X4)),
        };
        let value = self.e.b.ins().load(load, FLAGS, address, offset);
        match vector {
            Some(vector) => self.e.b.ins().scalar_to_vector(vector, value),
            None => value,
        }
    }

    /// Writes the first `bytes` bytes of a vector.
    fn store_part(&mut self, bytes: u32, vector: Value, address: Value, offset: i32) {
        let (ty, is_whole) = match bytes {
            32 => (types::F64X2, true),
            16 => (types::I64X2, true),
            8 => (types::I64X2, false),
            _ => (types::I32X4, false),
        };
        let mut value = self.cast(ty, vector);
        if !is_whole {
            value = self.e.b.ins().extractlane(value, 0u8);
        }
        self.e.b.ins().store(FLAGS, value, address, offset);
    }

    /// Consecutive elements of one or two bytes, widened to the lanes.
    fn load_small(&mut self, size: usize, signed: bool, address: Value, offset: i32) -> Value {
        if self.is_wide() {
            let size = u32::try_from(size).unwrap_or(1);
            let times = self.width().int_lane().bytes() / size;
            let part = self.load_part(times, address, offset);
            let start = if size == 1 {
                types::I8X16
            } else {
                types::I16X8
            };
            let packed = self.cast(start, part);
            let wide = self.widened(packed, times, signed);
            // Cranelift has a way of its own, across lanes, to multiply what it sees to be widened.
            let hidden = self.cast(types::F32X4, wide);
            let ints = self.width().ints();
            return self.cast(ints, hidden);
        }
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
        self.widened(bytes, self.width().int_lane().bytes(), signed)
    }

    /// Elements widened `times` fold.
    fn widened(&mut self, packed: Value, times: u32, signed: bool) -> Value {
        let mut wide = packed;
        for _ in 0..times.trailing_zeros() {
            wide = if signed {
                self.e.b.ins().swiden_low(wide)
            } else {
                self.e.b.ins().uwiden_low(wide)
            };
        }
        wide
    }

    /// The number of each lane.
    pub(super) fn lane_numbers(&mut self) -> Value {
        let lane = self.width().int_lane();
        let (ty, size) = if self.is_wide() {
            (types::I8X16, 1)
        } else {
            (self.width().ints(), lane.bytes())
        };
        let bytes = (0..16 / size).flat_map(|at| {
            let number = u64::from(at).to_le_bytes();
            number.into_iter().take(size as usize)
        });
        let bytes: Vec<u8> = bytes.collect();
        let constant = self.e.b.func.dfg.constants.insert(bytes.into());
        let numbers = self.e.b.ins().vconst(ty, constant);
        self.widened(numbers, lane.bytes() / size, false)
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
            Lane::Int(_) | Lane::Float => self.store_vector(lanes, address, offset),
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
        if self.is_wide() {
            return self.store_signs(mask, address, offset);
        }
        for lane in [0u8, 1] {
            let wide = self.e.b.ins().extractlane(bits, lane);
            let byte = self.e.b.ins().ireduce(types::I8, wide);
            let offset = offset + i32::from(lane);
            self.e.b.ins().store(FLAGS, byte, address, offset);
        }
    }

    /// Writes a byte of 0 or 1 for each lane of a mask, up to eight.
    fn store_signs(&mut self, mask: Value, address: Value, offset: i32) {
        let bits = self.e.b.ins().vhigh_bits(types::I64, mask);
        let bits = self.e.b.ins().band_imm_u(bits, 0xff);
        // Seven bits are spread by a multiplication whose partial products do not overlap.
        let low = self.e.b.ins().band_imm_u(bits, 0x7f);
        let spread = self.e.b.ins().imul_imm_u(low, 0x0002_0408_1020_4081);
        let low = self.e.b.ins().band_imm_u(spread, 0x0101_0101_0101_0101);
        let high = self.e.b.ins().ushr_imm_u(bits, 7);
        let high = self.e.b.ins().ishl_imm_u(high, 56);
        let bytes = self.e.b.ins().bor(low, high);
        let bytes = if self.lane_count() == 4 {
            self.e.b.ins().ireduce(types::I32, bytes)
        } else {
            bytes
        };
        self.e.b.ins().store(FLAGS, bytes, address, offset);
    }

    /// Writes the low one or two bytes of each 32-bit lane. Sign-extended first, they fit, and narrowing
    /// does not saturate.
    fn store_small(&mut self, size: usize, lanes: Value, address: Value, offset: i32) {
        let unused = if size == 1 { 24 } else { 16 };
        let high = self.e.b.ins().ishl_imm_u(lanes, unused);
        let exact = self.e.b.ins().sshr_imm_u(high, unused);
        let words = self.e.b.ins().snarrow(exact, exact);
        if self.is_wide() {
            let packed = if size == 1 {
                self.e.b.ins().snarrow(words, words)
            } else {
                words
            };
            let bytes = self.vector_bytes() / 4 * u32::try_from(size).unwrap_or(1);
            return self.store_part(bytes, packed, address, offset);
        }
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

    /// The elements in all lanes, as scalar code holds them.
    pub(super) fn scalars(&mut self, lane: Lane, lanes: Value) -> Vec<Reg> {
        let count = self.lane_count();
        let ty = self.e.b.func.dfg.value_type(lanes).lane_type();
        // The retargeter knows nothing that moves between lanes: by way of memory there.
        let address = (self.e.factor > 1).then(|| {
            let address = self.e.lanes_address();
            self.store_vector(lanes, address, 0);
            address
        });
        let mut elements = Vec::new();
        for at in 0..count {
            let at = u8::try_from(at).unwrap_or(0);
            let value = match address {
                Some(address) => {
                    let offset = i32::from(at) * ty.bytes().cast_signed();
                    self.e.b.ins().load(ty, FLAGS, address, offset)
                }
                None => self.e.b.ins().extractlane(lanes, at),
            };
            elements.push(self.scalar(lane, value));
        }
        elements
    }

    /// What a lane holds, as scalar code holds it.
    fn scalar(&mut self, lane: Lane, value: Value) -> Reg {
        Reg::One(match lane {
            Lane::Mask => self.e.b.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
            Lane::Int(kind) if kind.ty != self.width().int_lane() => {
                self.e.b.ins().ireduce(kind.ty, value)
            }
            Lane::Int(_) | Lane::Float | Lane::Narrow(_) => value,
        })
    }

    /// The 128-bit parts of a wide vector, in order.
    pub(super) fn parts(&mut self, wide: Value) -> Vec<Value> {
        let ty = self.e.b.func.dfg.value_type(wide);
        let address = self.e.lanes_address();
        let whole = self.cast(types::F32X4, wide);
        self.e.b.ins().store(FLAGS, whole, address, 0);
        let mut parts = Vec::new();
        for part in 0..self.e.factor {
            let offset = part.cast_signed() * 16;
            let value = self.e.b.ins().load(types::I8X16, FLAGS, address, offset);
            parts.push(self.cast(ty, value));
        }
        parts
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

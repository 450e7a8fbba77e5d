//! The greater and the less of floats; greatest and least elements, with two more vectors beside the partial
//! results.
//!
//! A `maximum` that gives NaN for NaN and +0 above −0 takes five instructions: the processor's gives its second
//! operand where one is NaN or both are zeros, so that of both orders the common bits are right but for NaN. With
//! a constant that is no NaN it takes one, and one more beside +0. A reduction needs to know
//! only at its end whether there was a NaN, and the sign of zero only if zero is what it ends with: then all
//! elements are of one sign, and a zero of the other sign shows in the bits that they have in common. What lies
//! between lanes is combined as integers of the same order ([`is_ordered`]).

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hloc_ir::{BinaryOp, ElementType};
use hloc_loops::ir::ValueId;

use super::plan::Reduction;
use super::{Lane, Vectors, Width};

/// Number of vectors beside the partial results: which lanes met a NaN, and the bits of all elements
/// combined by `and` for a maximum, by `or` for a minimum.
pub(super) const BESIDE: usize = 2;

/// Whether the reduction is of this kind.
pub(super) fn is_extreme(reduction: &Reduction, lane: Lane) -> bool {
    is_extreme_op(reduction.op, lane)
}

/// Whether this is a maximum or minimum of floats.
pub(super) fn is_extreme_op(op: BinaryOp, lane: Lane) -> bool {
    let is_float = match lane {
        Lane::Float | Lane::Narrow(_) => true,
        Lane::Mask | Lane::Int(_) => false,
    };
    is_float && (op == BinaryOp::Maximum || op == BinaryOp::Minimum)
}

/// Whether greatest and least lanes are found as integers that have the order of the numbers, −0 before +0: of 32 bits,
/// processors compare them with one instruction, of 64 only some.
pub(super) fn is_ordered(width: Width) -> bool {
    match width {
        Width::Single => true,
        Width::Double => false,
    }
}

impl Vectors<'_, '_, '_> {
    /// The number that a value is in every lane, if it is a constant and no NaN.
    pub(super) fn limit(&self, value: ValueId) -> Option<f64> {
        let bits = self.e.known_bits(value)?;
        let ty = self.e.type_of(value).ok()?;
        let number = if ty == ElementType::F32 {
            f64::from(f32::from_bits(bits as u32))
        } else if ty == ElementType::BF16 {
            f64::from(f32::from_bits((bits as u32) << 16))
        } else if ty == ElementType::F64 {
            f64::from_bits(bits as u64)
        } else {
            return None;
        };
        (!number.is_nan()).then_some(number)
    }

    /// The greater or the less: NaN where either is NaN, −0 below +0. Beside each operand stands the number that
    /// it is everywhere, if that is known.
    ///
    /// Narrow floats need no rounding: the result is one of the operands.
    pub(super) fn extreme(
        &mut self,
        op: BinaryOp,
        (x, left): (Value, Option<f64>),
        (y, right): (Value, Option<f64>),
    ) -> Value {
        let limited = match (left, right) {
            (_, Some(limit)) => self.limited(op, x, (y, limit)),
            (Some(limit), None) => self.limited(op, y, (x, limit)),
            (None, None) => None,
        };
        if let Some(limited) = limited {
            return limited;
        }
        let one = self.more_extreme(op, x, y);
        let other = self.more_extreme(op, y, x);
        let ints = self.width().ints();
        let (one, other) = (self.cast(ints, one), self.cast(ints, other));
        // Equal numbers have equal bits, but for zeros.
        let bits = self.both_signs(op, one, other);
        let floats = self.width().floats();
        let number = self.cast(floats, bits);
        let nan = self.splat_float(f32::NAN);
        let is_nan = self.e.b.ins().fcmp(FloatCC::Unordered, x, y);
        self.choose(is_nan, nan, number)
    }

    /// With a number: where `x` is NaN, and where both are zeros, `x` is what the processor gives. `None` if that
    /// would be the wrong zero.
    fn limited(&mut self, op: BinaryOp, x: Value, (lanes, limit): (Value, f64)) -> Option<Value> {
        let is_maximum = op == BinaryOp::Maximum;
        let is_kept = limit != 0.0 || limit.is_sign_negative() == is_maximum;
        if !is_kept && !is_maximum {
            return None;
        }
        let result = self.more_extreme(op, lanes, x);
        if is_kept {
            return Some(result);
        }
        // −0 + 0 is +0; everything else stays.
        let zero = self.splat_float(0.0);
        Some(self.e.b.ins().fadd(result, zero))
    }

    /// The state after the first round: its elements and the vectors beside them.
    pub(super) fn first_extremes(&mut self, op: BinaryOp, elements: &[Value]) -> Vec<Value> {
        let (nan, signs) = (self.nans(elements), self.signs(op, elements));
        let mut state = elements.to_vec();
        state.extend([nan, signs]);
        state
    }

    /// The state after one more round.
    pub(super) fn next_extremes(
        &mut self,
        op: BinaryOp,
        state: &[Value],
        elements: &[Value],
    ) -> Vec<Value> {
        let (partial, beside) = state.split_at(elements.len());
        let pairs = partial.iter().zip(elements);
        let mut next: Vec<Value> = pairs
            .map(|(partial, element)| self.more_extreme(op, *element, *partial))
            .collect();
        let nan = self.nans(elements);
        let signs = self.signs(op, elements);
        next.push(self.e.b.ins().bor(beside[0], nan));
        next.push(self.both_signs(op, beside[1], signs));
        next
    }

    /// One vector that the state stands for, zeros with their signs: as numbers, or as keys where the width has them
    /// ([`is_ordered`]).
    pub(super) fn folded_extremes(&mut self, op: BinaryOp, state: &[Value]) -> Value {
        let (partial, beside) = state.split_at(state.len() - BESIDE);
        let mut row = partial.to_vec();
        while row.len() > 1 {
            let (low, high) = row.split_at(row.len() / 2);
            let pairs: Vec<_> = low.iter().copied().zip(high.iter().copied()).collect();
            let combine = |(a, b)| self.more_extreme(op, a, b);
            row = pairs.into_iter().map(combine).collect();
        }
        let (floats, ints) = (self.width().floats(), self.width().ints());
        let zero = self.splat_float(0.0);
        let is_zero = self.e.b.ins().fcmp(FloatCC::Equal, row[0], zero);
        let is_zero = self.cast(floats, is_zero);
        let bits = self.width().int_lane().bits();
        let sign = self.splat_bits(1 << (bits - 1));
        let sign = self.e.b.ins().band(beside[1], sign);
        let sign = self.cast(floats, sign);
        let signed = self.e.b.ins().bitselect(is_zero, sign, row[0]);
        // A lane that met a NaN gets all bits set, which is one.
        let signed = self.cast(ints, signed);
        let result = self.e.b.ins().bor(signed, beside[0]);
        if is_ordered(self.width()) {
            self.keys(op, result, beside[0])
        } else {
            self.cast(floats, result)
        }
    }

    /// Integers of the same order as the numbers, whose `nan` lanes have all bits set: a negative number's other bits
    /// are turned round. NaN becomes the greatest or the least, as `op` wants it.
    fn keys(&mut self, op: BinaryOp, numbers: Value, nan: Value) -> Value {
        let keys = self.turned(numbers);
        if op == BinaryOp::Maximum {
            self.e.b.ins().bxor(keys, nan)
        } else {
            keys
        }
    }

    /// All bits but the sign turned round where the sign is set: from numbers to keys, and back.
    fn turned(&mut self, bits: Value) -> Value {
        let last = i64::from(self.e.b.func.dfg.value_type(bits).lane_bits()) - 1;
        let negative = self.e.b.ins().sshr_imm_u(bits, last);
        let others = self.e.b.ins().ushr_imm_u(negative, 1);
        self.e.b.ins().bxor(bits, others)
    }

    /// The greater or the less of keys, scalars or lanes.
    pub(super) fn more_extreme_key(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        if op == BinaryOp::Maximum {
            self.e.b.ins().smax(x, y)
        } else {
            self.e.b.ins().smin(x, y)
        }
    }

    /// The number of a key, as a scalar.
    pub(super) fn number_of_key(&mut self, key: Value) -> Value {
        let bits = self.turned(key);
        let float = self.width().float_lane();
        self.cast(float, bits)
    }

    /// Whether a number leaves every other as it is.
    pub(super) fn is_neutral(&self, op: BinaryOp, value: ValueId) -> bool {
        let neutral = if op == BinaryOp::Maximum {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
        self.limit(value) == Some(neutral)
    }

    /// The greater or the less, `y` where either is NaN or both are zero: one instruction.
    fn more_extreme(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        let (less, greater) = if op == BinaryOp::Maximum {
            (y, x)
        } else {
            (x, y)
        };
        let chosen = self.e.b.ins().fcmp(FloatCC::LessThan, less, greater);
        let floats = self.width().floats();
        let chosen = self.cast(floats, chosen);
        self.e.b.ins().bitselect(chosen, x, y)
    }

    /// The lanes in which an element is NaN; pairs of elements are asked at once.
    fn nans(&mut self, elements: &[Value]) -> Value {
        let mut nans = Vec::new();
        for pair in elements.chunks(2) {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            nans.push(self.e.b.ins().fcmp(FloatCC::Unordered, first, last));
        }
        let first = nans[0];
        nans.into_iter()
            .skip(1)
            .fold(first, |all, nan| self.e.b.ins().bor(all, nan))
    }

    /// The bits of all elements combined.
    fn signs(&mut self, op: BinaryOp, elements: &[Value]) -> Value {
        let ints = self.width().ints();
        let bits: Vec<Value> = elements
            .iter()
            .map(|lanes| self.cast(ints, *lanes))
            .collect();
        let first = bits[0];
        bits.into_iter()
            .skip(1)
            .fold(first, |all, bits| self.both_signs(op, all, bits))
    }

    fn both_signs(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        if op == BinaryOp::Maximum {
            self.e.b.ins().band(x, y)
        } else {
            self.e.b.ins().bor(x, y)
        }
    }
}

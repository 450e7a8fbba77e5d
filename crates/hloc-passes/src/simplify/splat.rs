//! Constants all of whose elements are equal.

use hloc_ir::{Array, ElementType, InstrId, Op};
use hloc_tensor::Scalar;

use super::Simplifier;

/// Arrays up to here are looked through for equal elements.
const MAX_ELEMENTS: usize = 64;

/// The one value that every element of an array has.
pub(super) struct Splat<'a> {
    element_type: ElementType,
    bytes: &'a [u8],
    array: &'a Array,
}

impl Simplifier<'_> {
    /// The value of every element of `id`: of a constant with equal elements, or a broadcast of one.
    pub(super) fn splat(&self, id: InstrId) -> Option<Splat<'_>> {
        let mut id = id;
        // Broadcasts of broadcasts are merged already.
        if let Op::Broadcast { .. } = self.op(id) {
            id = self.operand(id, 0);
        }
        let Op::Constant { literal } = self.op(id) else {
            return None;
        };
        Splat::of(literal.as_array()?)
    }
}

impl<'a> Splat<'a> {
    fn of(array: &'a Array) -> Option<Splat<'a>> {
        let element_type = array.element_type();
        let size = element_type.size();
        let bytes = array.bytes().get(..size)?;
        let mut elements = array.bytes().chunks_exact(size);
        let equal = array.num_elements() <= MAX_ELEMENTS && elements.all(|other| other == bytes);
        equal.then_some(Splat {
            element_type,
            bytes,
            array,
        })
    }

    /// The value of an integer or `pred`, `None` for floats and what does not fit.
    pub(super) fn integer(&self) -> Option<i64> {
        match self.array.get(0) {
            Scalar::Pred(value) => Some(i64::from(value)),
            Scalar::Int(value) => Some(value),
            // Places beyond `i64` are out of range either way.
            Scalar::Uint(value) => Some(i64::try_from(value).unwrap_or(i64::MAX)),
            Scalar::Float(_) | Scalar::Complex(..) => None,
        }
    }

    /// The value of an IEEE float.
    pub(super) fn float(&self) -> Option<f64> {
        self.is_ieee().then(|| self.array.get(0).to_f64())
    }

    /// The value of a `pred`.
    pub(super) fn predicate(&self) -> Option<bool> {
        if let Scalar::Pred(value) = self.array.get(0) {
            Some(value)
        } else {
            None
        }
    }

    /// Whether this is the infinity of this sign.
    pub(super) fn is_infinity(&self, sign: f64) -> bool {
        self.is_ieee() && self.array.get(0).to_f64() == sign * f64::INFINITY
    }

    /// Whether this is +0, 0 or false.
    pub(super) fn is_zero(&self) -> bool {
        self.has_zero() && self.bytes.iter().all(|byte| *byte == 0)
    }

    /// Whether this is the float −0.
    pub(super) fn is_negative_zero(&self) -> bool {
        let value = self.array.get(0).to_f64();
        self.is_ieee() && value == 0.0 && value.is_sign_negative()
    }

    /// Whether this is 1 or true.
    pub(super) fn is_one(&self) -> bool {
        !self.element_type.is_complex() && self.array.get(0).to_f64() == 1.0
    }

    /// Whether this is an integer or `pred` with all bits set.
    pub(super) fn is_all_ones(&self) -> bool {
        match self.integer() {
            Some(1) if self.element_type.is_predicate() => true,
            Some(-1) => true,
            Some(_) if self.element_type.is_unsigned_integer() => {
                self.array.get(0) == Scalar::Int(-1).converted(self.element_type)
            }
            Some(_) | None => false,
        }
    }

    /// Whether arithmetic with this value follows IEEE 754 rules on signs of zero.
    fn is_ieee(&self) -> bool {
        let types = [
            ElementType::F16,
            ElementType::BF16,
            ElementType::F32,
            ElementType::F64,
        ];
        types.contains(&self.element_type)
    }

    /// Small floats may lack a zero.
    fn has_zero(&self) -> bool {
        !self.element_type.is_float() || self.is_ieee()
    }
}

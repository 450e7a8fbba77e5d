//! Keys as unsigned numbers in the order asked for.

use bytemuck::AnyBitPattern;
use hloc_ir::{CompareType, ElementClass, ElementType};
use hloc_tensor::small_float;

/// How the elements of one key array become numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyReader {
    element_type: ElementType,
    order: CompareType,
    descending: bool,
}

/// The number of a value that is incomparable to all.
pub(super) const UNORDERED: u64 = u64::MAX;

impl KeyReader {
    /// `None` for types without an order.
    pub(super) fn new(
        element_type: ElementType,
        order: CompareType,
        descending: bool,
    ) -> Option<KeyReader> {
        (!element_type.is_complex()).then_some(KeyReader {
            element_type,
            order,
            descending,
        })
    }

    /// Whether [`UNORDERED`] stands for an incomparable element; else it is a number like others.
    pub(super) fn may_be_unordered(self) -> bool {
        self.element_type.is_float() && self.order != CompareType::TotalOrder
    }

    /// Bits that the numbers of comparable elements take.
    pub(super) fn bits(self) -> u32 {
        match self.element_type.class() {
            // Narrow floats are widened, for some have no sign or no zero of both signs.
            ElementClass::Float if self.element_type.bits() < 16 => 32,
            ElementClass::Float => self.element_type.bits(),
            ElementClass::Signed
            | ElementClass::Unsigned
            | ElementClass::Predicate
            | ElementClass::Complex => 8 * self.element_type.size() as u32,
        }
    }

    /// Pushes the numbers of the elements at these positions; tells whether all are comparable.
    pub(super) fn read(
        self,
        bytes: &[u8],
        places: impl Iterator<Item = usize>,
        numbers: &mut Vec<u64>,
    ) -> bool {
        let signed = self.element_type.class() == ElementClass::Signed;
        if self.element_type.is_float() {
            return self.read_floats(bytes, places, numbers);
        }
        let sign = if signed { 1u64 << (self.bits() - 1) } else { 0 };
        let flip = sign ^ self.mask();
        match self.element_type.size() {
            1 => push(numbers, bytes, places, |bits: u8| u64::from(bits) ^ flip),
            2 => push(numbers, bytes, places, |bits: u16| u64::from(bits) ^ flip),
            4 => push(numbers, bytes, places, |bits: u32| u64::from(bits) ^ flip),
            _ => push(numbers, bytes, places, |bits: u64| bits ^ flip),
        }
        true
    }

    /// What turns a number around if greater keys come first.
    fn mask(self) -> u64 {
        if self.descending {
            u64::MAX >> (64 - self.bits())
        } else {
            0
        }
    }

    fn read_floats(
        self,
        bytes: &[u8],
        places: impl Iterator<Item = usize>,
        numbers: &mut Vec<u64>,
    ) -> bool {
        let mut comparable = true;
        let mut number = |bits: u64, is_nan: bool| {
            let width = self.bits();
            let sign = 1u64 << (width - 1);
            match self.order {
                CompareType::TotalOrder => self.mask() ^ magnitude_order(bits, width),
                CompareType::Float | CompareType::Signed | CompareType::Unsigned => {
                    if is_nan {
                        comparable = false;
                        return UNORDERED;
                    }
                    let bits = if bits == sign { 0 } else { bits };
                    self.mask() ^ magnitude_order(bits, width)
                }
            }
        };
        match (self.element_type, self.element_type.size()) {
            (ElementType::F64, _) => push(numbers, bytes, places, |bits: u64| {
                number(bits, f64::from_bits(bits).is_nan())
            }),
            (ElementType::F32, _) => push(numbers, bytes, places, |bits: u32| {
                number(bits.into(), f32::from_bits(bits).is_nan())
            }),
            (ElementType::BF16, _) => push(numbers, bytes, places, |bits: u16| {
                number(bits.into(), bits & 0x7FFF > 0x7F80)
            }),
            (_, 2) => push(numbers, bytes, places, |bits: u16| {
                number(bits.into(), bits & 0x7FFF > 0x7C00)
            }),
            (narrow, _) => push(numbers, bytes, places, |bits: u8| {
                // Exact: every narrow float is an `f32`.
                let value = small_float::decode(narrow, bits) as f32;
                number(value.to_bits().into(), value.is_nan())
            }),
        }
        comparable
    }
}

/// Sign and magnitude as an unsigned number in total order.
fn magnitude_order(bits: u64, width: u32) -> u64 {
    let sign = 1u64 << (width - 1);
    if bits & sign == 0 {
        bits | sign
    } else {
        !bits & (u64::MAX >> (64 - width))
    }
}

fn push<T: AnyBitPattern>(
    numbers: &mut Vec<u64>,
    bytes: &[u8],
    places: impl Iterator<Item = usize>,
    mut number: impl FnMut(T) -> u64,
) {
    let elements: &[T] = bytemuck::cast_slice(bytes);
    numbers.extend(places.map(|place| number(elements[place])));
}

//! Integers of every width, and `pred`.

use std::marker::PhantomData;

use hloc_ir::ElementType;
use hloc_tensor::Element;

use super::array::ElementReader;
use super::fault::{self, Fault, RANGE};
use super::scanner::{Scanner, ends_token};

/// So many digits never overflow a `u64`.
const SAFE_DIGITS: usize = 19;

/// `true`, `false`, and any integer: not zero is true.
pub(super) struct PredReader;

impl ElementReader for PredReader {
    type Item = bool;
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<bool, Fault> {
        for (word, value) in [(&b"true"[..], true), (b"false", false)] {
            let end = scanner.pos() + word.len();
            if scanner.rest().starts_with(word) && ends_token(scanner.peek_at(end)) {
                scanner.set_pos(end);
                return Ok(value);
            }
        }
        read_integer(scanner, ElementType::Pred).map(|value| value != 0)
    }
}

/// Integers with a Rust type of their own.
pub(super) struct IntegerReader<T>(PhantomData<T>);

impl<T> IntegerReader<T> {
    pub(super) const fn new() -> Self {
        IntegerReader(PhantomData)
    }
}

impl<T: Element + TryFrom<i128>> ElementReader for IntegerReader<T> {
    type Item = T;
    #[inline]
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<T, Fault> {
        let start = scanner.pos();
        let value = read_integer(scanner, T::TYPE)?;
        T::try_from(value).map_err(|_| out_of_range(scanner, start, T::TYPE))
    }
}

/// Integers of less than eight bits, sign- or zero-extended to a byte.
pub(super) struct NarrowIntegerReader(pub(super) ElementType);

impl ElementReader for NarrowIntegerReader {
    type Item = u8;
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<u8, Fault> {
        let start = scanner.pos();
        let value = read_integer(scanner, self.0)?;
        let (low, high) = range(self.0);
        if (low..=high).contains(&value) {
            Ok(value as u8)
        } else {
            Err(out_of_range(scanner, start, self.0))
        }
    }
}

/// Reads a decimal integer of at most 64 bits and a sign; `element_type` is for messages.
#[inline]
fn read_integer(scanner: &mut Scanner<'_>, element_type: ElementType) -> Result<i128, Fault> {
    let start = scanner.pos();
    let bytes = scanner.rest();
    let negative = bytes.first() == Some(&b'-');
    let first = usize::from(negative);
    let mut end = first;
    let mut magnitude = 0u64;
    while let Some(digit) = bytes.get(end).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    if end == first || !ends_token(bytes.get(end).copied()) {
        return Err(fault::bad_value(scanner, start, element_type));
    }
    if end - first > SAFE_DIGITS {
        magnitude = scanner
            .slice(start + first, start + end)
            .parse()
            .map_err(|_| out_of_range(scanner, start, element_type))?;
    }
    scanner.set_pos(start + end);
    let magnitude = i128::from(magnitude);
    Ok(if negative { -magnitude } else { magnitude })
}

/// The least and the greatest value.
fn range(element_type: ElementType) -> (i128, i128) {
    let values = 1i128 << element_type.bits();
    if element_type.is_signed_integer() {
        (-(values / 2), values / 2 - 1)
    } else {
        (0, values - 1)
    }
}

#[cold]
fn out_of_range(scanner: &Scanner<'_>, start: usize, element_type: ElementType) -> Fault {
    let end = scanner.token_end(start);
    let token = scanner.slice(start, end);
    let found = fault::quoted(token);
    if element_type.is_predicate() {
        let message = format!("{found} has more than 64 bits");
        return scanner.fault(RANGE, start, end, message);
    }
    let (low, high) = range(element_type);
    let message =
        format!("{found} is out of range: {element_type} holds the integers {low} to {high}");
    let mut fault = scanner.fault(RANGE, start, end, message);
    if element_type.is_unsigned_integer()
        && let Ok(value) = token.parse::<i128>()
        && value < 0
        && -value <= high
    {
        let bits = element_type.bits();
        let wrapped = high + 1 + value;
        fault.help.push(format!(
            "the {bits} bits of {value} are written {wrapped} in {element_type}"
        ));
    }
    fault
}

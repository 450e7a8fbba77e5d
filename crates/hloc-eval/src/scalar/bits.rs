//! `bitcast-convert`: the same bits as another element type.

use hloc_tensor::{Array, ElementType};

use crate::EvalError;

/// The bits of `operand` as elements of type `ty` in an array of dimensions `dims`.
///
/// Elements of different widths are split or joined along the last dimension, the low bits first.
pub(crate) fn bitcast_convert(
    operand: &Array,
    ty: ElementType,
    dims: &[i64],
) -> Result<Array, EvalError> {
    let from = operand.element_type();
    let source = operand.bytes();
    let bytes = if from.bits() == ty.bits() {
        source.to_vec()
    } else {
        let pieces = source
            .chunks_exact(from.size())
            .map(|bytes| pattern(from, bytes));
        let mut bytes = Vec::new();
        if from.bits() > ty.bits() {
            for piece in pieces {
                for part in 0..from.bits() / ty.bits() {
                    push(ty, piece >> (part * ty.bits()), &mut bytes);
                }
            }
        } else {
            let pieces: Vec<u128> = pieces.collect();
            for group in pieces.chunks_exact((ty.bits() / from.bits()) as usize) {
                let joined = group
                    .iter()
                    .rev()
                    .fold(0, |joined, piece| joined << from.bits() | piece);
                push(ty, joined, &mut bytes);
            }
        }
        bytes
    };
    Ok(Array::new(ty, dims, bytes)?)
}

/// The bits of one element, those above its width cleared.
fn pattern(ty: ElementType, bytes: &[u8]) -> u128 {
    let mut buffer = [0; 16];
    buffer[..bytes.len()].copy_from_slice(bytes);
    let value = u128::from_le_bytes(buffer);
    if ty.bits() == 128 {
        value
    } else {
        value & ((1 << ty.bits()) - 1)
    }
}

/// Appends one element; bits above its width are left for [`Array::new`] to set right.
fn push(ty: ElementType, pattern: u128, bytes: &mut Vec<u8>) {
    let masked = if ty.bits() < 8 {
        pattern & ((1 << ty.bits()) - 1)
    } else {
        pattern
    };
    bytes.extend_from_slice(&masked.to_le_bytes()[..ty.size()]);
}

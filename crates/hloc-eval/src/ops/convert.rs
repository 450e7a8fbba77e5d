//! `convert`, `bitcast-convert`, `reduce-precision` and `iota`.

use hloc_ir::{ArrayShape, Op};
use hloc_tensor::{Array, ElementClass, row_major_strides};

use super::{Operands, dimension, zeros};
use crate::EvalError;
use crate::scalar::{self, C128, Lane, Value};

/// Each element as another type, by the rules of `hloc_tensor`: floats truncate and saturate into
/// integers, integers wrap into integers, all else rounds once to even.
pub(super) fn convert(operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let (from, to) = (x.element_type(), shape.element_type);
    if from == to {
        return Ok(x.clone());
    }
    let mut result = zeros(to, x.dims())?;
    let results = result.bytes_mut().chunks_exact_mut(to.size());
    for (bytes, x) in results.zip(x.bytes().chunks_exact(from.size())) {
        Value::read(from, x).converted(from, to).write(to, bytes);
    }
    Ok(result)
}

/// The same bits as another element type.
pub(super) fn bitcast_convert(operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    scalar::bitcast_convert(operands.array(0)?, shape.element_type, &shape.dims)
}

/// Rounds to a float format with fewer bits.
pub(super) fn reduce_precision(
    op: &Op,
    operands: &Operands,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let ty = x.element_type();
    if !ty.is_float() {
        return Err(EvalError::unsupported(op, Some(ty)));
    }
    let mut result = zeros(ty, x.dims())?;
    let results = result.bytes_mut().chunks_exact_mut(ty.size());
    for (bytes, x) in results.zip(x.bytes().chunks_exact(ty.size())) {
        let value = f64::read(ty, x);
        if value.is_nan() {
            bytes.copy_from_slice(x);
        } else {
            scalar::reduce_precision(ty, value, exponent_bits, mantissa_bits).write(ty, bytes);
        }
    }
    Ok(result)
}

/// Counts along one dimension; wraps in narrow integers, rounds in floats.
pub(super) fn iota(op: &Op, number: i64, shape: &ArrayShape) -> Result<Array, EvalError> {
    let ty = shape.element_type;
    let at = dimension(number, shape.num_dims())?;
    let mut result = zeros(ty, &shape.dims)?;
    let (extent, stride) = (
        shape.dims[at].max(1),
        row_major_strides(&shape.dims)[at].max(1),
    );
    for (position, bytes) in result.bytes_mut().chunks_exact_mut(ty.size()).enumerate() {
        let count = position as i64 / stride % extent;
        match ty.class() {
            ElementClass::Signed | ElementClass::Unsigned => i128::from(count).write(ty, bytes),
            ElementClass::Float => (count as f64).write(ty, bytes),
            ElementClass::Complex => C128::new(count as f64, 0.0).write(ty, bytes),
            ElementClass::Predicate => return Err(EvalError::unsupported(op, Some(ty))),
        }
    }
    Ok(result)
}

//! Element-wise ops, with the implicit broadcasting of hloc's dialect.

use hloc_ir::{ArrayShape, ElementType, Op, TernaryOp, UnaryOp};
use hloc_tensor::{Array, row_major_strides};

use super::walk::Walk;
use super::{Operands, dimensions, ensure, zeros};
use crate::EvalError;
use crate::scalar::{BinaryFn, CompareFn, UnaryFn, Value, clamp};

/// An op with one operand.
pub(super) fn unary(op: &Op, unary: UnaryOp, operands: &Operands) -> Result<Array, EvalError> {
    let x = operands.array(0)?;
    let unsupported = || EvalError::unsupported(op, Some(x.element_type()));
    UnaryFn::select(unary, x.element_type())
        .ok_or_else(unsupported)?
        .map(x)
}

/// An op with two or three operands, broadcast to the declared dimensions.
pub(super) fn apply(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let (Op::Binary {
        broadcast_dimensions,
        ..
    }
    | Op::Ternary {
        broadcast_dimensions,
        ..
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    }) = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let mapping = broadcast_dimensions.as_deref().unwrap_or(&[]);
    let expanded: Result<Vec<Array>, EvalError> = operands
        .arrays()?
        .iter()
        .map(|x| broadcast_implicitly(x, mapping, &shape.dims))
        .collect();
    compute(op, &expanded?)
}

/// The op on operands of equal dimensions.
fn compute(op: &Op, operands: &[Array]) -> Result<Array, EvalError> {
    let ty = operands.last().map(Array::element_type);
    let unsupported = || EvalError::unsupported(op, ty);
    if let (Op::Ternary { op: ternary, .. }, [x, y, z]) = (op, operands) {
        return match ternary {
            TernaryOp::Select => select(x, y, z),
            TernaryOp::Clamp => clamp_all(x, y, z).ok_or_else(unsupported)?,
        };
    }
    let [x, y] = operands else {
        return Err(EvalError::argument("operands are missing"));
    };
    ensure(
        x.element_type() == y.element_type(),
        "the operands have different element types",
    )?;
    if let Op::Binary { op: binary, .. } = op {
        BinaryFn::select(*binary, x.element_type())
            .ok_or_else(unsupported)?
            .map(x, y)
    } else if let Op::Compare {
        direction,
        compare_type,
        ..
    } = op
    {
        CompareFn::select(*direction, *compare_type, x.element_type())
            .ok_or_else(unsupported)?
            .map(x, y)
    } else {
        Err(unsupported())
    }
}

/// An operand of an element-wise op expanded to the result's dimensions.
///
/// A scalar fits everywhere. An operand with fewer dimensions has its dimension `i` at `mapping[i]`.
/// Dimensions of size 1 repeat.
fn broadcast_implicitly(x: &Array, mapping: &[i64], dims: &[i64]) -> Result<Array, EvalError> {
    if x.dims() == dims {
        return Ok(x.clone());
    }
    let places = if x.num_dims() == dims.len() {
        (0..dims.len()).collect()
    } else if x.num_dims() == 0 {
        Vec::new()
    } else {
        dimensions(mapping, dims.len())?
    };
    ensure(
        places.len() == x.num_dims(),
        "an operand with fewer dimensions needs `broadcast_dimensions`",
    )?;
    let mut strides = vec![0; dims.len()];
    for (at, stride) in row_major_strides(x.dims()).into_iter().enumerate() {
        let (has, wants) = (x.dims()[at], dims[places[at]]);
        ensure(
            has == wants || has == 1,
            "operand dimensions do not fit the result",
        )?;
        if has == wants {
            strides[places[at]] = stride;
        }
    }
    Walk {
        dims: dims.to_vec(),
        base: 0,
        strides,
    }
    .read(x)
}

/// Moves bytes, so that NaN keeps its payload.
fn select(condition: &Array, yes: &Array, no: &Array) -> Result<Array, EvalError> {
    let fits =
        condition.element_type() == ElementType::Pred && yes.element_type() == no.element_type();
    ensure(fits, "`select` takes a pred and two operands of one type")?;
    let size = yes.element_type().size();
    let mut result = zeros(yes.element_type(), yes.dims())?;
    let choices = yes
        .bytes()
        .chunks_exact(size)
        .zip(no.bytes().chunks_exact(size));
    let results = result.bytes_mut().chunks_exact_mut(size);
    for ((bytes, (yes, no)), condition) in results.zip(choices).zip(condition.bytes()) {
        bytes.copy_from_slice(if *condition != 0 { yes } else { no });
    }
    Ok(result)
}

/// `None` if the element types differ.
fn clamp_all(low: &Array, x: &Array, high: &Array) -> Option<Result<Array, EvalError>> {
    let ty = x.element_type();
    if low.element_type() != ty || high.element_type() != ty {
        return None;
    }
    let mut result = match zeros(ty, x.dims()) {
        Ok(result) => result,
        Err(error) => return Some(Err(error)),
    };
    for (at, bytes) in result.bytes_mut().chunks_exact_mut(ty.size()).enumerate() {
        let clamped = clamp(Value::at(low, at), Value::at(x, at), Value::at(high, at))?;
        clamped.write(ty, bytes);
    }
    Some(Ok(result))
}

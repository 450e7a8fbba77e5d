//! `custom-call`: the targets that front ends use on the CPU, and those that the caller registered.
//!
//! No code is shared with the compiled path: LAPACK is written here anew, in `c128`, by the simplest
//! methods that are right.

mod eigen;
mod jacobi;
mod lapack;
mod matrix;
mod options;
mod reflect;
mod solve;
#[cfg(test)]
mod tests;

use hloc_ir::words::Transpose;
use hloc_ir::{
    ArrayShape, CustomCall, CustomCallHandler, CustomCalls, ElementType, Instruction, Literal, Op,
    Shape,
};
use hloc_tensor::Array;

use super::dot::{IntoType, complex};
use super::{Operands, count, ensure, linear_algebra, sort, zeros};
use crate::EvalError;
use crate::scalar::{C128, Value};
use lapack::{Call, Piece};
use options::Options;

/// Targets that only note how an array is to be spread over devices.
const ANNOTATIONS: [&str; 3] = ["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"];

/// The result of a custom call.
pub(crate) fn custom_call(
    calls: &CustomCalls,
    instruction: &Instruction,
    operands: Vec<Literal>,
) -> Result<Literal, EvalError> {
    let Op::CustomCall {
        custom_call_target: target,
        ..
    } = &instruction.op
    else {
        return Err(EvalError::unsupported(&instruction.op, None));
    };
    let mut operands = Operands(operands);
    if ANNOTATIONS.contains(&&**target) {
        return operands.take(0);
    }
    let shapes = result_shapes(instruction)?;
    if let Some(handler) = calls.get(target) {
        return registered(handler, target, instruction, &operands);
    }
    if &**target == "TopK" {
        return top_k(&operands, &shapes);
    }
    let unknown = || {
        let element_type = shapes.first().map(|shape| shape.element_type);
        EvalError::unsupported_form(
            format!("custom-call to the target `{target}`"),
            element_type,
        )
    };
    let routine = lapack::routine(target).ok_or_else(unknown)?;
    let options = Options::of(instruction);
    if routine == "trsm" {
        return trsm(&options, &operands);
    }
    let arrays = operands.arrays()?;
    let element_type = lapack_type(&arrays, target)?;
    let batch = Batch::new(&arrays, lapack::inner_dims(routine))?;
    let call = Call {
        routine,
        options,
        real: !element_type.is_complex(),
        declared: batch.declared(&shapes)?,
    };
    let results = batch.run(&call, &arrays)?.ok_or_else(unknown)?;
    collect(results, &shapes, instruction)
}

/// What a handler gives.
fn registered(
    handler: &CustomCallHandler,
    target: &str,
    instruction: &Instruction,
    operands: &Operands,
) -> Result<Literal, EvalError> {
    let operands: Vec<Array> = operands.arrays()?.into_iter().cloned().collect();
    let results: Vec<ArrayShape> = result_shapes(instruction)?
        .iter()
        .map(|shape| ArrayShape::new(shape.element_type, &shape.dims))
        .collect();
    let call = CustomCall {
        target,
        operands: &operands,
        results: &results,
        backend_config: instruction.backend_config(),
    };
    let given = handler
        .call(&call)
        .map_err(|message| EvalError::CustomCall {
            target: target.into(),
            message,
            place: None,
        })?;
    grouped(&instruction.shape, &mut given.into_iter())
}

/// Arrays in the order of the shape's leaves as a value of the shape.
fn grouped(shape: &Shape, arrays: &mut dyn Iterator<Item = Array>) -> Result<Literal, EvalError> {
    match shape {
        Shape::Tuple(elements) => {
            let values = elements.iter().map(|element| grouped(element, arrays));
            Ok(Literal::Tuple(values.collect::<Result<_, _>>()?))
        }
        Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => arrays
            .next()
            .map(Literal::Array)
            .ok_or_else(|| EvalError::argument("a custom call gives too few arrays")),
    }
}

/// The declared arrays, tuples flattened.
fn result_shapes(instruction: &Instruction) -> Result<Vec<&ArrayShape>, EvalError> {
    let leaves = instruction.shape.leaves();
    let arrays = leaves.iter().map(|leaf| leaf.as_array());
    arrays
        .collect::<Option<_>>()
        .ok_or_else(|| EvalError::argument("a custom call gives something that is no array"))
}

/// The results of all matrices together, rounded to their types.
fn collect(
    results: Vec<Vec<Piece>>,
    shapes: &[&ArrayShape],
    instruction: &Instruction,
) -> Result<Literal, EvalError> {
    let mut arrays = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        let ty = shape.element_type;
        let mut array = zeros(ty, &shape.dims)?;
        let values = results.iter().flat_map(|pieces| &pieces[at].values);
        for (bytes, value) in array.bytes_mut().chunks_exact_mut(ty.size()).zip(values) {
            value.into_type(ty).write(ty, bytes);
        }
        arrays.push(array);
    }
    grouped(&instruction.shape, &mut arrays.into_iter())
}

/// The type of all operands, one of the four of LAPACK.
fn lapack_type(arrays: &[&Array], target: &str) -> Result<ElementType, EvalError> {
    let element_type = arrays
        .first()
        .ok_or_else(|| EvalError::argument("the call has no operands"))?
        .element_type();
    let part = element_type.component();
    let known = part == ElementType::F32 || part == ElementType::F64;
    if !known
        || arrays
            .iter()
            .any(|array| array.element_type() != element_type)
    {
        let form = format!("custom-call to the target `{target}`");
        return Err(EvalError::unsupported_form(form, Some(element_type)));
    }
    Ok(element_type)
}

/// How arrays are cut into matrices.
struct Batch {
    outer: Vec<i64>,
    count: usize,
    /// Whether the matrices have no entries; then all results are 0.
    empty: bool,
}

impl Batch {
    fn new(arrays: &[&Array], inner: usize) -> Result<Batch, EvalError> {
        let dims = arrays.first().map_or(&[][..], |first| first.dims());
        let outer = dims
            .len()
            .checked_sub(inner)
            .ok_or_else(|| EvalError::argument("an operand is no matrix"))?;
        let (outer, inner) = dims.split_at(outer);
        ensure(
            arrays.iter().all(|array| array.dims().starts_with(outer)),
            "the operands have other outer dimensions",
        )?;
        Ok(Batch {
            outer: outer.to_vec(),
            count: count(outer),
            empty: inner.contains(&0) || arrays.iter().any(|array| array.num_elements() == 0),
        })
    }

    /// The declared dimensions of one matrix's part of each result.
    fn declared(&self, shapes: &[&ArrayShape]) -> Result<Vec<Vec<i64>>, EvalError> {
        let inner = shapes.iter().map(|shape| {
            let inner = shape.dims.strip_prefix(&self.outer[..]);
            inner.map(<[i64]>::to_vec)
        });
        inner
            .collect::<Option<_>>()
            .ok_or_else(|| EvalError::argument("a result has other outer dimensions"))
    }

    /// The results for each matrix.
    fn run(
        &self,
        call: &Call<'_>,
        arrays: &[&Array],
    ) -> Result<Option<Vec<Vec<Piece>>>, EvalError> {
        let mut results = Vec::new();
        for number in 0..self.count {
            if self.empty {
                results.push(
                    call.declared
                        .iter()
                        .map(|dims| lapack::zeros(dims))
                        .collect(),
                );
                continue;
            }
            let inputs: Vec<Piece> = arrays
                .iter()
                .map(|array| self.piece(array, number))
                .collect();
            let Some(pieces) = call.run(&inputs)? else {
                return Ok(None);
            };
            let fits = pieces.iter().map(|piece| &piece.dims).eq(&call.declared);
            ensure(fits, "the declared results are not those of the routine")?;
            results.push(pieces);
        }
        Ok(Some(results))
    }

    fn piece(&self, array: &Array, number: usize) -> Piece {
        let dims = array.dims()[self.outer.len()..].to_vec();
        let size = count(&dims);
        let values = (number * size..(number + 1) * size).map(|at| complex(Value::at(array, at)));
        Piece {
            dims,
            values: values.collect::<Vec<C128>>(),
        }
    }
}

/// Equations with a triangular matrix are those of `triangular-solve`.
fn trsm(options: &Options<'_>, operands: &Operands) -> Result<Literal, EvalError> {
    let transpose = match options.letter("trans_x", "NTC")? {
        'N' => Transpose::NoTranspose,
        'T' => Transpose::Transpose,
        _ => Transpose::Adjoint,
    };
    let op = Op::TriangularSolve {
        left_side: options.letter("side", "LR")? == 'L',
        lower: options.letter("uplo", "LU")? == 'L',
        unit_diagonal: options.letter("diag", "UN")? == 'U',
        transpose_a: Some(transpose),
    };
    linear_algebra::triangular_solve(&op, operands).map(Literal::Array)
}

/// The first elements of each row in descending order, as many as the result has, with their indices.
fn top_k(operands: &Operands, shapes: &[&ArrayShape]) -> Result<Literal, EvalError> {
    let k = match shapes {
        [values, indices]
            if values.dims == indices.dims && indices.element_type == ElementType::S32 =>
        {
            values.dims.last().copied()
        }
        _ => None,
    };
    let k = k.ok_or_else(|| EvalError::argument("`TopK` gives values and s32 indices"))?;
    sort::top_k(operands.array(0)?, k, true)
}

//! What each op computes from its operands' values.

mod asynchronous;
mod batch_norm;
mod callee;
mod collective;
mod control;
mod convert;
mod convolution;
mod custom_call;
mod dot;
mod dot_variants;
mod dynamic;
mod elementwise;
mod fft;
mod gather;
mod layout;
mod linear_algebra;
mod random;
mod reduce;
mod scan;
mod scatter;
mod sizes;
mod sort;
mod stochastic;
mod sum;
mod walk;
mod window;

use hloc_ir::{ArrayShape, ElementType, Literal, Op, Shape};
use hloc_tensor::{Array, num_elements};

use crate::evaluator::Evaluator;
use crate::{EvalError, MAX_ARRAY_BYTES};
pub(crate) use sizes::{is_dynamic, resolve};

pub(crate) use custom_call::custom_call;

/// The ops that are only read, printed and checked, and `custom-call`, which an instruction makes whole.
macro_rules! unsupported_ops {
    () => {
        Op::CustomCall { .. }
            | Op::Infeed { .. }
            | Op::Outfeed { .. }
            | Op::RaggedAllToAll { .. }
            | Op::Recv { .. }
            | Op::RecvDone { .. }
            | Op::Send { .. }
            | Op::SendDone { .. }
    };
}

/// Whether the evaluator knows this op. It may still refuse element types that the op has no meaning for,
/// and targets of custom calls; [`evaluate_op`](crate::evaluate_op) refuses all of those.
///
/// `add` gives true, `infeed` false.
pub fn supports(op: &Op) -> bool {
    matches!(op, Op::CustomCall { .. }) || !matches!(op, unsupported_ops!())
}

/// Operand values of one instruction, moved out one by one.
pub(crate) struct Operands(Vec<Literal>);

impl Operands {
    /// Operand `at` as an array.
    fn array(&self, at: usize) -> Result<&Array, EvalError> {
        self.0
            .get(at)
            .and_then(Literal::as_array)
            .ok_or_else(|| EvalError::argument(format!("operand {at} is no array")))
    }

    /// Operand `at`, moved out.
    fn take(&mut self, at: usize) -> Result<Literal, EvalError> {
        self.0
            .get_mut(at)
            .map(|value| std::mem::replace(value, Literal::Tuple(Vec::new())))
            .ok_or_else(|| EvalError::argument(format!("there is no operand {at}")))
    }

    /// Operand `at` as an array, moved out.
    fn take_array(&mut self, at: usize) -> Result<Array, EvalError> {
        if let Literal::Array(array) = self.take(at)? {
            Ok(array)
        } else {
            Err(EvalError::argument(format!("operand {at} is no array")))
        }
    }

    /// All operands as arrays.
    fn arrays(&self) -> Result<Vec<&Array>, EvalError> {
        self.arrays_from(0)
    }

    /// Operands `first` and after as arrays.
    fn arrays_from(&self, first: usize) -> Result<Vec<&Array>, EvalError> {
        (first..self.0.len()).map(|at| self.array(at)).collect()
    }
}

/// The result of an op with these operands and this declared shape.
///
/// Calls one function per op; a new op must be placed here and in [`supports`].
pub(crate) fn apply(
    evaluator: Evaluator<'_>,
    op: &Op,
    operands: Vec<Literal>,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    let mut x = Operands(operands);
    match op {
        Op::Unary { op: unary, .. } => array(elementwise::unary(op, *unary, &x)),
        Op::Binary { .. } | Op::Ternary { .. } | Op::Compare { .. } => {
            array(elementwise::apply(op, &x, array_shape(shape)?))
        }
        Op::Convert {} => array(convert::convert(&x, array_shape(shape)?)),
        Op::StochasticConvert {} => array(stochastic::convert(op, &x, array_shape(shape)?)),
        Op::BitcastConvert {} => array(convert::bitcast_convert(&x, array_shape(shape)?)),
        Op::ReducePrecision {
            exponent_bits,
            mantissa_bits,
        } => array(convert::reduce_precision(
            op,
            &x,
            *exponent_bits,
            *mantissa_bits,
        )),
        Op::Iota { iota_dimension } => {
            array(convert::iota(op, *iota_dimension, array_shape(shape)?))
        }
        Op::Reduce { .. } => reduce::reduce(evaluator, op, &x),
        Op::Dot { .. } => array(dot::dot(op, &x, array_shape(shape)?)),
        Op::RaggedDot { .. } => array(dot_variants::ragged(op, &x, array_shape(shape)?)),
        Op::ScaledDot { .. } => array(dot_variants::scaled(op, &x, array_shape(shape)?)),
        Op::Gather { .. } => array(gather::gather(op, &x, array_shape(shape)?)),
        Op::Scatter { .. } => scatter::scatter(evaluator, op, x),
        Op::While { .. } | Op::Conditional { .. } | Op::Call { .. } | Op::Fusion { .. } => {
            control::call(evaluator, op, x)
        }
        Op::Parameter { .. } | Op::Constant { .. } | Op::Tuple {} | Op::GetTupleElement { .. } => {
            control::pass(op, x)
        }
        Op::Copy {} | Op::OptBarrier {} | Op::Domain { .. } | Op::AddDependency {} => x.take(0),
        Op::AfterAll {} => Ok(Literal::Tuple(Vec::new())),
        Op::PartitionId { .. } | Op::ReplicaId {} => Ok(Literal::Array(Array::scalar(0u32))),
        Op::Broadcast { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Reverse { .. }
        | Op::Pad { .. }
        | Op::Concatenate { .. }
        | Op::Bitcast {} => array(layout::apply(op, &x, array_shape(shape)?)),
        Op::DynamicSlice { .. } | Op::DynamicUpdateSlice {} => array(dynamic::apply(op, x)),
        Op::ReduceWindow { .. } => window::reduce_window(evaluator, op, &x, shape),
        Op::SelectAndScatter { .. } => array(window::select_and_scatter(evaluator, op, &x)),
        Op::Scan { .. } => scan::scan(evaluator, op, x, shape),
        Op::Sort { .. } => sort::sort(evaluator, op, x),
        Op::TopK { .. } => sort::topk(op, &x),
        Op::Map { to_apply, .. } => array(sort::map(evaluator, *to_apply, &x, shape)),
        Op::Convolution { .. } => array(convolution::convolution(op, &x, array_shape(shape)?)),
        Op::Cholesky { lower } => array(linear_algebra::cholesky(op, *lower, &x)),
        Op::TriangularSolve { .. } => array(linear_algebra::triangular_solve(op, &x)),
        Op::Fft { .. } => array(fft::fft(op, &x, array_shape(shape)?)),
        Op::RngBitGenerator { .. } => random::bits(op, &x, shape),
        Op::Rng { .. } => array(random::rng(evaluator, op, &x, array_shape(shape)?)),
        Op::RngGetAndUpdateState { delta } => array(random::next_state(evaluator, *delta)),
        Op::AllGather { .. }
        | Op::AllGatherDone {}
        | Op::AllGatherStart { .. }
        | Op::AllReduce { .. }
        | Op::AllReduceDone {}
        | Op::AllReduceStart { .. }
        | Op::AllToAll { .. }
        | Op::CollectiveBroadcast { .. }
        | Op::CollectivePermute { .. }
        | Op::CollectivePermuteDone {}
        | Op::CollectivePermuteStart { .. }
        | Op::ReduceScatter { .. } => collective::collective(op, x, shape),
        Op::AsyncStart { .. }
        | Op::AsyncUpdate { .. }
        | Op::AsyncDone { .. }
        | Op::CopyStart { .. }
        | Op::CopyDone {} => asynchronous::apply(evaluator, op, x, shape),
        Op::BatchNormGrad { .. } | Op::BatchNormInference { .. } | Op::BatchNormTraining { .. } => {
            batch_norm::apply(op, &x)
        }
        Op::SetDimensionSize { dimensions } => {
            array(sizes::set_size(dimensions, &x, array_shape(shape)?))
        }
        Op::DynamicReshape {} => array(sizes::reshape(&x, array_shape(shape)?)),
        Op::GetDimensionSize { dimensions } => layout::dimension_size(dimensions, &x),
        unsupported_ops!() => Err(EvalError::unsupported(op, operand_type(&x, shape))),
    }
}

/// `bitcast`, the one op whose result depends on how its operand is laid out.
///
/// `from` is the operand's declared shape; [`apply`] does not know it and takes it as row-major.
pub(crate) fn apply_bitcast(
    operands: Vec<Literal>,
    from: &Shape,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    let operands = Operands(operands);
    let layout = from.as_array().and_then(|from| from.layout.as_deref());
    array(layout::bitcast(
        operands.array(0)?,
        layout,
        array_shape(shape)?,
    ))
}

fn array(result: Result<Array, EvalError>) -> Result<Literal, EvalError> {
    result.map(Literal::Array)
}

/// The declared shape as an array's.
fn array_shape(shape: &Shape) -> Result<&ArrayShape, EvalError> {
    shape
        .as_array()
        .ok_or_else(|| EvalError::argument(format!("an array is made, but {shape} declared")))
}

/// The element type to name in a message.
fn operand_type(operands: &Operands, shape: &Shape) -> Option<ElementType> {
    operands
        .array(0)
        .map(Array::element_type)
        .ok()
        .or_else(|| shape.as_array().map(|shape| shape.element_type))
}

/// A new array of zeros, within the limit.
fn zeros(ty: ElementType, dims: &[i64]) -> Result<Array, EvalError> {
    check_size(ty, dims)?;
    Ok(Array::zeros(ty, dims)?)
}

/// The number of elements, if the array is within the limit.
fn check_size(ty: ElementType, dims: &[i64]) -> Result<usize, EvalError> {
    num_elements(dims)
        .and_then(|count| usize::try_from(count).ok())
        .filter(|count| {
            let bytes = count.checked_mul(ty.size());
            bytes.is_some_and(|bytes| bytes <= MAX_ARRAY_BYTES)
        })
        .ok_or_else(|| {
            let shape = ArrayShape::new(ty, dims);
            EvalError::limit(format!("{shape} has more than {MAX_ARRAY_BYTES} bytes"))
        })
}

/// The number of elements of dimensions whose product is known to fit or of which one is 0.
fn count(dims: &[i64]) -> usize {
    num_elements(dims)
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(usize::MAX)
}

/// A dimension number as an index below `count`.
fn dimension(number: i64, count: usize) -> Result<usize, EvalError> {
    usize::try_from(number)
        .ok()
        .filter(|number| *number < count)
        .ok_or_else(|| {
            EvalError::argument(format!(
                "dimension {number} is named, but there are {count}"
            ))
        })
}

/// Dimension numbers as indices below `count`.
fn dimensions(numbers: &[i64], count: usize) -> Result<Vec<usize>, EvalError> {
    numbers
        .iter()
        .map(|number| dimension(*number, count))
        .collect()
}

/// Fails with `message` unless `holds`.
fn ensure(holds: bool, message: &str) -> Result<(), EvalError> {
    if holds {
        Ok(())
    } else {
        Err(EvalError::argument(message))
    }
}

#[cfg(test)]
mod tests;

//! Batch normalization: inference, training, gradient; in `f64`, rounded at the end.

use hloc_ir::{Literal, Op};
use hloc_tensor::{Array, row_major_strides};

use super::dot::{IntoType, float};
use super::{Operands, dimension, ensure, zeros};
use crate::EvalError;
use crate::scalar::Value;

/// An array seen as groups of elements by their index along the feature dimension.
struct Features {
    count: usize,
    stride: usize,
    /// Elements of one feature.
    size: f64,
}

impl Features {
    fn new(x: &Array, feature_index: i64) -> Result<Features, EvalError> {
        let at = dimension(feature_index, x.num_dims())?;
        let count = x.dims()[at] as usize;
        Ok(Features {
            count,
            stride: row_major_strides(x.dims())[at] as usize,
            size: (x.num_elements() / count.max(1)) as f64,
        })
    }

    fn of(&self, position: usize) -> usize {
        position / self.stride.max(1) % self.count.max(1)
    }

    /// The sum of `f` over the elements of each feature.
    fn sums(&self, count: usize, f: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        for position in 0..count {
            sums[self.of(position)] += f(position);
        }
        sums
    }

    /// An operand with one element per feature.
    fn list(&self, operands: &Operands, at: usize) -> Result<Vec<f64>, EvalError> {
        let list = decode(operands.array(at)?);
        ensure(
            list.len() == self.count,
            "an operand does not have one element per feature",
        )?;
        Ok(list)
    }
}

fn decode(x: &Array) -> Vec<f64> {
    (0..x.num_elements())
        .map(|at| float(Value::at(x, at)))
        .collect()
}

fn encode(values: &[f64], like: &Array, dims: &[i64]) -> Result<Literal, EvalError> {
    let ty = like.element_type();
    let mut result = zeros(ty, dims)?;
    for (bytes, value) in result.bytes_mut().chunks_exact_mut(ty.size()).zip(values) {
        value.into_type(ty).write(ty, bytes);
    }
    Ok(Literal::Array(result))
}

/// One of the ops of this file.
pub(super) fn apply(op: &Op, operands: &Operands) -> Result<Literal, EvalError> {
    let (Op::BatchNormInference {
        epsilon,
        feature_index,
    }
    | Op::BatchNormTraining {
        epsilon,
        feature_index,
    }
    | Op::BatchNormGrad {
        epsilon,
        feature_index,
    }) = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let x = operands.array(0)?;
    if !x.element_type().is_float() {
        return Err(EvalError::unsupported(op, Some(x.element_type())));
    }
    let features = Features::new(x, *feature_index)?;
    if let Op::BatchNormGrad { .. } = op {
        return gradient(operands, &features, *epsilon);
    }
    let values = decode(x);
    let (scale, offset) = (features.list(operands, 1)?, features.list(operands, 2)?);
    let training = matches!(op, Op::BatchNormTraining { .. });
    let (mean, variance) = if training {
        statistics(&values, &features)
    } else {
        (features.list(operands, 3)?, features.list(operands, 4)?)
    };
    let normalized: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(position, x)| {
            let at = features.of(position);
            (x - mean[at]) / (variance[at] + epsilon).sqrt() * scale[at] + offset[at]
        })
        .collect();
    let result = encode(&normalized, x, x.dims())?;
    if !training {
        return Ok(result);
    }
    let list = [features.count as i64];
    let (mean, variance) = (encode(&mean, x, &list)?, encode(&variance, x, &list)?);
    Ok(Literal::Tuple(vec![result, mean, variance]))
}

/// Mean and biased variance of each feature.
fn statistics(values: &[f64], features: &Features) -> (Vec<f64>, Vec<f64>) {
    let over_size =
        |sums: Vec<f64>| -> Vec<f64> { sums.iter().map(|sum| sum / features.size).collect() };
    let mean = over_size(features.sums(values.len(), |at| values[at]));
    let variance = over_size(features.sums(values.len(), |at| {
        let distance = values[at] - mean[features.of(at)];
        distance * distance
    }));
    (mean, variance)
}

/// Gradients of the operand, the scale and the offset.
fn gradient(operands: &Operands, features: &Features, epsilon: f64) -> Result<Literal, EvalError> {
    let (x, upstream) = (operands.array(0)?, operands.array(4)?);
    ensure(
        x.dims() == upstream.dims(),
        "the gradient does not fit the operand",
    )?;
    let (values, upstream) = (decode(x), decode(upstream));
    let scale = features.list(operands, 1)?;
    let (mean, variance) = (features.list(operands, 2)?, features.list(operands, 3)?);
    let normalized = |position: usize| {
        let at = features.of(position);
        (values[position] - mean[at]) / (variance[at] + epsilon).sqrt()
    };
    let grad_scale = features.sums(values.len(), |at| upstream[at] * normalized(at));
    let grad_offset = features.sums(values.len(), |at| upstream[at]);
    let grad: Vec<f64> = (0..values.len())
        .map(|position| {
            let at = features.of(position);
            let direct = upstream[position] - grad_offset[at] / features.size;
            let through = normalized(position) * grad_scale[at] / features.size;
            scale[at] / (variance[at] + epsilon).sqrt() * (direct - through)
        })
        .collect();
    let list = [features.count as i64];
    Ok(Literal::Tuple(vec![
        encode(&grad, x, x.dims())?,
        encode(&grad_scale, x, &list)?,
        encode(&grad_offset, x, &list)?,
    ]))
}

//! Batch normalization.

use std::panic::Location;

use super::{Builder, Value};
use crate::Op;

/// What the batch normalizations share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    /// Added to the variance.
    pub epsilon: f64,
    /// The dimension of the features.
    pub feature_index: i64,
}

impl Builder {
    /// Normalizes with the statistics of the batch: a tuple of result, mean and variance.
    #[track_caller]
    pub fn batch_norm_training(
        &self,
        x: Value,
        scale: Value,
        offset: Value,
        norm: BatchNorm,
    ) -> Value {
        let BatchNorm {
            epsilon,
            feature_index,
        } = norm;
        let op = Op::BatchNormTraining {
            epsilon,
            feature_index,
        };
        self.emit(op, &[x, scale, offset], None, Location::caller())
    }

    /// Normalizes with given statistics.
    #[track_caller]
    pub fn batch_norm_inference(
        &self,
        x: Value,
        [scale, offset, mean, variance]: [Value; 4],
        norm: BatchNorm,
    ) -> Value {
        let BatchNorm {
            epsilon,
            feature_index,
        } = norm;
        let op = Op::BatchNormInference {
            epsilon,
            feature_index,
        };
        let operands = [x, scale, offset, mean, variance];
        self.emit(op, &operands, None, Location::caller())
    }

    /// Gradients of the operand, the scale and the offset, as a tuple.
    #[track_caller]
    pub fn batch_norm_grad(
        &self,
        x: Value,
        [scale, mean, variance, output_gradient]: [Value; 4],
        norm: BatchNorm,
    ) -> Value {
        let BatchNorm {
            epsilon,
            feature_index,
        } = norm;
        let op = Op::BatchNormGrad {
            epsilon,
            feature_index,
        };
        let operands = [x, scale, mean, variance, output_gradient];
        self.emit(op, &operands, None, Location::caller())
    }
}

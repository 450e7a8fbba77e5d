//! Products, convolutions, transforms, gathers: instructions with many numbers.

use std::panic::Location;

use super::{Builder, Value};
use crate::attr::{DimLabels, ElidedDims, Flag, GroupCount, OperandPrecision, Window};
use crate::words::{Distribution, FftType, RngAlgorithm, Transpose};
use crate::{ArrayShape, ElementType, Op, Shape};

/// The dimensions that a `dot` pairs.
///
/// ```
/// let matrix_product = hloc_ir::builder::DotNumbers {
///     lhs_contracting: vec![1],
///     rhs_contracting: vec![0],
///     ..Default::default()
/// };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotNumbers {
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<i64>,
    /// Dimensions of the left operand that are summed over.
    pub lhs_contracting: Vec<i64>,
    /// Batch dimensions of the right operand, in the same order.
    pub rhs_batch: Vec<i64>,
    /// Dimensions of the right operand that are summed over, in the same order.
    pub rhs_contracting: Vec<i64>,
}

/// Where a `gather` takes its slices; see its op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are the HLO attributes of the same name"
)]
pub struct GatherNumbers {
    pub offset_dims: Vec<i64>,
    pub collapsed_slice_dims: Vec<i64>,
    pub start_index_map: Vec<i64>,
    pub operand_batching_dims: Vec<i64>,
    pub start_indices_batching_dims: Vec<i64>,
    pub index_vector_dim: i64,
    pub slice_sizes: Vec<i64>,
    pub indices_are_sorted: bool,
}

/// Window, dimension numbers and groups of a convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvolutionNumbers {
    /// One entry per spatial dimension.
    pub window: Window,
    /// Which dimension is what.
    pub dim_labels: DimLabels,
    /// Groups of features, 1 for none.
    pub feature_group_count: i64,
    /// Groups of the batch, 1 for none.
    pub batch_group_count: i64,
}

impl Builder {
    /// Sums products over the contracting dimensions; batch dimensions come first in the result, then
    /// the free ones of `x`, then those of `y`.
    #[track_caller]
    pub fn dot_general(&self, x: Value, y: Value, numbers: &DotNumbers) -> Value {
        self.emit(dot_op(numbers), &[x, y], None, Location::caller())
    }

    /// As [`Builder::dot_general`], the result in a wider type: bf16 in, f32 out.
    #[track_caller]
    pub fn dot_general_as(
        &self,
        x: Value,
        y: Value,
        numbers: &DotNumbers,
        element_type: ElementType,
    ) -> Value {
        let at = Location::caller();
        let op = dot_op(numbers);
        // The dimensions come from the rule; the declared shape has a say in the element type only.
        let wanted = Shape::scalar(element_type);
        let shape = self
            .shared()
            .product_shape(self.frame, &op, &[x, y], &wanted);
        self.emit(op, &[x, y], shape, at)
    }

    /// Sums products over the last dimension of `x` and the first of `y`: matrices and vectors.
    #[track_caller]
    pub fn dot(&self, x: Value, y: Value) -> Value {
        let last = self
            .array_shape(x)
            .map_or(0, |array| array.num_dims() as i64 - 1);
        let numbers = DotNumbers {
            lhs_contracting: vec![last],
            rhs_contracting: vec![0],
            ..DotNumbers::default()
        };
        self.emit(dot_op(&numbers), &[x, y], None, Location::caller())
    }

    /// Slides a kernel over an input.
    #[track_caller]
    pub fn convolution(&self, x: Value, kernel: Value, numbers: &ConvolutionNumbers) -> Value {
        let op = Op::Convolution {
            window: Some(numbers.window.clone()),
            dim_labels: numbers.dim_labels.clone(),
            feature_group_count: GroupCount(numbers.feature_group_count),
            batch_group_count: GroupCount(numbers.batch_group_count),
            operand_precision: OperandPrecision::default(),
            algorithm: None,
            convolution_kind: None,
        };
        self.emit(op, &[x, kernel], None, Location::caller())
    }

    /// Slices of `x` at the places that `indices` list.
    #[track_caller]
    pub fn gather(&self, x: Value, indices: Value, numbers: &GatherNumbers) -> Value {
        let numbers = numbers.clone();
        let op = Op::Gather {
            offset_dims: numbers.offset_dims,
            collapsed_slice_dims: numbers.collapsed_slice_dims,
            start_index_map: numbers.start_index_map,
            operand_batching_dims: ElidedDims(numbers.operand_batching_dims),
            start_indices_batching_dims: ElidedDims(numbers.start_indices_batching_dims),
            index_vector_dim: numbers.index_vector_dim,
            slice_sizes: numbers.slice_sizes,
            indices_are_sorted: numbers.indices_are_sorted,
        };
        self.emit(op, &[x, indices], None, Location::caller())
    }

    /// Fourier transform over the last dimensions.
    #[track_caller]
    pub fn fft(&self, x: Value, fft_type: FftType, fft_length: &[i64]) -> Value {
        let op = Op::Fft {
            fft_type,
            fft_length: fft_length.to_vec(),
        };
        self.emit(op, &[x], None, Location::caller())
    }

    /// The Cholesky factor of each matrix, the lower one or the upper.
    #[track_caller]
    pub fn cholesky(&self, x: Value, lower: bool) -> Value {
        self.emit(Op::Cholesky { lower }, &[x], None, Location::caller())
    }

    /// Solves `a x = b` (or `x a = b`) for a triangular `a`, the lower triangle or the upper.
    #[track_caller]
    pub fn triangular_solve(
        &self,
        a: Value,
        b: Value,
        left_side: bool,
        lower: bool,
        unit_diagonal: bool,
        transpose_a: Transpose,
    ) -> Value {
        let op = Op::TriangularSolve {
            left_side,
            lower,
            unit_diagonal,
            transpose_a: Some(transpose_a),
        };
        self.emit(op, &[a, b], None, Location::caller())
    }

    /// The `k` greatest elements of the last dimension and their indices, as a tuple.
    #[track_caller]
    pub fn top_k(&self, x: Value, k: i64, largest: bool) -> Value {
        let op = Op::TopK {
            k,
            largest: Some(Flag(largest)),
            is_stable: None,
        };
        self.emit(op, &[x], None, Location::caller())
    }

    /// Random numbers: uniform in `a..b`, or normal with mean `a` and deviation `b`.
    #[track_caller]
    pub fn rng(&self, a: Value, b: Value, distribution: Distribution, dims: &[i64]) -> Value {
        let at = Location::caller();
        let shape = self.derived(a, |array| ArrayShape::new(array.element_type, dims));
        self.emit(Op::Rng { distribution }, &[a, b], Some(shape), at)
    }

    /// Random bits of `shape` from a state: a tuple of the next state and the bits.
    #[track_caller]
    pub fn rng_bit_generator(&self, state: Value, algorithm: RngAlgorithm, shape: Shape) -> Value {
        let at = Location::caller();
        let declared = self
            .shape(state)
            .map(|state| Shape::Tuple(vec![state, shape]));
        self.emit(Op::RngBitGenerator { algorithm }, &[state], declared, at)
    }

    /// Calls code outside of HLO by name.
    #[track_caller]
    pub fn custom_call(&self, target: &str, operands: &[Value], shape: Shape) -> Value {
        let op = Op::CustomCall {
            custom_call_target: target.into(),
            window: None,
            dim_labels: None,
            feature_group_count: GroupCount(1),
            batch_group_count: GroupCount(1),
            operand_precision: OperandPrecision::default(),
            to_apply: None,
            called_computations: None,
            operand_layout_constraints: None,
            custom_call_has_side_effect: false,
            output_to_operand_aliasing: Default::default(),
            literal: None,
            padding_type: None,
            schedule: None,
            api_version: None,
        };
        self.emit(op, operands, Some(shape), Location::caller())
    }

    /// A token that orders what takes it after what gave these.
    #[track_caller]
    pub fn after_all(&self, tokens: &[Value]) -> Value {
        self.emit(Op::AfterAll {}, tokens, None, Location::caller())
    }
}

fn dot_op(numbers: &DotNumbers) -> Op {
    let numbers = numbers.clone();
    Op::Dot {
        lhs_batch_dims: ElidedDims(numbers.lhs_batch),
        lhs_contracting_dims: ElidedDims(numbers.lhs_contracting),
        rhs_batch_dims: ElidedDims(numbers.rhs_batch),
        rhs_contracting_dims: ElidedDims(numbers.rhs_contracting),
        operand_precision: OperandPrecision::default(),
        algorithm: None,
    }
}

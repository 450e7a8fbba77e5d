//! Convolutions that look at one place only: products of matrices where the elements lie.

use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::ir::DotCall;

use super::geometry::Geometry;
use super::lines::merged;
use crate::dot::DotPlan;
use crate::pool::WorkerPool;
use crate::routine::Routine;

/// Products of a matrix below which copied lines are as fast.
const SMALL: usize = 4_000_000;

/// A product for each batch element, or one for all.
#[derive(Debug)]
pub(super) struct Pointwise {
    plan: DotPlan,
    /// Whether the kernel is the left side: features by places, else places by features.
    kernel_first: bool,
    /// Bytes of the input and of the output that one product reads and writes.
    bytes: [usize; 2],
}

impl Pointwise {
    /// `None` for windows of several elements, groups, and layouts in which the sides are no matrices.
    pub(super) fn new(geometry: &Geometry, element_type: ElementType) -> Option<Pointwise> {
        let dims = merged(geometry);
        let [dim] = &dims[..] else {
            return None;
        };
        let (inputs, features, places) = (geometry.input_features, geometry.features(), dim.places);
        let motion = &dim.motion;
        let is_pointwise = dim.window == 1
            && dim.size == places
            && (motion.stride, motion.pad_low, motion.base_dilation) == (1, 0, 1)
            && (geometry.groups(), geometry.batch_groups) == (1, 1);
        let is_whole = geometry.batch == 1
            || geometry.input_batch_stride == places * inputs
                && geometry.output_batch_stride == places * features;
        if !is_pointwise || !is_whole {
            return None;
        }
        let kernel_first = match (
            [geometry.input_feature_stride, dim.input_stride],
            [geometry.output_feature_stride, dim.output_stride],
        ) {
            (input, output) if input == [1, inputs] && output == [1, features] => false,
            (input, output) if input == [places, 1] && output == [places, 1] => true,
            (_, _) => return None,
        };
        let rows = if kernel_first {
            places
        } else {
            places * geometry.batch
        };
        if rows.checked_mul(inputs)?.checked_mul(features)? < SMALL {
            return None;
        }
        let matrix = |sizes: [usize; 2]| {
            let sizes = sizes.map(|size| i64::try_from(size).unwrap_or(i64::MAX));
            ArrayShape::new(element_type, &sizes)
        };
        let strides = [geometry.kernel_input_stride, geometry.kernel_output_stride];
        let (kernel, along) = if strides == [features, 1] {
            (matrix([inputs, features]), 0)
        } else if strides == [1, inputs] {
            (matrix([features, inputs]), 1)
        } else {
            return None;
        };
        let call = if kernel_first {
            call(
                (kernel, along),
                (matrix([inputs, rows]), 0),
                matrix([features, rows]),
            )
        } else {
            call(
                (matrix([rows, inputs]), 1),
                (kernel, along),
                matrix([rows, features]),
            )
        };
        let size = element_type.size();
        let plan = DotPlan::new(&call).ok()?;
        (plan.scratch_bytes() == 0).then_some(Pointwise {
            plan,
            kernel_first,
            bytes: [rows * inputs * size, rows * features * size],
        })
    }
}

/// The product of two matrices, each with its contracting dimension.
fn call(
    (lhs, lhs_contracting): (ArrayShape, i64),
    (rhs, rhs_contracting): (ArrayShape, i64),
    result: ArrayShape,
) -> DotCall {
    DotCall {
        lhs,
        rhs,
        result,
        lhs_batch: Vec::new(),
        rhs_batch: Vec::new(),
        lhs_contracting: vec![lhs_contracting],
        rhs_contracting: vec![rhs_contracting],
    }
}

impl Routine for Pointwise {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool) {
        let ([input, kernel], [output]) = (inputs, outputs) else {
            return;
        };
        let inputs = input.chunks_exact(self.bytes[0]);
        for (input, output) in inputs.zip(output.chunks_exact_mut(self.bytes[1])) {
            let (lhs, rhs) = if self.kernel_first {
                (*kernel, input)
            } else {
                (input, *kernel)
            };
            self.plan.run(lhs, rhs, output, &mut [], pool);
        }
    }
}

//! Floats narrower than `f32`: widened before a routine and rounded after it.

use bytemuck::AnyBitPattern;
use half::{bf16, f16};
use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::routine::RoutineCall;
use hloc_tensor::small_float;

use crate::pool::WorkerPool;
use crate::routine::Routine;

/// The element type around an `f32` routine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow(ElementType);

/// An `f32` routine on arrays of narrower floats.
#[derive(Debug)]
pub(crate) struct Widened {
    narrow: ElementType,
    inner: Box<dyn Routine>,
}

impl Narrow {
    /// The type and the call in `f32`, if the arrays are of one narrower float type.
    pub(crate) fn of(call: &RoutineCall) -> Option<(Narrow, RoutineCall)> {
        let narrow = call.inputs.first()?.element_type;
        let all = call.inputs.iter().chain(&call.outputs);
        if !narrow.is_float()
            || narrow.bits() > 16
            || all.clone().any(|shape| shape.element_type != narrow)
        {
            return None;
        }
        let widen = |shape: &ArrayShape| ArrayShape::new(ElementType::F32, &shape.dims);
        let wide = RoutineCall {
            routine: call.routine.clone(),
            inputs: call.inputs.iter().map(widen).collect(),
            outputs: call.outputs.iter().map(widen).collect(),
        };
        Some((Narrow(narrow), wide))
    }

    pub(crate) fn around(self, inner: Box<dyn Routine>) -> Widened {
        Widened {
            narrow: self.0,
            inner,
        }
    }
}

impl Routine for Widened {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool) {
        let wide: Vec<Vec<f32>> = inputs
            .iter()
            .map(|bytes| widened(self.narrow, bytes))
            .collect();
        let mut results: Vec<Vec<f32>> = outputs
            .iter()
            .map(|bytes| vec![0.0; bytes.len() / self.narrow.size()])
            .collect();
        let wide: Vec<&[u8]> = wide
            .iter()
            .map(|values| bytemuck::cast_slice(values))
            .collect();
        let mut targets: Vec<&mut [u8]> = results
            .iter_mut()
            .map(|values| bytemuck::cast_slice_mut(values))
            .collect();
        self.inner.run(&wide, &mut targets, pool);
        for (values, target) in results.iter().zip(outputs) {
            round(self.narrow, values, target);
        }
    }
}

fn widened(narrow: ElementType, bytes: &[u8]) -> Vec<f32> {
    fn each<T: AnyBitPattern>(bytes: &[u8], widen: impl Fn(T) -> f32) -> Vec<f32> {
        let elements: &[T] = bytemuck::cast_slice(bytes);
        elements.iter().map(|element| widen(*element)).collect()
    }
    match (narrow, narrow.size()) {
        (ElementType::BF16, _) => each(bytes, bf16::to_f32),
        (_, 2) => each(bytes, f16::to_f32),
        // Exact: every narrow float is an `f32`.
        (_, _) => each(bytes, |bits: u8| small_float::decode(narrow, bits) as f32),
    }
}

fn round(narrow: ElementType, values: &[f32], target: &mut [u8]) {
    match (narrow, narrow.size()) {
        (ElementType::BF16, _) => {
            let target: &mut [bf16] = bytemuck::cast_slice_mut(target);
            for (to, value) in target.iter_mut().zip(values) {
                *to = bf16::from_f32(*value);
            }
        }
        (_, 2) => {
            let target: &mut [f16] = bytemuck::cast_slice_mut(target);
            for (to, value) in target.iter_mut().zip(values) {
                *to = f16::from_f32(*value);
            }
        }
        (_, _) => {
            for (to, value) in target.iter_mut().zip(values) {
                *to = small_float::encode(narrow, (*value).into());
            }
        }
    }
}

//! `topk`: the first elements of each row in order.

use hloc_ir::{CompareType, ElementType};
use hloc_loops::routine::RoutineCall;

use super::keys::{KeyReader, UNORDERED};
use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid, unsupported};

/// A `topk` over the last dimension.
#[derive(Debug)]
pub(crate) struct TopK {
    extent: usize,
    k: usize,
    key: KeyReader,
    largest: bool,
    size: usize,
}

impl TopK {
    /// # Errors
    /// [`RunError::UnsupportedCall`] for complex elements, [`RunError::InvalidProgram`] for shapes that
    /// do not fit.
    pub(crate) fn new(call: &RoutineCall, largest: bool) -> Result<TopK, RunError> {
        let ([x], [values, indices]) = (&call.inputs[..], &call.outputs[..]) else {
            return Err(invalid("a topk does not have one operand and two results"));
        };
        let (Some((extent, outer)), Some((k, values_outer))) =
            (x.dims.split_last(), values.dims.split_last())
        else {
            return Err(invalid("a topk of scalars"));
        };
        let fits = outer == values_outer
            && (0..=*extent).contains(k)
            && values.element_type == x.element_type
            && indices.element_type == ElementType::S32
            && indices.same_dims(values);
        let (Ok(extent), Ok(k), true) = (usize::try_from(*extent), usize::try_from(*k), fits)
        else {
            return Err(invalid("the arrays of a topk do not go together"));
        };
        let order = if x.element_type.is_float() {
            CompareType::Float
        } else {
            CompareType::Signed
        };
        let key = KeyReader::new(x.element_type, order, largest);
        let key = key.filter(|_| i32::try_from(extent).is_ok());
        Ok(TopK {
            extent,
            k,
            key: key.ok_or_else(|| unsupported(call))?,
            largest,
            size: x.element_type.size(),
        })
    }

    /// The number of a NaN, which is the greatest value.
    fn nan(&self) -> u128 {
        if self.largest { 0 } else { u64::MAX.into() }
    }
}

impl Routine for TopK {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let ([x], [values, indices]) = (inputs, outputs) else {
            return;
        };
        if self.k == 0 || x.is_empty() {
            return;
        }
        let (mut numbers, mut packed) = (Vec::new(), Vec::new());
        let row_results = values
            .chunks_exact_mut(self.k * self.size)
            .zip(indices.chunks_exact_mut(self.k * 4));
        let rows = x.chunks_exact(self.extent * self.size);
        for (row, (values, indices)) in rows.zip(row_results) {
            numbers.clear();
            self.key.read(row, 0..self.extent, &mut numbers);
            packed.clear();
            packed.extend(numbers.iter().zip(0u128..).map(|(number, place)| {
                // One more than any comparable number leaves room for NaN below.
                let number = if *number == UNORDERED && self.key.may_be_unordered() {
                    self.nan()
                } else {
                    u128::from(*number) + u128::from(self.largest)
                };
                number << 32 | place
            }));
            if self.k < self.extent {
                packed.select_nth_unstable(self.k - 1);
            }
            packed[..self.k].sort_unstable();
            for (at, number) in packed[..self.k].iter().enumerate() {
                let place = *number as u32;
                let begin = place as usize * self.size;
                values[at * self.size..][..self.size].copy_from_slice(&row[begin..][..self.size]);
                indices[at * 4..][..4].copy_from_slice(&place.to_le_bytes());
            }
        }
    }
}

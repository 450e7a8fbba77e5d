//! Fourier transforms over the last dimensions, by the `rustfft` crate.
//!
//! Data are complex throughout. Each dimension is transformed in turn: rows along the last one lie
//! together, others are copied together and back. Inverse transforms are scaled by 1/n at the end.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytemuck::Pod;
use hloc_ir::ElementType;
use hloc_ir::words::FftType;
use hloc_loops::routine::RoutineCall;
use rustfft::num_complex::Complex;
use rustfft::{Fft as Transform, FftDirection, FftNum, FftPlanner};

use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid, unsupported};

/// Prepares an `fft`.
///
/// # Errors
/// [`RunError::UnsupportedCall`] for other types than `f32`, `f64`, `c64`, `c128`,
/// [`RunError::InvalidProgram`] for shapes that do not fit.
pub(crate) fn plan(
    call: &RoutineCall,
    fft_type: FftType,
    dimensions: usize,
) -> Result<Box<dyn Routine>, RunError> {
    let ([x], [result]) = (&call.inputs[..], &call.outputs[..]) else {
        return Err(invalid(
            "a transform does not have one operand and one result",
        ));
    };
    let count = x.dims.len();
    let last = count
        .checked_sub(1)
        .filter(|_| (1..=count).contains(&dimensions));
    let last = last.ok_or_else(|| invalid("a transform of too many dimensions"))?;
    let (real, complex) = (ElementType::F32, ElementType::C64);
    let (real64, complex64) = (ElementType::F64, ElementType::C128);
    let (from, to) = (x.element_type, result.element_type);
    let single = match fft_type {
        FftType::Fft | FftType::Ifft => (complex, complex),
        FftType::Rfft => (real, complex),
        FftType::Irfft => (complex, real),
    };
    let double = match fft_type {
        FftType::Fft | FftType::Ifft => (complex64, complex64),
        FftType::Rfft => (real64, complex64),
        FftType::Irfft => (complex64, real64),
    };
    let half = |full: i64| full / 2 + 1;
    let last_fits = match fft_type {
        FftType::Fft | FftType::Ifft => x.dims[last] == result.dims[last],
        FftType::Rfft => x.dims[last] == 0 || half(x.dims[last]) == result.dims[last],
        FftType::Irfft => result.dims[last] == 0 || half(result.dims[last]) == x.dims[last],
    };
    let fits = result.dims.len() == count && x.dims[..last] == result.dims[..last] && last_fits;
    if !fits {
        return Err(invalid("the shapes of a transform do not go together"));
    }
    let first = count - dimensions;
    if (from, to) == single {
        Ok(Box::new(Fft::<f32>::new(
            &x.dims,
            &result.dims,
            first,
            fft_type,
        )))
    } else if (from, to) == double {
        Ok(Box::new(Fft::<f64>::new(
            &x.dims,
            &result.dims,
            first,
            fft_type,
        )))
    } else {
        Err(unsupported(call))
    }
}

/// Floats of transforms.
trait Float: FftNum + Pod {
    fn inverse_of(count: f64) -> Self;
}

impl Float for f32 {
    fn inverse_of(count: f64) -> f32 {
        (1.0 / count) as f32
    }
}

impl Float for f64 {
    fn inverse_of(count: f64) -> f64 {
        1.0 / count
    }
}

/// A transform of all dimensions but the last, which is treated apart.
struct Fft<T: FftNum> {
    fft_type: FftType,
    /// Number of rows along the last dimension.
    rows: usize,
    /// Entries of a row of the operand, and of the result.
    lengths: [usize; 2],
    last: Arc<dyn Transform<T>>,
    /// The other dimensions: transform, and entries of the array behind the dimension.
    others: Vec<(Arc<dyn Transform<T>>, usize)>,
    /// 1, or 1/n for inverse transforms of n entries.
    scale: T,
}

impl<T: FftNum> std::fmt::Debug for Fft<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fft")
            .field("fft_type", &self.fft_type)
            .field("rows", &self.rows)
            .field("lengths", &self.lengths)
            .finish_non_exhaustive()
    }
}

impl<T: Float> Fft<T> {
    fn new(from: &[i64], to: &[i64], first: usize, fft_type: FftType) -> Fft<T> {
        let size = |dim: i64| usize::try_from(dim).unwrap_or(0);
        let last = from.len() - 1;
        let direction = match fft_type {
            FftType::Fft | FftType::Rfft => FftDirection::Forward,
            FftType::Ifft | FftType::Irfft => FftDirection::Inverse,
        };
        let full = match fft_type {
            FftType::Fft | FftType::Ifft | FftType::Rfft => size(from[last]),
            FftType::Irfft => size(to[last]),
        };
        // What the other dimensions see of the last: the shorter side.
        let inner = size(from[last]).min(size(to[last]));
        let mut planner = FftPlanner::new();
        let behind = |at: usize| -> usize {
            from[at + 1..last]
                .iter()
                .map(|dim| size(*dim))
                .product::<usize>()
                * inner
        };
        let others = (first..last).map(|at| {
            (
                planner.plan_fft(size(from[at]).max(1), direction),
                behind(at),
            )
        });
        let others: Vec<_> = others.collect();
        let entries: f64 = from[first..last].iter().map(|dim| *dim as f64).product();
        let scale = match direction {
            FftDirection::Forward => T::inverse_of(1.0),
            FftDirection::Inverse => T::inverse_of((entries * full as f64).max(1.0)),
        };
        Fft {
            fft_type,
            rows: from[..last].iter().map(|dim| size(*dim)).product(),
            lengths: [size(from[last]), size(to[last])],
            last: planner.plan_fft(full.max(1), direction),
            others,
            scale,
        }
    }

    /// Transforms the dimensions before the last.
    fn transform_others(&self, data: &mut [Complex<T>]) {
        let (mut lines, mut scratch) = (Vec::new(), Vec::new());
        for (transform, behind) in &self.others {
            let length = transform.len();
            if length <= 1 || *behind == 0 {
                continue;
            }
            scratch.resize(transform.get_inplace_scratch_len(), zero());
            lines.resize(length * behind, zero());
            for slab in data.chunks_exact_mut(length * behind) {
                transpose(slab, &mut lines, length, *behind);
                transform.process_with_scratch(&mut lines, &mut scratch);
                transpose(&lines, slab, *behind, length);
            }
        }
    }

    fn transform_last(&self, data: &mut [Complex<T>]) {
        let mut scratch = vec![zero(); self.last.get_inplace_scratch_len()];
        self.last.process_with_scratch(data, &mut scratch);
    }

    fn complex(&self, x: &[Complex<T>], result: &mut [Complex<T>]) {
        result.copy_from_slice(x);
        self.transform_last(result);
        self.transform_others(result);
        for value in result {
            *value = *value * self.scale;
        }
    }

    /// Real to half spectrum.
    fn forward(&self, x: &[T], result: &mut [Complex<T>]) {
        let [full, half] = self.lengths;
        let mut row = vec![zero(); full];
        let mut scratch = vec![zero(); self.last.get_inplace_scratch_len()];
        for (x, result) in x.chunks_exact(full).zip(result.chunks_exact_mut(half)) {
            for (entry, x) in row.iter_mut().zip(x) {
                *entry = Complex::new(*x, T::zero());
            }
            self.last.process_with_scratch(&mut row, &mut scratch);
            result.copy_from_slice(&row[..half]);
        }
        self.transform_others(result);
    }

    /// Half spectrum to real. Parts that must be real for that are taken so.
    fn backward(&self, x: &[Complex<T>], result: &mut [T]) {
        let [half, full] = self.lengths;
        let mut spectrum = x.to_vec();
        self.transform_others(&mut spectrum);
        let mut row = vec![zero(); full];
        let mut scratch = vec![zero(); self.last.get_inplace_scratch_len()];
        for (x, result) in spectrum
            .chunks_exact(half)
            .zip(result.chunks_exact_mut(full))
        {
            for at in 0..full {
                row[at] = if at == 0 || 2 * at == full {
                    Complex::new(x[at].re, T::zero())
                } else if 2 * at < full {
                    x[at]
                } else {
                    x[full - at].conj()
                };
            }
            self.last.process_with_scratch(&mut row, &mut scratch);
            for (result, value) in result.iter_mut().zip(&row) {
                *result = value.re * self.scale;
            }
        }
    }
}

impl<T: Float> Routine for Fft<T>
where
    Complex<T>: Pod,
{
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let ([x], [result]) = (inputs, outputs) else {
            return;
        };
        if x.is_empty() || result.is_empty() || self.rows == 0 {
            return;
        }
        match self.fft_type {
            FftType::Fft | FftType::Ifft => {
                self.complex(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(result));
            }
            FftType::Rfft => {
                self.forward(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(result));
            }
            FftType::Irfft => {
                self.backward(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(result));
            }
        }
    }
}

fn zero<T: FftNum>() -> Complex<T> {
    Complex::new(T::zero(), T::zero())
}

/// Writes the `rows` × `columns` entries of `from` column by column.
fn transpose<T: Copy>(from: &[T], to: &mut [T], rows: usize, columns: usize) {
    for (column, line) in to.chunks_exact_mut(rows).enumerate() {
        for (row, entry) in line.iter_mut().enumerate() {
            *entry = from[row * columns + column];
        }
    }
}

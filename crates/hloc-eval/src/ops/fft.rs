//! `fft`: discrete Fourier transforms by definition, in `c128`.

use std::f64::consts::TAU;

use hloc_ir::words::FftType;
use hloc_ir::{ArrayShape, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::dot::{IntoType, complex};
use super::{Operands, ensure, zeros};
use crate::EvalError;
use crate::scalar::{C128, Value};

/// A complex array between the transforms of its dimensions.
struct Signal {
    dims: Vec<i64>,
    values: Vec<C128>,
}

/// Transforms the last dimensions, as many as `fft_length` has.
pub(super) fn fft(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let Op::Fft {
        fft_type,
        fft_length,
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let x = operands.array(0)?;
    let first = x
        .num_dims()
        .checked_sub(fft_length.len())
        .filter(|first| *first < x.num_dims())
        .ok_or_else(|| EvalError::argument("`fft_length` does not fit the operand"))?;
    let mut signal = Signal {
        dims: x.dims().to_vec(),
        values: (0..x.num_elements())
            .map(|at| complex(Value::at(x, at)))
            .collect(),
    };
    let inverse = match fft_type {
        FftType::Fft | FftType::Rfft => false,
        FftType::Ifft | FftType::Irfft => true,
    };
    let last = x.num_dims().saturating_sub(1);
    for at in first..x.num_dims() {
        if *fft_type != FftType::Irfft || at != last {
            let length = signal.dims[at];
            signal = signal.transformed(at, length, inverse, |row, index| row[index]);
        }
    }
    let result_last = shape.dims.last().copied().unwrap_or(1);
    if *fft_type == FftType::Rfft {
        signal = signal.cut(last, result_last);
    } else if *fft_type == FftType::Irfft {
        signal = signal.transformed(last, result_last, true, |row, index| {
            half_spectrum(row, index, result_last as usize)
        });
    }
    ensure(
        signal.dims[..] == shape.dims[..],
        "the result does not fit `fft_length`",
    )?;
    let ty = shape.element_type;
    let mut result = zeros(ty, &shape.dims)?;
    for (bytes, value) in result
        .bytes_mut()
        .chunks_exact_mut(ty.size())
        .zip(signal.values)
    {
        value.into_type(ty).write(ty, bytes);
    }
    Ok(result)
}

/// Entry `index` of the spectrum of a real signal of which `row` is the first half. The parts that
/// must be real are taken so.
fn half_spectrum(row: &[C128], index: usize, length: usize) -> C128 {
    let zero = C128::new(0.0, 0.0);
    let entry = |at: usize| row.get(at).copied().unwrap_or(zero);
    if index == 0 || 2 * index == length {
        C128::new(entry(index).re, 0.0)
    } else if 2 * index < length {
        entry(index)
    } else {
        let mirrored = entry(length - index);
        C128::new(mirrored.re, -mirrored.im)
    }
}

impl Signal {
    /// Transforms dimension `at` to `length` entries, reading input entry `i` of a row by `entry`.
    fn transformed(
        &self,
        at: usize,
        length: i64,
        inverse: bool,
        entry: impl Fn(&[C128], usize) -> C128,
    ) -> Signal {
        let n = length as usize;
        let sign = if inverse { 1.0 } else { -1.0 };
        let roots: Vec<C128> = (0..n)
            .map(|turn| {
                let (sine, cosine) = libm::sincos(TAU * turn as f64 / n as f64);
                C128::new(cosine, sign * sine)
            })
            .collect();
        let scale = if inverse { 1.0 / n as f64 } else { 1.0 };
        self.with_rows(at, length, |row| {
            let inputs: Vec<C128> = (0..n).map(|index| entry(row, index)).collect();
            (0..n)
                .map(|k| {
                    let terms = inputs.iter().enumerate().map(|(j, x)| x * roots[j * k % n]);
                    terms.sum::<C128>() * scale
                })
                .collect()
        })
    }

    /// Keeps the first `length` entries of dimension `at`.
    fn cut(&self, at: usize, length: i64) -> Signal {
        self.with_rows(at, length, |row| {
            row.iter().take(length as usize).copied().collect()
        })
    }

    /// Replaces each row along dimension `at` by `f` of it, which has `length` entries.
    fn with_rows(&self, at: usize, length: i64, f: impl Fn(&[C128]) -> Vec<C128>) -> Signal {
        let mut dims = self.dims.clone();
        dims[at] = length;
        let (from, to) = (row_major_strides(&self.dims), row_major_strides(&dims));
        let count = dims.iter().product::<i64>() as usize;
        let mut values = vec![C128::new(0.0, 0.0); count];
        let mut rest = dims.clone();
        rest[at] = 1;
        let mut rows = IndexIter::new(&rest);
        while let Some(row) = rows.next_index() {
            let base = |strides: &[i64]| -> i64 {
                row.iter()
                    .zip(strides)
                    .map(|(index, stride)| index * stride)
                    .sum()
            };
            let (read, write) = (base(&from), base(&to));
            let input: Vec<C128> = (0..self.dims[at])
                .map(|index| self.values[(read + index * from[at]) as usize])
                .collect();
            for (index, value) in f(&input).into_iter().enumerate().take(length as usize) {
                values[(write + index as i64 * to[at]) as usize] = value;
            }
        }
        Signal { dims, values }
    }
}

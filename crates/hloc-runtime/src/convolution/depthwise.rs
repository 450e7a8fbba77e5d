//! Convolutions whose groups have one input feature: each output feature is one plane of the input, weighed.
//!
//! Sums run over the window in order, a product and an addition at a time, so they have the same bits on
//! every machine.

#![expect(
    unsafe_code,
    reason = "functions compiled for wider vectors are called where the machine has them"
)]

use std::sync::{Mutex, PoisonError};

use hloc_linalg::Routines;

use super::geometry::Geometry;
use super::lines::Lines;
use crate::pool::WorkerPool;
use crate::routine::Routine;

/// Places that are summed up at once: enough sums to hide the latency of an addition.
const WIDE: usize = 64;

/// Products that one task should have.
const TASK_PRODUCTS: usize = 200_000;

/// A convolution of planes in one element type.
#[derive(Debug)]
pub(super) struct Depthwise<T> {
    geometry: Geometry,
    lines: Lines,
    /// Offsets of the window's elements in the kernel, in order.
    window: Vec<usize>,
    /// Elements of an output plane.
    plane: usize,
    zero: T,
}

impl<T: Routines> Depthwise<T> {
    /// `None` if features are no planes, or planes of the output do not lie one after the other.
    pub(super) fn new(geometry: &Geometry) -> Option<Depthwise<T>> {
        let lines = Lines::new(&geometry.spatial, WIDE)?;
        let plane = lines.places.checked_mul(lines.outputs.len())?;
        let mut behind = 1;
        let in_order = geometry.spatial.iter().rev().all(|dim| {
            let fits = dim.output_stride == behind || dim.places == 1;
            behind *= dim.places;
            fits
        });
        let fits = plane > 0
            && geometry.input_features == 1
            && geometry.batch_groups == 1
            && in_order
            && (geometry.output_feature_stride == plane || geometry.features() == 1)
            && (geometry.output_batch_stride == plane * geometry.features() || geometry.batch == 1);
        fits.then(|| Depthwise {
            window: geometry.window_offsets(),
            geometry: geometry.clone(),
            lines,
            plane,
            zero: T::zero(),
        })
    }

    /// Computes the planes that `target` holds, of which the first is plane `first`.
    #[inline(always)]
    fn planes(&self, first: usize, input: &[T], kernel: &[T], target: &mut [T]) {
        let (lines, geometry) = (&self.lines, &self.geometry);
        let mut copied = vec![self.zero; lines.inputs.len() * lines.len];
        let mut weights = vec![self.zero; self.window.len()];
        let mut source = None;
        for (number, plane) in target.chunks_exact_mut(self.plane).enumerate() {
            let (batch, feature) = (
                (first + number) / geometry.features(),
                (first + number) % geometry.features(),
            );
            let base = geometry.input_base(feature / geometry.group_features(), batch);
            if source != Some(base) {
                for (line, to) in copied.chunks_exact_mut(lines.len).enumerate() {
                    lines.copy(input, base + lines.inputs[line], self.zero, to);
                }
                source = Some(base);
            }
            let kernel = &kernel[feature * geometry.kernel_output_stride..];
            for (weight, offset) in weights.iter_mut().zip(&self.window) {
                *weight = kernel[*offset];
            }
            for (number, line) in plane.chunks_exact_mut(lines.places).enumerate() {
                self.line(number, &copied, &weights, line);
            }
        }
    }

    /// Computes one line of the output.
    #[inline(always)]
    fn line(&self, number: usize, copied: &[T], weights: &[T], target: &mut [T]) {
        let mut at = 0;
        while target.len() - at > WIDE / 2 {
            self.places::<WIDE>(number, copied, weights, at, target);
            at += WIDE.min(target.len() - at);
        }
        while at < target.len() {
            self.places::<{ WIDE / 4 }>(number, copied, weights, at, target);
            at += (WIDE / 4).min(target.len() - at);
        }
    }

    /// Computes up to `N` places of a line, from `at` on.
    #[inline(always)]
    fn places<const N: usize>(
        &self,
        number: usize,
        copied: &[T],
        weights: &[T],
        at: usize,
        target: &mut [T],
    ) {
        let lines = &self.lines;
        let mut sums = [self.zero; N];
        for reading in &lines.readings[number] {
            let line = &copied[reading.line * lines.len..][..lines.len];
            let weights = &weights[reading.window * lines.taps.len()..][..lines.taps.len()];
            for (tap, weight) in lines.taps.iter().zip(weights) {
                // A copied line has `WIDE` elements behind the last place's.
                let Some(values) = line[tap + at..].first_chunk::<N>() else {
                    continue;
                };
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += *value * *weight;
                }
            }
        }
        let count = N.min(target.len() - at);
        target[at..at + count].copy_from_slice(&sums[..count]);
    }

    fn run_planes(&self, first: usize, input: &[T], kernel: &[T], target: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the machine has the feature. The operations are the same, so the bits are.
                unsafe { planes_512(self, first, input, kernel, target) };
                return;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                unsafe { planes_256(self, first, input, kernel, target) };
                return;
            }
        }
        self.planes(first, input, kernel, target);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn planes_512<T: Routines>(
    all: &Depthwise<T>,
    first: usize,
    input: &[T],
    kernel: &[T],
    to: &mut [T],
) {
    all.planes(first, input, kernel, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn planes_256<T: Routines>(
    all: &Depthwise<T>,
    first: usize,
    input: &[T],
    kernel: &[T],
    to: &mut [T],
) {
    all.planes(first, input, kernel, to);
}

impl<T: Routines> Routine for Depthwise<T> {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool) {
        let ([input, kernel], [output]) = (inputs, outputs) else {
            return;
        };
        let (input, kernel): (&[T], &[T]) =
            (bytemuck::cast_slice(input), bytemuck::cast_slice(kernel));
        let output: &mut [T] = bytemuck::cast_slice_mut(output);
        let planes = (TASK_PRODUCTS / (self.plane * self.window.len()).max(1)).max(1);
        let targets: Vec<_> = output
            .chunks_mut(planes * self.plane)
            .map(Mutex::new)
            .collect();
        pool.run(targets.len(), &|number| {
            // Each task has its own target; the lock is never waited for.
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.run_planes(number * planes, input, kernel, &mut target);
        });
    }
}

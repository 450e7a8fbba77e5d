//! Convolutions of `f32` without matrices in between, for machines with 512-bit vectors.
//!
//! A tile is up to 14 places by 32 features, or 14 features by 32 places, whichever lie side by side in the
//! output: 28 vectors of sums that stay in registers while the window and the input features go by. What is
//! multiplied is read from copied lines of the input (or where it lies, if there is no padding) and from
//! the kernel, which is packed in the order of the walk. Sums run over the window, then over the features, whatever
//! the tile: the split into tiles and tasks changes no bit.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::geometry::Geometry;
use super::lines::{Lines, merged};
use super::tile::{LANES, Operand, ROWS, Runs, has_vectors, tile};
use crate::dot::Target;
use crate::pool::WorkerPool;
use crate::routine::Routine;

/// Elements of copied lines at a time: they stay in a second-level cache.
const COPIED_ELEMENTS: usize = 96 * 1024;

/// Products below which everything is one task, and those that a task should have.
const SERIAL_BELOW: usize = 2_500_000;
const TASK_PRODUCTS: usize = 1_500_000;

/// A convolution in `f32`.
#[derive(Debug)]
pub(super) struct Direct {
    geometry: Geometry,
    lines: Lines,
    /// Whether the lanes of a vector are features, else places.
    lanes_are_features: bool,
    /// The features of a group, part by part: those of a vector, or the rows of a tile.
    parts: Vec<Range<usize>>,
    /// Offsets of the window's elements in the kernel, in order.
    window: Vec<usize>,
    /// The places of a line, tile by tile, if they are rows.
    rows: Vec<Range<usize>>,
    /// Output lines of a task.
    block: usize,
    /// Places of a task.
    span: usize,
}

/// The part of the output that one task computes.
struct Task {
    group: usize,
    batch: usize,
    outputs: Range<usize>,
    places: Range<usize>,
}

impl Direct {
    /// `None` where other ways are better: without such vectors, for outputs in which neither features nor
    /// places lie side by side, or for too few of them.
    pub(super) fn new(geometry: &Geometry) -> Option<Direct> {
        let features = geometry.group_features();
        let last = geometry.spatial.last()?;
        let lanes_are_features = match (geometry.output_feature_stride, last.output_stride) {
            (1, _) if geometry.features() > 1 => true,
            (_, 1) => false,
            (_, _) => return None,
        };
        let dims = if lanes_are_features {
            geometry.spatial.clone()
        } else {
            merged(geometry)
        };
        let lines = Lines::new(&dims, 0)?;
        let lanes = if lanes_are_features {
            features
        } else {
            lines.places
        };
        let copied = lines.len.checked_mul(geometry.input_features)?;
        if !has_vectors() || lanes < LANES / 4 || geometry.batch_groups != 1 || features < 4 {
            return None;
        }
        if copied > 4 * COPIED_ELEMENTS && lines.in_place.is_none() {
            return None;
        }
        let parts = if lanes_are_features {
            let starts = (0..features).step_by(LANES);
            starts
                .map(|first| first..features.min(first + LANES))
                .collect()
        } else {
            even(features, ROWS)
        };
        let (block, span) = split(geometry, &lines, lanes_are_features);
        Some(Direct {
            window: geometry.window_offsets(),
            rows: even(lines.places, ROWS),
            geometry: geometry.clone(),
            lines,
            lanes_are_features,
            parts,
            block,
            span,
        })
    }

    /// Packed elements of a part for one window element and input feature.
    fn width(&self, part: &Range<usize>) -> usize {
        if self.lanes_are_features {
            LANES
        } else {
            part.len()
        }
    }

    /// The kernel by group, part, window element, input feature, and feature of the part.
    fn packed(&self, kernel: &[f32], pool: &WorkerPool) -> Vec<f32> {
        let groups = self.geometry.groups();
        let mut packed = vec![0.0; groups * self.group_size()];
        let mut rest = &mut packed[..];
        let mut pieces = Vec::with_capacity(groups * self.parts.len());
        for group in 0..groups {
            for part in &self.parts {
                let (piece, behind) = rest.split_at_mut(self.width(part) * self.terms());
                let first = group * self.geometry.group_features() + part.start;
                pieces.push((first, part.len(), Mutex::new(piece)));
                rest = behind;
            }
        }
        let pack = |number: usize| {
            let (first, count, piece) = &pieces[number];
            // Each task has its own piece; the lock is never waited for.
            let mut piece = piece.lock().unwrap_or_else(PoisonError::into_inner);
            self.pack(kernel, *first, *count, &mut piece);
        };
        if packed_in_parts(groups * self.group_size()) {
            pool.run(pieces.len(), &pack);
        } else {
            (0..pieces.len()).for_each(pack);
        }
        drop(pieces);
        packed
    }

    /// Packs `count` features of the kernel from `first` on.
    fn pack(&self, kernel: &[f32], first: usize, count: usize, piece: &mut [f32]) {
        let geometry = &self.geometry;
        let inputs = geometry.input_features;
        let width = piece.len() / self.terms().max(1);
        if geometry.kernel_output_stride == 1 {
            let mut targets = piece.chunks_exact_mut(width);
            for offset in &self.window {
                for (input, target) in (0..inputs).zip(&mut targets) {
                    let from = first + offset + input * geometry.kernel_input_stride;
                    target[..count].copy_from_slice(&kernel[from..from + count]);
                }
            }
            return;
        }
        // In the order of the kernel, where features lie far apart.
        for feature in 0..count {
            let kernel = &kernel[(first + feature) * geometry.kernel_output_stride..];
            for input in 0..inputs {
                let kernel = &kernel[input * geometry.kernel_input_stride..];
                for (window, offset) in self.window.iter().enumerate() {
                    piece[(window * inputs + input) * width + feature] = kernel[*offset];
                }
            }
        }
    }

    /// Packed elements of one group.
    fn group_size(&self) -> usize {
        let widths = self.parts.iter().map(|part| self.width(part));
        widths.sum::<usize>() * self.terms()
    }

    fn terms(&self) -> usize {
        self.window.len() * self.geometry.input_features
    }

    fn tasks(&self) -> [usize; 4] {
        [
            self.geometry.batch,
            self.geometry.groups(),
            self.lines.outputs.len().div_ceil(self.block),
            self.lines.places.div_ceil(self.span),
        ]
    }

    fn task(&self, number: usize) -> Task {
        let [_, groups, blocks, spans] = self.tasks();
        let part =
            |number: usize, size: usize, all: usize| number * size..((number + 1) * size).min(all);
        Task {
            batch: number / spans / blocks / groups,
            group: number / spans / blocks % groups,
            outputs: part(
                number / spans % blocks,
                self.block,
                self.lines.outputs.len(),
            ),
            places: part(number % spans, self.span, self.lines.places),
        }
    }

    fn run_task(&self, task: &Task, input: &[f32], packed: &[f32], target: Target<f32>) {
        let (geometry, lines) = (&self.geometry, &self.lines);
        let base = geometry.input_base(task.group, task.batch);
        let read = lines.read_by(task.outputs.clone());
        let size = lines.len * geometry.input_features;
        let mut copied = Vec::new();
        let (values, step) = if lines.in_place.is_some() {
            (
                &input[base.min(input.len())..],
                geometry.input_feature_stride,
            )
        } else {
            copied = vec![0.0; read.len() * size];
            for (line, lines_of) in read.clone().zip(copied.chunks_exact_mut(size)) {
                let base = base + lines.inputs[line];
                lines.copy_features(input, base, geometry, lines_of);
            }
            (&copied[..], lines.len)
        };
        let begins = |line: usize| match lines.in_place {
            Some(first) => first + lines.inputs[line],
            None => (line - read.start) * size,
        };
        let mut runs = Runs::default();
        let first = task.batch * geometry.output_batch_stride + geometry.feature_offset(task.group);
        let mut at = task.group * self.group_size();
        for part in &self.parts {
            let width = self.width(part);
            let weights = Operand {
                data: &packed[at..at + self.terms() * width],
                step: width,
            };
            at += weights.data.len();
            for output in task.outputs.clone() {
                runs.clear();
                for reading in &lines.readings[output] {
                    for (element, tap) in lines.taps.iter().enumerate() {
                        let window = reading.window * lines.taps.len() + element;
                        let weights = window * geometry.input_features * width;
                        runs.push(begins(reading.line) + tap, weights);
                    }
                }
                let values = Operand { data: values, step };
                let offset =
                    first + lines.outputs[output] + part.start * geometry.output_feature_stride;
                self.part(task, part, &runs, (values, weights), target, offset);
            }
        }
        drop(copied);
    }

    /// The tiles of one output line and one part of the features.
    fn part(
        &self,
        task: &Task,
        part: &Range<usize>,
        runs: &Runs,
        (values, weights): (Operand<'_>, Operand<'_>),
        target: Target<f32>,
        offset: usize,
    ) {
        let tile_at = |place: usize, to: usize, sizes: [usize; 2], stride: usize| {
            tile(
                runs,
                self.geometry.input_features,
                values.from(place),
                weights,
                target,
                offset + to,
                sizes,
                stride,
                self.lanes_are_features,
            );
        };
        if self.lanes_are_features {
            let stride = self.lines.place_stride;
            // A task has all places of its lines then.
            for places in &self.rows {
                let sizes = [places.len(), part.len()];
                tile_at(places.start, places.start * stride, sizes, stride);
            }
        } else {
            let stride = self.geometry.output_feature_stride;
            for place in task.places.clone().step_by(LANES) {
                let sizes = [part.len(), LANES.min(task.places.end - place)];
                tile_at(place, place, sizes, stride);
            }
        }
    }
}

/// Whether a kernel of so many elements is packed by several threads.
fn packed_in_parts(elements: usize) -> bool {
    elements >= 64 * 1024
}

/// Output lines and places of a task.
fn split(geometry: &Geometry, lines: &Lines, lanes_are_features: bool) -> (usize, usize) {
    let outputs = lines.outputs.len().max(1);
    let window: usize = geometry.spatial.iter().map(|dim| dim.window).product();
    let line = lines.places * window * geometry.input_features * geometry.group_features();
    let total = line
        .saturating_mul(outputs)
        .saturating_mul(geometry.batch * geometry.groups());
    let fitting = if lines.in_place.is_some() {
        outputs
    } else {
        COPIED_ELEMENTS / (lines.len * geometry.input_features).max(1)
    };
    let wanted = if total < SERIAL_BELOW {
        outputs
    } else {
        // Enough lines to make copying those around them worth while.
        (TASK_PRODUCTS / line.max(1)).max(14)
    };
    let block = fitting.min(wanted).clamp(1, outputs);
    let block = outputs.div_ceil(outputs.div_ceil(block));
    let mut span = lines.places;
    if outputs == 1 && !lanes_are_features && total >= SERIAL_BELOW {
        let each = (line / lines.places).max(1);
        span = (TASK_PRODUCTS / each)
            .next_multiple_of(LANES)
            .clamp(LANES, span.max(LANES));
    }
    (block, span)
}

/// `count` in as few parts of at most `most` as there can be, of about the same size.
fn even(count: usize, most: usize) -> Vec<Range<usize>> {
    let parts = count.div_ceil(most).max(1);
    (0..parts)
        .map(|part| part * count / parts..(part + 1) * count / parts)
        .collect()
}

impl Routine for Direct {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool) {
        let ([input, kernel], [output]) = (inputs, outputs) else {
            return;
        };
        let input: &[f32] = bytemuck::cast_slice(input);
        let output: &mut [f32] = bytemuck::cast_slice_mut(output);
        if output.is_empty() {
            return;
        }
        let packed = self.packed(bytemuck::cast_slice(kernel), pool);
        let target = Target::new(output);
        pool.run(self.tasks().iter().product(), &|number| {
            self.run_task(&self.task(number), input, &packed, target);
        });
    }
}

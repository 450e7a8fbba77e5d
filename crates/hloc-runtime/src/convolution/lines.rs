//! The input of a convolution as lines along its last spatial dimension.
//!
//! A line is copied with its padding, and elements that the window steps over apart from each other: what one
//! window element sees at places side by side then lies side by side.

use super::geometry::{Geometry, SpatialDim};
use super::tile::transpose;

/// Stands for an element that is not in the input.
const PADDING: usize = usize::MAX;

/// More elements than this are not copied at a time.
const MAX_ELEMENTS: usize = 1 << 22;

/// An input line that an output line reads, and the window's line that it meets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) line: usize,
    pub(super) window: usize,
}

/// How lines are copied and which are read.
#[derive(Debug)]
pub(super) struct Lines {
    /// Places of an output line.
    pub(super) places: usize,
    /// Distance of those in the output.
    pub(super) place_stride: usize,
    /// By window element along a line: where in a copied line the value for the first place is.
    pub(super) taps: Vec<usize>,
    /// Elements of a copied line.
    pub(super) len: usize,
    /// By element of a copied line: where it comes from in the input's line.
    sources: Vec<usize>,
    /// First and number of the elements that are not padding, if they are a run of the input's.
    run: Option<(usize, usize)>,
    input_stride: usize,
    /// Whether a line may be read where it lies: the offset of the first place's first element then.
    pub(super) in_place: Option<usize>,
    /// By output line: what it reads.
    pub(super) readings: Vec<Vec<Reading>>,
    /// By output line: its offset in the output.
    pub(super) outputs: Vec<usize>,
    /// By input line: its offset in the input.
    pub(super) inputs: Vec<usize>,
}

impl Lines {
    /// The lines of `dims`, with `slack` elements that may be read behind the last place's. `None` if there
    /// is no spatial dimension, or copies would be out of all proportion.
    pub(super) fn new(dims: &[SpatialDim], slack: usize) -> Option<Lines> {
        let (last, outer) = dims.split_last()?;
        let motion = &last.motion;
        let positive = |value: i64| usize::try_from(value).ok().filter(|value| *value > 0);
        let (stride, dilation) = (positive(motion.stride)?, positive(motion.window_dilation)?);
        let base_dilation = positive(motion.base_dilation)?;
        if last.places == 0 || last.window == 0 || last.size == 0 {
            return None;
        }
        let furthest = (last.window - 1).checked_mul(dilation)?;
        let phases = stride.min(furthest + 1);
        let needed = last.places.checked_add(furthest / stride)?;
        let phase = needed.checked_add(slack)?;
        let len = phase
            .checked_mul(phases)
            .filter(|len| *len <= MAX_ELEMENTS)?;
        let source = |at: usize| {
            let (phase_number, place) = (at / phase, at % phase);
            let at = i64::try_from(phase_number + place * stride).ok()? - motion.pad_low;
            let at = usize::try_from(at).ok()?;
            let is_element = at % base_dilation == 0 && at / base_dilation < last.size;
            is_element.then(|| at / base_dilation * last.input_stride)
        };
        let sources: Vec<usize> = (0..len).map(|at| source(at).unwrap_or(PADDING)).collect();
        let taps = (0..last.window).map(|element| {
            let element = if motion.reversal {
                last.window - 1 - element
            } else {
                element
            };
            let at = element * dilation;
            at % stride * phase + at / stride
        });
        let is_whole = stride == 1 && base_dilation == 1 && last.input_stride == 1;
        let has_padding = sources[..needed].contains(&PADDING);
        let mut lines = Lines {
            places: last.places,
            place_stride: last.output_stride,
            taps: taps.collect(),
            len,
            run: run(&sources, last.input_stride),
            in_place: (is_whole && !has_padding).then(|| sources[0]),
            sources,
            input_stride: last.input_stride,
            readings: vec![vec![Reading { line: 0, window: 0 }]],
            outputs: vec![0],
            inputs: vec![0],
        };
        for dim in outer {
            lines.cross(dim)?;
        }
        Some(lines)
    }

    /// Crosses the lines so far with those along one more dimension, inside the others.
    fn cross(&mut self, dim: &SpatialDim) -> Option<()> {
        let mut readings = Vec::new();
        let mut count = 0;
        for before in &self.readings {
            for place in 0..dim.places {
                let mut here = Vec::new();
                for reading in before {
                    for (element, offset) in dim.offsets_at(place).iter().enumerate() {
                        let Some(offset) = offset else { continue };
                        here.push(Reading {
                            line: reading.line * dim.size + offset.checked_div(dim.input_stride)?,
                            window: reading.window * dim.window + element,
                        });
                    }
                }
                count += here.len();
                if count > MAX_ELEMENTS {
                    return None;
                }
                readings.push(here);
            }
        }
        self.readings = readings;
        let crossed = |offsets: &[usize], size: usize, stride: usize| -> Vec<usize> {
            let each = offsets.iter();
            each.flat_map(|offset| (0..size).map(move |at| offset + at * stride))
                .collect()
        };
        self.outputs = crossed(&self.outputs, dim.places, dim.output_stride);
        self.inputs = crossed(&self.inputs, dim.size, dim.input_stride);
        Some(())
    }

    /// Copies the line that begins at `base`.
    pub(super) fn copy<T: Copy>(&self, input: &[T], base: usize, zero: T, target: &mut [T]) {
        let Some((first, count)) = self.run else {
            for (value, source) in target.iter_mut().zip(&self.sources) {
                *value = match *source {
                    PADDING => zero,
                    offset => input[base + offset],
                };
            }
            return;
        };
        let (before, rest) = target[..self.len].split_at_mut(first);
        let (within, behind) = rest.split_at_mut(count);
        before.fill(zero);
        behind.fill(zero);
        let Some(offset) = self.sources.get(first) else {
            return;
        };
        let input = &input[base + offset..];
        if self.input_stride == 1 {
            within.copy_from_slice(&input[..count]);
        } else {
            let values = input.iter().step_by(self.input_stride);
            within
                .iter_mut()
                .zip(values)
                .for_each(|(to, value)| *to = *value);
        }
    }

    /// Copies the lines of a group's features, of which the first begins at `base`.
    pub(super) fn copy_features(
        &self,
        input: &[f32],
        base: usize,
        geometry: &Geometry,
        target: &mut [f32],
    ) {
        let stride = geometry.input_feature_stride;
        if let Some((first, count)) = self.run
            && (stride, geometry.input_features > 1, count > 0) == (1, true, true)
        {
            let source = base + self.sources[first];
            let sizes = [count, geometry.input_features];
            for line in target.chunks_exact_mut(self.len) {
                line[..first].fill(0.0);
                line[first + count..].fill(0.0);
            }
            let strides = [self.input_stride, self.len];
            transpose(&input[source..], &mut target[first..], sizes, strides);
            return;
        }
        for (feature, to) in target.chunks_exact_mut(self.len).enumerate() {
            self.copy(input, base + feature * stride, 0.0, to);
        }
    }

    /// The input lines that these output lines read: the first and one behind the last.
    pub(super) fn read_by(&self, outputs: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let lines = self.readings[outputs]
            .iter()
            .flatten()
            .map(|each| each.line);
        let (first, last) = (lines.clone().min(), lines.max());
        match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            (None, _) | (_, None) => 0..0,
        }
    }
}

/// The one run of elements with `stride` between them that all but padding is.
fn run(sources: &[usize], stride: usize) -> Option<(usize, usize)> {
    let Some(first) = sources.iter().position(|source| *source != PADDING) else {
        return Some((sources.len(), 0));
    };
    let rest = &sources[first..];
    let follows = |at: &usize| rest[*at] == rest[0] + at * stride;
    let count = (0..rest.len()).take_while(follows).count();
    let is_all = rest[count..].iter().all(|source| *source == PADDING);
    is_all.then_some((first, count))
}

/// The dimensions of a convolution that looks at one place only, as one; else as they are.
pub(super) fn merged(geometry: &Geometry) -> Vec<SpatialDim> {
    let dims = &geometry.spatial;
    let is_pointwise = |dim: &SpatialDim| {
        let motion = &dim.motion;
        dim.window == 1
            && dim.places == dim.size
            && (motion.stride, motion.pad_low, motion.base_dilation) == (1, 0, 1)
    };
    let adjoins = |pair: &[SpatialDim]| {
        let [outer, inner] = pair else { return false };
        outer.input_stride == inner.input_stride * inner.size
            && outer.output_stride == inner.output_stride * inner.places
    };
    let Some(last) = dims.last() else {
        return Vec::new();
    };
    if !dims.iter().all(is_pointwise) || !dims.windows(2).all(adjoins) {
        return dims.clone();
    }
    let mut one = last.clone();
    one.size = dims.iter().map(|dim| dim.size).product();
    one.places = one.size;
    vec![one]
}

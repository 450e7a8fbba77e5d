//! Where the elements that belong together lie in input, kernel and output.

use hloc_ir::ArrayShape;
use hloc_ir::attr::WindowDim;
use hloc_loops::routine::{Convolution, RoutineCall};
use hloc_tensor::row_major_strides;

use crate::RunError;
use crate::routine::invalid;

/// The input's place for each place of the output and each element of the window, along one spatial
/// dimension.
#[derive(Clone, Debug)]
pub(super) struct SpatialDim {
    /// Places of the output.
    pub(super) places: usize,
    /// Elements of the window.
    pub(super) window: usize,
    pub(super) output_stride: usize,
    pub(super) kernel_stride: usize,
    /// Elements of the input.
    pub(super) size: usize,
    pub(super) input_stride: usize,
    /// How the window moves.
    pub(super) motion: WindowDim,
    /// Offset in the input by place, then window element; `None` outside the input.
    offsets: Vec<Option<usize>>,
}

impl SpatialDim {
    /// The offsets of the window's elements at a place.
    pub(super) fn offsets_at(&self, place: usize) -> &[Option<usize>] {
        &self.offsets[place * self.window..(place + 1) * self.window]
    }
}

/// Sizes and strides of a convolution.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    pub(super) spatial: Vec<SpatialDim>,
    /// Batch elements of the output.
    pub(super) batch: usize,
    /// Input features that one output feature sums over.
    pub(super) input_features: usize,
    /// Output features of all groups.
    features: usize,
    feature_groups: usize,
    pub(super) batch_groups: usize,
    pub(super) input_batch_stride: usize,
    pub(super) input_feature_stride: usize,
    pub(super) kernel_input_stride: usize,
    pub(super) kernel_output_stride: usize,
    pub(super) output_batch_stride: usize,
    pub(super) output_feature_stride: usize,
    /// Rows whose results lie side by side.
    contiguous_rows: usize,
}

impl Geometry {
    /// # Errors
    /// [`RunError::InvalidProgram`] for dimension numbers and sizes that do not go together.
    pub(super) fn new(call: &RoutineCall, asked: &Convolution) -> Result<Geometry, RunError> {
        let wrong = || invalid("the shapes of a convolution do not go together");
        let ([input, kernel], [output]) = (&call.inputs[..], &call.outputs[..]) else {
            return Err(wrong());
        };
        let labels = &asked.labels;
        let (input, kernel, output) = (Sizes::new(input), Sizes::new(kernel), Sizes::new(output));
        let groups = |count: i64| usize::try_from(count).ok().filter(|count| *count > 0);
        let feature_groups = groups(asked.feature_groups).ok_or_else(wrong)?;
        let batch_groups = groups(asked.batch_groups).ok_or_else(wrong)?;
        let (features, batch) = (
            output.size(labels.output_feature).ok_or_else(wrong)?,
            output.size(labels.output_batch).ok_or_else(wrong)?,
        );
        let input_features = kernel.size(labels.kernel_input_feature).ok_or_else(wrong)?;
        let fits = kernel.size(labels.kernel_output_feature) == Some(features)
            && input.size(labels.input_feature) == Some(input_features * feature_groups)
            && input.size(labels.input_batch) == Some(batch * batch_groups)
            && features % (feature_groups * batch_groups) == 0
            && (feature_groups == 1 || batch_groups == 1)
            && labels.input_spatial.len() == asked.window.0.len()
            && labels.kernel_spatial.len() == asked.window.0.len()
            && labels.output_spatial.len() == asked.window.0.len();
        if !fits {
            return Err(wrong());
        }
        let mut spatial = Vec::new();
        for (at, window) in asked.window.0.iter().enumerate() {
            let sizes = [
                input.size(labels.input_spatial[at]).ok_or_else(wrong)?,
                kernel.size(labels.kernel_spatial[at]).ok_or_else(wrong)?,
                output.size(labels.output_spatial[at]).ok_or_else(wrong)?,
            ];
            if usize::try_from(window.size) != Ok(sizes[1]) {
                return Err(wrong());
            }
            let stride = input.stride(labels.input_spatial[at]);
            let offset = |place: usize, element: usize| {
                let element = element as i64;
                let element = if window.reversal {
                    window.size - 1 - element
                } else {
                    element
                };
                let at = (place as i64).checked_mul(window.stride)?;
                let at = at.checked_add(element.checked_mul(window.window_dilation)?)?;
                let at = at.checked_sub(window.pad_low)?;
                let between = at.checked_rem(window.base_dilation)? != 0;
                let at = usize::try_from(at.checked_div(window.base_dilation)?).ok()?;
                (!between && at < sizes[0]).then(|| at * stride)
            };
            let places = 0..sizes[2];
            let pairs = places.flat_map(|place| (0..sizes[1]).map(move |element| (place, element)));
            spatial.push(SpatialDim {
                places: sizes[2],
                window: sizes[1],
                output_stride: output.stride(labels.output_spatial[at]),
                kernel_stride: kernel.stride(labels.kernel_spatial[at]),
                size: sizes[0],
                input_stride: stride,
                motion: *window,
                offsets: pairs
                    .map(|(place, element)| offset(place, element))
                    .collect(),
            });
        }
        let mut geometry = Geometry {
            spatial,
            batch,
            input_features,
            features,
            feature_groups,
            batch_groups,
            input_batch_stride: input.stride(labels.input_batch),
            input_feature_stride: input.stride(labels.input_feature),
            kernel_input_stride: kernel.stride(labels.kernel_input_feature),
            kernel_output_stride: kernel.stride(labels.kernel_output_feature),
            output_batch_stride: output.stride(labels.output_batch),
            output_feature_stride: output.stride(labels.output_feature),
            contiguous_rows: 0,
        };
        geometry.contiguous_rows = geometry.find_contiguous_rows();
        Ok(geometry)
    }

    /// One row if features lie side by side and places in order; a batch element if those lie in order;
    /// all rows otherwise.
    fn find_contiguous_rows(&self) -> usize {
        let places: usize = self.spatial.iter().map(|dim| dim.places).product();
        let mut behind = self.features;
        let mut in_order = self.output_feature_stride == 1 || self.features == 1;
        for dim in self.spatial.iter().rev() {
            in_order &= dim.output_stride == behind || dim.places == 1;
            behind *= dim.places;
        }
        let batch_first = self.output_batch_stride == places * self.features || self.batch == 1;
        match (in_order, batch_first) {
            (true, true) => 1,
            (false, true) => places,
            (_, false) => places * self.batch,
        }
    }

    pub(super) fn contiguous_rows(&self) -> usize {
        self.contiguous_rows
    }

    /// How many products of matrices there are.
    pub(super) fn groups(&self) -> usize {
        self.feature_groups * self.batch_groups
    }

    /// Output features of all groups.
    pub(super) fn features(&self) -> usize {
        self.features
    }

    /// Output features of one group.
    pub(super) fn group_features(&self) -> usize {
        self.features / self.groups()
    }

    /// Elements that one output element sums over.
    pub(super) fn terms(&self) -> usize {
        let window: usize = self.spatial.iter().map(|dim| dim.window).product();
        window * self.input_features
    }

    /// Offsets of the window's elements in the kernel, in order.
    pub(super) fn window_offsets(&self) -> Vec<usize> {
        let mut offsets = vec![0];
        for dim in &self.spatial {
            offsets = offsets
                .iter()
                .flat_map(|offset| (0..dim.window).map(move |at| offset + at * dim.kernel_stride))
                .collect();
        }
        offsets
    }

    /// Batch element and places of a row.
    pub(super) fn split_row(&self, mut row: usize, places: &mut [usize]) -> usize {
        for (dim, place) in self.spatial.iter().zip(places).rev() {
            *place = row % dim.places;
            row /= dim.places;
        }
        row
    }

    /// Where the first feature of a row's result lies.
    pub(super) fn output_offset(&self, mut row: usize) -> usize {
        let mut offset = 0;
        for dim in self.spatial.iter().rev() {
            offset += row % dim.places * dim.output_stride;
            row /= dim.places;
        }
        offset + row * self.output_batch_stride
    }

    /// Where a group's first feature lies behind the first of all.
    pub(super) fn feature_offset(&self, group: usize) -> usize {
        group * self.group_features() * self.output_feature_stride
    }

    pub(super) fn feature_stride(&self) -> usize {
        self.output_feature_stride
    }

    /// Where a group's part of the input begins, for a batch element.
    pub(super) fn input_base(&self, group: usize, batch: usize) -> usize {
        if self.feature_groups > 1 {
            batch * self.input_batch_stride
                + group * self.input_features * self.input_feature_stride
        } else {
            (group * self.batch + batch) * self.input_batch_stride
        }
    }
}

/// Sizes and row-major strides by dimension number.
struct Sizes {
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

impl Sizes {
    fn new(shape: &ArrayShape) -> Sizes {
        let size = |dim: &i64| usize::try_from(*dim).unwrap_or(0);
        Sizes {
            sizes: shape.dims.iter().map(size).collect(),
            strides: row_major_strides(&shape.dims).iter().map(size).collect(),
        }
    }

    fn size(&self, dim: i64) -> Option<usize> {
        self.sizes.get(usize::try_from(dim).ok()?).copied()
    }

    /// Of a dimension that has a size.
    fn stride(&self, dim: i64) -> usize {
        let dim = usize::try_from(dim).ok();
        dim.and_then(|dim| self.strides.get(dim).copied())
            .unwrap_or(0)
    }
}

//! `convolution`.

use super::check::{array, count, require};
use super::window::window_count;
use crate::attr::{DimLabels, Window};
use crate::{ArrayShape, Broken, ElementType, Focus, Shape, ShapeContext};

/// The group counts of a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    /// `feature_group_count`.
    pub(super) feature: i64,
    /// `batch_group_count`.
    pub(super) batch: i64,
}

/// Batch, output features and one spatial dimension per window dimension, as `dim_labels` place them.
pub(super) fn convolution(
    cx: &ShapeContext<'_>,
    window: Option<&Window>,
    labels: &DimLabels,
    groups: Groups,
) -> Result<Shape, Broken> {
    let (input, kernel) = (array(cx, 0)?, array(cx, 1)?);
    require(input.element_type == kernel.element_type, || {
        Broken::new(
            "convolution_c1",
            format!("slides {kernel} over {input}, whose element types differ"),
        )
        .at(Focus::Operand(1))
        .with_other(Focus::Operand(0), input.to_string())
    })?;
    check_labels(input, kernel, labels)?;
    check_groups(input, kernel, labels, groups)?;
    let spatial = labels.output_spatial.len();
    let window = window.map_or(&[][..], |window| &window.0);
    require(window.len() == spatial, || {
        Broken::new(
            "convolution_c5",
            format!(
                "declares a window of {} for {}",
                count(window.len(), "dimension"),
                count(spatial, "spatial dimension")
            ),
        )
        .at(Focus::Attribute("window"))
    })?;
    let mut dims = vec![1; spatial + 2];
    dims[labels.output_batch as usize] = input.dims[labels.input_batch as usize] / groups.batch;
    dims[labels.output_feature as usize] = kernel.dims[labels.kernel_output_feature as usize];
    for (at, entry) in window.iter().enumerate() {
        let size = kernel.dims[labels.kernel_spatial[at] as usize];
        require(entry.size == size, || {
            Broken::new(
                "convolution_c6",
                format!(
                    "declares a window of size {} in spatial dimension {at}, where its kernel {kernel} has size {size}",
                    entry.size
                ),
            )
            .at(Focus::Attribute("window"))
            .with_other(Focus::Operand(1), kernel.to_string())
        })?;
        let input_size = input.dims[labels.input_spatial[at] as usize];
        dims[labels.output_spatial[at] as usize] = window_count(at, input_size, entry)?;
    }
    Ok(Shape::array(result_type(cx, input), &dims))
}

/// The declared element type if there is one: a wider accumulator is the program's choice.
fn result_type(cx: &ShapeContext<'_>, input: &ArrayShape) -> ElementType {
    let declared = cx.declared.and_then(Shape::as_array);
    declared.map_or(input.element_type, |shape| shape.element_type)
}

/// Each array has two dimensions more than the spatial ones, and the labels name each once.
fn check_labels(input: &ArrayShape, kernel: &ArrayShape, labels: &DimLabels) -> Result<(), Broken> {
    let spatial = labels.input_spatial.len();
    let broken = |label, message| Broken::new(label, message).at(Focus::Attribute("dim_labels"));
    require(labels.unused.iter().all(Vec::is_empty), || {
        broken(
            "convolution_c2",
            "marks dimensions as unused (`?`) in dim_labels, which hloc does not take".to_owned(),
        )
    })?;
    for (what, shape, special, spatial_dims) in [
        (
            "input",
            Some(input),
            [labels.input_batch, labels.input_feature],
            &labels.input_spatial,
        ),
        (
            "kernel",
            Some(kernel),
            [labels.kernel_input_feature, labels.kernel_output_feature],
            &labels.kernel_spatial,
        ),
        (
            "output",
            None,
            [labels.output_batch, labels.output_feature],
            &labels.output_spatial,
        ),
    ] {
        let dims: Vec<i64> = special.iter().chain(spatial_dims).copied().collect();
        let mut sorted = dims.clone();
        sorted.sort_unstable();
        let is_permutation = sorted.iter().copied().eq(0..dims.len() as i64);
        require(is_permutation && spatial_dims.len() == spatial, || {
            broken(
                "convolution_c2",
                format!("has dim_labels that do not name each dimension of its {what} once"),
            )
        })?;
        let Some(shape) = shape else { continue };
        require(shape.num_dims() == dims.len(), || {
            broken(
                "convolution_c3",
                format!(
                    "has dim_labels for {} of its {what}, which is {shape}",
                    count(dims.len(), "dimension")
                ),
            )
        })?;
    }
    Ok(())
}

fn check_groups(
    input: &ArrayShape,
    kernel: &ArrayShape,
    labels: &DimLabels,
    groups: Groups,
) -> Result<(), Broken> {
    let input_features = input.dims[labels.input_feature as usize];
    let batch = input.dims[labels.input_batch as usize];
    let kernel_in = kernel.dims[labels.kernel_input_feature as usize];
    let kernel_out = kernel.dims[labels.kernel_output_feature as usize];
    let broken = |message: String| {
        Broken::new("convolution_c4", message).with_other(Focus::Operand(0), input.to_string())
    };
    let one_only =
        groups.feature >= 1 && groups.batch >= 1 && (groups.feature == 1 || groups.batch == 1);
    require(one_only, || {
        broken(format!(
            "declares feature_group_count={} and batch_group_count={}: both are at least 1, one of them is 1",
            groups.feature, groups.batch
        ))
    })?;
    require(
        kernel_in.checked_mul(groups.feature) == Some(input_features),
        || {
            broken(format!(
                "has {input_features} input features, but its kernel takes {kernel_in} in each of {} groups",
                groups.feature
            ))
        },
    )?;
    for count in [groups.feature, groups.batch] {
        require(kernel_out % count == 0, || {
            broken(format!(
                "has {kernel_out} output features, which {count} groups do not divide"
            ))
        })?;
    }
    require(batch % groups.batch == 0, || {
        broken(format!(
            "has a batch of {batch}, which {} groups do not divide",
            groups.batch
        ))
    })
}

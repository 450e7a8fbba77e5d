//! Convolutions of inputs with dynamic batch, feature and spatial sizes, and of kernels with dynamic features.

use hloc_ir::{InstrId, Op};

use super::masked::{cleared, window_count};
use super::rules::put;
use super::{Done, Leaves, Region, Sizes};

/// Padding counts as zeros: it is cleared on both sides.
pub(super) fn convolution(region: &mut Region<'_>, id: InstrId) -> Done<Leaves> {
    let instruction = &region.rebuilt.old().instructions[id];
    let Op::Convolution {
        window,
        dim_labels: labels,
        feature_group_count,
        batch_group_count,
        ..
    } = &instruction.op
    else {
        return region.refused(id, "it is no convolution");
    };
    let place = |dim: i64| usize::try_from(dim).unwrap_or(usize::MAX);
    let [input, kernel] = [0, 1].map(|at| region.sizes_of(instruction.operands[at]));
    let size = |sizes: &Sizes, dim: i64| sizes.get(place(dim)).copied().flatten();
    let kernel_spatial = labels.kernel_spatial.iter();
    if kernel_spatial
        .clone()
        .any(|dim| size(&kernel, *dim).is_some())
    {
        return region.refused(id, "its kernel has a dynamic spatial size");
    }
    let (feature, batch) = (
        size(&input, labels.input_feature),
        size(&input, labels.input_batch),
    );
    let (depth, width) = (
        size(&kernel, labels.kernel_input_feature),
        size(&kernel, labels.kernel_output_feature),
    );
    let groups = feature_group_count.0 > 1 || batch_group_count.0 > 1;
    if groups && [feature, batch, depth, width].iter().any(Option::is_some) {
        return region.refused(id, "its groups are of dynamic size");
    }
    let mut input_shared = input.clone();
    let mut kernel_shared = kernel.clone();
    let contracted = feature.or(depth);
    let (from, to) = (
        place(labels.input_feature),
        place(labels.kernel_input_feature),
    );
    if let (Some(input), Some(kernel)) = (input_shared.get_mut(from), kernel_shared.get_mut(to)) {
        (*input, *kernel) = (contracted, contracted);
    }
    let mut along = vec![from];
    along.extend(labels.input_spatial.iter().map(|dim| place(*dim)));
    let windows = window.clone().unwrap_or_default();
    let spatial: Vec<(i64, i64)> = labels
        .input_spatial
        .iter()
        .copied()
        .zip(labels.output_spatial.iter().copied())
        .collect();
    let (output_batch, output_feature) = (place(labels.output_batch), place(labels.output_feature));
    let operands = region.rebuilt.mapped_operands(id);
    let mut sizes: Sizes = vec![None; input.len()];
    let mut make = region.make(id);
    let x = cleared(&mut make, operands[0], &input_shared, &along);
    let k = cleared(&mut make, operands[1], &kernel_shared, &[to]);
    for ((from, to), window) in spatial.into_iter().zip(&windows.0) {
        let count = size(&input, from).map(|size| window_count(&mut make, size, window));
        if let Some(place) = sizes.get_mut(place(to)) {
            *place = count;
        }
    }
    for (at, size) in [(output_batch, batch), (output_feature, width)] {
        if let Some(place) = sizes.get_mut(at) {
            *place = size;
        }
    }
    let op = region.rebuilt.mapped_op(id);
    put(region, id, op, &[x, k]);
    Ok(vec![sizes])
}

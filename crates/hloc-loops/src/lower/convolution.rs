//! The loop form of `convolution`: an index function that sums over the window and the input features.

use hloc_ir::attr::{DimLabels, Window};
use hloc_ir::{BinaryOp, Instruction, Op};

use super::builder::{Builder, Built, Indices, Node};
use super::reduce::window_place;
use super::sum::{ROW_BLOCK, accumulator};
use crate::error::LowerError;
use crate::index::Index;
use crate::ir::{Expr, ValueId};

/// How the dimensions and groups of a convolution lie.
struct Shapes<'i> {
    labels: &'i DimLabels,
    window: Window,
    /// Sizes of the input's spatial dimensions.
    spatial: Vec<i64>,
    /// Output features that one group of input features gives.
    features_per_group: i64,
    /// Output features that one group of the batch gives.
    features_per_batch_group: i64,
    /// Input features of the kernel, so of one group.
    kernel_features: i64,
    output_batch: i64,
    num_dims: usize,
}

impl<'a> Builder<'a> {
    /// An element of a `convolution`. Places outside the input count as zeros.
    pub(super) fn convolution(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<ValueId> {
        let shapes = self.convolution_shapes(node, instruction)?;
        let (input, kernel) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let element_type = self.shape(node)?.element_type;
        let product_type = accumulator(element_type);
        let labels = shapes.labels;
        let mut extents: Vec<i64> = shapes.window.0.iter().map(|dim| dim.size).collect();
        extents.push(shapes.kernel_features);
        if extents.contains(&0) || shapes.spatial.contains(&0) {
            return Ok(self.zero(element_type));
        }
        let feature = at(indices, labels.output_feature);
        let spatial: Indices = labels
            .output_spatial
            .iter()
            .map(|dim| at(indices, *dim))
            .collect();
        let group = feature.div(shapes.features_per_group, self);
        let batch_group = feature.div(shapes.features_per_batch_group, self);
        let batch = at(indices, labels.output_batch).add(&batch_group.times(shapes.output_batch));
        let mut term = |builder: &mut Builder<'a>, vars: &[Index]| {
            let (window_vars, input_feature) = vars.split_at(shapes.window.0.len());
            let input_feature = input_feature.first().cloned().unwrap_or_default();
            let (places, ranges) = window_place(
                &shapes.window,
                &shapes.spatial,
                &spatial,
                window_vars,
                builder,
            );
            let mut kernel_at = vec![Index::constant(0); shapes.num_dims];
            set(&mut kernel_at, labels.kernel_output_feature, &feature);
            set(&mut kernel_at, labels.kernel_input_feature, &input_feature);
            for (dim, var) in labels.kernel_spatial.iter().zip(window_vars) {
                set(&mut kernel_at, *dim, var);
            }
            let whole_feature = group.times(shapes.kernel_features).add(&input_feature);
            let products = builder.if_in_range(
                ranges,
                &mut |builder| {
                    let mut input_at = vec![Index::constant(0); shapes.num_dims];
                    set(&mut input_at, labels.input_batch, &batch);
                    set(&mut input_at, labels.input_feature, &whole_feature);
                    for ((dim, place), window) in labels
                        .input_spatial
                        .iter()
                        .zip(&places)
                        .zip(&shapes.window.0)
                    {
                        let place = place.div(window.base_dilation, builder);
                        set(&mut input_at, *dim, &place);
                    }
                    let lhs = builder.value_at(input, &input_at)?;
                    let rhs = builder.value_at(kernel, &kernel_at)?;
                    let lhs = builder.converted(lhs, product_type);
                    let rhs = builder.converted(rhs, product_type);
                    let product = Expr::Binary(BinaryOp::Multiply, lhs, rhs);
                    Ok(vec![builder.emit(product_type, product)])
                },
                &mut |builder| Ok(vec![builder.zero(product_type)]),
            )?;
            Ok(products[0])
        };
        self.sum(element_type, &extents, ROW_BLOCK, None, &mut term)
    }

    fn convolution_shapes<'i>(
        &self,
        node: Node,
        instruction: &'i Instruction,
    ) -> Built<Shapes<'i>> {
        let Op::Convolution {
            window,
            dim_labels,
            feature_group_count,
            batch_group_count,
            ..
        } = &instruction.op
        else {
            return Err(LowerError::internal(instruction, "it is no convolution"));
        };
        let input = &self.shape(self.operand(node, 0)?)?.dims;
        let kernel = &self.shape(self.operand(node, 1)?)?.dims;
        let output = &self.shape(node)?.dims;
        let size = |dims: &[i64], dim: i64| {
            let size = usize::try_from(dim).ok().and_then(|dim| dims.get(dim));
            size.copied().ok_or_else(|| {
                LowerError::internal(instruction, "a dimension number is out of range")
            })
        };
        let features = size(output, dim_labels.output_feature)?;
        let spatial = dim_labels.input_spatial.iter();
        Ok(Shapes {
            labels: dim_labels,
            window: window.clone().unwrap_or_default(),
            spatial: spatial
                .map(|dim| size(input, *dim))
                .collect::<Result<_, _>>()?,
            features_per_group: (features / feature_group_count.0.max(1)).max(1),
            features_per_batch_group: (features / batch_group_count.0.max(1)).max(1),
            kernel_features: size(kernel, dim_labels.kernel_input_feature)?,
            output_batch: size(output, dim_labels.output_batch)?,
            num_dims: input.len(),
        })
    }
}

fn at(indices: &[Index], dim: i64) -> Index {
    let index = usize::try_from(dim).ok().and_then(|dim| indices.get(dim));
    index.cloned().unwrap_or_default()
}

fn set(place: &mut [Index], dim: i64, index: &Index) {
    let entry = usize::try_from(dim).ok().and_then(|dim| place.get_mut(dim));
    if let Some(entry) = entry {
        *entry = index.clone();
    }
}

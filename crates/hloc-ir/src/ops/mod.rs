//! Shape rules: what an instruction produces, and which programs say so wrongly.
//!
//! One function per op, one file per family. Every rule that can break has a label,
//! `<opcode with underscores>_cN`, that the verifier documents. The labels that ops share:
//! `arity_c1`, `operand_c1`, `result_c2`, `result_c3`, `called_c1`, `elementwise_cN`, `reducer_cN`,
//! `window_cN`, `collective_cN`, `aliasing_c1`, `batch_norm_cN`.

pub mod broadcast;
mod check;
mod collective;
mod concatenate;
mod control;
mod convolution;
mod dot;
mod dynamic_size;
mod elementwise;
mod gather;
mod leaf;
mod linear_algebra;
mod normalization;
mod pad;
mod plan;
mod random;
mod reduce;
mod reshape;
mod scatter;
mod slice;
mod sort;
mod transfer;
mod window;

pub use plan::{BroadcastPlan, OperandPlan, plan_broadcast};
pub use transfer::shape_at;
pub use window::window_count;

use crate::{Broken, Op, Shape, ShapeContext};

/// The result shape of an instruction according to the rule of its op, without a layout.
///
/// For an op whose shape the program declares (`broadcast`, `reshape`, `convert`, `parameter` ...) the
/// rule checks the declared shape and gives it back. For all others a declared shape is not looked at,
/// but for the element type of a product; the caller compares. `add` of `f32[2]` and `f32[2]` gives
/// `f32[2]`.
///
/// # Errors
/// [`Broken`] with the label of the first broken constraint.
pub fn infer_shape(context: &ShapeContext<'_>) -> Result<Shape, Broken> {
    check_arity(context)?;
    rule(context)
}

fn check_arity(cx: &ShapeContext<'_>) -> Result<(), Broken> {
    let opcode = cx.op.opcode();
    let (arity, given) = (opcode.arity(), cx.operands.len());
    check::require(arity.accepts(given), || {
        let wanted = if arity.max == usize::MAX {
            format!("at least {}", arity.min)
        } else if arity.min == arity.max {
            arity.min.to_string()
        } else {
            format!("{} to {}", arity.min, arity.max)
        };
        Broken::new(
            "arity_c1",
            format!(
                "has {}, but `{opcode}` takes {wanted}",
                check::count(given, "operand")
            ),
        )
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm per op and nothing else: the compiler demands a new op here"
)]
fn rule(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    match cx.op {
        Op::Parameter { number } => leaf::parameter(cx, *number),
        Op::Constant { literal } => leaf::constant(cx, literal),
        Op::Unary { op, .. } => elementwise::unary(cx, *op),
        Op::Binary {
            op,
            broadcast_dimensions,
        } => elementwise::binary(cx, *op, broadcast_dimensions.as_deref()),
        Op::Ternary {
            op,
            broadcast_dimensions,
        } => elementwise::ternary(cx, *op, broadcast_dimensions.as_deref()),
        Op::AddDependency {} => control::add_dependency(cx),
        Op::AfterAll {} => control::after_all(cx),
        Op::AllGather {
            dimensions,
            replica_groups,
            ..
        } => collective::along_dimension(
            cx,
            dimensions,
            replica_groups.as_ref(),
            (collective::Along::Gather, None),
        ),
        Op::AllGatherStart {
            dimensions,
            replica_groups,
            ..
        } => collective::along_dimension(
            cx,
            dimensions,
            replica_groups.as_ref(),
            (collective::Along::GatherStart, None),
        ),
        Op::AllGatherDone {} => transfer::part(cx, 1, "all_gather_done_c1"),
        Op::AllReduce {
            replica_groups,
            to_apply,
            ..
        }
        | Op::AllReduceStart {
            replica_groups,
            to_apply,
            ..
        } => collective::all_reduce(cx, replica_groups.as_ref(), *to_apply),
        Op::AllReduceDone {} => reshape::same_as_operand(cx),
        Op::AllToAll {
            dimensions,
            replica_groups,
            ..
        } => collective::all_to_all(cx, dimensions.as_deref(), replica_groups.as_ref()),
        Op::AsyncDone { calls, .. } => transfer::async_done(cx, *calls),
        Op::AsyncStart {
            output_to_operand_aliasing,
            calls,
            ..
        } => transfer::async_start(cx, *calls, &output_to_operand_aliasing.0),
        Op::AsyncUpdate { calls, .. } => transfer::async_update(cx, *calls),
        Op::BatchNormGrad { feature_index, .. } => normalization::grad(cx, *feature_index),
        Op::BatchNormInference { feature_index, .. } => {
            normalization::inference(cx, *feature_index)
        }
        Op::BatchNormTraining { feature_index, .. } => normalization::training(cx, *feature_index),
        Op::Bitcast {} => reshape::bitcast(cx),
        Op::BitcastConvert {} => elementwise::bitcast_convert(cx),
        Op::Broadcast { dimensions } => broadcast::broadcast(cx, dimensions),
        Op::Call { to_apply, .. } => {
            control::call(cx, *to_apply, "to_apply", ["call_c1", "call_c2"])
        }
        Op::Cholesky { .. } => linear_algebra::cholesky(cx),
        Op::CollectiveBroadcast { replica_groups, .. } => {
            collective::collective_broadcast(cx, replica_groups.as_ref())
        }
        Op::CollectivePermute {
            source_target_pairs,
            ..
        } => collective::collective_permute(cx, source_target_pairs, false),
        Op::CollectivePermuteDone {} => transfer::part(cx, 1, "collective_permute_done_c1"),
        Op::CollectivePermuteStart {
            source_target_pairs,
            ..
        } => collective::collective_permute(cx, source_target_pairs, true),
        Op::Compare {
            direction,
            compare_type,
            broadcast_dimensions,
        } => elementwise::compare(
            cx,
            *direction,
            *compare_type,
            broadcast_dimensions.as_deref(),
        ),
        Op::Concatenate { dimensions } => concatenate::concatenate(cx, dimensions),
        Op::Conditional {
            branch_computations,
            true_computation,
            false_computation,
        } => control::conditional(
            cx,
            branch_computations.as_deref(),
            *true_computation,
            *false_computation,
        ),
        Op::Convert {} => elementwise::convert(cx),
        Op::Convolution {
            window,
            dim_labels,
            feature_group_count,
            batch_group_count,
            ..
        } => convolution::convolution(
            cx,
            window.as_ref(),
            dim_labels,
            convolution::Groups {
                feature: feature_group_count.0,
                batch: batch_group_count.0,
            },
        ),
        Op::Copy {} | Op::OptBarrier {} | Op::Domain { .. } => reshape::same_as_operand(cx),
        Op::CopyDone {} => transfer::copy_done(cx),
        Op::CopyStart { .. } => transfer::copy_start(cx),
        Op::CustomCall {
            custom_call_target,
            operand_layout_constraints,
            output_to_operand_aliasing,
            ..
        } => transfer::custom_call(
            cx,
            custom_call_target,
            operand_layout_constraints.as_deref(),
            &output_to_operand_aliasing.0,
            &cx.op.called_computations(),
        ),
        Op::Dot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            ..
        } => dot::dot(
            cx,
            dot::DotNumbers {
                lhs_batch: lhs_batch_dims,
                lhs_contracting: lhs_contracting_dims,
                rhs_batch: rhs_batch_dims,
                rhs_contracting: rhs_contracting_dims,
            },
        ),
        Op::DynamicReshape {} => reshape::dynamic_reshape(cx),
        Op::DynamicSlice {
            dynamic_slice_sizes,
        } => slice::dynamic_slice(cx, dynamic_slice_sizes),
        Op::DynamicUpdateSlice {} => slice::dynamic_update_slice(cx),
        Op::Fft {
            fft_type,
            fft_length,
        } => linear_algebra::fft(cx, *fft_type, fft_length),
        Op::Fusion {
            calls,
            output_to_operand_aliasing,
            ..
        } => {
            let result = control::call(cx, *calls, "calls", ["fusion_c1", "fusion_c2"])?;
            transfer::output_aliases(cx, &result, &output_to_operand_aliasing.0)?;
            Ok(result)
        }
        Op::Gather {
            offset_dims,
            collapsed_slice_dims,
            start_index_map,
            operand_batching_dims,
            start_indices_batching_dims,
            index_vector_dim,
            slice_sizes,
            ..
        } => gather::gather(
            cx,
            gather::GatherNumbers {
                offset_dims,
                collapsed: collapsed_slice_dims,
                start_index_map,
                operand_batching: operand_batching_dims,
                indices_batching: start_indices_batching_dims,
                index_vector_dim: *index_vector_dim,
                slice_sizes,
            },
        ),
        Op::GetDimensionSize { dimensions } => dynamic_size::get(cx, dimensions),
        Op::GetTupleElement { index } => control::get_tuple_element(cx, *index),
        Op::Infeed { .. } => transfer::infeed(cx),
        Op::Iota { iota_dimension } => leaf::iota(cx, *iota_dimension),
        Op::Map {
            dimensions,
            to_apply,
        } => reduce::map(cx, dimensions, *to_apply),
        Op::Outfeed { outfeed_shape, .. } => transfer::outfeed(cx, outfeed_shape.as_ref()),
        Op::Pad { padding } => pad::pad(cx, padding),
        Op::PartitionId { .. } | Op::ReplicaId {} => Ok(leaf::device_number()),
        Op::RaggedDot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            lhs_ragged_dims,
            rhs_group_dims,
            ..
        } => dot::ragged_dot(
            cx,
            dot::DotNumbers {
                lhs_batch: lhs_batch_dims,
                lhs_contracting: lhs_contracting_dims,
                rhs_batch: rhs_batch_dims,
                rhs_contracting: rhs_contracting_dims,
            },
            lhs_ragged_dims,
            rhs_group_dims,
        ),
        Op::RaggedAllToAll { replica_groups, .. } => {
            collective::ragged_all_to_all(cx, replica_groups.as_ref())
        }
        Op::Recv { .. } => transfer::recv(cx),
        Op::RecvDone { .. } => transfer::recv_done(cx),
        Op::Reduce {
            dimensions,
            to_apply,
        } => reduce::reduce(cx, dimensions, *to_apply),
        Op::ReducePrecision {
            exponent_bits,
            mantissa_bits,
        } => elementwise::reduce_precision(cx, *exponent_bits, *mantissa_bits),
        Op::ReduceScatter {
            replica_groups,
            dimensions,
            to_apply,
            ..
        } => collective::along_dimension(
            cx,
            dimensions,
            replica_groups.as_ref(),
            (collective::Along::Scatter, Some(*to_apply)),
        ),
        Op::ReduceWindow { window, to_apply } => {
            window::reduce_window(cx, window.as_ref(), *to_apply)
        }
        Op::Reshape { inferred_dimension } => reshape::reshape(cx, *inferred_dimension),
        Op::Reverse { dimensions } => reshape::reverse(cx, dimensions),
        Op::Rng { distribution } => random::rng(cx, *distribution),
        Op::RngBitGenerator { algorithm } => random::bit_generator(cx, *algorithm),
        Op::RngGetAndUpdateState { .. } => Ok(random::get_and_update_state()),
        Op::ScaledDot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            ..
        } => dot::scaled_dot(
            cx,
            dot::DotNumbers {
                lhs_batch: lhs_batch_dims,
                lhs_contracting: lhs_contracting_dims,
                rhs_batch: rhs_batch_dims,
                rhs_contracting: rhs_contracting_dims,
            },
        ),
        Op::Scan {
            dimensions,
            num_carries,
            to_apply,
            ..
        } => control::scan(cx, dimensions, *num_carries, *to_apply),
        Op::Scatter {
            update_window_dims,
            inserted_window_dims,
            scatter_dims_to_operand_dims,
            input_batching_dims,
            scatter_indices_batching_dims,
            index_vector_dim,
            to_apply,
            ..
        } => scatter::scatter(
            cx,
            scatter::ScatterNumbers {
                update_window_dims,
                inserted_window_dims,
                to_operand_dims: scatter_dims_to_operand_dims,
                input_batching: input_batching_dims,
                indices_batching: scatter_indices_batching_dims,
                index_vector_dim: *index_vector_dim,
            },
            *to_apply,
        ),
        Op::SelectAndScatter {
            window,
            select,
            scatter,
        } => window::select_and_scatter(cx, window.as_ref(), *select, *scatter),
        Op::Send { .. } => transfer::send(cx),
        Op::SendDone { .. } => transfer::send_done(cx),
        Op::SetDimensionSize { dimensions } => dynamic_size::set(cx, dimensions),
        Op::Slice { slice } => slice::slice(cx, slice),
        Op::Sort {
            dimensions,
            to_apply,
            ..
        } => sort::sort(cx, dimensions, *to_apply),
        Op::StochasticConvert {} => elementwise::stochastic_convert(cx),
        Op::TopK { k, .. } => sort::topk(cx, *k),
        Op::Transpose { dimensions } => reshape::transpose(cx, dimensions),
        Op::TriangularSolve {
            left_side,
            transpose_a,
            ..
        } => linear_algebra::triangular_solve(cx, *left_side, *transpose_a),
        Op::Tuple {} => Ok(control::tuple(cx)),
        Op::While { condition, body } => control::while_loop(cx, *condition, *body),
    }
}

#[cfg(test)]
mod tests {
    use hloc_tensor::ElementType;

    use super::infer_shape;
    use crate::{Arena, ComputationId, Id, Op, Shape, ShapeContext};

    fn label(op: &Op, operands: &[&Shape]) -> Option<&'static str> {
        let context = ShapeContext {
            op,
            operands,
            computations: &Arena::new(),
            declared: None,
        };
        infer_shape(&context).err().map(|broken| broken.constraint)
    }

    #[test]
    fn shapes_that_cannot_be_worked_out_must_be_written() {
        let shape = Shape::array(ElementType::F32, &[2]);
        let reshape = Op::Reshape {
            inferred_dimension: None,
        };
        assert_eq!(label(&reshape, &[&shape]), Some("result_c2"));
        assert_eq!(label(&Op::Copy {}, &[&shape]), None);
    }

    #[test]
    fn called_computations_exist() {
        let call = Op::Call {
            to_apply: ComputationId::from_index(0),
            is_composite: false,
        };
        assert_eq!(label(&call, &[]), Some("called_c1"));
    }
}

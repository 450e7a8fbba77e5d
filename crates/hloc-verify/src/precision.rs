//! Which ops may take float operands of several types.

use std::collections::BTreeSet;

use hloc_ir::{Broken, ElementType, Focus, Op, Shape};

/// The float operands of most ops have one type.
pub(crate) fn check(op: &Op, operands: &[&Shape]) -> Result<(), Broken> {
    if operands.len() < 2 || may_mix(op) {
        return Ok(());
    }
    let mut types: BTreeSet<ElementType> = BTreeSet::new();
    for (index, shape) in operands.iter().enumerate() {
        let Some(array) = shape
            .as_array()
            .filter(|array| array.element_type.is_float())
        else {
            continue;
        };
        types.insert(array.element_type);
        if types.len() > 1 {
            let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
            return Err(Broken::new(
                "precision_c1",
                format!(
                    "takes operands of different float types: {}",
                    names.join(" and ")
                ),
            )
            .at(Focus::Operand(index))
            .with_help("convert them to one type first"));
        }
    }
    Ok(())
}

/// Ops that pass values on, or whose operands have nothing to do with each other.
fn may_mix(op: &Op) -> bool {
    match op {
        Op::AddDependency { .. }
        | Op::AfterAll { .. }
        | Op::AllGather { .. }
        | Op::AllGatherDone { .. }
        | Op::AllGatherStart { .. }
        | Op::AllReduce { .. }
        | Op::AllReduceDone { .. }
        | Op::AllReduceStart { .. }
        | Op::AllToAll { .. }
        | Op::AsyncDone { .. }
        | Op::AsyncStart { .. }
        | Op::AsyncUpdate { .. }
        | Op::Call { .. }
        | Op::CollectiveBroadcast { .. }
        | Op::CollectivePermute { .. }
        | Op::CollectivePermuteDone { .. }
        | Op::CollectivePermuteStart { .. }
        | Op::Conditional { .. }
        | Op::Constant { .. }
        | Op::Convolution { .. }
        | Op::CopyDone { .. }
        | Op::CopyStart { .. }
        | Op::CustomCall { .. }
        | Op::Domain { .. }
        | Op::Dot { .. }
        | Op::Fusion { .. }
        | Op::GetTupleElement { .. }
        | Op::Infeed { .. }
        | Op::OptBarrier { .. }
        | Op::Outfeed { .. }
        | Op::Parameter { .. }
        | Op::RaggedDot { .. }
        | Op::Recv { .. }
        | Op::RecvDone { .. }
        | Op::ReducePrecision { .. }
        | Op::ReduceWindow { .. }
        | Op::ScaledDot { .. }
        | Op::Scan { .. }
        | Op::Send { .. }
        | Op::SendDone { .. }
        | Op::Sort { .. }
        | Op::Tuple { .. }
        | Op::While { .. } => true,
        Op::BatchNormGrad { .. }
        | Op::BatchNormInference { .. }
        | Op::BatchNormTraining { .. }
        | Op::Binary { .. }
        | Op::Bitcast { .. }
        | Op::BitcastConvert { .. }
        | Op::Broadcast { .. }
        | Op::Cholesky { .. }
        | Op::Compare { .. }
        | Op::Concatenate { .. }
        | Op::Convert { .. }
        | Op::Copy { .. }
        | Op::DynamicReshape { .. }
        | Op::DynamicSlice { .. }
        | Op::DynamicUpdateSlice { .. }
        | Op::Fft { .. }
        | Op::Gather { .. }
        | Op::GetDimensionSize { .. }
        | Op::Iota { .. }
        | Op::Map { .. }
        | Op::Pad { .. }
        | Op::PartitionId { .. }
        | Op::RaggedAllToAll { .. }
        | Op::Reduce { .. }
        | Op::ReduceScatter { .. }
        | Op::ReplicaId { .. }
        | Op::Reshape { .. }
        | Op::Reverse { .. }
        | Op::Rng { .. }
        | Op::RngBitGenerator { .. }
        | Op::RngGetAndUpdateState { .. }
        | Op::Scatter { .. }
        | Op::SelectAndScatter { .. }
        | Op::SetDimensionSize { .. }
        | Op::Slice { .. }
        | Op::StochasticConvert { .. }
        | Op::Ternary { .. }
        | Op::TopK { .. }
        | Op::Transpose { .. }
        | Op::TriangularSolve { .. }
        | Op::Unary { .. } => false,
    }
}

//! What has no meaning on one device, or was not legalized.

use hloc_ir::{Op, Opcode, StructuralOp};

/// Why an op is never compiled as it stands; `None` for all others.
pub(super) fn refusal(op: &Op) -> Option<&'static str> {
    use StructuralOp as S;
    let Opcode::Structural(op) = op.opcode() else {
        return None;
    };
    let is = |ops: &[StructuralOp]| ops.contains(&op);
    if is(&[S::Send, S::SendDone, S::Recv, S::RecvDone]) {
        Some("the program runs on one device and has nobody to exchange values with")
    } else if is(&[S::Infeed, S::Outfeed]) {
        Some("the host takes no part in a running program: use parameters and results")
    } else if is(&[S::RaggedAllToAll]) {
        Some("the program runs on one device, and pieces of different sizes have nowhere to go")
    } else if is(&[
        S::AllGather,
        S::AllGatherStart,
        S::AllGatherDone,
        S::AllReduce,
        S::AllReduceStart,
        S::AllReduceDone,
        S::AllToAll,
        S::CollectiveBroadcast,
        S::CollectivePermute,
        S::CollectivePermuteStart,
        S::CollectivePermuteDone,
        S::ReduceScatter,
    ]) {
        Some(
            "the program runs on one device, number 0, but this needs others (or the pass `legalize-ops`)",
        )
    } else if is(&[
        S::AsyncStart,
        S::AsyncUpdate,
        S::AsyncDone,
        S::CopyStart,
        S::CopyDone,
        S::Scan,
        S::Rng,
        S::StochasticConvert,
        S::RaggedDot,
        S::ScaledDot,
    ]) {
        Some("this form has no meaning, or the pass `legalize-ops` did not run")
    } else {
        None
    }
}

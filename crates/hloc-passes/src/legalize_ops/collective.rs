//! Collectives on one device, whose number is 0: each gives the operands back, if its group is the device
//! alone. A permute gives zeros to a device that nobody sends to.

use hloc_ir::attr::ReplicaGroups;
use hloc_ir::{InstrId, Op, Shape};

use super::{in_place, zeros_of};
use crate::make::Make;
use crate::rewriter::Rewriter;

/// Whether an op is of this file.
pub(super) fn is_collective(op: &Op) -> bool {
    matches!(
        op,
        Op::AllGather { .. }
            | Op::AllGatherDone {}
            | Op::AllGatherStart { .. }
            | Op::AllReduce { .. }
            | Op::AllReduceDone {}
            | Op::AllReduceStart { .. }
            | Op::AllToAll { .. }
            | Op::CollectiveBroadcast { .. }
            | Op::CollectivePermute { .. }
            | Op::CollectivePermuteDone {}
            | Op::CollectivePermuteStart { .. }
            | Op::ReduceScatter { .. }
    )
}

/// What device 0 gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gets {
    /// Its own operands.
    Own,
    /// Nothing, which reads as zeros.
    Zeros,
    /// What another device would have to send.
    Foreign,
}

fn gets(op: &Op) -> Gets {
    if let Op::CollectivePermute {
        source_target_pairs,
        ..
    }
    | Op::CollectivePermuteStart {
        source_target_pairs,
        ..
    } = op
    {
        return match source_target_pairs.iter().find(|(_, target)| *target == 0) {
            Some((0, _)) => Gets::Own,
            Some(_) => Gets::Foreign,
            None => Gets::Zeros,
        };
    }
    if let Op::CollectiveBroadcast {
        has_dynamic_root: true,
        ..
    } = op
    {
        return Gets::Foreign;
    }
    let alone = if let Op::AllGather { replica_groups, .. }
    | Op::AllGatherStart { replica_groups, .. }
    | Op::AllReduce { replica_groups, .. }
    | Op::AllReduceStart { replica_groups, .. }
    | Op::AllToAll { replica_groups, .. }
    | Op::CollectiveBroadcast { replica_groups, .. }
    | Op::ReduceScatter { replica_groups, .. } = op
    {
        replica_groups.as_ref().is_none_or(is_alone)
    } else {
        true
    };
    if alone { Gets::Own } else { Gets::Foreign }
}

/// Whether device 0 is alone in its group. Of a mesh only the text is known.
fn is_alone(groups: &ReplicaGroups) -> bool {
    match groups {
        ReplicaGroups::List(groups) => {
            groups.is_empty() || groups.iter().any(|group| group[..] == [0])
        }
        ReplicaGroups::Iota { dims, .. } => dims.last() == Some(&1),
        ReplicaGroups::Mesh(_) => false,
    }
}

/// Puts the operands in place of the collective; false if it has to stay.
pub(super) fn spell_out(rebuilt: &mut Rewriter<'_>, id: InstrId) -> bool {
    let instruction = &rebuilt.old().instructions[id];
    let (op, shape) = (&instruction.op, &instruction.shape);
    let operands = rebuilt.mapped_operands(id);
    if let Op::AllReduceDone {} = op {
        // Its start, unless that stays.
        let stays = is_collective(&rebuilt.made(operands[0]).op);
        if !stays {
            rebuilt.replace(id, operands[0]);
        }
        return !stays;
    }
    if let Op::AllGatherDone {} | Op::CollectivePermuteDone {} = op {
        let stays = is_collective(&rebuilt.made(operands[0]).op);
        if !stays {
            rebuilt.put(
                id,
                Op::GetTupleElement { index: 1 },
                &operands,
                shape.clone(),
            );
        }
        return !stays;
    }
    // Four operands move slices between buffers.
    let permutes = matches!(
        op,
        Op::CollectivePermute { .. } | Op::CollectivePermuteStart { .. }
    );
    let gets = gets(op);
    if gets == Gets::Foreign || (permutes && operands.len() == 4) {
        return false;
    }
    let starts = matches!(
        op,
        Op::AllGatherStart { .. } | Op::CollectivePermuteStart { .. }
    );
    let as_tuple = matches!(
        op,
        Op::AllToAll {
            dimensions: None,
            ..
        }
    );
    let (op, shape) = (op.clone(), shape.clone());
    let mut make = in_place(rebuilt, id);
    let sent = if operands.len() == 1 && !as_tuple {
        operands[0]
    } else {
        make.tuple(&operands)
    };
    let received = match gets {
        Gets::Own | Gets::Foreign => sent,
        Gets::Zeros => {
            let shape = make.shape(sent).clone();
            let Some(zeros) = zeros_of(&mut make, &shape) else {
                return false;
            };
            zeros
        }
    };
    if !starts {
        // A declared shape of other sizes is that of several devices.
        if !make.shape(received).compatible(&shape) {
            return false;
        }
        rebuilt.replace(id, received);
        return true;
    }
    let _ = op;
    super::asynchronous::put_start(rebuilt, id, &[sent, received], &shape)
}

/// The shape of a start's value if its first parts are these: the rest are contexts.
pub(super) fn fits(shape: &Shape, parts: &[&Shape]) -> bool {
    let declared = shape.as_tuple().unwrap_or_default();
    declared.len() >= parts.len()
        && declared
            .iter()
            .zip(parts)
            .all(|(declared, part)| declared.compatible(part))
}

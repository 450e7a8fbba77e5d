//! Collectives as one device alone runs them: device 0 gets its own operands back.

use hloc_ir::attr::ReplicaGroups;
use hloc_ir::{Literal, Op, Shape};
use hloc_tensor::Array;

use super::asynchronous::started;
use super::{Operands, ensure};
use crate::EvalError;

/// The value of a collective, of its start or of its done.
pub(super) fn collective(
    op: &Op,
    mut operands: Operands,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    if let Op::AllReduceDone {} = op {
        return operands.take(0);
    }
    if let Op::AllGatherDone {} | Op::CollectivePermuteDone {} = op {
        return super::asynchronous::part(operands.take(0)?, 1);
    }
    let mut received = operands.0;
    if let Op::CollectivePermute {
        source_target_pairs,
        ..
    }
    | Op::CollectivePermuteStart {
        source_target_pairs,
        ..
    } = op
    {
        // Four operands are buffers with offsets into them.
        if received.len() == 4 {
            return Err(foreign(op, "in place"));
        }
        let source = source_target_pairs.iter().find(|pair| pair.1 == 0);
        match source {
            Some((0, _)) => {}
            Some(_) => return Err(foreign(op, "from another device")),
            None => {
                let sent = value(received.clone(), false);
                received = received.iter().map(cleared).collect::<Result<_, _>>()?;
                return finish(op, sent, value(received, false), shape);
            }
        }
    } else if !is_alone(op) {
        return Err(foreign(op, "among several devices"));
    }
    // Without a dimension, pieces come from and go to each device of the group.
    let listed = matches!(
        op,
        Op::AllToAll {
            dimensions: None,
            ..
        }
    );
    let given = value(received, listed);
    finish(op, given.clone(), given, shape)
}

fn foreign(op: &Op, how: &str) -> EvalError {
    EvalError::unsupported_form(format!("{} {how}", op.opcode().name()), None)
}

/// A start gives what was sent, what was received, and contexts.
fn finish(op: &Op, sent: Literal, received: Literal, shape: &Shape) -> Result<Literal, EvalError> {
    if let Op::AllGatherStart { .. } | Op::CollectivePermuteStart { .. } = op {
        return started(vec![sent, received], shape);
    }
    ensure(
        crate::evaluator::holds_value_of(shape, &received),
        "the declared shape is that of several devices",
    )?;
    Ok(received)
}

fn value(mut operands: Vec<Literal>, listed: bool) -> Literal {
    if operands.len() == 1 && !listed {
        operands.swap_remove(0)
    } else {
        Literal::Tuple(operands)
    }
}

fn cleared(value: &Literal) -> Result<Literal, EvalError> {
    Ok(match value {
        Literal::Array(array) => Literal::Array(Array::zeros(array.element_type(), array.dims())?),
        Literal::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(cleared).collect::<Result<_, _>>()?)
        }
    })
}

/// Whether the group of device 0 is device 0.
fn is_alone(op: &Op) -> bool {
    let (Op::AllGather { replica_groups, .. }
    | Op::AllGatherStart { replica_groups, .. }
    | Op::AllReduce { replica_groups, .. }
    | Op::AllReduceStart { replica_groups, .. }
    | Op::AllToAll { replica_groups, .. }
    | Op::CollectiveBroadcast {
        replica_groups,
        has_dynamic_root: false,
        ..
    }
    | Op::ReduceScatter { replica_groups, .. }) = op
    else {
        return false;
    };
    match replica_groups {
        None => true,
        Some(ReplicaGroups::List(groups)) => {
            let mut own = groups.iter().filter(|group| group.contains(&0));
            own.all(|group| group.len() == 1)
        }
        Some(ReplicaGroups::Iota { dims, .. }) => dims.last().is_some_and(|size| *size == 1),
        Some(ReplicaGroups::Mesh(_)) => false,
    }
}

//! Instructions that belong together: starts and their dones, and what they must agree on.

use hloc_ir::{
    Broken, Computation, Focus, Id, InstrId, Instruction, Module, Op, Opcode, StructuralOp,
};

use crate::instruction::{Checker, Verdict};
use crate::report::Report;

/// The opcodes that may take what a start gives; empty for everything that is no start.
fn dones(op: &Op) -> &'static [StructuralOp] {
    let Opcode::Structural(op) = op.opcode() else {
        return &[];
    };
    PAIRS
        .iter()
        .find(|(start, _)| *start == op)
        .map_or(&[], |(_, dones)| dones)
}

const PAIRS: &[(StructuralOp, &[StructuralOp])] = &[
    (StructuralOp::AllGatherStart, &[StructuralOp::AllGatherDone]),
    (StructuralOp::AllReduceStart, &[StructuralOp::AllReduceDone]),
    (
        StructuralOp::AsyncStart,
        &[StructuralOp::AsyncDone, StructuralOp::AsyncUpdate],
    ),
    (
        StructuralOp::AsyncUpdate,
        &[StructuralOp::AsyncDone, StructuralOp::AsyncUpdate],
    ),
    (
        StructuralOp::CollectivePermuteStart,
        &[StructuralOp::CollectivePermuteDone],
    ),
    (StructuralOp::CopyStart, &[StructuralOp::CopyDone]),
    (StructuralOp::Recv, &[StructuralOp::RecvDone]),
    (StructuralOp::Send, &[StructuralOp::SendDone]),
];

fn structural(instruction: &Instruction) -> Option<StructuralOp> {
    let Opcode::Structural(op) = instruction.op.opcode() else {
        return None;
    };
    Some(op)
}

/// What an op gives is used once, by its done. Only starts without other mistakes are looked at.
pub(crate) fn check_users(
    report: &mut Report<'_>,
    computation: &Computation,
    checker: &Checker<'_>,
) {
    let mut starts: Vec<InstrId> = Vec::new();
    for (id, instruction) in computation.instructions.iter() {
        if !dones(&instruction.op).is_empty() && checker.verdict(id) == Verdict::Sound {
            starts.push(id);
        }
    }
    if starts.is_empty() {
        return;
    }
    let mut users: Vec<Vec<InstrId>> = vec![Vec::new(); computation.instructions.len()];
    for (id, instruction) in computation.instructions.iter() {
        for operand in &instruction.operands {
            if let Some(users) = users.get_mut(operand.index()) {
                users.push(id);
            }
        }
    }
    for start in starts {
        let instruction = &computation.instructions[start];
        if let Err(broken) = used_once(computation, instruction, &users[start.index()]) {
            report.instruction(computation, instruction, broken);
        }
    }
}

fn used_once(
    computation: &Computation,
    start: &Instruction,
    users: &[InstrId],
) -> Result<(), Broken> {
    let wanted = dones(&start.op);
    let is_done = |user: &InstrId| {
        structural(&computation.instructions[*user]).is_some_and(|op| wanted.contains(&op))
    };
    let names: Vec<&str> = wanted
        .iter()
        .map(|op| Opcode::Structural(*op).name())
        .collect();
    let names = names.join("` or `");
    let found = match users {
        [only] if is_done(only) => return Ok(()),
        [] => "has no user".to_owned(),
        [only] => format!("is used by `{}`", computation.instructions[*only].name),
        [first, second, ..] => format!(
            "is used by `{}` and `{}`",
            computation.instructions[*first].name, computation.instructions[*second].name
        ),
    };
    Err(
        Broken::new("pair_c1", format!("{found}, but needs one `{names}`"))
            .with_help("what is begun must be finished once, and its value is that of the done"),
    )
}

/// A done takes what its start gives, and says what its start says.
pub(crate) fn check(
    module: &Module,
    computation: &Computation,
    instruction: &Instruction,
) -> Result<(), Broken> {
    if let Op::AsyncStart { .. } = instruction.op {
        return check_async_start(module, instruction);
    }
    let Some(op) = structural(instruction) else {
        return Ok(());
    };
    let mut starts = PAIRS
        .iter()
        .filter(|(_, dones)| dones.contains(&op))
        .map(|(start, _)| *start)
        .peekable();
    if starts.peek().is_none() {
        return Ok(());
    }
    let operand = instruction.operands.first();
    let Some(operand) = operand.and_then(|id| computation.instructions.get(*id)) else {
        return Ok(());
    };
    if !starts.any(|start| structural(operand) == Some(start)) {
        return Err(Broken::new(
            "pair_c2",
            format!(
                "takes `{}`, which is a `{}` and begins nothing that a `{}` ends",
                operand.name,
                operand.op.opcode(),
                instruction.op.opcode()
            ),
        )
        .at(Focus::Operand(0)));
    }
    check_async_agreement(computation, instruction, operand)?;
    check_channels(operand, instruction)
}

/// What runs asynchronously is one instruction, on the thread that it says.
fn check_async_start(module: &Module, instruction: &Instruction) -> Result<(), Broken> {
    let Op::AsyncStart {
        calls,
        async_execution_thread,
        ..
    } = &instruction.op
    else {
        return Ok(());
    };
    let called = &module.computations[*calls];
    let extra = called.instructions.iter().find(|(id, inner)| {
        let is_parameter = structural(inner) == Some(StructuralOp::Parameter);
        *id != called.root && !is_parameter
    });
    if let Some((_, extra)) = extra {
        return Err(Broken::new(
            "async_start_c4",
            format!(
                "calls `{}`, which holds `{}` besides parameters and a root",
                called.name, extra.name
            ),
        )
        .at(Focus::Attribute("calls")));
    }
    let (written, inside) = (async_execution_thread, &called.execution_thread);
    match (written, inside) {
        (Some(written), Some(inside)) if written != inside => Err(Broken::new(
            "async_start_c5",
            format!(
                "runs on thread \"{written}\", but `{}` is of thread \"{inside}\"",
                called.name
            ),
        )
        .at(Focus::Attribute("async_execution_thread"))),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

/// The start of a chain of updates.
fn chain_start<'m>(computation: &'m Computation, from: &'m Instruction) -> &'m Instruction {
    let mut current = from;
    while let Op::AsyncUpdate { .. } = current.op {
        let before = current.operands.first();
        // Operands stand before their users, so this ends.
        match before.and_then(|id| computation.instructions.get(*id)) {
            Some(before) => current = before,
            None => break,
        }
    }
    current
}

fn check_async_agreement(
    computation: &Computation,
    instruction: &Instruction,
    operand: &Instruction,
) -> Result<(), Broken> {
    let (Op::AsyncDone {
        calls,
        async_execution_thread,
    }
    | Op::AsyncUpdate {
        calls,
        async_execution_thread,
    }) = &instruction.op
    else {
        return Ok(());
    };
    let start = chain_start(computation, operand);
    let Op::AsyncStart {
        calls: begun,
        async_execution_thread: thread,
        ..
    } = &start.op
    else {
        return Ok(());
    };
    if calls.is_some_and(|calls| calls != *begun) {
        return Err(Broken::new(
            "pair_c3",
            format!(
                "names another computation than `{}`, which it continues",
                start.name
            ),
        )
        .at(Focus::Attribute("calls")));
    }
    let differs = async_execution_thread.as_ref().filter(|own| {
        let of_start = thread.as_deref().unwrap_or("main");
        own.as_ref() != of_start
    });
    differs.map_or(Ok(()), |own| {
        Err(Broken::new(
            "pair_c3",
            format!(
                "names thread \"{own}\", but `{}`, which it continues, does not",
                start.name
            ),
        )
        .at(Focus::Attribute("async_execution_thread")))
    })
}

/// Channel and kind of transfer of a send or receive and their dones.
fn channel(op: &Op) -> Option<(Option<i64>, bool)> {
    let (Op::Send {
        channel_id,
        is_host_transfer,
    }
    | Op::SendDone {
        channel_id,
        is_host_transfer,
    }
    | Op::Recv {
        channel_id,
        is_host_transfer,
    }
    | Op::RecvDone {
        channel_id,
        is_host_transfer,
    }) = op
    else {
        return None;
    };
    Some((*channel_id, *is_host_transfer))
}

fn check_channels(start: &Instruction, done: &Instruction) -> Result<(), Broken> {
    let (Some((begun, host)), Some((ended, host_too))) = (channel(&start.op), channel(&done.op))
    else {
        return Ok(());
    };
    if begun != ended {
        let show =
            |id: Option<i64>| id.map_or("no channel".to_owned(), |id| format!("channel {id}"));
        return Err(Broken::new(
            "channel_c1",
            format!(
                "uses {}, but `{}` uses {}",
                show(ended),
                start.name,
                show(begun)
            ),
        )
        .at(Focus::Attribute("channel_id")));
    }
    if host != host_too {
        return Err(Broken::new(
            "channel_c2",
            format!(
                "has is_host_transfer={host_too}, but `{}` has is_host_transfer={host}",
                start.name
            ),
        )
        .at(Focus::Attribute("is_host_transfer")));
    }
    Ok(())
}

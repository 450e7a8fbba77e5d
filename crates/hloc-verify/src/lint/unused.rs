//! What a program holds but does not use.

use hloc_ir::{Computation, ComputationId, Id, InstrId, Instruction, Op, Shape};

use super::report::Lints;

pub(super) const DEAD_COMPUTATION: &str = "dead-computation";
pub(super) const UNUSED_INSTRUCTION: &str = "unused-instruction";
pub(super) const UNUSED_PARAMETER: &str = "unused-parameter";

/// Computations that the entry does not reach.
pub(super) fn computations(lints: &mut Lints<'_>) {
    let module = lints.module;
    let mut reached = vec![false; module.computations.len()];
    reached[module.entry.index()] = true;
    // Callers stand behind what they call.
    for (id, computation) in module.computations.iter().rev() {
        if reached[id.index()] {
            for instruction in computation.instructions.values() {
                for called in instruction.op.called_computations() {
                    reached[called.index()] = true;
                }
            }
        }
    }
    for (id, computation) in module.computations.iter() {
        if !reached[id.index()] {
            let message = "is called by nothing that the entry computation runs";
            lints.whole(
                DEAD_COMPUTATION,
                computation,
                message,
                "call it, or remove it",
            );
        }
    }
}

/// Instructions of one computation, and parameters of the entry, that nothing uses.
pub(super) fn within(lints: &mut Lints<'_>, id: ComputationId) {
    let computation = lints.computation(id);
    let used = used(computation);
    for (at, instruction) in computation.instructions.iter() {
        if used[at.index()] || at == computation.root {
            continue;
        }
        if let Op::Parameter { number } = instruction.op {
            if id == lints.module.entry {
                let message = format!("is parameter {number}, which nothing uses");
                let help = "remove it from the program's arguments, or use it";
                lints.instruction(UNUSED_PARAMETER, instruction, &message, help);
            }
        } else if !acts(instruction) {
            let message = "gives a value that nothing uses";
            lints.instruction(
                UNUSED_INSTRUCTION,
                instruction,
                message,
                "use it, or remove it",
            );
        }
    }
}

fn used(computation: &Computation) -> Vec<bool> {
    let mut used = vec![false; computation.instructions.len()];
    let mut mark = |id: InstrId| used[id.index()] = true;
    for instruction in computation.instructions.values() {
        instruction.operands.iter().copied().for_each(&mut mark);
        if let Some(attributes) = &instruction.attributes {
            attributes
                .control_predecessors
                .iter()
                .copied()
                .for_each(&mut mark);
        }
    }
    used
}

/// Whether an instruction does something besides giving a value.
fn acts(instruction: &Instruction) -> bool {
    let has_side_effect = matches!(
        instruction.op,
        Op::CustomCall {
            custom_call_has_side_effect: true,
            ..
        }
    );
    has_side_effect || instruction.shape.leaves().contains(&&Shape::Token)
}

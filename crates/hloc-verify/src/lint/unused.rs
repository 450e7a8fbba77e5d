//! What a program holds but does not use.

use hloc_ir::Id;

use super::report::Lints;

pub(super) const DEAD_COMPUTATION: &str = "dead-computation";
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

/// Parameters of the entry that nothing uses.
///
/// Other instructions are not told: front ends leave many behind (elements of a loop's result, mostly).
pub(super) fn parameters(lints: &mut Lints<'_>) {
    let entry = lints.module.entry();
    let mut used = vec![false; entry.instructions.len()];
    used[entry.root.index()] = true;
    for instruction in entry.instructions.values() {
        for operand in &instruction.operands {
            used[operand.index()] = true;
        }
    }
    for (number, id) in entry.parameters.iter().enumerate() {
        if !used[id.index()] {
            let message = format!("is parameter {number}, which nothing uses");
            let help = "remove it from the program's arguments, or use it";
            lints.instruction(UNUSED_PARAMETER, &entry.instructions[*id], &message, help);
        }
    }
}

//! `(n,1)` against `(n)`: a difference of all pairs where one of each element was meant.

use hloc_ir::outer_product::{CODE, HELP, find};
use hloc_ir::{ArrayShape, Computation, ComputationId, Id, InstrId, Op, Users};

use super::report::Lints;

/// How many instructions lie between a difference and the loss at most.
const STEPS: usize = 64;

pub(super) fn check(lints: &mut Lints<'_>, id: ComputationId) {
    let computation = lints.computation(id);
    let mut users = None;
    for (at, instruction) in computation.instructions.iter() {
        let Some(found) = find(computation, at) else {
            continue;
        };
        let users = users.get_or_insert_with(|| Users::of(computation));
        let loss = reduced_to_scalar(computation, users, at);
        let mut message = found.describe();
        if let Some(loss) = loss {
            message.push_str(&format!(
                ", and `{}` reduces all {} pairs to one number: a loss of the wrong pairs still trains, badly",
                computation.instructions[loss].name,
                found.length.saturating_mul(found.length)
            ));
        }
        lints.instruction(CODE, instruction, &message, HELP);
    }
}

/// The reduction of all elements to a scalar that uses `from`, through element-wise instructions.
fn reduced_to_scalar(computation: &Computation, users: &Users, from: InstrId) -> Option<InstrId> {
    let mut waiting = vec![from];
    let mut seen = vec![from];
    for _ in 0..STEPS {
        for user in users.get(waiting.pop()?) {
            let instruction = &computation.instructions[*user];
            let is_scalar = instruction
                .shape
                .as_array()
                .is_some_and(ArrayShape::is_scalar);
            if let Op::Reduce { .. } = instruction.op
                && is_scalar
            {
                return Some(*user);
            }
            let follows = matches!(
                instruction.op,
                Op::Unary { .. }
                    | Op::Binary { .. }
                    | Op::Ternary { .. }
                    | Op::Convert {}
                    | Op::Reshape { .. }
                    | Op::Reduce { .. }
            );
            if follows && !seen.contains(user) && user.index() > from.index() {
                seen.push(*user);
                waiting.push(*user);
            }
        }
    }
    None
}

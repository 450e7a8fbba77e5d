//! Asynchronous pairs, run in place: what the start asks for is done at once, the done hands it out.
//!
//! before:  s = (f32[4], f32[4], u32[]) copy-start(x)     ROOT d = f32[4] copy-done(s)
//! after:   s = (f32[4], f32[4], u32[]) tuple(x, x, 0)    ROOT d = f32[4] get-tuple-element(s), index=0
//!
//! Asynchronous computations that `call-inline` left become calls.

use hloc_ir::{InstrId, Op, Shape};

use super::{collective, in_place, zeros_of};
use crate::make::Make;
use crate::rewriter::Rewriter;

/// Whether an op is of this file.
pub(super) fn is_asynchronous(op: &Op) -> bool {
    matches!(
        op,
        Op::AsyncStart { .. }
            | Op::AsyncUpdate { .. }
            | Op::AsyncDone { .. }
            | Op::CopyStart { .. }
            | Op::CopyDone {}
    )
}

/// Puts a tuple in place of a start, the operand in place of an update, an element in place of a done.
pub(super) fn spell_out(rebuilt: &mut Rewriter<'_>, id: InstrId) -> bool {
    let instruction = &rebuilt.old().instructions[id];
    let (op, shape) = (&instruction.op, instruction.shape.clone());
    let operands = rebuilt.mapped_operands(id);
    if let Op::CopyStart { .. } = op {
        return put_start(rebuilt, id, &[operands[0], operands[0]], &shape);
    }
    if let Op::AsyncStart { .. } = op {
        return start(rebuilt, id, &operands, &shape);
    }
    // What stays is taken by what stays.
    if is_asynchronous(&rebuilt.made(operands[0]).op) {
        return false;
    }
    if let Op::AsyncUpdate { .. } = op {
        rebuilt.replace(id, operands[0]);
        return true;
    }
    let index = i64::from(!matches!(op, Op::CopyDone {}));
    rebuilt.put(id, Op::GetTupleElement { index }, &operands, shape);
    true
}

fn start(rebuilt: &mut Rewriter<'_>, id: InstrId, operands: &[InstrId], shape: &Shape) -> bool {
    let Op::AsyncStart { calls, .. } = rebuilt.mapped_op(id) else {
        return false;
    };
    let Some([_, result, ..]) = shape.as_tuple() else {
        return false;
    };
    let mut make = in_place(rebuilt, id);
    let given = make.tuple(operands);
    let call = Op::Call {
        to_apply: calls,
        is_composite: false,
    };
    let result = make.make(call, operands, result.clone());
    put_start(rebuilt, id, &[given, result], shape)
}

/// A tuple of these parts and zeros for the contexts behind them; false if the shape has other parts.
pub(super) fn put_start(
    rebuilt: &mut Rewriter<'_>,
    id: InstrId,
    parts: &[InstrId],
    shape: &Shape,
) -> bool {
    let shapes: Vec<&Shape> = parts.iter().map(|id| &rebuilt.made(*id).shape).collect();
    if !collective::fits(shape, &shapes) {
        return false;
    }
    let contexts = shape.as_tuple().unwrap_or_default();
    let contexts = contexts.get(parts.len()..).unwrap_or_default();
    let mut make = in_place(rebuilt, id);
    let mut elements = parts.to_vec();
    for context in contexts {
        let Some(zeros) = zeros_of(&mut make, context) else {
            return false;
        };
        elements.push(zeros);
    }
    rebuilt.put(id, Op::Tuple {}, &elements, shape.clone());
    true
}

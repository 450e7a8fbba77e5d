//! Sums of many elements in few bits.

use hloc_ir::{BinaryOp, Computation, ComputationId, ElementType, Instruction, Op};

use super::report::Lints;

pub(super) const LOW_PRECISION: &str = "low-precision-reduction";

pub(super) fn check(lints: &mut Lints<'_>, id: ComputationId) {
    let computation = lints.computation(id);
    for instruction in computation.instructions.values() {
        let Some((count, reducer)) = reduction(computation, instruction) else {
            continue;
        };
        let Some(ty) = rounding_type(lints.computation(reducer)) else {
            continue;
        };
        if count > most_terms(ty) {
            let message = format!(
                "combines {count} elements in {ty}, whose sums of equal terms stop growing after {} of them",
                most_terms(ty)
            );
            let help = "convert the operand to f32, reduce, and convert the result";
            lints.instruction(LOW_PRECISION, instruction, &message, help);
        }
    }
}

/// How many elements go into one result, and the computation that combines them.
fn reduction(computation: &Computation, instruction: &Instruction) -> Option<(i64, ComputationId)> {
    if let Op::Reduce {
        dimensions,
        to_apply,
    } = &instruction.op
    {
        let operand = &computation.instructions[*instruction.operands.first()?];
        let sizes = &operand.shape.as_array()?.dims;
        let sizes = dimensions.iter().map(|dim| sizes[*dim as usize]);
        let count = sizes.fold(1i64, i64::saturating_mul);
        return Some((count, *to_apply));
    }
    if let Op::ReduceWindow {
        window: Some(window),
        to_apply,
    } = &instruction.op
    {
        let sizes = window.0.iter().map(|dim| dim.size);
        return Some((sizes.fold(1i64, i64::saturating_mul), *to_apply));
    }
    None
}

/// The narrow float type in which a computation adds its arguments, if it does.
fn rounding_type(reducer: &Computation) -> Option<ElementType> {
    let root = reducer.root();
    let Op::Binary {
        op: BinaryOp::Add, ..
    } = root.op
    else {
        return None;
    };
    let ty = root.shape.as_array()?.element_type;
    let argument = |id| matches!(reducer.instructions[id].op, Op::Parameter { .. });
    let narrow = ty.is_float() && ty.bits() <= 16;
    (narrow && root.operands.iter().all(|id| argument(*id))).then_some(ty)
}

/// The number of ones after which adding a further one changes nothing: 2 to the number of bits of the
/// significand.
fn most_terms(ty: ElementType) -> i64 {
    let format = hloc_ir::float_format(ty);
    1i64 << (format.map_or(10, |format| format.mantissa_bits) + 1)
}

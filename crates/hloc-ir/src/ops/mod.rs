//! Shape rules: what an instruction produces, and which programs say so wrongly.

use crate::{Broken, Focus, Shape, ShapeContext};

/// The result shape of an instruction according to the rule of its op, without a layout.
///
/// For an op whose shape the program declares the rule checks the declared shape and returns it.
///
/// # Errors
/// [`Broken`] with the label of the first broken constraint.
pub fn infer_shape(context: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let arity = context.op.opcode().arity();
    if !arity.accepts(context.operands.len()) {
        return Err(Broken::new(
            "arity_c1",
            format!("has {} operands, which `{}` does not take", context.operands.len(), context.op.opcode()),
        ));
    }
    context.declared.cloned().ok_or_else(|| {
        Broken::new("result_c2", "needs its result shape written").at(Focus::Result)
    })
}

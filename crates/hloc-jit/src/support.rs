//! Which ops are emitted for which element types; consulted before anything is emitted.

use hloc_ir::{BinaryOp, ComparisonDirection, ElementType, TernaryOp, UnaryOp};
use hloc_loops::ir::{Expr, Kernel, Stmt, ValueId};

use crate::error::JitError;
use crate::repr::Kind;

/// Whether `op` is emitted for operands of type `ty`: for all that its domain accepts.
pub(crate) fn unary(op: UnaryOp, ty: ElementType) -> bool {
    op.domain().accepts(ty)
}

/// Whether `op` is emitted for operands of type `ty`: for all of its domain that have a result type.
pub(crate) fn binary(op: BinaryOp, ty: ElementType) -> bool {
    op.domain().accepts(ty) && op.result_type(ty).is_some()
}

/// Whether `op` is emitted for a result of type `ty`.
pub(crate) fn ternary(op: TernaryOp, ty: ElementType) -> bool {
    op.domain().accepts(ty)
}

/// Whether values of type `ty` are compared so: complex numbers have no order.
pub(crate) fn compare(direction: ComparisonDirection, ty: ElementType) -> bool {
    match direction {
        ComparisonDirection::Eq | ComparisonDirection::Ne => true,
        ComparisonDirection::Ge
        | ComparisonDirection::Gt
        | ComparisonDirection::Le
        | ComparisonDirection::Lt => !ty.is_complex(),
    }
}

/// Whether the bits of one element of `from` can be those of one of `to`.
pub(crate) fn bitcast_convert(from: ElementType, to: ElementType) -> bool {
    from == to || (from.size() == to.size() && from != ElementType::C128 && to != ElementType::C128)
}

/// Finds the first op of `kernel` that is not emitted.
///
/// # Errors
/// [`JitError::Unsupported`] for it, [`JitError::Malformed`] for a value that is not declared.
pub(crate) fn check(kernel: &Kernel) -> Result<(), JitError> {
    check_block(kernel, &kernel.body)
}

fn check_block(kernel: &Kernel, block: &[Stmt]) -> Result<(), JitError> {
    block.iter().try_for_each(|stmt| match stmt {
        Stmt::Let { value, expr } => check_expr(kernel, *value, expr),
        Stmt::Store { .. } => Ok(()),
        Stmt::For(inner) => check_block(kernel, &inner.body),
        Stmt::If(inner) => {
            check_block(kernel, &inner.then)?;
            check_block(kernel, &inner.otherwise)
        }
    })
}

fn check_expr(kernel: &Kernel, value: ValueId, expr: &Expr) -> Result<(), JitError> {
    let ty = |value: ValueId| match kernel.values.get(value) {
        Some(value) => Ok(value.element_type),
        None => Err(JitError::Malformed {
            kernel: kernel.name.clone(),
            message: format!("{value} is not declared"),
            span: kernel.span,
        }),
    };
    let result = ty(value)?;
    let (supported, op, element_type) = match expr {
        Expr::Constant(_) | Expr::Load { .. } | Expr::Index(_) | Expr::Convert(_) => return Ok(()),
        Expr::ClampIndex { value, .. } => {
            let ty = ty(*value)?;
            (ty.is_integer(), "index", ty)
        }
        Expr::Unary(op, operand) => {
            let ty = ty(*operand)?;
            (unary(*op, ty), op.name(), ty)
        }
        Expr::Binary(op, operand, _) => {
            let ty = ty(*operand)?;
            (binary(*op, ty), op.name(), ty)
        }
        Expr::Ternary(op, _) => (ternary(*op, result), op.name(), result),
        Expr::Compare { direction, lhs, .. } => {
            let ty = ty(*lhs)?;
            (compare(*direction, ty), "compare", ty)
        }
        Expr::BitcastConvert(value) => {
            let from = ty(*value)?;
            (bitcast_convert(from, result), "bitcast-convert", from)
        }
        Expr::ReducePrecision { .. } => (is_float(result), "reduce-precision", result),
    };
    if supported {
        return Ok(());
    }
    Err(JitError::Unsupported {
        op: op.to_owned(),
        element_type,
        kernel: kernel.name.clone(),
        span: kernel.span,
    })
}

fn is_float(ty: ElementType) -> bool {
    match Kind::of(ty) {
        Kind::Float(_) | Kind::Narrow(_) => true,
        Kind::Pred | Kind::Int(_) | Kind::Complex(_) => false,
    }
}

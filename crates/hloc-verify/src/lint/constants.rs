//! Constants that are not what was written, and what constants make of an instruction.

use hloc_ir::{
    Array, BinaryOp, CompareType, Computation, ComputationId, ElementType, InstrId, Instruction,
    Op, Scalar, float_format, format_scalar,
};

use super::report::{Lints, unplaced};

pub(super) const OVERFLOW: &str = "constant-overflow";
pub(super) const SUBNORMAL: &str = "subnormal-constant";
pub(super) const NAN_COMPARISON: &str = "nan-comparison";
pub(super) const ZERO_DIVISOR: &str = "zero-divisor";

/// How many elements of a constant are looked at: tables may hold millions.
const MOST_ELEMENTS: usize = 65_536;

pub(super) fn check(lints: &mut Lints<'_>, id: ComputationId) {
    let computation = lints.computation(id);
    for instruction in computation.instructions.values() {
        if let Op::Convert {} = instruction.op {
            converted(lints, computation, instruction);
        } else if let Op::Compare { compare_type, .. } = &instruction.op
            && *compare_type != Some(CompareType::TotalOrder)
        {
            compared(lints, computation, instruction);
        } else if let Op::Binary {
            op: op @ (BinaryOp::Divide | BinaryOp::Remainder),
            ..
        } = &instruction.op
        {
            divided(lints, computation, instruction, *op);
        } else if let Op::Constant { literal } = &instruction.op
            && let Some(array) = literal.as_array()
        {
            subnormal(lints, instruction, array);
        }
    }
}

/// The array behind an operand, if it is a constant that is placed or repeated.
fn constant(computation: &Computation, id: InstrId) -> Option<&Array> {
    let Op::Constant { literal } = &unplaced(computation, id).op else {
        return None;
    };
    literal.as_array()
}

fn elements(array: &Array) -> impl Iterator<Item = Scalar> + '_ {
    (0..array.num_elements().min(MOST_ELEMENTS)).map(|at| array.get(at))
}

fn converted(lints: &mut Lints<'_>, computation: &Computation, instruction: &Instruction) {
    let target = instruction.shape.as_array().map(|shape| shape.element_type);
    let source = instruction
        .operands
        .first()
        .and_then(|id| constant(computation, *id));
    let (Some(target), Some(source)) = (target, source) else {
        return;
    };
    let lost = elements(source).find(|value| is_lost(*value, value.converted(target), target));
    if let Some(value) = lost {
        let message = format!(
            "converts the constant {} of type {} to {target}, which makes it {}",
            format_scalar(source.element_type(), value),
            source.element_type(),
            format_scalar(target, value.converted(target))
        );
        let help = "clamp it first, or choose a type that holds it";
        lints.instruction(OVERFLOW, instruction, &message, help);
    }
}

/// Whether a finite number became another one, rounding aside.
fn is_lost(value: Scalar, kept: Scalar, target: ElementType) -> bool {
    let (from, to) = (value.to_f64(), kept.to_f64());
    if target.is_predicate() || !from.is_finite() {
        return false;
    }
    if target.is_integer() {
        return to != from.trunc();
    }
    !to.is_finite() || from.abs() >= 1.0 && (to - from).abs() > from.abs() * 0.5
}

fn compared(lints: &mut Lints<'_>, computation: &Computation, instruction: &Instruction) {
    let is_nan = |id: &InstrId| {
        constant(computation, *id).is_some_and(|array| {
            array.num_elements() > 0 && elements(array).all(|value| value.to_f64().is_nan())
        })
    };
    let Some(operand) = instruction.operands.iter().find(|id| is_nan(id)) else {
        return;
    };
    let Op::Compare { direction, .. } = &instruction.op else {
        return;
    };
    let always = *direction == hloc_ir::ComparisonDirection::Ne;
    let message = format!(
        "compares with `{}`, which is NaN: direction={direction} is always {always}",
        computation.instructions[*operand].name
    );
    let help = "x is NaN where x differs from itself: compare(x, x), direction=NE";
    lints.instruction(NAN_COMPARISON, instruction, &message, help);
}

fn divided(
    lints: &mut Lints<'_>,
    computation: &Computation,
    instruction: &Instruction,
    op: BinaryOp,
) {
    let is_integer = instruction
        .shape
        .as_array()
        .is_some_and(|shape| shape.element_type.is_integer());
    let divisor = instruction
        .operands
        .get(1)
        .and_then(|id| constant(computation, *id));
    let Some(divisor) = divisor.filter(|_| is_integer) else {
        return;
    };
    let Some(at) = elements(divisor).position(|value| value.to_f64() == 0.0) else {
        return;
    };
    let result = if op == BinaryOp::Divide {
        "all bits set"
    } else {
        "the dividend"
    };
    let what = if divisor.num_elements() == 1 {
        "the constant 0".to_owned()
    } else {
        format!("a constant whose element {at} is 0")
    };
    let message = format!("divides integers by {what}: the result is {result}, without an error");
    lints.instruction(
        ZERO_DIVISOR,
        instruction,
        &message,
        "select another divisor where it is 0",
    );
}

fn subnormal(lints: &mut Lints<'_>, instruction: &Instruction, array: &Array) {
    let ty = array.element_type();
    if !ty.is_float() || ty.bits() < 16 {
        // Narrow formats are meant to be used down to their last bit.
        return;
    }
    let Some(format) = float_format(ty) else {
        return;
    };
    let least = f64::powi(2.0, 1 - format.bias);
    let found = elements(array)
        .map(Scalar::to_f64)
        .find(|value| *value != 0.0 && value.abs() < least);
    let written = instruction.origin.span();
    let vanished = lints
        .source
        .and_then(|source| vanished(source.slice(written), ty));
    let message = if let Some(text) = vanished {
        format!("writes {text}, which is 0 as {ty}")
    } else if let Some(value) = found {
        format!(
            "holds {} of type {ty}, which keeps fewer digits than normal numbers: they begin at {least:e}",
            format_scalar(ty, Scalar::Float(value))
        )
    } else {
        return;
    };
    let help = "if anything greater than 0 will do, write the least normal number";
    lints.instruction(SUBNORMAL, instruction, &message, help);
}

/// The first number in the text of a constant instruction that has a digit other than 0 and still becomes
/// 0.
fn vanished(text: &str, ty: ElementType) -> Option<&str> {
    let (_, values) = text.split_once("constant(")?;
    let (values, _) = values.split_once(')')?;
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '.' | '+' | '-');
    values.split(|byte| !is_part(byte)).find(|token| {
        let digits = token.split(['e', 'E']).next().unwrap_or_default();
        let has_digit = digits.contains(|digit: char| matches!(digit, '1'..='9'));
        let value = token.parse::<f64>().ok().filter(|_| has_digit);
        value.is_some_and(|value| Scalar::Float(value).converted(ty).to_f64() == 0.0)
    })
}

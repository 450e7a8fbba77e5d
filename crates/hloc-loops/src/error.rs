//! What may go wrong while lowering.

use hloc_diag::Span;
use hloc_ir::{ElementType, Instruction, Shape};

/// Why a verified module could not be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The program uses something that is not compiled yet.
    #[error("`{instruction}`: {opcode} of {element_type} is not supported: {reason}")]
    Unsupported {
        /// Opcode as HLO spells it.
        opcode: &'static str,
        /// Element type of the result (of its first array), or `tuple`, `token`, `opaque`, `buffer`.
        element_type: &'static str,
        /// Name of the instruction.
        instruction: String,
        /// What exactly is missing.
        reason: String,
        /// Where the instruction stands.
        span: Span,
    },
    /// The program is larger than a stated limit.
    #[error("`{instruction}`: more than {limit} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: usize,
        /// Name of the instruction.
        instruction: String,
        /// Where the instruction stands.
        span: Span,
    },
    /// A rule that the verifier should have enforced does not hold: a bug of hloc.
    #[error("internal error: `{instruction}`: {message}")]
    Internal {
        /// What does not hold.
        message: String,
        /// Name of the instruction.
        instruction: String,
        /// Where the instruction stands.
        span: Span,
    },
}

impl LowerError {
    /// The place of the instruction at fault.
    pub fn span(&self) -> Span {
        match self {
            LowerError::Unsupported { span, .. }
            | LowerError::Limit { span, .. }
            | LowerError::Internal { span, .. } => *span,
        }
    }

    /// `instruction` is not supported because of `reason`.
    pub(crate) fn unsupported(instruction: &Instruction, reason: impl Into<String>) -> LowerError {
        LowerError::Unsupported {
            opcode: instruction.op.opcode().name(),
            element_type: type_word(&instruction.shape),
            instruction: instruction.name.to_string(),
            reason: reason.into(),
            span: instruction.origin.span(),
        }
    }

    pub(crate) fn limit(instruction: &Instruction, what: &'static str, limit: usize) -> LowerError {
        LowerError::Limit {
            what,
            limit,
            instruction: instruction.name.to_string(),
            span: instruction.origin.span(),
        }
    }

    pub(crate) fn internal(instruction: &Instruction, message: impl Into<String>) -> LowerError {
        LowerError::Internal {
            message: message.into(),
            instruction: instruction.name.to_string(),
            span: instruction.origin.span(),
        }
    }
}

/// The element type of the first array of a shape, or what the shape is otherwise.
fn type_word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Array(array) => ElementType::name(array.element_type),
        Shape::Tuple(_) => shape
            .leaves()
            .into_iter()
            .find_map(Shape::as_array)
            .map_or("tuple", |array| array.element_type.name()),
        Shape::Token => "token",
        Shape::Opaque => "opaque",
        Shape::Buffer(_) => "buffer",
    }
}

//! What can keep a program from being evaluated.

use hloc_ir::{ElementType, Instruction, Name, Op, Origin};
use hloc_tensor::TensorError;

/// The instruction that an error is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its name.
    pub instruction: Name,
    /// Where it comes from; `origin.span()` is its place in the text.
    pub origin: Origin,
}

/// Why there is no result.
///
/// [`evaluate_op`](crate::evaluate_op) knows no instruction, so its errors have no place.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EvalError {
    /// The evaluator does not know this opcode, or not for this element type.
    #[error("{}: the evaluator does not support {}{}", shown(.place), opcode, of_type(*.element_type))]
    Unsupported {
        /// The opcode, with what is special about its use if only that is not supported.
        opcode: String,
        /// The element type of the operand, or of the result where there is none.
        element_type: Option<ElementType>,
        /// Which instruction.
        place: Option<Place>,
    },
    /// Arguments or operands do not fit the parameters or the op.
    #[error("{}: {message}", shown(.place))]
    Argument {
        /// What does not fit what.
        message: String,
        /// Which instruction, if it is about one inside of the program.
        place: Option<Place>,
    },
    /// A handler of a custom call failed.
    #[error("{}: the custom call to `{target}` failed: {message}", shown(.place))]
    CustomCall {
        /// The target.
        target: Box<str>,
        /// What the handler says, or what is wrong with what it gave.
        message: String,
        /// Which instruction.
        place: Option<Place>,
    },
    /// A stated limit is exceeded, or memory is short.
    #[error("{}: {message}", shown(.place))]
    Limit {
        /// Which limit.
        message: String,
        /// Which instruction.
        place: Option<Place>,
    },
}

fn shown(place: &Option<Place>) -> String {
    place.as_ref().map_or_else(
        || "program".to_owned(),
        |place| format!("`{}`", place.instruction),
    )
}

fn of_type(ty: Option<ElementType>) -> String {
    ty.map_or_else(String::new, |ty| format!(" of {ty}"))
}

impl EvalError {
    pub(crate) fn unsupported(op: &Op, element_type: Option<ElementType>) -> EvalError {
        EvalError::unsupported_form(op.opcode().name(), element_type)
    }

    pub(crate) fn unsupported_form(
        opcode: impl Into<String>,
        element_type: Option<ElementType>,
    ) -> EvalError {
        EvalError::Unsupported {
            opcode: opcode.into(),
            element_type,
            place: None,
        }
    }

    pub(crate) fn argument(message: impl Into<String>) -> EvalError {
        EvalError::Argument {
            message: message.into(),
            place: None,
        }
    }

    pub(crate) fn limit(message: impl Into<String>) -> EvalError {
        EvalError::Limit {
            message: message.into(),
            place: None,
        }
    }

    /// The instruction it is about, if one is known.
    pub fn place(&self) -> Option<&Place> {
        match self {
            EvalError::Unsupported { place, .. }
            | EvalError::Argument { place, .. }
            | EvalError::CustomCall { place, .. }
            | EvalError::Limit { place, .. } => place.as_ref(),
        }
    }

    /// The same error at `instruction`, unless it has a place already: the innermost one counts.
    pub(crate) fn at(mut self, instruction: &Instruction) -> EvalError {
        let (EvalError::Unsupported { place, .. }
        | EvalError::Argument { place, .. }
        | EvalError::CustomCall { place, .. }
        | EvalError::Limit { place, .. }) = &mut self;
        place.get_or_insert_with(|| Place {
            instruction: instruction.name.clone(),
            origin: instruction.origin.clone(),
        });
        self
    }
}

impl From<TensorError> for EvalError {
    fn from(error: TensorError) -> EvalError {
        let message = error.to_string();
        // All else that making an array reports is about sizes that do not fit.
        if let TensorError::OutOfMemory { .. } = error {
            EvalError::limit(message)
        } else {
            EvalError::argument(message)
        }
    }
}

//! What can go wrong when a program is set up or run.

use hloc_ir::{ArrayShape, ElementType};
use hloc_tensor::TensorError;

/// A program could not be set up or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The caller gave more or fewer arrays than there are parameters, tuples flattened.
    #[error("the program takes {}, but {given} {} given", arrays(*.expected), was(*.given))]
    WrongCount {
        /// How many arrays the program takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// An array has another element type or other dimensions than its parameter.
    #[error(
        "parameter `{name}` (number {position} from 0) is {expected}, but the array given is {given}"
    )]
    WrongArgument {
        /// The parameter's name, with the index of the leaf if it is a tuple.
        name: String,
        /// Position among the arrays given.
        position: usize,
        /// What the program declares.
        expected: ArrayShape,
        /// What the caller gave.
        given: ArrayShape,
    },
    /// There is not enough memory for results or temporaries.
    #[error("no memory for the buffers of the program")]
    OutOfMemory(#[source] TensorError),
    /// A library routine does not take these element types.
    #[error("library routine `{routine}` does not take {element_type}")]
    UnsupportedCall {
        /// The routine.
        routine: &'static str,
        /// The element type that it does not take.
        element_type: ElementType,
    },
    /// A handler of a custom call failed.
    #[error("the custom call to `{target}` failed: {message}")]
    CustomCall {
        /// The target.
        target: Box<str>,
        /// What the handler says, or what is wrong with what it gave.
        message: String,
    },
    /// The program breaks an invariant of the loop representation; hloc is wrong.
    #[error("the program is inconsistent: {0}")]
    InvalidProgram(String),
}

impl RunError {
    /// Whether the arrays given do not fit the program's parameters.
    pub fn is_argument_mismatch(&self) -> bool {
        matches!(
            self,
            RunError::WrongCount { .. } | RunError::WrongArgument { .. }
        )
    }
}

fn arrays(count: usize) -> String {
    match count {
        0 => "no arrays".to_owned(),
        1 => "1 array".to_owned(),
        count => format!("{count} arrays"),
    }
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::RunError;

    #[test]
    fn counts_read_well() {
        let text = |expected, given| RunError::WrongCount { expected, given }.to_string();
        assert_eq!(text(1, 0), "the program takes 1 array, but 0 were given");
        assert_eq!(text(2, 1), "the program takes 2 arrays, but 1 was given");
    }
}

//! What can go wrong when kernels are compiled.

use hloc_diag::Span;
use hloc_ir::ElementType;

/// Why a program has no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// An op that is not emitted for an element type.
    #[error("kernel `{kernel}`: `{op}` of {element_type} cannot be compiled")]
    Unsupported {
        /// The op in HLO's spelling.
        op: String,
        /// Element type of its operand.
        element_type: ElementType,
        /// The kernel that has it.
        kernel: String,
        /// The place in the user's text.
        span: Span,
    },
    /// A kernel that breaks a rule of the loop-nest representation.
    #[error("kernel `{kernel}` is malformed: {message}")]
    Malformed {
        /// The kernel.
        kernel: String,
        /// The rule and what was found.
        message: String,
        /// The place in the user's text.
        span: Span,
    },
    /// Cranelift refused a function.
    #[error("kernel `{kernel}`: code generation failed: {message}")]
    Codegen {
        /// The kernel.
        kernel: String,
        /// Cranelift's message.
        message: String,
        /// The place in the user's text.
        span: Span,
    },
    /// The machine or its memory does not allow compiled code.
    #[error("cannot run compiled code here: {0}")]
    Host(String),
}

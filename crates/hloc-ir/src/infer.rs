//! Result shapes: one rule per opcode, shared by the parser, the verifier and the builder.

use crate::{Arena, Computation, ComputationId, Op, Shape};

/// What a broken rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Focus {
    /// The instruction as a whole.
    Instruction,
    /// The declared result shape.
    Result,
    /// The operand with this number.
    Operand(usize),
    /// The attribute of this name.
    Attribute(&'static str),
}

/// A broken rule without a place: the verifier adds it, the builder has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Label of the constraint, which is the diagnostic's code: `broadcast_c4`.
    pub constraint: &'static str,
    /// Lower case, both facts; a predicate about the instruction, whose name the reader of this puts in
    /// front: `adds f32[2] and f32[3], which do not fit`.
    pub message: String,
    /// What it is about.
    pub focus: Focus,
    /// A second part that takes part in the finding, with the text to show there.
    pub other: Option<(Focus, String)>,
    /// The way out, if one is known.
    pub help: Option<String>,
}

/// Everything a shape rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct ShapeContext<'a> {
    /// The op with its attributes.
    pub op: &'a Op,
    /// Shapes of the operands.
    pub operands: &'a [&'a Shape],
    /// The computations that the op may call.
    pub computations: &'a Arena<ComputationId, Computation>,
    /// The result shape as declared, if it was.
    pub declared: Option<&'a Shape>,
}

impl Broken {
    /// A broken rule about the whole instruction.
    pub fn new(constraint: &'static str, message: impl Into<String>) -> Broken {
        Broken {
            constraint,
            message: message.into(),
            focus: Focus::Instruction,
            other: None,
            help: None,
        }
    }

    /// The same, about one part.
    #[must_use]
    pub fn at(mut self, focus: Focus) -> Broken {
        self.focus = focus;
        self
    }

    /// Adds the second part that takes part, with the text to show there.
    #[must_use]
    pub fn with_other(mut self, focus: Focus, text: impl Into<String>) -> Broken {
        self.other = Some((focus, text.into()));
        self
    }

    /// Adds the way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Broken {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Broken {}

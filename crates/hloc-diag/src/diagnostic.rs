//! What is wrong with a program, as data.

use std::borrow::Cow;

use crate::Span;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program is wrong.
    Error,
    /// The program is valid but probably not meant so.
    Warning,
}

impl Severity {
    /// The word printed in front of a diagnostic.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place in the source and what is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place; `Span::NONE` labels are not drawn.
    pub span: Span,
    /// Text beside the caret, may be empty.
    pub text: String,
}

/// One finding about the user's HLO.
///
/// `code` is the label of the broken constraint (`broadcast_c4`) or a kebab-case name
/// (`unknown-opcode`); `hloc explain CODE` documents it. The message is lower case, without a full
/// stop, and states both facts that disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name of the broken rule.
    pub code: Cow<'static, str>,
    /// Error or warning.
    pub severity: Severity,
    /// One line that states what was found and what was expected.
    pub message: String,
    /// Where the finding is.
    pub primary: Label,
    /// Other places that take part in it.
    pub secondary: Vec<Label>,
    /// Facts that have no place of their own, such as the Python line an instruction comes from.
    pub notes: Vec<String>,
    /// The way out, where one is known.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error with `code` and `message` at `span`.
    pub fn error(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        span: Span,
    ) -> Diagnostic {
        Diagnostic {
            code: code.into(),
            severity: Severity::Error,
            message: message.into(),
            primary: Label {
                span,
                text: String::new(),
            },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// A warning with `code` and `message` at `span`.
    pub fn warning(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        span: Span,
    ) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, message, span)
        }
    }

    /// Sets the text beside the primary caret.
    #[must_use]
    pub fn with_primary_text(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a fact without a place.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Adds a way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help.push(help.into());
        self
    }
}

//! The one error type of the embedding API.

use std::fmt;
use std::sync::Arc;

use hloc_diag::{Color, Diagnostic, Source, render_text};
use hloc_eval::EvalError;
use hloc_runtime::RunError;

/// Compiling or running a program failed.
///
/// There are three kinds, told apart by predicates: the HLO is wrong ([`Error::is_invalid_hlo`]); the
/// caller is wrong or meets a limit ([`Error::is_unsupported`], [`Error::is_argument_mismatch`],
/// [`Error::is_invalid_file`]); hloc is wrong ([`Error::is_internal`]).
///
/// `Display` shows the whole finding, with source lines and carets where it has a place in the text.
#[derive(Debug)]
pub struct Error(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Invalid(Findings),
    Unsupported(Findings),
    Run(RunError),
    Evaluation(EvalError),
    Option(String),
    File(FileError),
    Internal(Internal),
}

/// Diagnostics with the text they point into.
#[derive(Debug)]
struct Findings {
    source: Arc<Source>,
    diagnostics: Vec<Diagnostic>,
}

/// An invariant of hloc that did not hold.
#[derive(Debug)]
struct Internal {
    stage: String,
    message: String,
    module: Option<String>,
}

/// An executable file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("this is no hloc executable: it does not begin with the bytes of one")]
    NotAnExecutable,
    #[error("the executable has format version {found}, but this hloc reads version {known}")]
    WrongVersion { found: u32, known: u32 },
    #[error("the executable is damaged: {0}")]
    Damaged(String),
    #[error("reading or writing the executable failed: {0}")]
    Io(#[from] std::io::Error),
}

impl Error {
    pub(crate) fn invalid(source: &Arc<Source>, diagnostics: Vec<Diagnostic>) -> Error {
        let source = Arc::clone(source);
        Error(Box::new(Kind::Invalid(Findings {
            source,
            diagnostics,
        })))
    }

    pub(crate) fn unsupported(source: &Arc<Source>, diagnostic: Diagnostic) -> Error {
        let source = Arc::clone(source);
        Error(Box::new(Kind::Unsupported(Findings {
            source,
            diagnostics: vec![diagnostic],
        })))
    }

    pub(crate) fn evaluation(error: EvalError) -> Error {
        Error(Box::new(Kind::Evaluation(error)))
    }

    pub(crate) fn option(message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Option(message.into())))
    }

    pub(crate) fn file(error: FileError) -> Error {
        Error(Box::new(Kind::File(error)))
    }

    pub(crate) fn internal(
        stage: impl Into<String>,
        message: impl Into<String>,
        module: Option<String>,
    ) -> Error {
        Error(Box::new(Kind::Internal(Internal {
            stage: stage.into(),
            message: message.into(),
            module,
        })))
    }

    /// Whether the text is not valid HLO; [`Error::diagnostics`] says where and why.
    pub fn is_invalid_hlo(&self) -> bool {
        self.kind_is(|kind| matches!(kind, Kind::Invalid(_)))
    }

    /// Whether the program is valid but uses something that hloc does not compile.
    pub fn is_unsupported(&self) -> bool {
        self.kind_is(|kind| match kind {
            Kind::Unsupported(_)
            | Kind::Evaluation(EvalError::Unsupported { .. } | EvalError::Limit { .. }) => true,
            Kind::Invalid(_)
            | Kind::Run(_)
            | Kind::Evaluation(EvalError::Argument { .. } | EvalError::CustomCall { .. })
            | Kind::Option(_)
            | Kind::File(_)
            | Kind::Internal(_) => false,
        })
    }

    /// Whether the inputs do not fit the program's parameters.
    pub fn is_argument_mismatch(&self) -> bool {
        self.kind_is(|kind| match kind {
            Kind::Run(error) => error.is_argument_mismatch(),
            Kind::Evaluation(error) => matches!(error, EvalError::Argument { .. }),
            Kind::Invalid(_)
            | Kind::Unsupported(_)
            | Kind::Option(_)
            | Kind::File(_)
            | Kind::Internal(_) => false,
        })
    }

    /// Whether a handler of a custom call failed; see [`Compiler::custom_call`](crate::Compiler::custom_call).
    pub fn is_custom_call_failure(&self) -> bool {
        self.kind_is(|kind| {
            matches!(
                kind,
                Kind::Run(RunError::CustomCall { .. })
                    | Kind::Evaluation(EvalError::CustomCall { .. })
            )
        })
    }

    /// Whether an option names something that does not exist, such as an unknown pass.
    pub fn is_invalid_option(&self) -> bool {
        self.kind_is(|kind| matches!(kind, Kind::Option(_)))
    }

    /// Whether a file to load is no executable of this version of hloc, or reading or writing failed.
    pub fn is_invalid_file(&self) -> bool {
        self.kind_is(|kind| matches!(kind, Kind::File(_)))
    }

    /// Whether hloc itself is wrong. Please report it, with [`Error::dumped_module`].
    pub fn is_internal(&self) -> bool {
        self.kind_is(|kind| matches!(kind, Kind::Internal(_)))
    }

    fn kind_is(&self, accept: impl Fn(&Kind) -> bool) -> bool {
        accept(&self.0)
    }

    /// The findings about the text, empty where the error is not about the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.findings().map_or(&[], |found| &found.diagnostics)
    }

    /// The text that [`Error::diagnostics`] point into.
    pub fn program_text(&self) -> Option<&Source> {
        self.findings().map(|found| &*found.source)
    }

    /// For an internal error, the module as it was before the stage that failed.
    pub fn dumped_module(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Internal(internal) => internal.module.as_deref(),
            Kind::Invalid(_)
            | Kind::Unsupported(_)
            | Kind::Run(_)
            | Kind::Evaluation(_)
            | Kind::Option(_)
            | Kind::File(_) => None,
        }
    }

    /// The whole error as text, as `Display` shows it but with terminal colors if asked for.
    pub fn render(&self, color: Color) -> String {
        match &*self.0 {
            Kind::Invalid(found) | Kind::Unsupported(found) => {
                let render = |each| render_text(each, &found.source, color);
                let texts: Vec<String> = found.diagnostics.iter().map(render).collect();
                texts.join("\n\n")
            }
            Kind::Run(error) => with_causes(error),
            Kind::Evaluation(error) => with_causes(error),
            Kind::Option(message) => message.clone(),
            Kind::File(error) => error.to_string(),
            Kind::Internal(internal) => {
                format!(
                    "internal error in `{}`: {}",
                    internal.stage, internal.message
                )
            }
        }
    }

    fn findings(&self) -> Option<&Findings> {
        match &*self.0 {
            Kind::Invalid(found) | Kind::Unsupported(found) => Some(found),
            Kind::Run(_)
            | Kind::Evaluation(_)
            | Kind::Option(_)
            | Kind::File(_)
            | Kind::Internal(_) => None,
        }
    }
}

/// An error's text followed by those of its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error(Box::new(Kind::Run(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Color::Never))
    }
}

impl std::error::Error for Error {}

//! One program on all engines: the evaluator, compiled without passes, compiled with all passes.

use std::fmt;

use hloc::PassSelection;
use hloc_diag::Source;
use hloc_ir::{Array, Literal};

use crate::generate::Slack;
use crate::stages;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program is refused as text.
    Invalid,
    /// Printing and reading changes the program.
    RoundTrip,
    /// The evaluator refuses it.
    Evaluator,
    /// It is not compiled or not run.
    Compiler,
    /// Engines give different results.
    Difference,
    /// Something panicked.
    Panic,
    /// The process ended: an abort, a trap, a full stack.
    Death,
    /// It took too long.
    Time,
}

/// A program that engines do not agree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: Kind,
    /// How.
    pub message: String,
}

impl Failure {
    /// A failure with a message.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
        }
    }

    /// Whether both are probably one mistake: of one kind, and told in the same words but for names and numbers.
    pub fn resembles(&self, other: &Failure) -> bool {
        self.kind == other.kind
            && (self.kind == Kind::Difference || words(&self.message) == words(&other.message))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

/// The words of a message without quoted names, shapes and numbers.
fn words(message: &str) -> Vec<&str> {
    let line = message.lines().next().unwrap_or("");
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    line.split_whitespace().filter(plain).collect()
}

/// Runs a program on all engines and compares; `slack` says how far apart the arrays of the result may be.
///
/// # Errors
/// The first [`Failure`], a panic included.
pub fn check(text: &str, arguments: &[Literal], slack: &[Slack]) -> Result<(), Failure> {
    std::panic::catch_unwind(|| check_all(text, arguments, slack)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::new(Kind::Panic, message.unwrap_or("panicked")))
    })
}

fn check_all(text: &str, arguments: &[Literal], slack: &[Slack]) -> Result<(), Failure> {
    let invalid = |error: String| Failure::new(Kind::Invalid, error);
    let source = Source::new("random", text).map_err(|error| invalid(error.to_string()))?;
    let module = stages::verified(&source).map_err(invalid)?;
    check_round_trip(&source)?;
    let expected = stages::evaluate(&module, arguments)
        .map_err(|error| Failure::new(Kind::Evaluator, error))?
        .into_leaves();
    let arrays: Vec<Array> = arguments
        .iter()
        .cloned()
        .flat_map(Literal::into_leaves)
        .collect();
    for (who, passes) in [
        ("without passes", PassSelection::None),
        ("with all passes", PassSelection::All),
    ] {
        let found = stages::compile_and_run(text, passes, &arrays)
            .map_err(|error| Failure::new(Kind::Compiler, format!("{who}: {error}")))?;
        agree(&found, &expected, slack)
            .map_err(|error| Failure::new(Kind::Difference, format!("{who}: {error}")))?;
    }
    Ok(())
}

fn check_round_trip(source: &Source) -> Result<(), Failure> {
    let failed = |error: String| Failure::new(Kind::RoundTrip, error);
    let module = stages::parse(source).map_err(failed)?;
    let text = hloc_ir::print_module(&module);
    let printed =
        Source::new("printed", text.as_str()).map_err(|error| failed(error.to_string()))?;
    if stages::parse(&printed).map_err(failed)? == module {
        Ok(())
    } else {
        Err(failed(format!("printing changed the module:\n{text}")))
    }
}

fn agree(found: &[Array], expected: &[Array], slack: &[Slack]) -> Result<(), String> {
    if found.len() != expected.len() || found.len() != slack.len() {
        return Err(format!("{} results, not {}", found.len(), expected.len()));
    }
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        hloc_tensor::compare(found, expected, slack[at].tolerance())
            .map_err(|mismatch| format!("result {at}: {mismatch}"))?;
    }
    Ok(())
}

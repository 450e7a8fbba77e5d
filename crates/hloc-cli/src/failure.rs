//! From errors to messages and exit statuses.

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use hloc::Color;

/// How a verb ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Exit status 0.
    Fine,
    /// Exit status 1: what was asked was found wrong or different, and has been said.
    Wrong,
}

const WRONG: u8 = 1;
const USAGE: u8 = 2;
/// `EX_SOFTWARE` of BSD's sysexits.h.
const INTERNAL: u8 = 70;

/// The command line asks for something that cannot be.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn error(message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Usage(message.into()))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The program cannot be processed, for a reason without a place in its text.
#[derive(Debug)]
pub(crate) struct Wrong(String);

impl Wrong {
    pub(crate) fn error(message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Wrong(message.into()))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// Runs `verb`, says on stderr what went wrong, and gives the exit status.
pub(crate) fn guard(color: Color, verb: impl FnOnce() -> anyhow::Result<Status>) -> ExitCode {
    // The default hook has said where on stderr; here it becomes the documented exit status.
    let outcome = catch_unwind(AssertUnwindSafe(verb));
    match outcome {
        Ok(Ok(Status::Fine)) => ExitCode::SUCCESS,
        Ok(Ok(Status::Wrong)) => ExitCode::from(WRONG),
        Ok(Err(error)) => report(&error, color),
        Err(_) => {
            say(
                "internal error: hloc panicked; please report this with the program that caused it",
            );
            ExitCode::from(INTERNAL)
        }
    }
}

fn report(error: &anyhow::Error, color: Color) -> ExitCode {
    if is_broken_pipe(error) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    if let Some(error) = error.downcast_ref::<hloc::Error>() {
        return report_library(error, color);
    }
    say(&format!("error: {error:#}"));
    ExitCode::from(if error.is::<Wrong>() { WRONG } else { USAGE })
}

fn report_library(error: &hloc::Error, color: Color) -> ExitCode {
    if !error.diagnostics().is_empty() {
        say(&error.render(color));
        return ExitCode::from(WRONG);
    }
    say(&format!("error: {error}"));
    if error.is_internal() {
        dump(error);
        return ExitCode::from(INTERNAL);
    }
    let usage =
        error.is_argument_mismatch() || error.is_invalid_option() || error.is_invalid_file();
    ExitCode::from(if usage { USAGE } else { WRONG })
}

/// Leaves the module of an internal error where it can be sent from.
fn dump(error: &hloc::Error) {
    let Some(text) = error.dumped_module() else {
        return;
    };
    let path = std::env::temp_dir().join(format!("hloc-dump-{}.hlo", std::process::id()));
    match std::fs::write(&path, text) {
        Ok(()) => say(&format!(
            "note: the module before is in {}; please report it",
            path.display()
        )),
        Err(error) => say(&format!("note: the module could not be dumped: {error}")),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Writes a line to stderr. If nobody listens there, there is no one left to tell.
pub(crate) fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

//! `hloc fmt`: canonical text.

use clap::Args;
use hloc::Compiler;

use crate::failure::Status;
use crate::input::ProgramFile;
use crate::options::EXIT_STATUSES;
use crate::output::print;

const HELP: &str = "Examples:
  hloc fmt model.hlo > canonical.hlo
  hloc fmt - < model.hlo

";

/// Arguments of `hloc fmt`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct FmtArgs {
    /// HLO text, `-` for stdin.
    file: String,
}

pub(crate) fn run(args: &FmtArgs) -> anyhow::Result<Status> {
    let (name, text) = ProgramFile::read(&args.file)?.into_text()?;
    let parsed = Compiler::new().parse(&name, text)?;
    print(&hloc_ir::print_module(&parsed.value))?;
    Ok(Status::Fine)
}

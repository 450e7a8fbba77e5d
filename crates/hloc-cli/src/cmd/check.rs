//! `hloc check`: parse and verify.

use clap::{Args, ValueEnum};
use hloc::{Color, Diagnostic, Source};
use hloc_diag::{render_json, render_text};

use crate::failure::{Status, say};
use crate::input::ProgramFile;
use crate::options::{EXIT_STATUSES, LanguageArgs};
use crate::output::{counted, print};

/// How diagnostics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, on stderr, with source lines and carets.
    Text,
    /// One JSON object a line, on stdout.
    Json,
}

const HELP: &str = "Examples:
  hloc check model.hlo
  hloc check model.hlo --lint --format json

";

/// Arguments of `hloc check`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct CheckArgs {
    /// HLO text, `-` for stdin.
    file: String,
    #[command(flatten)]
    language: LanguageArgs,
    /// How diagnostics are shown: for people on stderr, or as JSON, one a line, on stdout.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Also warn of what is valid but probably not meant so.
    #[arg(long)]
    lint: bool,
}

pub(crate) fn run(args: &CheckArgs, color: Color) -> anyhow::Result<Status> {
    let (name, text) = ProgramFile::read(&args.file)?.into_text()?;
    let compiler = args.language.compiler();
    let checked = compiler
        .parse(&name, text)
        .and_then(|parsed| compiler.verify(parsed));
    let verified = match checked {
        Ok(verified) => verified,
        Err(error) => {
            let Some(source) = error.program_text() else {
                return Err(error.into());
            };
            show(error.diagnostics(), source, args.format, color)?;
            return Ok(Status::Wrong);
        }
    };
    if args.lint {
        let warnings = hloc_verify::lint(&verified.value);
        show(&warnings, verified.source(), args.format, color)?;
    }
    if args.format == Format::Text {
        let computations = verified.value.computations.values();
        let instructions = computations.map(|each| each.instructions.len()).sum();
        print(&format!(
            "{name}: ok, {} in {}",
            counted(instructions, "instruction"),
            counted(verified.value.computations.len(), "computation")
        ))?;
    }
    Ok(Status::Fine)
}

fn show(
    diagnostics: &[Diagnostic],
    source: &Source,
    format: Format,
    color: Color,
) -> anyhow::Result<()> {
    match format {
        Format::Text => {
            for (at, diagnostic) in diagnostics.iter().enumerate() {
                if at > 0 {
                    say("");
                }
                say(&render_text(diagnostic, source, color));
            }
        }
        Format::Json => {
            for diagnostic in diagnostics {
                print(&render_json(diagnostic, source))?;
            }
        }
    }
    Ok(())
}

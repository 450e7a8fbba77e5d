//! `hloc check`: parse and verify.

use clap::{Args, ValueEnum};
use hloc::{Color, Diagnostic, Source};
use hloc_diag::{render_json, render_text};
use hloc_verify::{LINTS, LintOptions, lint_text};

use crate::failure::{Status, Usage, say};
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
  hloc check model.hlo --lint --allow unused-parameter

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
    /// A lint that is not told, by its code; may be repeated.
    #[arg(long, value_name = "CODE", requires = "lint")]
    allow: Vec<String>,
}

impl CheckArgs {
    /// Which lints are told.
    fn lint_options(&self) -> anyhow::Result<LintOptions> {
        let unknown = |code: &&String| !LINTS.contains(&code.as_str());
        if let Some(code) = self.allow.iter().find(unknown) {
            let message = format!("there is no lint `{code}`; there are {}", LINTS.join(", "));
            return Err(Usage::error(message));
        }
        Ok(LintOptions {
            allow: self.allow.clone(),
        })
    }
}

pub(crate) fn run(args: &CheckArgs, color: Color) -> anyhow::Result<Status> {
    let lint_options = args.lint_options()?;
    let (name, text) = ProgramFile::read(&args.file)?.into_text()?;
    let compiler = args.language.compiler()?;
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
        let warnings = lint_text(&verified.value, verified.source(), &lint_options);
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

//! The command line's verbs and the options they share.

use std::io::IsTerminal;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hloc::{Color, CompileOptions, Compiler, Dialect, PassSelection};

use crate::cmd;

/// Shown under every help.
pub(crate) const EXIT_STATUSES: &str = "Exit status: 0 fine; 1 the program is wrong or results differ; \
    2 wrong usage; 70 hloc is wrong.";

const EXAMPLES: &str = "Examples:
  hloc run examples/softmax.hlo --random 1      run on random inputs, print the results
  hloc check model.hlo                          all mistakes of a program at once
  hloc compile model.hlo --emit loops           the loop nests that it becomes

Exit status: 0 fine; 1 the program is wrong or results differ; 2 wrong usage; 70 hloc is wrong.";

/// Compiles HLO text to machine code of this computer, and runs it.
#[derive(Debug, Parser)]
#[command(name = "hloc", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options of every verb.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Global {
    /// Colors in diagnostics; `auto` uses them on a terminal.
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, global = true)]
    pub(crate) color: ColorChoice,
}

/// When diagnostics have colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Colors for stderr. `NO_COLOR` turns `auto` off, as no-color.org asks.
    pub(crate) fn on_stderr(self) -> Color {
        let colored = match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::io::stderr().is_terminal()
            }
        };
        if colored { Color::Always } else { Color::Never }
    }
}

/// What hloc can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Parse and verify; shows every mistake, not just the first.
    Check(cmd::check::CheckArgs),
    /// Print the canonical text; it parses back to the same module.
    Fmt(cmd::fmt::FmtArgs),
    /// Run passes and print the module.
    Opt(cmd::opt::OptArgs),
    /// Compile; write an executable, or what a stage makes of the program.
    Compile(cmd::compile::CompileArgs),
    /// Compile and run.
    Run(cmd::run::RunArgs),
    /// Measure how long compiling and running take.
    Bench(cmd::bench::BenchArgs),
    /// Print the paragraph about a diagnostic's code.
    Explain(cmd::explain::ExplainArgs),
    /// Print the table of opcodes: attributes, element types, accuracy, support.
    Ops(cmd::ops::OpsArgs),
}

/// The language that a program is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectChoice {
    /// HLO with implicit broadcasting on element-wise ops.
    Hloc,
    /// HLO as XLA takes it.
    Xla,
}

/// Options about the language.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LanguageArgs {
    /// The language: hloc's, with implicit broadcasting, or XLA's.
    #[arg(long, value_enum, default_value_t = DialectChoice::Hloc)]
    dialect: DialectChoice,
    /// Accept a `broadcast` whose dimensions are unsorted.
    #[arg(long)]
    permit_unsorted_broadcast: bool,
}

impl LanguageArgs {
    /// The options for this language, and what the environment says.
    pub(crate) fn compile_options(self) -> anyhow::Result<CompileOptions> {
        Ok(CompileOptions {
            dialect: match self.dialect {
                DialectChoice::Hloc => Dialect::Hloc,
                DialectChoice::Xla => Dialect::Xla,
            },
            permit_unsorted_broadcast: self.permit_unsorted_broadcast,
            ..CompileOptions::from_environment()?
        })
    }

    /// A compiler for this language.
    pub(crate) fn compiler(self) -> anyhow::Result<Compiler> {
        Ok(Compiler::new().options(self.compile_options()?))
    }
}

/// What `--passes` asks for: `all`, `none`, or names.
pub(crate) fn pass_selection(names: Option<&[String]>) -> PassSelection {
    match names {
        None => PassSelection::All,
        Some([name]) if name == "all" => PassSelection::All,
        Some([name]) if name == "none" => PassSelection::None,
        Some(names) => PassSelection::Named(names.to_vec()),
    }
}

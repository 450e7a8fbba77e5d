//! One module a verb: its arguments and what it does.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod ops;
pub(crate) mod opt;
pub(crate) mod run;

use crate::failure::Status;
use crate::options::{Cli, Verb};

/// Runs the verb that the command line names.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Status> {
    let color = cli.global.color.on_stderr();
    match cli.verb {
        Verb::Check(args) => check::run(&args, color),
        Verb::Fmt(args) => fmt::run(&args),
        Verb::Opt(args) => opt::run(&args),
        Verb::Compile(args) => compile::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Ops(args) => ops::run(&args),
    }
}

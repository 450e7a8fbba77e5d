//! The command line of hloc.
//!
//! Results go to stdout, diagnostics to stderr. Exit status: 0 fine, 1 the program is wrong or results
//! differ, 2 wrong usage, 70 hloc is wrong.

mod build;
mod choices;
mod cmd;
mod failure;
mod graph;
mod input;
mod options;
mod output;
mod profiling;
mod progress;
mod values;

use std::process::ExitCode;

use clap::Parser;

use crate::options::Cli;

/// A tenth of compiling is asking for memory and giving it back: this takes half as long about it as the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let color = cli.global.color.on_stderr();
    failure::guard(color, || cmd::run(cli))
}

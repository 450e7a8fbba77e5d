//! `hloc opt`: passes one by one.

use clap::Args;
use hloc::Compiler;
use hloc_passes::{PASSES, pass_named};

use crate::failure::{Status, Usage};
use crate::input::ProgramFile;
use crate::options::{EXIT_STATUSES, LanguageArgs, pass_selection};
use crate::output::{aligned, print};

const HELP: &str = "Examples:
  hloc opt model.hlo --passes legalize-broadcast,dce
  hloc opt model.hlo --print-after all
  hloc opt --list-passes

";

/// Arguments of `hloc opt`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct OptArgs {
    /// HLO text, `-` for stdin.
    #[arg(required_unless_present = "list_passes")]
    file: Option<String>,
    /// The passes in order, comma separated; `all` is the default pipeline, `none` only what lowering
    /// needs.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    passes: Option<Vec<String>>,
    /// Also print the module after this pass, or after each.
    #[arg(long, value_name = "NAME|all")]
    print_after: Option<String>,
    /// List the passes and what they do.
    #[arg(long)]
    list_passes: bool,
    #[command(flatten)]
    language: LanguageArgs,
}

pub(crate) fn run(args: &OptArgs) -> anyhow::Result<Status> {
    if args.list_passes {
        print(&aligned(&pass_rows()))?;
        return Ok(Status::Fine);
    }
    let path = args
        .file
        .as_deref()
        .ok_or_else(|| Usage::error("no file is given"))?;
    let wanted = args.print_after.as_deref();
    if let Some(name) = wanted.filter(|name| *name != "all" && pass_named(name).is_none()) {
        return Err(Usage::error(format!(
            "no pass is named `{name}`; there are {}",
            pass_names()
        )));
    }
    let (name, text) = ProgramFile::read(path)?.into_text()?;
    let mut options = args.language.compile_options()?;
    options.passes = pass_selection(args.passes.as_deref());
    let compiler = Compiler::new().options(options);
    let verified = compiler.verify(compiler.parse(&name, text)?)?;
    let mut dumps = String::new();
    let optimized = compiler.optimize_observed(verified, &mut |pass, module| {
        if wanted.is_some_and(|wanted| wanted == "all" || wanted == pass) {
            let text = hloc_ir::print_module(module);
            dumps.push_str(&format!("// after {pass}\n{text}\n"));
        }
    })?;
    if !dumps.is_empty() {
        print(&dumps)?;
        print("// result\n")?;
    }
    print(&hloc_ir::print_module(&optimized.value))?;
    Ok(Status::Fine)
}

fn pass_rows() -> Vec<Vec<String>> {
    let row =
        |pass: &&dyn hloc_passes::Pass| vec![pass.name().to_owned(), pass.summary().to_owned()];
    PASSES.iter().map(row).collect()
}

fn pass_names() -> String {
    let names: Vec<&str> = PASSES.iter().map(|pass| pass.name()).collect();
    names.join(", ")
}

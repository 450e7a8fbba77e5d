//! `hloc compile`: the whole pipeline, or the product of one stage.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::{Args, ValueEnum};
use hloc::{Compiler, Executable};
use hloc_jit::JitError;
use hloc_loops::ir::{Kernel, Program};
use hloc_passes::{Fusion, Pass, fusion_refusals};
use hloc_verify::VerifiedModule;

use crate::build::{BuildArgs, build, build_observed};
use crate::choices::{Passed, choices};
use crate::failure::{Status, Usage, Wrong, say};
use crate::graph::graph;
use crate::input::ProgramFile;
use crate::options::EXIT_STATUSES;
use crate::output::{aligned, counted, print};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// HLO after the passes.
    Hlo,
    /// Loop nests, buffers and steps.
    Loops,
    /// Cranelift's representation of each kernel.
    Clif,
    /// Machine instructions of each kernel.
    Asm,
    /// An object file with one function a kernel.
    Obj,
    /// The optimized entry computation as a graph for Graphviz.
    Graph,
}

const HELP: &str = "Examples:
  hloc compile model.hlo                        writes model.hloc, which `hloc run` takes
  hloc compile model.hlo --stats                what each kernel computes and how
  hloc compile model.hlo --emit asm
  hloc compile model.hlo --emit obj -o model.o
  hloc compile model.hlo --emit graph | dot -Tsvg > model.svg

";

/// Arguments of `hloc compile`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct CompileArgs {
    /// HLO text, `-` for stdin.
    file: String,
    /// Where to write; text goes to stdout without it, an executable beside FILE with suffix `.hloc`.
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
    /// Stop after a stage and write what it made.
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// Say what was built, kernel by kernel, with what was chosen for each and what was not joined; on stderr
    /// if `--emit` is given.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &CompileArgs) -> anyhow::Result<Status> {
    let file = ProgramFile::read(&args.file)?;
    let name = file.name.clone();
    let compiler = args.build.compiler()?;
    let Some(emit) = args.emit else {
        let path = output_path(args)?;
        let (executable, about) = built_with_choices(args, &compiler, file)?;
        let mut bytes = Vec::new();
        executable.save(&mut bytes)?;
        write_file(&path, &bytes)?;
        print(&(built(&format!("{name} -> {path}"), &executable) + &about))?;
        return Ok(Status::Fine);
    };
    let needs_code = match emit {
        Emit::Hlo | Emit::Graph | Emit::Loops => args.stats,
        Emit::Clif | Emit::Asm | Emit::Obj => true,
    };
    if !needs_code {
        let text = front_text(emit, &compiler, file)?;
        return deliver(args, text.as_bytes());
    }
    let (executable, about) = built_with_choices(args, &compiler, file)?;
    let bytes = product(emit, &compiler, &executable)?;
    if args.stats {
        say((built(&name, &executable) + &about).trim_end());
    }
    deliver(args, &bytes)
}

/// The executable and, if `--stats` asks, what was chosen for its kernels.
fn built_with_choices(
    args: &CompileArgs,
    compiler: &Compiler,
    file: ProgramFile,
) -> anyhow::Result<(Executable, String)> {
    if !args.stats {
        let built = build(compiler, file, false)?;
        return Ok((built.executable, String::new()));
    }
    let (mut before, mut refusals, mut passed) = (None, Vec::new(), Vec::new());
    let mut observer = |pass: &str, module: &VerifiedModule| {
        if pass == Fusion.name()
            && let Some(before) = &before
        {
            refusals = fusion_refusals(before);
        }
        before = Some(module.clone());
        passed.push(Passed::new(pass, module));
    };
    let built = build_observed(compiler, file, false, &mut observer)?;
    let about = choices(&built.executable, &passed, &refusals);
    Ok((built.executable, about))
}

/// What the stages before the emitter make; so programs that it refuses can be looked at.
fn front_text(emit: Emit, compiler: &Compiler, file: ProgramFile) -> anyhow::Result<String> {
    let (name, text) = file.into_text()?;
    let verified = compiler.verify(compiler.parse(&name, text)?)?;
    let optimized = compiler.optimize(verified)?;
    match emit {
        Emit::Graph => Ok(graph(&optimized.value)),
        Emit::Loops => Ok(compiler.lower(optimized)?.value.program.to_string()),
        Emit::Hlo | Emit::Clif | Emit::Asm | Emit::Obj => {
            Ok(hloc_ir::print_module(&optimized.value))
        }
    }
}

fn product(emit: Emit, compiler: &Compiler, executable: &Executable) -> anyhow::Result<Vec<u8>> {
    let options = compiler.jit_options();
    let program = executable.program();
    let text = match emit {
        Emit::Hlo => hloc_ir::print_module(executable.module()),
        Emit::Graph => graph(executable.module()),
        Emit::Loops => program.to_string(),
        Emit::Clif => each_kernel(program, |kernel| hloc_jit::clif_text(kernel, &options))?,
        Emit::Asm => each_kernel(program, |kernel| hloc_jit::asm_text(kernel, &options))?,
        Emit::Obj => {
            return hloc_jit::object_bytes(program, &options).map_err(refused);
        }
    };
    Ok(text.into_bytes())
}

fn each_kernel(
    program: &Program,
    show: impl Fn(&Kernel) -> Result<String, JitError>,
) -> anyhow::Result<String> {
    let texts: Result<Vec<String>, JitError> = program.kernels.values().map(show).collect();
    Ok(texts.map_err(refused)?.join("\n"))
}

fn refused(error: JitError) -> anyhow::Error {
    Wrong::error(error.to_string())
}

/// Writes to the file asked for, or to stdout.
fn deliver(args: &CompileArgs, bytes: &[u8]) -> anyhow::Result<Status> {
    match (&args.output, args.emit) {
        (Some(path), _) => write_file(path, bytes)?,
        (None, Some(Emit::Obj)) => write_file(&with_suffix(args, "o")?, bytes)?,
        (None, _) => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(bytes)?;
            stdout.flush()?;
        }
    }
    Ok(Status::Fine)
}

fn write_file(path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write `{path}`"))
}

fn output_path(args: &CompileArgs) -> anyhow::Result<String> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None => with_suffix(args, "hloc"),
    }
}

/// The input's path with another suffix.
fn with_suffix(args: &CompileArgs, suffix: &str) -> anyhow::Result<String> {
    if args.file == "-" {
        return Err(Usage::error(
            "standard input has no name: say where to write with `-o OUT`",
        ));
    }
    let path = Path::new(&args.file).with_extension(suffix);
    if path == Path::new(&args.file) {
        return Err(Usage::error(format!(
            "`{}` would be overwritten: say where to write with `-o OUT`",
            args.file
        )));
    }
    Ok(path.to_string_lossy().into_owned())
}

/// How many kernels have vectors of each width, and why others do not have the widest.
fn widths(executable: &Executable) -> String {
    let (mut bits, mut refusals) = (BTreeMap::new(), BTreeMap::new());
    for width in executable.widths() {
        *bits.entry(width.bits).or_insert(0usize) += 1;
        if let Some(refusal) = width.refusal {
            *refusals.entry(refusal).or_insert(0usize) += 1;
        }
    }
    let counts = bits.iter().rev().map(|(bits, count)| {
        let kernels = counted(*count, "kernel");
        format!("{kernels} with {bits} bits")
    });
    let reasons = refusals.iter().map(|(reason, count)| {
        let kernels = counted(*count, "kernel");
        format!("{kernels} kept narrow: {reason}")
    });
    counts.chain(reasons).collect::<Vec<_>>().join(", ")
}

/// What was built, in a few lines.
fn built(title: &str, executable: &Executable) -> String {
    let (stats, times) = (executable.stats(), executable.times());
    let ms = |time: std::time::Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let rows = [
        (
            "instructions",
            format!(
                "{} -> {}, {}",
                stats.instructions,
                counted(stats.kernels, "kernel"),
                counted(stats.library_calls, "library call")
            ),
        ),
        (
            "buffers",
            format!(
                "{}, peak {} bytes, constants {} bytes",
                stats.buffers, stats.peak_buffer_bytes, stats.constant_bytes
            ),
        ),
        ("machine code", format!("{} bytes", executable.code_bytes())),
        ("vectors", widths(executable)),
        (
            "time",
            format!(
                "{} (parse {}, verify {}, passes {}, lower {}, emit {})",
                ms(times.total()),
                ms(times.parse),
                ms(times.verify),
                ms(times.passes),
                ms(times.lower),
                ms(times.emit)
            ),
        ),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![format!("  {name}"), value])
        .collect();
    format!("{title}\n{}", aligned(&rows))
}

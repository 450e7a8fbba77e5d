//! What the compiler chose for each kernel, and what it did not join: `hloc compile --stats`.

use hloc::{Executable, StageKind};
use hloc_ir::{Module, Op};
use hloc_loops::ir::{Block, Kernel, LoopKind, Program, Step, Stmt};
use hloc_passes::FusionRefusal;

use crate::output::{aligned, counted};

/// The most rows of a table.
const MAX_ROWS: usize = 40;

/// The most loops of a kernel that are listed.
const MAX_LOOPS: usize = 8;

/// A pass that has run.
pub(crate) struct Passed {
    name: String,
    /// Instructions of the module after it.
    instructions: usize,
    /// Loops of the module after it.
    loops: usize,
}

impl Passed {
    pub(crate) fn new(name: &str, module: &Module) -> Passed {
        let computations = module.computations.values();
        let instructions = computations.flat_map(|each| each.instructions.values());
        let loops = instructions.filter(|each| matches!(each.op, Op::While { .. }));
        let computations = module.computations.values();
        Passed {
            name: name.to_owned(),
            loops: loops.count(),
            instructions: computations.map(|each| each.instructions.len()).sum(),
        }
    }
}

/// Tables of the passes, of the kernels and library calls, and of what fusions left out.
pub(crate) fn choices(
    executable: &Executable,
    passed: &[Passed],
    refusals: &[FusionRefusal],
) -> String {
    let mut text = passes(executable, passed);
    text.push_str(&kernels(executable));
    text.push_str(&calls(executable.program()));
    text.push_str(&split_fusions(executable));
    if !refusals.is_empty() {
        text.push_str("not joined with the kernels that use it\n");
        let row = |each: &FusionRefusal| {
            let about = format!("  {} ({})", each.instruction, each.opcode.name());
            vec![about, each.reason.clone()]
        };
        text.push_str(&listed(refusals.iter().map(row).collect()));
    }
    text
}

/// How long each pass took and what it left.
fn passes(executable: &Executable, passed: &[Passed]) -> String {
    let times = executable.stage_times();
    let times = times.iter().filter(|each| each.kind == StageKind::Pass);
    let mut rows = vec![["  pass", "time", "leaves", ""].map(str::to_owned).to_vec()];
    for (pass, time) in passed.iter().zip(times) {
        let loops = match pass.loops {
            0 => String::new(),
            loops => counted(loops, "loop"),
        };
        rows.push(vec![
            format!("  {}", pass.name),
            format!("{:.3} ms", time.time.as_secs_f64() * 1e3),
            counted(pass.instructions, "instruction"),
            loops,
        ]);
    }
    if rows.len() == 1 {
        return String::new();
    }
    listed(rows)
}

fn split_fusions(executable: &Executable) -> String {
    let split = executable.program().split_fusions.iter();
    let rows = split.map(|(of, reason)| {
        let computation = executable.module().computations.get(of.computation);
        let instruction = computation.and_then(|each| each.instructions.get(of.instr));
        let name = instruction.map_or_else(String::new, |each| each.name.to_string());
        vec![format!("  {name}"), reason.clone()]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("fusions in several steps\n{}", listed(rows))
}

fn kernels(executable: &Executable) -> String {
    let program = executable.program();
    if program.kernels.is_empty() {
        return String::new();
    }
    let widths = executable.widths();
    let rows = program.kernels.iter().zip(&widths).zip(executable.chunks());
    let rows = rows.map(|(((_, kernel), width), chunks)| {
        let mut notes = Vec::new();
        if kernel.name.contains(".partial") {
            notes.push("a stage of a reduction".to_owned());
        }
        if kernel.name.starts_with("while.") {
            notes.push("a whole loop".to_owned());
        }
        if width.is_streaming {
            notes.push("writes past the caches".to_owned());
        }
        if chunks > 1 {
            notes.push(counted(chunks, "chunk"));
        }
        if let Some(refusal) = &width.refusal {
            notes.push(format!("kept narrow: {refusal}"));
        }
        vec![
            format!("  {}", kernel.name),
            computed(executable, kernel),
            loops(kernel),
            format!("{} bits", width.bits),
            notes.join(", "),
        ]
    });
    let heading = ["  kernel", "computes", "loops", "vectors", ""];
    let mut all = vec![heading.map(str::to_owned).to_vec()];
    all.extend(rows);
    listed(all)
}

/// The opcodes of what a kernel computes, each once.
fn computed(executable: &Executable, kernel: &Kernel) -> String {
    let mut opcodes: Vec<&str> = Vec::new();
    for of in &kernel.instructions {
        let computation = executable.module().computations.get(of.computation);
        let instruction = computation.and_then(|each| each.instructions.get(of.instr));
        let Some(instruction) = instruction else {
            continue;
        };
        let opcode = instruction.op.opcode().name();
        let says_little = ["parameter", "constant", "fusion", "broadcast", "reshape"];
        if !says_little.contains(&opcode) && !opcodes.contains(&opcode) {
            opcodes.push(opcode);
        }
    }
    let shown = opcodes.len().min(6);
    let rest = match opcodes.len() - shown {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    opcodes[..shown].join(" ") + &rest
}

/// The loops of a kernel from the outside: `64 parallel (512 vector, 512 vector)`.
fn loops(kernel: &Kernel) -> String {
    let mut count = 0;
    let text = loops_of(kernel, &kernel.body, &mut count);
    if count > MAX_LOOPS {
        format!("{count} loops")
    } else {
        text
    }
}

fn loops_of(kernel: &Kernel, block: &Block, count: &mut usize) -> String {
    let mut texts = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => {}
            Stmt::For(each) => {
                *count += 1;
                let kind = match each.kind {
                    LoopKind::Serial => "",
                    LoopKind::Parallel => " parallel",
                    LoopKind::Vector => " vector",
                };
                let extent = kernel.vars[each.var].extent;
                let inner = loops_of(kernel, &each.body, count);
                texts.push(match inner.is_empty() {
                    true => format!("{extent}{kind}"),
                    false => format!("{extent}{kind} ({inner})"),
                });
            }
            Stmt::If(each) => {
                for block in [&each.then, &each.otherwise] {
                    let inner = loops_of(kernel, block, count);
                    if !inner.is_empty() {
                        texts.push(inner);
                    }
                }
            }
        }
    }
    texts.join(", ")
}

fn calls(program: &Program) -> String {
    let mut rows = Vec::new();
    for step in program.numbered_steps() {
        match step {
            Step::Library(step) => {
                let shapes = |ids: &[hloc_loops::ir::BufferId]| {
                    let shapes = ids.iter().map(|id| program.buffers[*id].shape.to_string());
                    shapes.collect::<Vec<_>>().join(", ")
                };
                rows.push(vec![
                    format!("  {}", step.call.name()),
                    format!("{} -> {}", shapes(&step.inputs), shapes(&step.outputs)),
                ]);
            }
            Step::While {
                trips: Some(trips), ..
            } => rows.push(vec!["  loop".to_owned(), format!("{trips} iterations")]),
            Step::While { trips: None, .. } => {
                rows.push(vec!["  loop".to_owned(), "until a condition".to_owned()]);
            }
            Step::Kernel { .. } | Step::Copy { .. } | Step::Swap(..) | Step::Conditional { .. } => {
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("library calls and loops\n{}", listed(rows))
}

/// The table, without what is too much.
fn listed(mut rows: Vec<Vec<String>>) -> String {
    let rest = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let mut text = aligned(&rows);
    if rest > 0 {
        text.push_str(&format!("  and {rest} more\n"));
    }
    text
}

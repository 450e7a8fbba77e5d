//! Where the run time of a program goes.

mod instruction;
mod json;
mod record;
mod report;
mod roofline;
mod trace;

use std::time::Duration;

use hloc_diag::{Source, Span};
use hloc_ir::Module;
use hloc_loops::ir::{InstrRef, Step};
use hloc_runtime::{Event, StepTimes};

pub use hloc_loops::Work;
pub(crate) use record::Recorded;
pub use roofline::Roofline;

use crate::StageTime;

/// How a program is profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileOptions {
    /// Runs are repeated until they have taken this long, at least three times. A program whose first run takes
    /// more than a second is not run again.
    pub min_time: Duration,
    /// The most runs.
    pub max_runs: u64,
    /// Whether to keep when each step of the first three runs began and ended, for [`Profile::trace`].
    pub events: bool,
}

impl Default for ProfileOptions {
    /// Half a second, at most 10,000 runs, no events.
    fn default() -> ProfileOptions {
        ProfileOptions {
            min_time: Duration::from_millis(500),
            max_runs: 10_000,
            events: false,
        }
    }
}

/// How often something ran and how long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// How often it ran, in all runs of the program together.
    pub count: u64,
    /// All of them together.
    pub total: Duration,
    /// The middle one.
    pub median: Duration,
    /// The shortest one.
    pub least: Duration,
}

impl Timing {
    fn of(times: &StepTimes) -> Timing {
        Timing {
            count: times.count,
            total: times.total,
            median: times.median(),
            least: times.least(),
        }
    }
}

/// Where the time of some runs of a program went. `Display` shows it as tables.
///
/// [`Executable::profile`](crate::Executable::profile) makes it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The runs that were measured. The first run, which touches new memory, is only among them if there was
    /// no other.
    pub runs: Timing,
    /// Runs that are left out, for they took more than twice as long as the shortest: something else had the
    /// processor.
    pub disturbed_runs: u64,
    /// How long the first run took.
    pub first_run: Duration,
    /// Threads that a run may use.
    pub threads: usize,
    /// Kernels, library calls and copies that ran, the one that took longest in all first.
    pub steps: Vec<ProfiledStep>,
    /// Loops of steps that ran, in the order of the program. A loop that is part of a kernel is not among them.
    pub loops: Vec<ProfiledLoop>,
    /// Time of all runs that is in none of the steps: binding arrays, walking steps, reading the clock.
    pub outside: Duration,
    /// What the machine can do at best, to compare with; `None` until it is measured.
    pub roofline: Option<Roofline>,
    stages: Vec<StageTime>,
    events: Vec<Event>,
    events_left_out: u64,
    /// What events may name, by number of the step.
    numbered: Vec<String>,
}

/// A kernel, a library call or a copy.
#[derive(Clone, Debug)]
pub struct ProfiledStep {
    /// Its number in the program.
    pub number: usize,
    /// `kernel`, `copy`, or the name of a library routine: `dot`.
    pub kind: &'static str,
    /// Name of the kernel, or of the instruction that a routine computes.
    pub name: String,
    /// How often it ran and how long it took.
    pub timing: Timing,
    /// What one run of it reads, writes and computes.
    pub work: Work,
    /// The HLO instructions that it computes.
    pub instructions: Vec<ProfiledInstruction>,
    /// Bits of its vectors, if it is a kernel.
    pub vector_bits: Option<u32>,
    /// How many chunks it is split into, which run on several threads.
    pub chunks: usize,
    /// The innermost loop around it, as position in [`Profile::loops`].
    pub in_loop: Option<usize>,
}

impl ProfiledStep {
    /// Bytes read and written in a second, by the median time; `None` if it took no time.
    pub fn bytes_per_second(&self) -> Option<f64> {
        per_second(self.work.bytes(), self.timing.median)
    }

    /// Operations on floats in a second, by the median time; `None` if they are not known.
    pub fn operations_per_second(&self) -> Option<f64> {
        per_second(self.work.operations?, self.timing.median)
    }
}

fn per_second(count: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| count as f64 / time.as_secs_f64())
}

/// An HLO instruction, after the passes, that a step computes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfiledInstruction {
    /// Its name.
    pub name: String,
    /// Its opcode: `add`.
    pub opcode: &'static str,
    /// Its shape: `f32[2,3]`.
    pub shape: String,
    /// The front end's path to it (`op_name` of its metadata), if there is one.
    pub op_name: Option<String>,
    /// File and line of the front end's program, if its metadata tells: `model.py:12`.
    pub source: Option<String>,
    /// Its line in the HLO text from 1, or that of the instruction that a pass made it from; `None` until
    /// [`Profile::locate`] is called.
    pub line: Option<usize>,
    /// Its part of the step's work, as estimated from numbers of elements and the cost of ops: all parts of a
    /// step add up to 1.
    pub part: f64,
    span: Span,
}

/// A loop that runs steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfiledLoop {
    /// Name of the `while` instruction.
    pub name: String,
    /// How often its body ran in all runs of the program together.
    pub iterations: u64,
    /// How often the loop ran and how long it took, with everything in it.
    pub timing: Timing,
    /// The innermost loop around it, as position in [`Profile::loops`].
    pub in_loop: Option<usize>,
}

impl Profile {
    pub(crate) fn new(
        executable: &hloc_runtime::Executable,
        module: &Module,
        stages: Vec<StageTime>,
        recorded: Recorded,
    ) -> Profile {
        let program = executable.program();
        let mut collector = Collector {
            executable,
            module,
            recorded: &recorded,
            chunks: executable.num_chunks(),
            next: 0,
            numbered: Vec::new(),
            steps: Vec::new(),
            loops: Vec::new(),
        };
        collector.steps(&program.steps, None);
        let Collector {
            mut steps,
            loops,
            numbered,
            ..
        } = collector;
        let inside: Duration = steps.iter().map(|step| step.timing.total).sum();
        steps.sort_by_key(|step| std::cmp::Reverse(step.timing.total));
        Profile {
            runs: Timing::of(&recorded.runs),
            disturbed_runs: recorded.disturbed_runs,
            first_run: recorded.first_run,
            threads: executable.threads(),
            steps,
            loops,
            outside: recorded.runs.total.saturating_sub(inside),
            roofline: None,
            stages,
            events: recorded.events,
            events_left_out: recorded.events_left_out,
            numbered,
        }
    }

    /// Fills in the line of each instruction in the text that the program was compiled from, and puts the
    /// instructions of each step in the order of their lines.
    pub fn locate(&mut self, source: &Source) {
        for step in &mut self.steps {
            for instruction in &mut step.instructions {
                if !instruction.span.is_none() {
                    let position = source.position(instruction.span.start);
                    instruction.line = Some(position.line);
                }
            }
            step.instructions
                .sort_by_key(|instruction| instruction.line);
        }
    }
}

/// Walks the steps of a program in the order of their numbers.
struct Collector<'a> {
    executable: &'a hloc_runtime::Executable,
    module: &'a Module,
    recorded: &'a Recorded,
    chunks: Vec<usize>,
    next: usize,
    numbered: Vec<String>,
    steps: Vec<ProfiledStep>,
    loops: Vec<ProfiledLoop>,
}

impl Collector<'_> {
    fn steps(&mut self, steps: &[Step], in_loop: Option<usize>) {
        for step in steps {
            self.step(step, in_loop);
        }
    }

    fn step(&mut self, step: &Step, in_loop: Option<usize>) {
        let number = self.next;
        self.next += 1;
        let program = self.executable.program();
        match step {
            Step::Kernel { kernel, .. } => {
                let bits = self.executable.kernels().width(*kernel).bits;
                let kernel = &program.kernels[*kernel];
                let found = self.leaf(number, in_loop, step, "kernel", &kernel.instructions);
                self.add(found.map(|found| ProfiledStep {
                    name: kernel.name.clone(),
                    vector_bits: Some(bits),
                    ..found
                }));
                self.numbered.push(kernel.name.clone());
            }
            Step::Library(call) => {
                let computed = call.instruction.as_slice();
                let found = self.leaf(number, in_loop, step, call.call.name(), computed);
                let name = self.name_of(call.instruction, call.call.name());
                self.numbered.push(name.clone());
                self.add(found.map(|found| ProfiledStep { name, ..found }));
            }
            Step::Copy { from, to } => {
                let name = format!("{from} to {to}");
                let found = self.leaf(number, in_loop, step, "copy", &[]);
                self.numbered.push(format!("copy {name}"));
                self.add(found.map(|found| ProfiledStep { name, ..found }));
            }
            Step::Swap(a, b) => self.numbered.push(format!("exchange {a} and {b}")),
            Step::While {
                condition,
                body,
                instruction,
                ..
            } => {
                let name = self.name_of(*instruction, "while");
                self.numbered.push(name.clone());
                let own = self.recorded.step(number);
                let position = own.map_or(in_loop, |times| {
                    self.loops.push(ProfiledLoop {
                        name,
                        iterations: times.iterations,
                        timing: Timing::of(times),
                        in_loop,
                    });
                    Some(self.loops.len() - 1)
                });
                self.steps(condition, position);
                self.steps(body, position);
            }
            Step::Conditional { branches, .. } => {
                self.numbered.push("conditional".to_owned());
                for branch in branches {
                    self.steps(branch, in_loop);
                }
            }
        }
    }

    fn add(&mut self, step: Option<ProfiledStep>) {
        self.steps.extend(step);
    }

    /// A step that runs no others, without its name; `None` if it never ran.
    fn leaf(
        &self,
        number: usize,
        in_loop: Option<usize>,
        step: &Step,
        kind: &'static str,
        instructions: &[InstrRef],
    ) -> Option<ProfiledStep> {
        let times = self.recorded.step(number)?;
        Some(ProfiledStep {
            number,
            kind,
            name: String::new(),
            timing: Timing::of(times),
            work: Work::of_step(self.executable.program(), step),
            instructions: instruction::computed(self.module, instructions),
            vector_bits: None,
            chunks: self.chunks.get(number).copied().unwrap_or(1),
            in_loop,
        })
    }

    fn name_of(&self, instruction: Option<InstrRef>, other: &str) -> String {
        let found = instruction.and_then(|each| instruction::get(self.module, each));
        found.map_or_else(|| other.to_owned(), |found| found.name.to_string())
    }
}

//! Counted loops of steps become one kernel with the loop inside.
//!
//! ```text
//! while (10000 times)                  kernel @while(state: f32[16], counter: s32[]) {
//!   kernel @add(counter)        →        for t in 0..10000 serial {
//!   kernel @mul(state)                     ... body of @add
//!                                          ... body of @mul
//!                                        }
//!                                      }
//! ```
//!
//! An iteration then costs what it computes, without a call per kernel. A loop is merged if it is known how
//! often it runs, if its body only runs kernels, copies and exchanges, and if an iteration is little work:
//! large ones gain nothing and would lose their threads. Where buffers are exchanged after each iteration,
//! the merged loop does two iterations at a time, the second with the buffers in each other's place.

use std::collections::{BTreeMap, BTreeSet};

use hloc_ir::Arena;

use super::copy::Copier;
use super::interchange::{Counted, Interchanged, interchanged, is_scalar};
use super::merge::{Call, merge};
use super::unused::{
    Reads, add_reads, all_reads, clean_up_kernels, drop_dead_steps, drop_unused_kernels,
    empty_unused_buffers, skip_copies,
};
use super::{Names, count_statements};
use crate::index::Index;
use crate::ir::{
    Access, Block, BufferId, Expr, For, InstrRef, Kernel, KernelId, LoopKind, Param, ParamId,
    Program, Step, Stmt, Value, Var, VarId,
};

/// Buffers that are exchanged after each iteration.
pub(super) type Swaps = Vec<(BufferId, BufferId)>;

/// The most scalar statements that one iteration may run.
const MAX_WORK: u64 = 4096;

/// The most statements of a merged kernel.
const MAX_STATEMENTS: usize = 400;

/// Makes kernels of the loops that permit it; gives whether there were any.
pub(crate) fn merge_loops(program: &mut Program) -> bool {
    let steps = std::mem::take(&mut program.steps);
    let before = program.kernels.len();
    let reads = all_reads(program, &steps);
    program.steps = merged_steps(program, steps, &reads);
    let changed = program.kernels.len() > before;
    if changed {
        drop_dead_steps(program);
        skip_copies(program);
        clean_up_kernels(program);
        drop_unused_kernels(program);
        empty_unused_buffers(program);
    }
    changed
}

/// `reads` says how often each buffer is read in the whole program.
fn merged_steps(program: &mut Program, steps: Vec<Step>, reads: &Reads) -> Vec<Step> {
    let mut merged = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Step::While {
                condition,
                predicate,
                body,
                trips,
                instruction,
            } => {
                let mut inside = Reads::new();
                add_reads(program, &body, &mut inside);
                add_reads(program, &condition, &mut inside);
                *inside.entry(predicate).or_default() += 1;
                let body = merged_steps(program, body, reads);
                let is_read = |id: BufferId| reads.get(&id) > inside.get(&id);
                match trips.and_then(|trips| merged_loop(program, &body, trips, &is_read)) {
                    Some(steps) => append(program, &mut merged, steps),
                    None => merged.push(Step::While {
                        condition,
                        predicate,
                        body,
                        trips,
                        instruction,
                    }),
                }
            }
            Step::Conditional { index, branches } => {
                let branches = branches.into_iter();
                let branches = branches
                    .map(|steps| merged_steps(program, steps, reads))
                    .collect();
                merged.push(Step::Conditional { index, branches });
            }
            Step::Kernel { .. } | Step::Library(_) | Step::Copy { .. } | Step::Swap(..) => {
                merged.push(step);
            }
        }
    }
    merged
}

/// Appends steps; the first is joined with the kernels before it that make what it reads.
fn append(program: &mut Program, steps: &mut Vec<Step>, added: Vec<Step>) {
    for step in added {
        steps.push(step);
        while let [.., before, last] = steps.as_slice()
            && let (Some(before), Some(last)) = (call(program, before), call(program, last))
            && let Some((kernel, args)) = merge(before, last)
        {
            let kernel = program.kernels.push(kernel);
            steps.truncate(steps.len() - 2);
            steps.push(Step::Kernel { kernel, args });
        }
    }
}

fn call<'p>(program: &'p Program, step: &'p Step) -> Option<Call<'p>> {
    match step {
        Step::Kernel { kernel, args } => Some((&program.kernels[*kernel], args)),
        Step::Library(_)
        | Step::Copy { .. }
        | Step::Swap(..)
        | Step::While { .. }
        | Step::Conditional { .. } => None,
    }
}

/// The steps that stand for `trips` iterations of `body`. `is_read` says of which buffers something outside of the
/// loop reads what the loop leaves in them.
fn merged_loop(
    program: &mut Program,
    body: &[Step],
    trips: u64,
    is_read: &dyn Fn(BufferId) -> bool,
) -> Option<Vec<Step>> {
    let (iteration, swaps) = split_swaps(body)?;
    let trips = i64::try_from(trips).ok().filter(|trips| *trips > 0)?;
    let counted = Counted {
        program,
        iteration,
        swaps: &swaps,
        trips,
    };
    if let Some(Interchanged {
        kernel,
        args,
        scalars,
    }) = interchanged(&counted, is_read)
    {
        // The kernel reads scalars as they are before the loop.
        let mut steps = vec![pushed(program, kernel, args)];
        let rest: Vec<Step> = scalars.iter().map(|at| iteration[*at].clone()).collect();
        let swaps = swaps.into_iter().filter(|(a, _)| is_scalar(program, *a));
        if !rest.is_empty() {
            steps.append(&mut whole_loop(program, &rest, &swaps.collect(), trips)?);
        }
        return Some(steps);
    }
    if iteration.is_empty() || !is_small(program, iteration) {
        return None;
    }
    whole_loop(program, iteration, &swaps, trips)
}

/// The step that runs a new kernel, whose name becomes unique.
fn pushed(program: &mut Program, mut kernel: Kernel, args: Vec<BufferId>) -> Step {
    let is_taken = |name: &str| program.kernels.values().any(|known| known.name == name);
    let mut number = 1;
    let mut name = kernel.name.clone();
    while is_taken(&name) {
        name = format!("{}.{number}", kernel.name);
        number += 1;
    }
    kernel.name = name;
    let kernel = program.kernels.push(kernel);
    Step::Kernel { kernel, args }
}

/// One kernel with the loop inside, and exchanges if the last iteration leaves buffers exchanged.
fn whole_loop(
    program: &mut Program,
    iteration: &[Step],
    swaps: &Swaps,
    trips: i64,
) -> Option<Vec<Step>> {
    let mut merger = Merger::new(program);
    let same = |buffer: BufferId| buffer;
    let swapped = |buffer: BufferId| swapped(swaps, buffer);
    let mut rounds = Vec::new();
    let mut block = Block::new();
    if swaps.is_empty() {
        merger.iteration(iteration, &same, &mut rounds);
        block.push(merger.repeated(trips, rounds));
    } else {
        if trips > 1 {
            merger.iteration(iteration, &same, &mut rounds);
            merger.iteration(iteration, &swapped, &mut rounds);
            block.push(merger.repeated(trips / 2, rounds));
        }
        if trips % 2 == 1 {
            merger.iteration(iteration, &same, &mut block);
        }
    }
    let (kernel, args) = merger.finish(block, iteration)?;
    let mut steps = vec![pushed(program, kernel, args)];
    if trips % 2 == 1 {
        steps.extend(swaps.iter().map(|(a, b)| Step::Swap(*a, *b)));
    }
    Some(steps)
}

/// A body's steps without the exchanges at its end, and these. `None` if a step is neither a kernel, a copy
/// nor such an exchange, or if a buffer is exchanged twice.
fn split_swaps(body: &[Step]) -> Option<(&[Step], Swaps)> {
    let is_plain = |step: &Step| match step {
        Step::Kernel { .. } | Step::Copy { .. } => true,
        Step::Library(_) | Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => false,
    };
    let end = body.iter().take_while(|step| is_plain(step)).count();
    let (iteration, rest) = body.split_at(end);
    let mut swaps = Swaps::new();
    let mut exchanged = BTreeSet::new();
    for step in rest {
        let Step::Swap(a, b) = step else {
            return None;
        };
        if !exchanged.insert(*a) || !exchanged.insert(*b) {
            return None;
        }
        swaps.push((*a, *b));
    }
    Some((iteration, swaps))
}

/// What is in the place of a buffer after the exchanges.
pub(super) fn swapped(swaps: &[(BufferId, BufferId)], buffer: BufferId) -> BufferId {
    let other = swaps.iter().find_map(|(a, b)| {
        if *a == buffer {
            Some(*b)
        } else {
            (*b == buffer).then_some(*a)
        }
    });
    other.unwrap_or(buffer)
}

/// Whether an iteration is so little work that the calls of its kernels weigh.
fn is_small(program: &Program, iteration: &[Step]) -> bool {
    let (mut work, mut statements) = (0u64, 0);
    for step in iteration {
        match step {
            Step::Kernel { kernel, .. } => {
                let kernel = &program.kernels[*kernel];
                work = work.saturating_add(work_of(kernel, &kernel.body));
                statements += count_statements(&kernel.body);
            }
            Step::Copy { from, .. } => {
                let elements = program.buffers[*from].shape.num_elements();
                let elements = elements.and_then(|count| u64::try_from(count).ok());
                work = work.saturating_add(elements.unwrap_or(u64::MAX));
                statements += 3;
            }
            Step::Library(_) | Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => {
                return false;
            }
        }
    }
    work <= MAX_WORK && 2 * statements <= MAX_STATEMENTS
}

/// How many scalar statements a block runs.
fn work_of(kernel: &Kernel, block: &Block) -> u64 {
    let works = block.iter().map(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => 1,
        Stmt::For(stmt) => {
            let extent = kernel.vars[stmt.var].extent.unsigned_abs();
            work_of(kernel, &stmt.body).saturating_mul(extent)
        }
        Stmt::If(stmt) => work_of(kernel, &stmt.then).max(work_of(kernel, &stmt.otherwise)),
    });
    works.fold(0, u64::saturating_add)
}

/// A kernel in the making.
pub(super) struct Merger<'p> {
    program: &'p Program,
    pub(super) names: Names,
    /// Each buffer with how the kernel uses it, in order of first use.
    params: Vec<(BufferId, Access)>,
    /// What the kernels computed.
    pub(super) instructions: Vec<InstrRef>,
}

impl<'p> Merger<'p> {
    pub(super) fn new(program: &'p Program) -> Merger<'p> {
        Merger {
            program,
            names: Names {
                vars: Arena::new(),
                values: Arena::new(),
                statements: 0,
                limit: usize::MAX,
            },
            params: Vec::new(),
            instructions: Vec::new(),
        }
    }

    /// Adds the statements of an iteration, with buffers replaced.
    fn iteration(
        &mut self,
        steps: &[Step],
        place: &dyn Fn(BufferId) -> BufferId,
        block: &mut Block,
    ) {
        for step in steps {
            match step {
                Step::Kernel { kernel, args } => {
                    let args: Vec<BufferId> = args.iter().map(|id| place(*id)).collect();
                    self.kernel(*kernel, &args, block);
                }
                Step::Copy { from, to } => self.copy(place(*from), place(*to), block),
                Step::Library(_)
                | Step::Swap(..)
                | Step::While { .. }
                | Step::Conditional { .. } => {}
            }
        }
    }

    fn kernel(&mut self, kernel: KernelId, args: &[BufferId], block: &mut Block) {
        let program = self.program;
        let kernel = &program.kernels[kernel];
        let mut params = BTreeMap::new();
        for ((id, param), buffer) in kernel.params.iter().zip(args) {
            params.insert(id, self.param(*buffer, param.access));
        }
        let mut copied = Copier::between(&mut self.names, kernel, params).block(&kernel.body);
        copied.iter_mut().for_each(within_loop);
        self.instructions.extend_from_slice(&kernel.instructions);
        block.append(&mut copied);
    }

    fn copy(&mut self, from: BufferId, to: BufferId, block: &mut Block) {
        let shape = &self.program.buffers[from].shape;
        let extent = shape.num_elements().unwrap_or(0);
        let (from, to) = (
            self.param(from, Access::Read),
            self.param(to, Access::Write),
        );
        let value = self.names.values.push(Value {
            element_type: shape.element_type,
        });
        let var = self.var("i", extent);
        let index = Index::var(var);
        let load = Expr::Load {
            param: from,
            index: index.clone(),
        };
        block.push(Stmt::For(For {
            var,
            kind: LoopKind::Vector,
            carried: Vec::new(),
            body: vec![
                Stmt::Let { value, expr: load },
                Stmt::Store {
                    param: to,
                    index,
                    value,
                },
            ],
        }));
    }

    /// The parameter for a buffer, whose uses are joined.
    pub(super) fn param(&mut self, buffer: BufferId, access: Access) -> ParamId {
        let known = self.params.iter().position(|(known, _)| *known == buffer);
        let at = known.unwrap_or(self.params.len());
        match self.params.get_mut(at) {
            Some((_, joined)) if *joined == access => {}
            Some((_, joined)) => *joined = Access::ReadWrite,
            None => self.params.push((buffer, access)),
        }
        hloc_ir::Id::from_index(at)
    }

    pub(super) fn var(&mut self, name: &str, extent: i64) -> VarId {
        self.names.vars.push(Var {
            name: name.to_owned(),
            extent,
        })
    }

    /// A loop around `body`.
    fn repeated(&mut self, trips: i64, body: Block) -> Stmt {
        Stmt::For(For {
            var: self.var("t", trips),
            kind: LoopKind::Serial,
            carried: Vec::new(),
            body,
        })
    }

    /// The kernel with its buffers.
    pub(super) fn finish(self, body: Block, iteration: &[Step]) -> Option<(Kernel, Vec<BufferId>)> {
        let first = iteration.iter().find_map(|step| match step {
            Step::Kernel { kernel, .. } => Some(&self.program.kernels[*kernel]),
            Step::Copy { .. }
            | Step::Library(_)
            | Step::Swap(..)
            | Step::While { .. }
            | Step::Conditional { .. } => None,
        })?;
        let mut params = Arena::new();
        let (mut inputs, mut outputs) = (0, 0);
        for (buffer, access) in &self.params {
            let shape = &self.program.buffers[*buffer].shape;
            let (prefix, count) = match *access {
                Access::Read => ("in", &mut inputs),
                Access::Write | Access::ReadWrite => ("out", &mut outputs),
            };
            params.push(Param {
                name: format!("{prefix}{count}"),
                element_type: shape.element_type,
                dims: shape.dims.to_vec(),
                access: *access,
            });
            *count += 1;
        }
        let mut kernel = Kernel {
            name: format!("while.{}", first.name),
            params,
            vars: self.names.vars,
            values: self.names.values,
            body,
            span: first.span,
            instructions: Vec::new(),
        };
        kernel.add_instructions(&self.instructions);
        Some((
            kernel,
            self.params.iter().map(|(buffer, _)| *buffer).collect(),
        ))
    }
}

/// A statement of a kernel as part of a loop's body, where no loop is parallel.
fn within_loop(stmt: &mut Stmt) {
    let Stmt::For(each) = stmt else {
        return;
    };
    if each.kind != LoopKind::Parallel {
        return;
    }
    let is_innermost = each.body.iter().all(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => true,
        Stmt::For(_) | Stmt::If(_) => false,
    });
    each.kind = if is_innermost {
        LoopKind::Vector
    } else {
        LoopKind::Serial
    };
}

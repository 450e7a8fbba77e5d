//! Leaves out what nothing uses after loops have become kernels: steps, kernels, memory.

use std::collections::BTreeMap;

use hloc_ir::{Arena, ArrayShape, SideTable};

use super::cleaned_up;
use super::forward::forward_stores;
use crate::ir::{Access, BufferId, BufferKind, KernelId, LibraryCall, Program, Step};
use crate::mentions::{change_buffers, mentions};
use crate::routine::{Routine, SortOrder};

/// Leaves out kernels and copies that write nothing but temporaries which no step reads.
pub(super) fn drop_dead_steps(program: &mut Program) {
    loop {
        let reads = all_reads(program, &program.steps);
        let mut steps = std::mem::take(&mut program.steps);
        let changed = drop_dead(program, &mut steps, &reads);
        program.steps = steps;
        if !changed {
            return;
        }
    }
}

fn drop_dead(program: &Program, steps: &mut Vec<Step>, reads: &Reads) -> bool {
    let is_dead = |id: &BufferId| program.buffers[*id].is_temporary() && !reads.contains_key(id);
    let before = steps.len();
    steps.retain(|step| match step {
        Step::Kernel { kernel, args } => {
            let params = program.kernels[*kernel].params.values().zip(args);
            let mut written = params.filter(|(param, _)| param.access != Access::Read);
            !written.all(|(_, id)| is_dead(id))
        }
        Step::Copy { to, .. } => !is_dead(to),
        Step::Library(_) | Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => true,
    });
    let mut changed = steps.len() < before;
    for step in steps {
        match step {
            Step::While { body, .. } => changed |= drop_dead(program, body, reads),
            Step::Conditional { branches, .. } => {
                for steps in branches {
                    changed |= drop_dead(program, steps, reads);
                }
            }
            Step::Kernel { .. } | Step::Library(_) | Step::Copy { .. } | Step::Swap(..) => {}
        }
    }
    changed
}

/// Puts what is only copied to a result where the result is.
pub(super) fn skip_copies(program: &mut Program) {
    let mut all = mentions(&program.steps);
    let mut at = 0;
    while let Some(step) = program.steps.get(at) {
        at += 1;
        let Step::Copy { from, to } = *step else {
            continue;
        };
        let is_only = all[to] == 1 && program.buffers[from].is_temporary();
        if !is_only || program.buffers[from].shape != program.buffers[to].shape {
            continue;
        }
        let is_last = mentions(&program.steps[at..])[from] == 0;
        if !is_last || is_swapped(&program.steps, from) {
            continue;
        }
        at -= 1;
        program.steps.remove(at);
        change_buffers(&mut program.steps, &|id| {
            if *id == from {
                *id = to;
            }
        });
        all = mentions(&program.steps);
    }
}

/// Hands values on within kernels, and drops temporaries that only one kernel uses.
pub(super) fn clean_up_kernels(program: &mut Program) {
    let mentions = mentions(&program.steps);
    let mut steps = std::mem::take(&mut program.steps);
    clean_up_steps(program, &mut steps, &mentions);
    program.steps = steps;
}

fn clean_up_steps(
    program: &mut Program,
    steps: &mut [Step],
    mentions: &SideTable<BufferId, usize>,
) {
    for step in steps {
        match step {
            Step::Kernel { kernel, args } => {
                let old = &program.kernels[*kernel];
                if let Some(mut cleaned) = cleaned_up(old, args, &program.buffers, mentions) {
                    forward_stores(&mut cleaned);
                    *kernel = program.kernels.push(cleaned);
                }
            }
            Step::While {
                condition, body, ..
            } => {
                clean_up_steps(program, condition, mentions);
                clean_up_steps(program, body, mentions);
            }
            Step::Conditional { branches, .. } => {
                for steps in branches {
                    clean_up_steps(program, steps, mentions);
                }
            }
            Step::Library(_) | Step::Copy { .. } | Step::Swap(..) => {}
        }
    }
}

fn is_swapped(steps: &[Step], buffer: BufferId) -> bool {
    steps.iter().any(|step| match step {
        Step::Swap(a, b) => *a == buffer || *b == buffer,
        Step::Kernel { .. } | Step::Library(_) | Step::Copy { .. } => false,
        Step::While {
            condition, body, ..
        } => is_swapped(condition, buffer) || is_swapped(body, buffer),
        Step::Conditional { branches, .. } => {
            branches.iter().any(|steps| is_swapped(steps, buffer))
        }
    })
}

/// Leaves out the kernels that no step runs any more.
pub(super) fn drop_unused_kernels(program: &mut Program) {
    let mut used = BTreeMap::new();
    visit_kernels(&mut program.steps, &mut |id| {
        used.insert(*id, *id);
    });
    let ids = program.kernels.ids();
    let mut kept = Arena::new();
    for (id, kernel) in ids.zip(std::mem::take(&mut program.kernels).into_values()) {
        if let Some(new) = used.get_mut(&id) {
            *new = kept.push(kernel);
        }
    }
    program.kernels = kept;
    visit_kernels(&mut program.steps, &mut |id| {
        *id = used.get(id).copied().unwrap_or(*id);
    });
}

/// Calls `see` for every kernel that steps name.
fn visit_kernels(steps: &mut [Step], see: &mut dyn FnMut(&mut KernelId)) {
    for step in steps {
        match step {
            Step::Kernel { kernel, .. } => see(kernel),
            Step::Library(step) => {
                if let LibraryCall::Routine(call) = &mut step.call {
                    visit_comparators(&mut call.routine, see);
                }
            }
            Step::Copy { .. } | Step::Swap(..) => {}
            Step::While {
                condition, body, ..
            } => {
                visit_kernels(condition, see);
                visit_kernels(body, see);
            }
            Step::Conditional { branches, .. } => {
                branches
                    .iter_mut()
                    .for_each(|steps| visit_kernels(steps, see));
            }
        }
    }
}

fn visit_comparators(routine: &mut Routine, see: &mut dyn FnMut(&mut KernelId)) {
    if let Routine::Sort {
        order: SortOrder::Comparator(kernel),
        ..
    } = routine
    {
        see(kernel);
    }
}

/// How often each buffer is read.
pub(super) type Reads = BTreeMap<BufferId, usize>;

/// How often each buffer is read if these are the steps of the program, by its caller too.
pub(super) fn all_reads(program: &Program, steps: &[Step]) -> Reads {
    let mut reads = Reads::new();
    add_reads(program, steps, &mut reads);
    for id in &program.results {
        *reads.entry(*id).or_default() += 1;
    }
    reads
}

/// Counts how often steps read each buffer. What changes places is read.
pub(super) fn add_reads(program: &Program, steps: &[Step], reads: &mut Reads) {
    for step in steps {
        let mut add = |id: BufferId| *reads.entry(id).or_default() += 1;
        match step {
            Step::Kernel { kernel, args } => {
                let params = program.kernels[*kernel].params.values().zip(args);
                let params = params.filter(|(param, _)| param.access != Access::Write);
                params.for_each(|(_, id)| add(*id));
            }
            Step::Library(step) => step.inputs.iter().for_each(|id| add(*id)),
            Step::Copy { from, .. } => add(*from),
            Step::Swap(a, b) => {
                add(*a);
                add(*b);
            }
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                add(*predicate);
                add_reads(program, condition, reads);
                add_reads(program, body, reads);
            }
            Step::Conditional { index, branches } => {
                add(*index);
                for steps in branches {
                    add_reads(program, steps, reads);
                }
            }
        }
    }
}

/// Gives no memory to temporaries that no step mentions any more.
pub(super) fn empty_unused_buffers(program: &mut Program) {
    let used = mentions(&program.steps);
    let ids: Vec<BufferId> = program.buffers.ids().collect();
    for id in ids {
        let buffer = &mut program.buffers[id];
        if let BufferKind::Temporary { offset } = &mut buffer.kind
            && used[id] == 0
        {
            *offset = 0;
            buffer.shape = ArrayShape::new(buffer.shape.element_type, &[0]);
        }
    }
}

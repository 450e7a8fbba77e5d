//! How many steps use each buffer, and what that allows: kernels that were joined keep what nothing else
//! uses to themselves.

use hloc_ir::{Arena, SideTable};

use super::steps::Lowerer;
use crate::ir::{BufferId, LibraryStep, Step};
use crate::transform;

/// Number of steps that mention each buffer.
struct Uses(SideTable<BufferId, usize>);

impl Uses {
    fn of(steps: &[Step]) -> Uses {
        let mut uses = Uses(SideTable::new(0));
        uses.steps(steps);
        uses
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Kernel { args, .. } => self.mention(args),
                Step::Library(LibraryStep {
                    inputs, outputs, ..
                }) => {
                    self.mention(inputs);
                    self.mention(outputs);
                }
                Step::Copy { from, to } => self.mention(&[*from, *to]),
                Step::Swap(a, b) => self.mention(&[*a, *b]),
                Step::While {
                    condition,
                    predicate,
                    body,
                    ..
                } => {
                    self.mention(&[*predicate]);
                    self.steps(condition);
                    self.steps(body);
                }
                Step::Conditional { index, branches } => {
                    self.mention(&[*index]);
                    branches.iter().for_each(|branch| self.steps(branch));
                }
            }
        }
    }

    fn mention(&mut self, buffers: &[BufferId]) {
        for id in buffers {
            *self.0.entry(*id) += 1;
        }
    }
}

impl Lowerer<'_> {
    /// Cleans up the kernels of all steps, and removes the temporaries that no step needs any more.
    /// `lists` are other lists of buffers, which are numbered anew too.
    pub(super) fn clean_up(&mut self, lists: [&mut Vec<BufferId>; 2]) {
        let uses = Uses::of(&self.steps);
        let mut steps = std::mem::take(&mut self.steps);
        self.clean_up_steps(&mut steps, &uses);
        let uses = Uses::of(&steps);
        let mut places = SideTable::new(None);
        let mut kept = Arena::new();
        for (id, buffer) in self.buffers.iter() {
            if uses.0[id] > 0 || !self.is_temporary(id) {
                places.set(id, Some(kept.push(buffer.clone())));
            }
        }
        let moved = |id: &mut BufferId| *id = places[*id].unwrap_or(*id);
        renumber(&mut steps, &moved);
        lists.into_iter().flatten().for_each(moved);
        self.buffers = kept;
        self.steps = steps;
    }

    fn clean_up_steps(&mut self, steps: &mut [Step], uses: &Uses) {
        for step in steps {
            match step {
                Step::Kernel { kernel, args } => {
                    let is_private = |id: BufferId| uses.0[id] == 1 && self.is_temporary(id);
                    let memory = |id: BufferId| {
                        let shape = &self.buffers[id].shape;
                        (shape.element_type, shape.num_elements())
                    };
                    let same_memory = |a: BufferId, b: BufferId| memory(a) == memory(b);
                    if !transform::may_clean_up(&self.kernels[*kernel]) {
                        continue;
                    }
                    let mut cleaned = self.kernels[*kernel].clone();
                    transform::clean_up(&mut cleaned, args, &is_private, &same_memory);
                    self.kernels[*kernel] = cleaned;
                }
                Step::While {
                    condition, body, ..
                } => {
                    self.clean_up_steps(condition, uses);
                    self.clean_up_steps(body, uses);
                }
                Step::Conditional { branches, .. } => branches
                    .iter_mut()
                    .for_each(|branch| self.clean_up_steps(branch, uses)),
                Step::Library(_) | Step::Copy { .. } | Step::Swap(..) => {}
            }
        }
    }
}

/// Gives every buffer of the steps its new number.
fn renumber(steps: &mut [Step], moved: &dyn Fn(&mut BufferId)) {
    for step in steps {
        match step {
            Step::Kernel { args, .. } => args.iter_mut().for_each(moved),
            Step::Library(call) => {
                call.inputs.iter_mut().for_each(moved);
                call.outputs.iter_mut().for_each(moved);
            }
            Step::Copy { from, to } => [from, to].into_iter().for_each(moved),
            Step::Swap(a, b) => [a, b].into_iter().for_each(moved),
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                moved(predicate);
                renumber(condition, moved);
                renumber(body, moved);
            }
            Step::Conditional { index, branches } => {
                moved(index);
                branches
                    .iter_mut()
                    .for_each(|branch| renumber(branch, moved));
            }
        }
    }
}

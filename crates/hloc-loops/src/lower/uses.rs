//! How many steps use each buffer, and what that allows: kernels that were joined keep what nothing else
//! uses to themselves.

use hloc_ir::{Arena, SideTable};

use super::steps::Lowerer;
use crate::ir::{BufferId, Step};
use crate::mentions::{change_buffers, mentions};
use crate::transform::cleaned_up;

impl Lowerer<'_> {
    /// Cleans up the kernels of all steps, and removes the temporaries that no step needs any more.
    /// `lists` are other lists of buffers, which are numbered anew too.
    pub(super) fn clean_up(&mut self, lists: [&mut Vec<BufferId>; 2]) {
        let uses = mentions(&self.steps);
        let mut steps = std::mem::take(&mut self.steps);
        self.clean_up_steps(&mut steps, &uses);
        let uses = mentions(&steps);
        let mut places = SideTable::new(None);
        let mut kept = Arena::new();
        for (id, buffer) in self.buffers.iter() {
            if uses[id] > 0 || !self.is_temporary(id) {
                places.set(id, Some(kept.push(buffer.clone())));
            }
        }
        let moved = |id: &mut BufferId| *id = places[*id].unwrap_or(*id);
        change_buffers(&mut steps, &moved);
        lists.into_iter().flatten().for_each(moved);
        self.buffers = kept;
        self.steps = steps;
    }

    fn clean_up_steps(&mut self, steps: &mut [Step], uses: &SideTable<BufferId, usize>) {
        for step in steps {
            match step {
                Step::Kernel { kernel, args } => {
                    let old = &self.kernels[*kernel];
                    if let Some(cleaned) = cleaned_up(old, args, &self.buffers, uses) {
                        self.kernels[*kernel] = cleaned;
                    }
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

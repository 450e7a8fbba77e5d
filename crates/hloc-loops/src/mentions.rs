//! The buffers that steps mention.

use hloc_ir::SideTable;

use crate::ir::{BufferId, Step};

/// How often steps mention each buffer.
pub(crate) fn mentions(steps: &[Step]) -> SideTable<BufferId, usize> {
    let mut mentions = SideTable::new(0);
    visit_buffers(steps, &mut |id| *mentions.entry(id) += 1);
    mentions
}

/// Calls `see` for every buffer that steps mention, as often as they do.
pub(crate) fn visit_buffers(steps: &[Step], see: &mut dyn FnMut(BufferId)) {
    for step in steps {
        match step {
            Step::Kernel { args, .. } => args.iter().for_each(|id| see(*id)),
            Step::Library(step) => {
                step.inputs
                    .iter()
                    .chain(&step.outputs)
                    .for_each(|id| see(*id));
            }
            Step::Copy { from, to } | Step::Swap(from, to) => {
                see(*from);
                see(*to);
            }
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                visit_buffers(condition, see);
                see(*predicate);
                visit_buffers(body, see);
            }
            Step::Conditional { index, branches } => {
                see(*index);
                branches.iter().for_each(|steps| visit_buffers(steps, see));
            }
        }
    }
}

/// Calls `change` for every buffer that steps mention, as often as they do.
pub(crate) fn change_buffers(steps: &mut [Step], change: &dyn Fn(&mut BufferId)) {
    for step in steps {
        match step {
            Step::Kernel { args, .. } => args.iter_mut().for_each(change),
            Step::Library(call) => {
                call.inputs.iter_mut().for_each(change);
                call.outputs.iter_mut().for_each(change);
            }
            Step::Copy { from, to } => [from, to].into_iter().for_each(change),
            Step::Swap(a, b) => [a, b].into_iter().for_each(change),
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                change(predicate);
                change_buffers(condition, change);
                change_buffers(body, change);
            }
            Step::Conditional { index, branches } => {
                change(index);
                branches
                    .iter_mut()
                    .for_each(|branch| change_buffers(branch, change));
            }
        }
    }
}

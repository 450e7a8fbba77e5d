//! Removes instructions whose values nothing uses, and computations that nothing calls.
//!
//! before:  u = f32[2] negate(x)   ROOT r = f32[2] add(x, x)
//! after:   ROOT r = f32[2] add(x, x)
//!
//! Parameters stay, and so does what acts on the outside (`effects`). Elements of tuples that nothing
//! takes stay. A control predecessor without effect does not keep an instruction.

use hloc_ir::{Computation, Id, InstrId, Module, Op};
use hloc_verify::VerifiedModule;

use crate::effects::{Effect, Effects};
use crate::module_rewriter::ModuleRewriter;
use crate::{Pass, PassError};

/// Dead code elimination.
#[derive(Clone, Copy, Debug)]
pub struct Dce;

impl Pass for Dce {
    fn name(&self) -> &'static str {
        "dce"
    }

    fn summary(&self) -> &'static str {
        "removes unused instructions and computations"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let live = live(module);
        let all_live = |marks: &Option<Vec<bool>>| {
            let marks = marks.as_ref();
            marks.is_some_and(|marks| marks.iter().all(|live| *live))
        };
        if live.iter().all(all_live) {
            return Ok(None);
        }
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let Some(live) = &live[id.index()] else {
                rewriter.leave_out();
                continue;
            };
            let mut rebuilt = rewriter.rewriter(id);
            for instruction in computation.instructions.ids() {
                if live[instruction.index()] {
                    rebuilt.copy(instruction);
                } else {
                    rebuilt.drop(instruction);
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// The instructions that stay, by computation; `None` for a computation that nothing calls.
///
/// Called computations have smaller ids than their callers, so one walk backward finds them all.
fn live(module: &Module) -> Vec<Option<Vec<bool>>> {
    let effects = Effects::of(module);
    let mut called = vec![false; module.computations.len()];
    called[module.entry.index()] = true;
    let mut live = vec![None; module.computations.len()];
    for (id, computation) in module.computations.iter().rev() {
        if !called[id.index()] {
            continue;
        }
        let marks = live_instructions(computation, &effects);
        for (instruction, live) in computation.instructions.values().zip(&marks) {
            if *live {
                for callee in instruction.op.called_computations() {
                    called[callee.index()] = true;
                }
            }
        }
        live[id.index()] = Some(marks);
    }
    live
}

/// Operands have smaller ids than their users, so one walk backward finds everything live.
fn live_instructions(computation: &Computation, effects: &Effects) -> Vec<bool> {
    let mut live = vec![false; computation.instructions.len()];
    let mark = |live: &mut Vec<bool>, id: InstrId| live[id.index()] = true;
    mark(&mut live, computation.root);
    for (id, instruction) in computation.instructions.iter().rev() {
        let stays = if let Op::Parameter { .. } = instruction.op {
            true
        } else {
            effects.of_instruction(instruction) == Effect::Outside
        };
        if stays {
            mark(&mut live, id);
        }
        if live[id.index()] {
            for operand in &instruction.operands {
                mark(&mut live, *operand);
            }
        }
    }
    live
}

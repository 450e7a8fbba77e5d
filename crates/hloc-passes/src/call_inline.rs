//! Puts the instructions of a called computation in place of the call.
//!
//! before:  twice { p = f32[2] parameter(0)  ROOT s = f32[2] add(p, p) }
//!          ROOT r = f32[2] call(x), to_apply=twice
//! after:   ROOT s = f32[2] add(x, x)
//!
//! Inlines `call` (composites too), `fusion` (hloc forms its own), and `async-start` with its
//! `async-update`s and `async-done` if nothing else uses them. The called computation itself stays for
//! `dce`. Two kinds of calls stay: of a computation with effects that is ordered by control
//! predecessors, and, once [`MAX_COPIED`] instructions were copied, of a computation called more than
//! once.

use hloc_ir::{
    Computation, ComputationId, Id, InstrId, Instruction, Module, Op, Operands, Shape, Users,
};
use hloc_verify::VerifiedModule;

use crate::bitcast::same_in_memory;
use crate::effects::{Effect, Effects};
use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// The most instructions that inlining may add to a module; computations called once do not count.
const MAX_COPIED: usize = 1 << 18;

/// Inlining of calls.
#[derive(Clone, Copy, Debug)]
pub struct CallInline;

impl Pass for CallInline {
    fn name(&self) -> &'static str {
        "call-inline"
    }

    fn summary(&self) -> &'static str {
        "inlines calls, fusions and asynchronous computations"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let sites = call_sites(module);
        if sites.iter().all(|count| *count == 0) {
            return Ok(None);
        }
        let mut inliner = Inliner {
            effects: Effects::of(module),
            sites,
            budget: MAX_COPIED,
            module: ModuleRewriter::new(self.name(), module),
        };
        for (id, computation) in module.computations.iter() {
            let rebuilt = inliner.rebuild(id, computation);
            inliner.module.place(id, rebuilt);
        }
        Ok(inliner.module.finish())
    }
}

/// The computation that an instruction runs once on its operands, if it is of a kind that is inlined.
fn callee(instruction: &Instruction) -> Option<ComputationId> {
    if let Op::Call { to_apply: id, .. }
    | Op::Fusion { calls: id, .. }
    | Op::AsyncStart { calls: id, .. } = &instruction.op
    {
        Some(*id)
    } else {
        None
    }
}

/// How many instructions call each computation in a way that is inlined.
fn call_sites(module: &Module) -> Vec<usize> {
    let mut sites = vec![0; module.computations.len()];
    for computation in module.computations.values() {
        for callee in computation.instructions.values().filter_map(callee) {
            sites[callee.index()] += 1;
        }
    }
    sites
}

struct Inliner<'m> {
    effects: Effects,
    sites: Vec<usize>,
    budget: usize,
    module: ModuleRewriter<'m>,
}

impl<'m> Inliner<'m> {
    fn rebuild(&mut self, id: ComputationId, computation: &Computation) -> Rewriter<'m> {
        let ordered = ordered(computation);
        let closed = closed_async(computation);
        // What an inlined asynchronous computation gives, by its start or update.
        let mut pending = vec![None; computation.instructions.len()];
        let mut rebuilt = self.module.rewriter(id);
        for (id, instruction) in computation.instructions.iter() {
            if let Some(value) = async_value(instruction, &pending) {
                if closed[id.index()] {
                    pending[id.index()] = Some(value);
                    rebuilt.drop(id);
                } else {
                    rebuilt.replace(id, value);
                }
                continue;
            }
            let starts = is_async_start(&instruction.op);
            let inlined = callee(instruction)
                .filter(|_| !starts || closed[id.index()])
                .filter(|callee| self.may_inline(*callee, instruction, ordered[id.index()]));
            match inlined {
                Some(callee) => {
                    let operands = rebuilt.mapped_operands(id);
                    let value = splice(&mut rebuilt, self.module.rebuilt(callee), &operands);
                    if starts {
                        pending[id.index()] = Some(value);
                        rebuilt.drop(id);
                    } else {
                        rebuilt.replace(id, value);
                    }
                }
                None => {
                    rebuilt.copy(id);
                }
            }
        }
        rebuilt
    }

    /// Decides, and counts what inlining adds.
    fn may_inline(
        &mut self,
        callee: ComputationId,
        instruction: &Instruction,
        ordered: bool,
    ) -> bool {
        if ordered && self.effects.of_instruction(instruction) == Effect::Outside {
            return false;
        }
        if self.sites[callee.index()] == 1 {
            return true;
        }
        let size = self.module.rebuilt(callee).instructions.len();
        let fits = size <= self.budget;
        if fits {
            self.budget -= size;
        }
        fits
    }
}

/// Which instructions take part in control dependencies.
fn ordered(computation: &Computation) -> Vec<bool> {
    let mut ordered = vec![false; computation.instructions.len()];
    for (id, instruction) in computation.instructions.iter() {
        let attributes = instruction.attributes.as_ref();
        for predecessor in attributes.map_or(&[][..], |a| &a.control_predecessors) {
            ordered[id.index()] = true;
            ordered[predecessor.index()] = true;
        }
    }
    ordered
}

fn is_async_start(op: &Op) -> bool {
    matches!(op, Op::AsyncStart { .. })
}

/// Which starts and updates are used by updates and ends of asynchronous computations only.
fn closed_async(computation: &Computation) -> Vec<bool> {
    let mut closed = vec![false; computation.instructions.len()];
    let instructions = &computation.instructions;
    if !instructions.values().any(|i| is_async_start(&i.op)) {
        return closed;
    }
    let users = Users::of(computation);
    for (id, instruction) in instructions.iter().rev() {
        if let Op::AsyncStart { .. } | Op::AsyncUpdate { .. } = instruction.op {
            let mut users = users.get(id).iter();
            let all_async = users.all(|user| {
                if let Op::AsyncDone { .. } = instructions[*user].op {
                    true
                } else {
                    closed[user.index()]
                }
            });
            closed[id.index()] = all_async && id != computation.root;
        }
    }
    closed
}

/// The inlined value that an update or end of an asynchronous computation hands on.
fn async_value(instruction: &Instruction, pending: &[Option<InstrId>]) -> Option<InstrId> {
    if let Op::AsyncDone { .. } | Op::AsyncUpdate { .. } = instruction.op {
        let operand = instruction.operands.first()?;
        pending[operand.index()]
    } else {
        None
    }
}

/// Adds the instructions of `callee` with `arguments` for its parameters; gives the root's value.
///
/// Elements of arguments that are made by a `tuple` are taken from its operands.
pub(crate) fn splice(
    rebuilt: &mut Rewriter<'_>,
    callee: &Computation,
    arguments: &[InstrId],
) -> InstrId {
    let mut map: Vec<InstrId> = Vec::with_capacity(callee.instructions.len());
    let mut controlled = Vec::new();
    for instruction in callee.instructions.values() {
        if let Op::Parameter { number } = instruction.op {
            map.push(arguments[number as usize]);
            continue;
        }
        if let Op::GetTupleElement { index } = instruction.op {
            let tuple = rebuilt.made(map[instruction.operands[0].index()]);
            if let Op::Tuple {} = tuple.op {
                map.push(tuple.operands[index as usize]);
                continue;
            }
        }
        let mut copy = instruction.clone();
        copy.operands = copy
            .operands
            .iter()
            .map(|id| map[id.index()])
            .collect::<Operands>();
        if let Op::Bitcast {} = copy.op {
            let declared = &callee.instructions[instruction.operands[0]].shape;
            copy.operands[0] = with_layout(rebuilt, copy.operands[0], declared, instruction);
        }
        let id = rebuilt.adopt(copy);
        if let Some(attributes) = &instruction.attributes
            && !attributes.control_predecessors.is_empty()
        {
            controlled.push((id, &attributes.control_predecessors));
        }
        map.push(id);
    }
    for (id, predecessors) in controlled {
        let predecessors = predecessors.iter().map(|old| map[old.index()]);
        rebuilt.set_control_predecessors(id, predecessors.collect());
    }
    map[callee.root.index()]
}

/// The value in the memory order of `declared`, which the `bitcast` that reads it means.
fn with_layout(
    rebuilt: &mut Rewriter<'_>,
    value: InstrId,
    declared: &Shape,
    bitcast: &Instruction,
) -> InstrId {
    if same_in_memory(&rebuilt.made(value).shape, declared) {
        return value;
    }
    let mut copy = Instruction::new("copy", Op::Copy {}, &[value], declared.clone());
    copy.origin.clone_from(&bitcast.origin);
    rebuilt.adopt(copy)
}

#[cfg(test)]
mod tests {
    use super::CallInline;
    use crate::testing::rewritten;

    #[test]
    fn nested_calls_vanish() {
        let text = "HloModule test

twice {
  p = f32[2] parameter(0)
  ROOT s = f32[2] add(p, p)
}

four {
  p = f32[2] parameter(0)
  t = f32[2] call(p), to_apply=twice
  ROOT s = f32[2] call(t), to_apply=twice
}

ENTRY main {
  x = f32[2] parameter(0)
  s = f32[2] negate(x)
  ROOT r = f32[2] call(s), to_apply=four
}
";
        let after = rewritten(&CallInline, text);
        let entry = after.split("ENTRY").nth(1).expect("there is an entry");
        assert_eq!(
            entry,
            " main {
  x = f32[2] parameter(0)
  s = f32[2] negate(x)
  s.1 = f32[2] add(s, s)
  ROOT s.2 = f32[2] add(s.1, s.1)
}
"
        );
    }
}

//! Joins instructions into fusions, each of which becomes one kernel.
//!
//! before:  e = f32[9] exponential(x)   n = f32[9] negate(e)   ROOT r = f32[9] add(n, x)
//! after:   fused_add { param_0 = f32[9] parameter(0)  e = f32[9] exponential(param_0)  … ROOT r = … }
//!          ROOT r = f32[9] fusion(x), kind=kLoop, calls=fused_add
//!
//! What a fusion looks like:
//! - Its root is an op that is a function from output index to value (`class`), and then its kind is
//!   `kLoop`; or a `reduce`, and then its kind is `kInput`. It has one output; a `reduce` of several
//!   arrays gives their tuple. No `reduce` stands in the middle.
//! - Its operands are arrays. Constants of one element lie inside. A fusion has at least two
//!   instructions that are no constants; everything else stays a plain instruction.
//!
//! Which instructions join (`plan`): users come before their operands. An instruction joins the fusion
//! that holds all its users, so no fusion depends on itself. If several hold users, it is copied into
//! each if that is cheap, else it begins a fusion of its own. Copying and joining never repeat costly
//! work: nothing costly is computed per element of a broadcast of it, or at two places of one kernel.
//! Limits, in `plan` and `class`: work of 1024 (1 for what moves an index, 2 for an op, 32 for a costly one)
//! and 32 operands of a fusion; 12 instructions of a chain that is copied, into 4 fusions at most (a
//! `broadcast` or `iota` into any number); 8 cheap instructions of a chain that a `broadcast` repeats; 4 places
//! of one kernel at which a cheap instruction is evaluated. What does not fit begins a fusion of its own; what
//! follows from the index alone always fits, unless there are too many operands. The limits
//! keep the result linear in the program. A second run finds nothing to do.
//!
//! Before anything is rebuilt, the graph of what will run (fusions and the instructions that stay, an edge
//! for each value handed on; petgraph) is put in topological order: a cycle would be a mistake in `plan`
//! and ends with [`PassError::Internal`].
//!
//! Computations that other ops call per element (`reduce`, `sort`, …) or that are fusions already are
//! left alone; so are instructions with control dependencies and dynamic dimensions.

mod class;
mod emit;
mod plan;
#[cfg(test)]
mod tests;

use hloc_ir::{Computation, ComputationId, Id, Instruction, Module, Name, Opcode, StructuralOp};
use hloc_verify::VerifiedModule;

use crate::module_rewriter::ModuleRewriter;
use crate::{Pass, PassError};

/// Whether `instruction` is a function from output index to value that fusions take in.
pub(crate) fn is_elemental(computation: &Computation, instruction: &Instruction) -> bool {
    match class::class(computation, instruction) {
        class::Class::Elemental(_) | class::Class::ScalarConstant => true,
        class::Class::Reduce | class::Class::Outside => false,
    }
}

/// An instruction that kernels load although they could compute it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusionRefusal {
    /// Its name.
    pub instruction: Name,
    /// Its opcode.
    pub opcode: Opcode,
    /// Why it does not join the fusions that use it, as a clause: "3 kernels would each compute it again".
    pub reason: String,
}

/// What the pass [`Fusion`] leaves out of fusions of `module`, in the order of the module.
///
/// Of `e = exponential(x)` with `r = add(broadcast(e), y)` it says that a broadcast would repeat `e`.
pub fn fusion_refusals(module: &VerifiedModule) -> Vec<FusionRefusal> {
    let runs = runs_by_itself(module);
    let computations = module.computations.iter();
    let mut found = Vec::new();
    for (_, computation) in computations.filter(|(id, _)| runs[id.index()]) {
        let mut refusals = plan::plan(computation).refusals;
        refusals.reverse();
        found.extend(refusals.into_iter().map(|(at, reason)| {
            let instruction = &computation.instructions[at];
            FusionRefusal {
                instruction: instruction.name.clone(),
                opcode: instruction.op.opcode(),
                reason: reason.to_string(),
            }
        }));
    }
    found
}

/// Loop fusion.
#[derive(Clone, Copy, Debug)]
pub struct Fusion;

impl Pass for Fusion {
    fn name(&self) -> &'static str {
        "fusion"
    }

    fn summary(&self) -> &'static str {
        "joins element-wise, index-mapping and reducing instructions into fusions"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let runs = runs_by_itself(module);
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let plan = if runs[id.index()] {
                plan::plan(computation)
            } else {
                plan::Plan::nothing(computation)
            };
            plan.kernel_order(computation)
                .map_err(|cycle| PassError::Internal {
                    pass: self.name(),
                    message: format!(
                        "the fusion at `{}` would depend on itself",
                        computation.instructions[cycle.root].name
                    ),
                    module_text_before: hloc_ir::print_module(module),
                })?;
            emit::emit(&mut rewriter, id, &plan);
        }
        Ok(rewriter.finish())
    }
}

/// Which computations run step by step: the entry, and what calls, loops and branches run.
fn runs_by_itself(module: &Module) -> Vec<bool> {
    let mut runs = vec![false; module.computations.len()];
    let mut inside = vec![false; module.computations.len()];
    let mark = |list: &mut Vec<bool>, id: ComputationId| list[id.index()] = true;
    mark(&mut runs, module.entry);
    for computation in module.computations.values() {
        for instruction in computation.instructions.values() {
            let list = if runs_callees(instruction.op.opcode()) {
                &mut runs
            } else {
                &mut inside
            };
            for callee in instruction.op.called_computations() {
                mark(list, callee);
            }
        }
    }
    runs.iter()
        .zip(inside)
        .map(|(runs, inside)| *runs && !inside)
        .collect()
}

/// Whether an op runs the computations that it calls step by step, as opposed to inside a kernel.
fn runs_callees(opcode: Opcode) -> bool {
    match opcode {
        Opcode::Structural(
            StructuralOp::AsyncStart
            | StructuralOp::Call
            | StructuralOp::Conditional
            | StructuralOp::While,
        ) => true,
        Opcode::Structural(_) | Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => false,
    }
}

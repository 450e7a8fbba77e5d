//! Turns a plan into fusion instructions and the computations that they call.

use hloc_ir::attr::OutputAliases;
use hloc_ir::words::FusionKind;
use hloc_ir::{Computation, ComputationId, HashMap, Id, InstrId, Instruction, Op};

use super::plan::{Group, Plan};
use crate::module_rewriter::ModuleRewriter;
use crate::names::Names;
use crate::rewriter::{Rewriter, metadata_only};

/// Rebuilds the computation `id` as `plan` says.
pub(super) fn emit(module: &mut ModuleRewriter<'_>, id: ComputationId, plan: &Plan) {
    let mut rebuilt = module.rewriter(id);
    for instruction in rebuilt.old().instructions.ids() {
        if let Some(group) = plan.group_of_root[instruction.index()] {
            emit_group(module, &mut rebuilt, &plan.groups[group]);
        } else if plan.stored[instruction.index()] {
            rebuilt.copy(instruction);
        } else {
            rebuilt.drop(instruction);
        }
    }
    module.place(id, rebuilt);
}

fn emit_group(module: &mut ModuleRewriter<'_>, rebuilt: &mut Rewriter<'_>, group: &Group) {
    let root = &rebuilt.old().instructions[group.root];
    let kind = if let Op::Reduce { .. } = root.op {
        FusionKind::Input
    } else {
        FusionKind::Loop
    };
    let shape = root.shape.clone();
    let (computation, outside) = fused_computation(rebuilt, group);
    let operands: Vec<InstrId> = outside.iter().map(|id| rebuilt.mapped(*id)).collect();
    let op = Op::Fusion {
        kind,
        output_to_operand_aliasing: OutputAliases::default(),
        calls: module.add(&format!("fused_{}", root.op.opcode()), computation),
    };
    rebuilt.put(group.root, op, &operands, shape);
}

/// The computation of a group, and the old instructions that its parameters stand for.
fn fused_computation(rebuilt: &Rewriter<'_>, group: &Group) -> (Computation, Vec<InstrId>) {
    let old = rebuilt.old();
    // Users come before operands in `members`.
    let mut members = group.members.clone();
    members.sort_unstable();
    let outside = outside_operands(old, &members);
    let mut names = Names::of(members.iter().map(|id| &old.instructions[*id].name));
    let mut fused = Computation::new("fused");
    let mut map =
        HashMap::with_capacity_and_hasher(members.len() + outside.len(), Default::default());
    for (number, id) in outside.iter().enumerate() {
        let like = &old.instructions[*id];
        let op = Op::Parameter {
            number: number as i64,
        };
        let name = names.fresh(&format!("param_{number}"));
        let mut parameter = Instruction::new(name, op, &[], like.shape.clone());
        parameter.origin = like.origin.in_pass("fusion");
        map.insert(*id, fused.push(parameter));
    }
    for id in &members {
        let like = &old.instructions[*id];
        let instruction = Instruction {
            name: like.name.clone(),
            op: rebuilt.mapped_op(*id),
            operands: like.operands.iter().map(|operand| map[operand]).collect(),
            shape: like.shape.clone(),
            attributes: metadata_only(like),
            origin: like.origin.in_pass("fusion"),
        };
        map.insert(*id, fused.push(instruction));
    }
    fused.root = map[&group.root];
    (fused, outside)
}

/// What the members of a group take from outside, in order of first use.
fn outside_operands(old: &Computation, members: &[InstrId]) -> Vec<InstrId> {
    let mut seen: HashMap<InstrId, ()> = members.iter().map(|id| (*id, ())).collect();
    let mut outside = Vec::new();
    for id in members {
        for operand in &old.instructions[*id].operands {
            if seen.insert(*operand, ()).is_none() {
                outside.push(*operand);
            }
        }
    }
    outside
}

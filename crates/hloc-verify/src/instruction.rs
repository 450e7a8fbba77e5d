//! Rules of one instruction: order, shape, the rule of its op, dialect, control edges.

use std::collections::BTreeMap;

use hloc_ir::attr::ReplicaGroups;
use hloc_ir::ops::broadcast::UNSORTED;
use hloc_ir::{
    Broken, Computation, ComputationId, Focus, FrontendValue, Id, InstrId, Instruction, Module, Op,
    Shape, ShapeContext, TernaryOp, infer_shape,
};

use crate::computation::ComputationVerdict;
use crate::report::Report;
use crate::{Dialect, Options, annotations, dialect, pairs, precision, shapes};

/// Whether an instruction's declared shape can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its rule gives this shape.
    Sound,
    /// Its rule is broken or gives another shape.
    Doubtful,
    /// Its shape cannot be worked with, or its operands do not exist.
    Unusable,
}

/// Checks the instructions of one computation in order.
pub(crate) struct Checker<'m> {
    module: &'m Module,
    id: ComputationId,
    computation: &'m Computation,
    options: Options,
    earlier: &'m [ComputationVerdict],
    verdicts: Vec<Verdict>,
    /// What the rules of doubtful instructions give.
    inferred: BTreeMap<InstrId, Shape>,
}

impl<'m> Checker<'m> {
    pub(crate) fn new(
        module: &'m Module,
        id: ComputationId,
        options: &Options,
        earlier: &'m [ComputationVerdict],
    ) -> Checker<'m> {
        let computation = &module.computations[id];
        Checker {
            module,
            id,
            computation,
            options: *options,
            earlier,
            verdicts: Vec::with_capacity(computation.instructions.len()),
            inferred: BTreeMap::new(),
        }
    }

    /// The verdict on an instruction; one that was not reached is unusable.
    pub(crate) fn verdict(&self, id: InstrId) -> Verdict {
        let known = self.verdicts.get(id.index());
        known.copied().unwrap_or(Verdict::Unusable)
    }

    /// All rules of the next instruction.
    pub(crate) fn check(
        &mut self,
        report: &mut Report<'_>,
        id: InstrId,
        instruction: &'m Instruction,
    ) {
        let verdict = match self.judge(id, instruction) {
            Ok(verdict) => verdict,
            Err((verdict, broken)) => {
                report.instruction(self.computation, instruction, *broken);
                verdict
            }
        };
        self.verdicts.push(verdict);
    }

    fn judge(
        &mut self,
        id: InstrId,
        instruction: &'m Instruction,
    ) -> Result<Verdict, (Verdict, Box<Broken>)> {
        let unusable = |broken: Broken| (Verdict::Unusable, Box::new(broken));
        self.check_order(id, instruction).map_err(unusable)?;
        self.check_shape(instruction).map_err(unusable)?;
        let doubtful = |broken: Broken| (Verdict::Doubtful, Box::new(broken));
        let operands = || instruction.operands.iter();
        if operands().any(|operand| self.verdict(*operand) == Verdict::Unusable) {
            // Nothing can be said of it, and its operand's mistake is told.
            return Ok(Verdict::Unusable);
        }
        let shapes: Vec<&Shape> = operands()
            .map(|operand| &self.computation.instructions[*operand].shape)
            .collect();
        if let Err((inferred, broken)) = self.rule(instruction, &shapes) {
            if self.follows_from_earlier(instruction) {
                return Ok(Verdict::Doubtful);
            }
            self.inferred.extend(inferred.map(|shape| (id, shape)));
            return Err(doubtful(broken));
        }
        precision::check(&instruction.op, &shapes).map_err(doubtful)?;
        self.check_dialect(instruction, &shapes).map_err(doubtful)?;
        check_composite(instruction).map_err(doubtful)?;
        self.check_fused(instruction).map_err(doubtful)?;
        check_device_ids(instruction).map_err(doubtful)?;
        pairs::check(self.module, self.computation, instruction).map_err(doubtful)?;
        annotations::check(self.module, instruction).map_err(doubtful)?;
        Ok(Verdict::Sound)
    }

    /// Operands and control predecessors stand before, called computations too.
    fn check_order(&self, id: InstrId, instruction: &Instruction) -> Result<(), Broken> {
        for (index, operand) in instruction.operands.iter().enumerate() {
            if *operand >= id {
                return Err(Broken::new(
                    "computation_c1",
                    format!("takes operand {index}, which does not stand before it"),
                )
                .at(Focus::Operand(index)));
            }
        }
        for called in instruction.op.called_computations() {
            if called >= self.id {
                return Err(Broken::new(
                    "module_c3",
                    format!(
                        "calls a computation that does not stand before `{}`",
                        self.computation.name
                    ),
                )
                .with_help("computations cannot call themselves or later ones"));
            }
        }
        let attributes = instruction.attributes.as_ref();
        let predecessors = attributes.map_or(&[][..], |all| &all.control_predecessors);
        if predecessors.iter().any(|predecessor| *predecessor >= id) {
            return Err(Broken::new(
                "computation_c7",
                "names a control predecessor that does not stand before it",
            )
            .at(Focus::Attribute("control-predecessors")));
        }
        Ok(())
    }

    fn check_shape(&self, instruction: &Instruction) -> Result<(), Broken> {
        if let Some((label, text)) = shapes::flaw(&instruction.shape) {
            return Err(
                Broken::new(label, format!("({}) {text}", instruction.op.opcode()))
                    .at(Focus::Result),
            );
        }
        if let Op::Outfeed {
            outfeed_shape: Some(shape),
            ..
        } = &instruction.op
        {
            return no_flaw([shape], "outfeed_shape");
        }
        if let Op::CustomCall {
            operand_layout_constraints: Some(constraints),
            ..
        } = &instruction.op
        {
            return no_flaw(constraints, "operand_layout_constraints");
        }
        Ok(())
    }

    /// The op's rule, and that it gives the declared shape; on error also what it gives.
    fn rule(
        &self,
        instruction: &Instruction,
        operands: &[&Shape],
    ) -> Result<(), (Option<Shape>, Broken)> {
        let context = ShapeContext {
            op: &instruction.op,
            operands,
            computations: &self.module.computations,
            declared: Some(&instruction.shape),
        };
        match infer_shape(&context) {
            Ok(inferred) if inferred.compatible(&instruction.shape) => Ok(()),
            Ok(inferred) => {
                let broken = Broken::new(
                    "result_c1",
                    format!(
                        "declares {}, but {} gives {inferred}",
                        instruction.shape,
                        spelled(instruction, operands)
                    ),
                )
                .at(Focus::Result)
                .with_help(format!("declare {inferred}, or change the operands"));
                Err((Some(inferred), broken))
            }
            Err(broken)
                if broken.constraint == UNSORTED && self.options.permit_unsorted_broadcast =>
            {
                Ok(())
            }
            Err(broken) => Err((None, broken)),
        }
    }

    /// Whether a mistake vanishes once an earlier one is put right: an operand takes the shape that its
    /// rule gives, or a called computation has a doubtful root.
    fn follows_from_earlier(&self, instruction: &Instruction) -> bool {
        let called = instruction.op.called_computations();
        let doubtful_root = called.iter().any(|called| {
            let verdict = self.earlier.get(called.index());
            verdict.is_some_and(|verdict| !verdict.root_is_sound)
        });
        if doubtful_root {
            return true;
        }
        let corrected = |operand: &InstrId| {
            let declared = &self.computation.instructions[*operand].shape;
            self.inferred.get(operand).unwrap_or(declared)
        };
        let any = instruction
            .operands
            .iter()
            .any(|operand| self.inferred.contains_key(operand));
        let shapes: Vec<&Shape> = instruction.operands.iter().map(corrected).collect();
        any && self.rule(instruction, &shapes).is_ok()
    }

    /// XLA's text has no implicit broadcasting, but for the scalars of `select` and `clamp`.
    fn check_dialect(&self, instruction: &Instruction, operands: &[&Shape]) -> Result<(), Broken> {
        if self.options.dialect == Dialect::Hloc {
            return Ok(());
        }
        dialect::check_metadata(instruction)?;
        let Some((mapping, may_be_scalar)) = implicit_broadcast(&instruction.op) else {
            return Ok(());
        };
        if mapping.is_some() {
            return Err(Broken::new(
                "dialect_c1",
                "has broadcast_dimensions, which XLA's HLO text does not take",
            )
            .at(Focus::Attribute("broadcast_dimensions"))
            .with_help("run `hloc opt --passes legalize-broadcast`, which writes broadcasts out"));
        }
        let result = instruction.shape.as_array();
        for (index, shape) in operands.iter().enumerate() {
            let (Some(operand), Some(result)) = (shape.as_array(), result) else {
                continue;
            };
            let scalar = operand.is_scalar() && may_be_scalar.contains(&index);
            if !scalar && !operand.same_dims(result) {
                return Err(Broken::new(
                    "dialect_c2",
                    format!("broadcasts {operand} to {result} without saying so, which XLA's HLO text does not take"),
                )
                .at(Focus::Operand(index))
                .with_help("run `hloc opt --passes legalize-broadcast`, which writes broadcasts out"));
            }
        }
        Ok(())
    }

    /// What a fusion runs is used: the root by nobody, all else by somebody.
    fn check_fused(&self, instruction: &Instruction) -> Result<(), Broken> {
        let Op::Fusion { calls, .. } = &instruction.op else {
            return Ok(());
        };
        let fused = &self.module.computations[*calls];
        let Some(verdict) = self.earlier.get(calls.index()) else {
            return Ok(());
        };
        let broken =
            |label, message| Err(Broken::new(label, message).at(Focus::Attribute("calls")));
        if verdict.root_is_used {
            return broken(
                "fusion_c3",
                format!("fuses `{}`, whose root has a user", fused.name),
            );
        }
        if let Some(unused) = verdict.unused {
            return broken(
                "fusion_c4",
                format!(
                    "fuses `{}`, in which nothing uses `{}`",
                    fused.name, fused.instructions[unused].name
                ),
            );
        }
        Ok(())
    }
}

/// The `broadcast_dimensions` of an op that may broadcast, and the operands that may be scalars in XLA's
/// text too.
fn implicit_broadcast(op: &Op) -> Option<(&Option<Vec<i64>>, &'static [usize])> {
    if let Op::Binary {
        broadcast_dimensions,
        ..
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    } = op
    {
        return Some((broadcast_dimensions, &[]));
    }
    let Op::Ternary {
        op,
        broadcast_dimensions,
    } = op
    else {
        return None;
    };
    let scalars: &[usize] = match op {
        TernaryOp::Select => &[0],
        TernaryOp::Clamp => &[0, 2],
    };
    Some((broadcast_dimensions, scalars))
}

/// The shapes that an attribute holds can be worked with.
fn no_flaw<'s>(
    shapes: impl IntoIterator<Item = &'s Shape>,
    attribute: &'static str,
) -> Result<(), Broken> {
    let found = shapes.into_iter().find_map(shapes::flaw);
    found.map_or(Ok(()), |(label, text)| {
        Err(Broken::new(label, text).at(Focus::Attribute(attribute)))
    })
}

/// Global device ids are numbers on a channel, in groups that are written.
fn check_device_ids(instruction: &Instruction) -> Result<(), Broken> {
    let (Op::AllGather {
        channel_id,
        use_global_device_ids: true,
        replica_groups,
        ..
    }
    | Op::AllGatherStart {
        channel_id,
        use_global_device_ids: true,
        replica_groups,
        ..
    }
    | Op::AllReduce {
        channel_id,
        use_global_device_ids: true,
        replica_groups,
        ..
    }
    | Op::AllReduceStart {
        channel_id,
        use_global_device_ids: true,
        replica_groups,
        ..
    }
    | Op::ReduceScatter {
        channel_id,
        use_global_device_ids: true,
        replica_groups,
        ..
    }) = &instruction.op
    else {
        return Ok(());
    };
    let broken = |text: &str| {
        Err(Broken::new("collective_c7", text)
            .at(Focus::Attribute("use_global_device_ids"))
            .with_help("write a channel_id and replica_groups, or leave use_global_device_ids out"))
    };
    if channel_id.is_none_or(|channel| channel < 1) {
        return broken("uses global device ids, but no channel");
    }
    match replica_groups {
        None => broken("uses global device ids, but no replica groups"),
        Some(ReplicaGroups::List(groups)) if groups.is_empty() => {
            broken("uses global device ids, but no replica groups")
        }
        Some(ReplicaGroups::List(_) | ReplicaGroups::Iota { .. } | ReplicaGroups::Mesh(_)) => {
            Ok(())
        }
    }
}

/// A composite call says which.
fn check_composite(instruction: &Instruction) -> Result<(), Broken> {
    let Op::Call {
        is_composite: true, ..
    } = instruction.op
    else {
        return Ok(());
    };
    let attributes = instruction.attributes.as_ref();
    let name = attributes.and_then(|all| all.frontend_attributes.get("composite.name"));
    let named = match name {
        Some(FrontendValue::String(text) | FrontendValue::Braces(text)) => !text.is_empty(),
        None => false,
    };
    if named {
        return Ok(());
    }
    Err(Broken::new("call_c3", "is a composite call without a name")
        .at(Focus::Attribute("is_composite"))
        .with_help("write frontend_attributes={composite.name=\"...\"}"))
}

/// `add(f32[2], f32[2])`.
fn spelled(instruction: &Instruction, operands: &[&Shape]) -> String {
    const SHOWN: usize = 4;
    let mut shapes: Vec<String> = operands
        .iter()
        .take(SHOWN)
        .map(|shape| shape.to_string())
        .collect();
    if operands.len() > SHOWN {
        shapes.push("...".to_owned());
    }
    format!("{}({})", instruction.op.opcode(), shapes.join(", "))
}

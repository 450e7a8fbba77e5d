//! Rebuilds one computation: walks the old instructions forward and copies them, unless the pass puts
//! something else in their place.
//!
//! Names stay unique, places survive (marked with the pass), control predecessors follow, and called
//! computations are replaced by their rebuilt versions. Everything is linear in the instructions.

use hloc_ir::{CommonAttributes, Computation, Id, InstrId, Instruction, Op, Operands, Shape};

use crate::bitcast::{same_in_memory, spell_out};
use crate::module_rewriter::ComputationMap;
use crate::names::Names;

/// A computation under reconstruction.
pub(crate) struct Rewriter<'m> {
    pass: &'static str,
    old: &'m Computation,
    new: Computation,
    /// Where the value of each old instruction now is.
    map: Vec<Option<InstrId>>,
    computations: ComputationMap,
    /// Collected when the first fresh name is needed.
    names: Option<Names>,
    /// New instructions whose control predecessors are still old ids.
    controlled: Vec<InstrId>,
    changed: bool,
}

impl<'m> Rewriter<'m> {
    /// Starts to rebuild `old`; called computations are looked up in `computations`.
    pub(crate) fn new(
        pass: &'static str,
        old: &'m Computation,
        computations: ComputationMap,
    ) -> Rewriter<'m> {
        let mut new = Computation::new(old.name.clone());
        new.execution_thread.clone_from(&old.execution_thread);
        new.signature.clone_from(&old.signature);
        new.span = old.span;
        Rewriter {
            pass,
            old,
            new,
            map: vec![None; old.instructions.len()],
            computations,
            names: None,
            controlled: Vec::new(),
            changed: false,
        }
    }

    /// The computation as it was.
    pub(crate) fn old(&self) -> &'m Computation {
        self.old
    }

    /// An instruction already made.
    pub(crate) fn made(&self, id: InstrId) -> &Instruction {
        &self.new.instructions[id]
    }

    /// Where the value of the old instruction `id` now is.
    pub(crate) fn mapped(&self, id: InstrId) -> InstrId {
        self.map[id.index()].expect("operands stand before their users")
    }

    /// Where the operands of the old instruction `id` now are.
    pub(crate) fn mapped_operands(&self, id: InstrId) -> Operands {
        let operands = &self.old.instructions[id].operands;
        operands.iter().map(|id| self.mapped(*id)).collect()
    }

    /// The op of the old instruction `id` with called computations replaced.
    pub(crate) fn mapped_op(&self, id: InstrId) -> Op {
        let mut op = self.old.instructions[id].op.clone();
        op.map_computations(|id| self.computations.get(id));
        op
    }

    /// Copies the old instruction `id`.
    ///
    /// A `bitcast` whose operand has lost the layout that gives it its meaning is spelled out, or gets an
    /// operand with that layout.
    pub(crate) fn copy(&mut self, id: InstrId) -> InstrId {
        if let Op::Bitcast {} = self.old.instructions[id].op {
            return self.copy_bitcast(id);
        }
        self.copy_as_is(id)
    }

    fn copy_bitcast(&mut self, id: InstrId) -> InstrId {
        let operand = self.old.instructions[id].operands[0];
        let declared = &self.old.instructions[operand].shape;
        if same_in_memory(declared, &self.made(self.mapped(operand)).shape) {
            return self.copy_as_is(id);
        }
        if let Some(value) = spell_out(self, id) {
            return value;
        }
        let value = self.mapped(operand);
        let relaid = self.emit(id, Op::Copy {}, &[value], declared.clone());
        let old = &self.old.instructions[id];
        self.put(id, Op::Bitcast {}, &[relaid], old.shape.clone())
    }

    fn copy_as_is(&mut self, id: InstrId) -> InstrId {
        let old = &self.old.instructions[id];
        let copy = Instruction {
            name: old.name.clone(),
            op: self.mapped_op(id),
            operands: self.mapped_operands(id),
            shape: old.shape.clone(),
            attributes: old.attributes.clone(),
            origin: old.origin.clone(),
        };
        self.place(id, copy)
    }

    /// Makes another instruction in place of the old instruction `id`, under its name.
    pub(crate) fn put(
        &mut self,
        id: InstrId,
        op: Op,
        operands: &[InstrId],
        shape: Shape,
    ) -> InstrId {
        let old = &self.old.instructions[id];
        let instruction = Instruction {
            name: old.name.clone(),
            op,
            operands: Operands::from_slice(operands),
            shape,
            attributes: old.attributes.clone(),
            origin: old.origin.in_pass(self.pass),
        };
        self.changed = true;
        self.place(id, instruction)
    }

    /// Lets `value` stand for the old instruction `id`.
    pub(crate) fn replace(&mut self, id: InstrId, value: InstrId) {
        self.changed = true;
        self.map[id.index()] = Some(value);
    }

    /// Drops the old instruction `id`, which nothing made from now on uses.
    pub(crate) fn drop(&mut self, id: InstrId) {
        self.changed = true;
        self.map[id.index()] = None;
    }

    /// Makes an instruction on the way to a replacement of `like`, from whom it takes place and
    /// metadata. It is named after its opcode.
    pub(crate) fn emit(
        &mut self,
        like: InstrId,
        op: Op,
        operands: &[InstrId],
        shape: Shape,
    ) -> InstrId {
        let name = op.opcode().name();
        self.emit_named(name, like, op, operands, shape)
    }

    /// Like [`Rewriter::emit`], under a name made from `wanted`.
    pub(crate) fn emit_named(
        &mut self,
        wanted: &str,
        like: InstrId,
        op: Op,
        operands: &[InstrId],
        shape: Shape,
    ) -> InstrId {
        let like = &self.old.instructions[like];
        let instruction = Instruction {
            name: self.names().fresh(wanted),
            op,
            operands: Operands::from_slice(operands),
            shape,
            attributes: metadata_only(like),
            origin: like.origin.in_pass(self.pass),
        };
        self.changed = true;
        self.new.instructions.push(instruction)
    }

    /// Adds an instruction of another computation as it is, but for a name of its own.
    pub(crate) fn adopt(&mut self, mut instruction: Instruction) -> InstrId {
        instruction.name = self.names().fresh(&instruction.name);
        self.changed = true;
        self.new.instructions.push(instruction)
    }

    /// Sets what must run before the new instruction `id`.
    pub(crate) fn set_control_predecessors(&mut self, id: InstrId, predecessors: Vec<InstrId>) {
        if let Some(attributes) = &mut self.new.instructions[id].attributes {
            attributes.control_predecessors = predecessors;
        }
    }

    /// The rebuilt computation, and whether it differs from the old one.
    pub(crate) fn finish(mut self) -> (Computation, bool) {
        for id in std::mem::take(&mut self.controlled) {
            let map = &self.map;
            if let Some(attributes) = &mut self.new.instructions[id].attributes {
                // A predecessor that is gone had no effect to wait for.
                let mapped = attributes.control_predecessors.iter();
                let mapped = mapped.filter_map(|old| map[old.index()]);
                attributes.control_predecessors = mapped.filter(|new| *new != id).collect();
            }
        }
        self.new.root = self.mapped(self.old.root);
        let parameters = self.old.parameters.iter();
        self.new.parameters = parameters.map(|id| self.mapped(*id)).collect();
        (self.new, self.changed)
    }

    fn place(&mut self, id: InstrId, instruction: Instruction) -> InstrId {
        let attributes = instruction.attributes.as_ref();
        let controlled = attributes.is_some_and(|a| !a.control_predecessors.is_empty());
        let new = self.new.instructions.push(instruction);
        if controlled {
            self.controlled.push(new);
        }
        self.map[id.index()] = Some(new);
        new
    }

    fn names(&mut self) -> &mut Names {
        let old = self.old;
        self.names
            .get_or_insert_with(|| Names::of(old.instructions.values().map(|i| &i.name)))
    }
}

/// What an instruction made in place of `like` keeps of its attributes: where it comes from.
pub(crate) fn metadata_only(like: &Instruction) -> Option<Box<CommonAttributes>> {
    let metadata = like.metadata()?.clone();
    Some(Box::new(CommonAttributes {
        metadata: Some(metadata),
        ..CommonAttributes::default()
    }))
}

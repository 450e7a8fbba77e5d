//! The steps of a program: walks a computation and decides what each instruction becomes.

use std::collections::BTreeMap;

use hloc_ir::{
    Arena, ArrayShape, ComputationId, CustomCalls, HashMap, Id, InstrId, Instruction, Literal,
    Module, Op, Shape,
};

use super::analysis::Analysis;
use super::builder::{ArgSource, Built};
use super::refusal::refusal;
use super::region::{Leaf, Leaves, Region};
use super::{is_empty, is_virtual, leaf_of_tuple, leaf_shape, operand_id, passes_operand_on};
use crate::error::LowerError;
use crate::ir::{Buffer, BufferId, BufferKind, InstrRef, Kernel, KernelId, Program, Step};
use crate::transform;

/// The most steps of a program, inlined calls counted as often as they are called.
const MAX_STEPS: usize = 1_000_000;
/// How deep computations may call each other.
const MAX_CALL_DEPTH: usize = 100;
/// How deep values that are computed at each use may lie on each other.
const MAX_VIRTUAL_DEPTH: usize = 16;

/// A program under construction.
pub(super) struct Lowerer<'m> {
    pub(super) module: &'m Module,
    pub(super) calls: &'m CustomCalls,
    /// Whether kernels over the same rows become one.
    joined: bool,
    pub(super) analyses: Vec<Analysis>,
    pub(super) kernels: Arena<KernelId, Kernel>,
    pub(super) buffers: Arena<BufferId, Buffer>,
    pub(super) steps: Vec<Step>,
    num_steps: usize,
    depth: usize,
    constants: BTreeMap<(ComputationId, InstrId, usize), BufferId>,
    kernel_names: HashMap<String, usize>,
    counted: Vec<bool>,
    num_instructions: usize,
    pub(super) split_fusions: Vec<(InstrRef, String)>,
}

impl<'m> Lowerer<'m> {
    pub(super) fn new(module: &'m Module, calls: &'m CustomCalls, joined: bool) -> Lowerer<'m> {
        Lowerer {
            module,
            calls,
            joined,
            analyses: Analysis::of_module(module),
            kernels: Arena::new(),
            buffers: Arena::new(),
            steps: Vec::new(),
            num_steps: 0,
            depth: 0,
            constants: BTreeMap::new(),
            kernel_names: HashMap::default(),
            counted: vec![false; module.computations.len()],
            num_instructions: 0,
            split_fusions: Vec::new(),
        }
    }

    /// The program of the entry computation.
    pub(super) fn program(mut self) -> Built<Program> {
        let entry = self.module.entry();
        let mut parameters = Vec::new();
        let mut args = Vec::new();
        for id in &entry.parameters {
            let instruction = &entry.instructions[*id];
            let mut leaves = Leaves::new();
            for shape in instruction.shape.leaves() {
                leaves.push(match array_leaf(instruction, shape)? {
                    Some(shape) => {
                        let kind = BufferKind::Parameter(parameters.len());
                        let id = self.buffer(shape, kind);
                        parameters.push(id);
                        Leaf::Buffer { id, owned: false }
                    }
                    None => Leaf::Token,
                });
            }
            args.push(leaves);
        }
        let mut results = Vec::new();
        let mut dests = Vec::new();
        for shape in entry.root().shape.leaves() {
            dests.push(match array_leaf(entry.root(), shape)? {
                Some(shape) => {
                    let id = self.buffer(shape, BufferKind::Result(results.len()));
                    results.push(id);
                    Some(id)
                }
                None => None,
            });
        }
        self.computation(self.module.entry, args, &dests)?;
        self.clean_up([&mut parameters, &mut results]);
        let shape = entry.program_shape();
        let name = |id: &InstrId| entry.instructions[*id].name.to_string();
        Ok(Program {
            kernels: self.kernels,
            buffers: self.buffers,
            steps: self.steps,
            parameters,
            results,
            parameter_shapes: shape.parameters,
            parameter_names: entry.parameters.iter().map(name).collect(),
            result_shape: shape.result,
            arena_bytes: 0,
            num_instructions: self.num_instructions,
            split_fusions: self.split_fusions,
        })
    }

    /// Lowers one call of a computation. Result arrays with a destination are written there; the
    /// others are where the returned leaves say, never virtual.
    pub(super) fn computation(
        &mut self,
        id: ComputationId,
        args: Vec<Leaves>,
        dests: &[Option<BufferId>],
    ) -> Built<Leaves> {
        let computation = &self.module.computations[id];
        if self.depth >= MAX_CALL_DEPTH {
            return Err(LowerError::limit(
                computation.root(),
                "calls inside each other",
                MAX_CALL_DEPTH,
            ));
        }
        self.depth += 1;
        let mut region = Region {
            id,
            computation,
            values: vec![Leaves::new(); computation.instructions.len()],
            targets: BTreeMap::new(),
        };
        for (parameter, leaves) in computation.parameters.iter().zip(args) {
            region.values[parameter.index()] = leaves;
        }
        self.set_targets(&mut region, dests);
        for (instr, instruction) in computation.instructions.iter() {
            if !self.analyses[id.index()].needed[instr.index()] {
                continue;
            }
            if !self.counted[id.index()] {
                self.num_instructions += 1;
            }
            if let Op::Parameter { .. } = &instruction.op {
                continue;
            }
            let leaves = self.instruction(&mut region, instr, instruction)?;
            region.values[instr.index()] = leaves;
        }
        self.counted[id.index()] = true;
        let results = self.deliver(&mut region, dests);
        self.depth -= 1;
        results
    }

    /// Chooses the arrays that can be made in the place where the caller wants them.
    fn set_targets(&self, region: &mut Region<'m>, dests: &[Option<BufferId>]) {
        let origins = &self.analyses[region.id.index()].origins;
        let root = &origins[region.computation.root.index()];
        for (origin, dest) in root.iter().zip(dests) {
            if let Some(dest) = dest {
                region.targets.entry(*origin).or_insert(*dest);
            }
        }
    }

    /// Copies results to their destinations where they were not made there.
    fn deliver(&mut self, region: &mut Region<'m>, dests: &[Option<BufferId>]) -> Built<Leaves> {
        let root = region.computation.root;
        let mut results = Leaves::new();
        for leaf in 0..region.leaves(root).len() {
            let dest = dests.get(leaf).copied().flatten();
            let result = match (region.leaves(root)[leaf], dest) {
                (Leaf::Token, _) => Leaf::Token,
                (Leaf::Buffer { id, .. }, Some(dest)) => {
                    self.copy(region.computation.root(), id, dest)?;
                    Leaf::Buffer {
                        id: dest,
                        owned: false,
                    }
                }
                (Leaf::Virtual(_), Some(dest)) => {
                    self.fill(region, root, leaf, dest)?;
                    Leaf::Buffer {
                        id: dest,
                        owned: false,
                    }
                }
                (Leaf::Buffer { .. } | Leaf::Virtual(_), None) => {
                    self.materialize(region, root, leaf)?;
                    region.leaves(root)[leaf]
                }
            };
            results.push(result);
        }
        Ok(results)
    }

    fn instruction(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        instruction: &'m Instruction,
    ) -> Built<Leaves> {
        if let Some(leaves) = self.renamed(region, instruction)? {
            return Ok(leaves);
        }
        if is_virtual(instruction) {
            return self.virtual_value(region, instruction);
        }
        if let Op::Constant { literal } = &instruction.op {
            return self.constant_value(region.id, id, instruction, literal);
        }
        if let Some(leaves) = self.library(region, id, instruction)? {
            return Ok(leaves);
        }
        if let Some(reason) = refusal(&instruction.op) {
            return Err(LowerError::unsupported(instruction, reason));
        }
        if let Op::Call { to_apply, .. } = &instruction.op {
            self.inlined(region, id, *to_apply)
        } else if let Op::While { condition, body } = &instruction.op {
            self.while_loop(region, id, *condition, *body)
        } else if let Op::Conditional { .. } = &instruction.op {
            self.conditional(region, id, &instruction.op.branches())
        } else if let Op::Fusion { calls, .. } = &instruction.op {
            self.fusion(region, id, *calls)
        } else if let Op::DynamicUpdateSlice {} = &instruction.op {
            self.update_slice(region, id, None, id)
        } else if let Op::Scatter { .. } = &instruction.op {
            self.scatter(region, id)
        } else if let Op::ReduceWindow {
            window: Some(window),
            to_apply,
        } = &instruction.op
        {
            match self.cumulative(region, id, window, *to_apply)? {
                Some(leaves) => Ok(leaves),
                None => self.single(region, id),
            }
        } else if let Op::BatchNormInference { .. }
        | Op::BatchNormTraining { .. }
        | Op::BatchNormGrad { .. } = &instruction.op
        {
            self.batch_norm(region, id)
        } else if let Op::SelectAndScatter { .. } = &instruction.op {
            self.select_and_scatter(region, id)
        } else if let Op::Dot { .. } = &instruction.op {
            self.dot(region, id, instruction)
        } else if let Op::CustomCall {
            custom_call_target, ..
        } = &instruction.op
        {
            let reason = format!("the target `{custom_call_target}` is unknown");
            Err(LowerError::unsupported(instruction, reason))
        } else {
            self.single(region, id)
        }
    }

    /// The leaves of an instruction that only names arrays of its operands again.
    fn renamed(
        &mut self,
        region: &mut Region<'m>,
        instruction: &Instruction,
    ) -> Built<Option<Leaves>> {
        let mut leaves = Leaves::new();
        if let Op::Tuple {} = &instruction.op {
            for operand in &instruction.operands {
                for leaf in 0..region.leaves(*operand).len() {
                    leaves.push(self.alias(region, *operand, leaf)?);
                }
            }
        } else if let Op::GetTupleElement { index } = &instruction.op {
            let operand = operand_id(instruction, 0)?;
            let tuple = &region.computation.instructions[operand].shape;
            for leaf in 0..instruction.shape.leaves().len() {
                let leaf = leaf_of_tuple(tuple, *index, leaf)
                    .filter(|leaf| *leaf < region.leaves(operand).len())
                    .ok_or_else(|| {
                        LowerError::internal(instruction, "the tuple has no such element")
                    })?;
                leaves.push(self.alias(region, operand, leaf)?);
            }
        } else if let Op::AfterAll {} = &instruction.op {
            leaves.push(Leaf::Token);
        } else if passes_operand_on(region.computation, instruction) {
            let operand = operand_id(instruction, 0)?;
            for leaf in 0..region.leaves(operand).len() {
                leaves.push(self.alias(region, operand, leaf)?);
            }
        } else {
            return Ok(None);
        }
        Ok(Some(leaves))
    }

    /// Another name for an array.
    fn alias(&mut self, region: &mut Region<'m>, operand: InstrId, leaf: usize) -> Built<Leaf> {
        match region.leaves(operand)[leaf] {
            Leaf::Virtual(depth) if depth + 1 >= MAX_VIRTUAL_DEPTH => {
                self.materialize(region, operand, leaf)?;
                Ok(region.leaves(operand)[leaf])
            }
            Leaf::Virtual(depth) => Ok(Leaf::Virtual(depth + 1)),
            known @ (Leaf::Buffer { .. } | Leaf::Token) => Ok(known),
        }
    }

    fn virtual_value(
        &mut self,
        region: &mut Region<'m>,
        instruction: &Instruction,
    ) -> Built<Leaves> {
        if array_leaf(instruction, &instruction.shape)?.is_none() {
            return Err(LowerError::internal(instruction, "it is no array"));
        }
        let depth = match instruction.operands.first() {
            Some(operand) => match self.alias(region, *operand, 0)? {
                Leaf::Virtual(depth) => depth,
                Leaf::Buffer { .. } | Leaf::Token => 0,
            },
            None => 0,
        };
        Ok(Leaves::from_iter([Leaf::Virtual(depth)]))
    }

    fn constant_value(
        &mut self,
        computation: ComputationId,
        id: InstrId,
        instruction: &Instruction,
        literal: &Literal,
    ) -> Built<Leaves> {
        let arrays = literal.clone().into_leaves();
        let mut leaves = Leaves::new();
        for (leaf, array) in arrays.into_iter().enumerate() {
            array_leaf(instruction, &instruction.shape)?;
            let id = self.constant((computation, id, leaf), array);
            leaves.push(Leaf::Buffer { id, owned: false });
        }
        Ok(leaves)
    }

    /// The buffer of a constant, made once.
    pub(super) fn constant(
        &mut self,
        place: (ComputationId, InstrId, usize),
        array: hloc_ir::Array,
    ) -> BufferId {
        if let Some(id) = self.constants.get(&place) {
            return *id;
        }
        let shape = ArrayShape::new(array.element_type(), array.dims());
        let id = self.buffer(&shape, BufferKind::Constant(array));
        self.constants.insert(place, id);
        id
    }

    // Buffers.

    fn buffer(&mut self, shape: &ArrayShape, kind: BufferKind) -> BufferId {
        self.buffers.push(Buffer {
            shape: ArrayShape::new(shape.element_type, &shape.dims),
            kind,
        })
    }

    /// A new temporary.
    pub(super) fn temporary(&mut self, shape: &ArrayShape) -> BufferId {
        self.buffer(shape, BufferKind::Temporary { offset: 0 })
    }

    pub(super) fn is_temporary(&self, id: BufferId) -> bool {
        self.buffers[id].is_temporary()
    }

    /// The buffer to make an array in: where the caller wants it, or a new temporary.
    pub(super) fn output(
        &mut self,
        region: &Region<'m>,
        instr: InstrId,
        leaf: usize,
        shape: &ArrayShape,
    ) -> (BufferId, Leaf) {
        match region.targets.get(&(instr, leaf)) {
            Some(id) => (
                *id,
                Leaf::Buffer {
                    id: *id,
                    owned: false,
                },
            ),
            None => {
                let id = self.temporary(shape);
                (id, Leaf::Buffer { id, owned: true })
            }
        }
    }

    /// The buffer of an array; a virtual one is computed into a buffer first.
    pub(super) fn materialize(
        &mut self,
        region: &mut Region<'m>,
        instr: InstrId,
        leaf: usize,
    ) -> Built<BufferId> {
        let instruction = &region.computation.instructions[instr];
        match region.leaves(instr).get(leaf) {
            Some(Leaf::Buffer { id, .. }) => Ok(*id),
            Some(Leaf::Virtual(_)) => {
                let made = self.made_buffer(region, instr, leaf)?;
                region.values[instr.index()][leaf] = made;
                match made {
                    Leaf::Buffer { id, .. } => Ok(id),
                    Leaf::Virtual(_) | Leaf::Token => {
                        Err(LowerError::internal(instruction, "it has no buffer"))
                    }
                }
            }
            Some(Leaf::Token) | None => Err(LowerError::internal(instruction, "it has no buffer")),
        }
    }

    fn made_buffer(&mut self, region: &Region<'m>, instr: InstrId, leaf: usize) -> Built<Leaf> {
        let instruction = &region.computation.instructions[instr];
        let origins = &self.analyses[region.id.index()].origins[instr.index()];
        let (maker, from) = origins.get(leaf).copied().unwrap_or((instr, leaf));
        if let Op::Constant { literal } = &region.computation.instructions[maker].op
            && let Some(array) = literal.as_array()
        {
            let id = self.constant((region.id, maker, from), array.clone());
            return Ok(Leaf::Buffer { id, owned: false });
        }
        let shape = leaf_shape(&instruction.shape, leaf).and_then(Shape::as_array);
        let shape = shape.ok_or_else(|| LowerError::internal(instruction, "it is no array"))?;
        let id = self.temporary(shape);
        self.fill(region, instr, leaf, id)?;
        Ok(Leaf::Buffer { id, owned: true })
    }

    /// Copies a buffer unless it is the destination.
    pub(super) fn copy(&mut self, at: &Instruction, from: BufferId, to: BufferId) -> Built<()> {
        if from == to || is_empty(&self.buffers[to].shape) {
            return Ok(());
        }
        self.push(at, Step::Copy { from, to })
    }

    // Steps and kernels.

    pub(super) fn push(&mut self, at: &Instruction, step: Step) -> Built<()> {
        self.num_steps += 1;
        if self.num_steps > MAX_STEPS {
            return Err(LowerError::limit(at, "steps", MAX_STEPS));
        }
        self.steps.push(step);
        Ok(())
    }

    /// The steps that `make` emits, as a list of their own.
    pub(super) fn separate<T>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Built<T>,
    ) -> Built<(Vec<Step>, T)> {
        let outer = std::mem::take(&mut self.steps);
        let made = make(self);
        let inner = std::mem::replace(&mut self.steps, outer);
        Ok((inner, made?))
    }

    /// Adds a kernel and the step that runs it.
    pub(super) fn run(
        &mut self,
        at: &Instruction,
        (mut kernel, args): (Kernel, Vec<ArgSource>),
    ) -> Built<()> {
        let mut buffers = Vec::with_capacity(args.len());
        for arg in args {
            buffers.push(match arg {
                ArgSource::Buffer(id) => id,
                ArgSource::Constant(computation, instr) => {
                    let instruction = &self.module.computations[computation].instructions[instr];
                    let Op::Constant { literal } = &instruction.op else {
                        return Err(LowerError::internal(instruction, "it is no constant"));
                    };
                    let array = literal.as_array().cloned();
                    let array =
                        array.ok_or_else(|| LowerError::internal(instruction, "it is no array"))?;
                    self.constant((computation, instr, 0), array)
                }
            });
        }
        if self.joined
            && let Some(Step::Kernel {
                kernel: last,
                args: known,
            }) = self.steps.last_mut()
            && let Some((joined, args)) =
                transform::merge((&self.kernels[*last], known), (&kernel, &buffers))
        {
            self.kernels[*last] = joined;
            *known = args;
            return Ok(());
        }
        kernel.name = self.unique_name(kernel.name);
        let kernel = self.kernels.push(kernel);
        self.push(
            at,
            Step::Kernel {
                kernel,
                args: buffers,
            },
        )
    }

    /// Adds a kernel that a library routine calls.
    pub(super) fn callback(&mut self, mut kernel: Kernel) -> KernelId {
        kernel.name = self.unique_name(kernel.name);
        self.kernels.push(kernel)
    }

    /// The name, with a number behind it if it is taken.
    fn unique_name(&mut self, name: String) -> String {
        let mut candidate = name.clone();
        loop {
            match self.kernel_names.get_mut(&candidate) {
                None => {
                    self.kernel_names.insert(candidate.clone(), 0);
                    return candidate;
                }
                Some(_) => {
                    let count = self.kernel_names.entry(name.clone()).or_insert(0);
                    *count += 1;
                    candidate = format!("{name}.{count}");
                }
            }
        }
    }
}

/// The array shape of a leaf, `None` for a token.
fn array_leaf<'s>(instruction: &Instruction, shape: &'s Shape) -> Built<Option<&'s ArrayShape>> {
    match shape {
        Shape::Array(array) if array.dynamic != 0 => Err(LowerError::unsupported(
            instruction,
            "dynamic dimensions are not compiled",
        )),
        Shape::Array(array) => Ok(Some(array)),
        Shape::Token => Ok(None),
        Shape::Tuple(_) => Ok(None),
        Shape::Opaque | Shape::Buffer(_) => Err(LowerError::unsupported(
            instruction,
            "values of this kind are not compiled",
        )),
    }
}

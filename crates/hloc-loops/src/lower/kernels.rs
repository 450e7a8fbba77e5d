//! Steps that are kernels: single instructions, fusions, updates of slices.

use hloc_ir::{
    Computation, ComputationId, Id, InstrId, Instruction, Op, Opcode, Shape, StructuralOp,
};

use super::builder::{ArgSource, Bound, Builder, Built, Node};
use super::dot::library_call;
use super::library::convolution;
use super::region::{Leaf, Leaves, Region};
use super::steps::Lowerer;
use super::{is_empty, leaf_shape, passes_operand_on};
use crate::error::LowerError;
use crate::index::{Index, linear_index};
use crate::ir::{Access, BufferId, InstrRef, Kernel, Stmt};

/// An array to be stored, by instruction of the computation that is computed and array of its value.
#[derive(Clone, Copy)]
struct Output {
    instr: InstrId,
    leaf: usize,
    buffer: BufferId,
}

/// The most operands of a `concatenate` in one kernel.
const MAX_JOINED: usize = 32;
/// Number of elements from which an operand of a `concatenate` gets a kernel of its own.
const LARGE_PIECE: i64 = 4096;

/// Neighboring operands of a `concatenate` that one kernel stores, each with where it begins in the
/// group.
struct JoinedGroup {
    pieces: Vec<(Node, i64)>,
    begin: i64,
    end: i64,
}

impl<'m> Lowerer<'m> {
    /// A kernel for one instruction.
    pub(super) fn single(&mut self, region: &Region<'m>, id: InstrId) -> Built<Leaves> {
        match self.staged(region, id, None, id)? {
            Some(leaves) => Ok(leaves),
            None => self.stored(region, id, None),
        }
    }

    /// One kernel for a fusion, or its instructions one by one if that is not possible, if the library
    /// is better at one of them, or if one kernel would compute sums again and again.
    pub(super) fn fusion(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        fused: ComputationId,
    ) -> Built<Leaves> {
        let computation = &self.module.computations[fused];
        let mut instructions = computation.instructions.values();
        let by_library = instructions.find(|instruction| {
            library_call(computation, instruction).is_some()
                || convolution(computation, instruction).is_some()
        });
        if let Some(instruction) = by_library {
            let reason = format!("the library computes `{}`", instruction.name);
            return self.split(region, id, fused, reason);
        }
        if repeats_loops(computation) {
            let reason = "one kernel would compute sums again and again";
            return self.split(region, id, fused, reason.to_owned());
        }
        let mut root = computation.root;
        while passes_operand_on(computation, &computation.instructions[root]) {
            root = computation.instructions[root].operands[0];
        }
        let made = if let Op::DynamicUpdateSlice {} = &computation.instructions[root].op {
            self.update_slice(region, id, Some(fused), root)
        } else {
            match self.staged(region, id, Some(fused), root) {
                Ok(None) => self.stored(region, id, Some(fused)),
                Ok(Some(leaves)) => Ok(leaves),
                Err(error) => Err(error),
            }
        };
        match made {
            Err(error @ (LowerError::Unsupported { .. } | LowerError::Limit { .. })) => {
                self.split(region, id, fused, error.to_string())
            }
            Ok(_) | Err(LowerError::Internal { .. }) => made,
        }
    }

    /// The instructions of a fusion one by one.
    fn split(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        fused: ComputationId,
        reason: String,
    ) -> Built<Leaves> {
        let instruction = InstrRef {
            computation: region.id,
            instr: id,
        };
        self.split_fusions.push((instruction, reason));
        self.inlined(region, id, fused)
    }

    /// Kernels that store all arrays of an instruction (`fused`: of what it calls), one for each size.
    fn stored(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let root = fused.map_or(id, |fused| self.module.computations[fused].root);
        let mut leaves = Leaves::new();
        let mut groups: Vec<(&[i64], Vec<Output>)> = Vec::new();
        for (leaf, shape) in instruction.shape.leaves().into_iter().enumerate() {
            let Some(shape) = shape.as_array() else {
                let reason = "it gives something that is no array";
                return Err(LowerError::unsupported(instruction, reason));
            };
            if shape.dynamic != 0 {
                let reason = "dynamic dimensions are not compiled";
                return Err(LowerError::unsupported(instruction, reason));
            }
            let (buffer, place) = self.output(region, id, leaf, shape);
            leaves.push(place);
            if is_empty(shape) {
                continue;
            }
            let output = Output {
                instr: root,
                leaf,
                buffer,
            };
            match groups
                .iter_mut()
                .find(|(dims, _)| *dims == shape.dims.as_slice())
            {
                Some((_, outputs)) => outputs.push(output),
                None => groups.push((&shape.dims, vec![output])),
            }
        }
        let mut kernels = Vec::new();
        if let [(_, outputs)] = groups.as_slice()
            && let [output] = outputs.as_slice()
        {
            kernels = self.joined_kernels(region, id, fused, *output)?;
        }
        if !kernels.is_empty() {
            groups.clear();
        }
        for (dims, outputs) in groups {
            kernels.push(self.store_kernel(region, id, fused, dims, &outputs)?);
        }
        for kernel in kernels {
            self.run(instruction, kernel)?;
        }
        Ok(leaves)
    }

    /// Computes an array of an instruction into a buffer.
    pub(super) fn fill(
        &mut self,
        region: &Region<'m>,
        instr: InstrId,
        leaf: usize,
        buffer: BufferId,
    ) -> Built<()> {
        let instruction = &region.computation.instructions[instr];
        let shape = leaf_shape(&instruction.shape, leaf).and_then(Shape::as_array);
        let Some(shape) = shape.filter(|shape| !is_empty(shape)) else {
            return Ok(());
        };
        let output = Output {
            instr,
            leaf,
            buffer,
        };
        let kernel = self.store_kernel(region, instr, None, &shape.dims, &[output])?;
        self.run(instruction, kernel)
    }

    /// A kernel that stores arrays of equal dimensions in one loop nest.
    fn store_kernel(
        &self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        dims: &[i64],
        outputs: &[Output],
    ) -> Built<(Kernel, Vec<ArgSource>)> {
        let (mut builder, frame) = self.builder(region, id, fused);
        let mut stores = Vec::new();
        for output in outputs {
            let node = Node {
                frame,
                instr: output.instr,
                leaf: output.leaf,
            };
            let source = ArgSource::Buffer(output.buffer);
            let element_type = builder.shape(node)?.element_type;
            let param = builder.param(source, element_type, dims, Access::Write);
            stores.push((node, param));
        }
        builder.store_nest(dims, true, &mut |builder, indices| {
            for (node, param) in &stores {
                let value = builder.value_at(*node, indices)?;
                let index = linear_index(indices, dims);
                builder.push(Stmt::Store {
                    param: *param,
                    index,
                    value,
                });
            }
            Ok(())
        })?;
        Ok(builder.finish())
    }

    /// Kernels for groups of operands of a `concatenate` along the outermost dimension, so that none
    /// asks per element which operand it is in; none if it is something else or small.
    fn joined_kernels(
        &self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        output: Output,
    ) -> Built<Vec<(Kernel, Vec<ArgSource>)>> {
        let (builder, frame) = self.builder(region, id, fused);
        let node = Node {
            frame,
            instr: output.instr,
            leaf: output.leaf,
        };
        let Op::Concatenate { dimensions } = &builder.instruction(node).op else {
            return Ok(Vec::new());
        };
        let (dim, pieces) = builder.pieces(node, dimensions)?;
        let dims = builder.shape(node)?.dims.to_vec();
        let is_outermost = dims.iter().take(dim).all(|dim| *dim == 1);
        if !is_outermost || pieces.is_empty() {
            return Ok(Vec::new());
        }
        let row: i64 = dims.iter().skip(dim + 1).product();
        let ends = pieces
            .iter()
            .skip(1)
            .map(|(_, begin)| *begin)
            .chain([dims[dim]]);
        let mut groups: Vec<JoinedGroup> = Vec::new();
        for ((piece, begin), end) in pieces.iter().zip(ends) {
            match groups.last_mut() {
                Some(group)
                    if group.pieces.len() < MAX_JOINED
                        && (group.end - group.begin).saturating_mul(row) < LARGE_PIECE
                        && (end - begin).saturating_mul(row) < LARGE_PIECE =>
                {
                    group.pieces.push((*piece, begin - group.begin));
                    group.end = end;
                }
                Some(_) | None => groups.push(JoinedGroup {
                    pieces: vec![(*piece, 0)],
                    begin: *begin,
                    end,
                }),
            }
        }
        if groups.len() < 2 {
            return Ok(Vec::new());
        }
        let kernel =
            |group: &JoinedGroup| self.joined_kernel(region, id, fused, output, dim, group);
        groups.iter().map(kernel).collect()
    }

    fn joined_kernel(
        &self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        output: Output,
        dim: usize,
        group: &JoinedGroup,
    ) -> Built<(Kernel, Vec<ArgSource>)> {
        let (mut builder, frame) = self.builder(region, id, fused);
        let node = Node {
            frame,
            instr: output.instr,
            leaf: output.leaf,
        };
        let shape = builder.shape(node)?;
        let source = ArgSource::Buffer(output.buffer);
        let param = builder.param(source, shape.element_type, &shape.dims, Access::ReadWrite);
        let mut part = shape.dims.to_vec();
        part[dim] = group.end - group.begin;
        builder.store_nest(&part, true, &mut |builder, indices| {
            let value = builder.concatenated(&group.pieces, dim, &indices.into())?;
            let mut place = indices.to_vec();
            place[dim] = place[dim].plus(group.begin);
            let index = linear_index(&place, &shape.dims);
            builder.push(Stmt::Store {
                param,
                index,
                value,
            });
            Ok(())
        })?;
        Ok(builder.finish())
    }

    /// A builder for an instruction, and the frame of the computation that is computed.
    pub(super) fn builder<'r>(
        &self,
        region: &'r Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
    ) -> (Builder<'r>, usize)
    where
        'm: 'r,
    {
        let instruction = &region.computation.instructions[id];
        let mut builder = Builder::new(self.module, region, instruction);
        let node = Node {
            frame: 0,
            instr: id,
            leaf: 0,
        };
        let frame = match fused {
            Some(fused) => builder.call_with_operands(node, fused),
            None => {
                builder.note(node);
                0
            }
        };
        (builder, frame)
    }

    /// A `dynamic-update-slice` that is an instruction or the root of a fusion: the operand stays where
    /// it is if nothing else needs it, and is copied otherwise; then only the slice is written.
    pub(super) fn update_slice(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        update: InstrId,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let Some(shape) = instruction.shape.as_array() else {
            return Err(LowerError::internal(instruction, "it is no array"));
        };
        let (builder, frame) = self.builder(region, id, fused);
        let node = Node {
            frame,
            instr: update,
            leaf: 0,
        };
        let operand = outer_node(&builder, builder.operand(node, 0)?);
        drop(builder);
        let reusable = self.reusable(region, id, operand);
        if let Some(buffer) = reusable {
            let kernel = self.slice_kernel(region, id, fused, update, buffer)?;
            if reads_only_once(&kernel.1, buffer) {
                self.run_unless_empty(instruction, kernel)?;
                let leaf = Leaf::Buffer {
                    id: buffer,
                    owned: true,
                };
                return Ok(Leaves::from_iter([leaf]));
            }
        }
        let (buffer, leaf) = self.output(region, id, 0, shape);
        let kernel = self.slice_kernel(region, id, fused, update, buffer)?;
        let known = (operand.frame == 0)
            .then(|| region.leaves(operand.instr).get(operand.leaf).copied())
            .flatten();
        if let Some(Leaf::Buffer { id: from, .. }) = known {
            self.copy(instruction, from, buffer)?;
        } else if operand.frame == 0 {
            self.fill(region, operand.instr, operand.leaf, buffer)?;
        } else if !is_empty(shape) {
            let output = Output {
                instr: operand.instr,
                leaf: operand.leaf,
                buffer,
            };
            let dims = self.operand_dims(fused, update).unwrap_or(&shape.dims);
            let fill = self.store_kernel(region, id, fused, dims, &[output])?;
            self.run(instruction, fill)?;
        }
        self.run_unless_empty(instruction, kernel)?;
        Ok(Leaves::from_iter([leaf]))
    }

    fn operand_dims(&self, fused: Option<ComputationId>, update: InstrId) -> Option<&'m [i64]> {
        let computation = &self.module.computations[fused?];
        let operand = computation.instructions[update].operands.first()?;
        let shape = computation.instructions[*operand].shape.as_array()?;
        Some(&shape.dims)
    }

    /// The buffer of an array that instruction `id` may overwrite.
    pub(super) fn reusable(
        &self,
        region: &Region<'m>,
        id: InstrId,
        operand: Node,
    ) -> Option<BufferId> {
        if operand.frame != 0 {
            return None;
        }
        let leaf = region.leaves(operand.instr).get(operand.leaf)?;
        let Leaf::Buffer {
            id: buffer,
            owned: true,
        } = leaf
        else {
            return None;
        };
        let analysis = &self.analyses[region.id.index()];
        let origin = analysis.origins[operand.instr.index()].get(operand.leaf)?;
        (self.is_temporary(*buffer) && analysis.dies_at(*origin, id)).then_some(*buffer)
    }

    /// A kernel that writes the slice of a `dynamic-update-slice` into a buffer; without a body if the
    /// slice is empty.
    fn slice_kernel(
        &self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        update: InstrId,
        buffer: BufferId,
    ) -> Built<(Kernel, Vec<ArgSource>)> {
        let (mut builder, frame) = self.builder(region, id, fused);
        let node = Node {
            frame,
            instr: update,
            leaf: 0,
        };
        let shape = builder.shape(node)?;
        let slice = builder.operand(node, 1)?;
        let sizes = &builder.shape(slice)?.dims;
        if sizes.contains(&0) {
            return Ok(builder.finish());
        }
        let source = ArgSource::Buffer(buffer);
        let param = builder.param(source, shape.element_type, &shape.dims, Access::ReadWrite);
        let starts = builder.dynamic_starts(node, 2, sizes)?;
        builder.store_nest(sizes, true, &mut |builder, indices| {
            let value = builder.value_at(slice, indices)?;
            let place: Vec<Index> = indices
                .iter()
                .zip(&starts)
                .map(|(index, start)| index.add(start))
                .collect();
            let index = linear_index(&place, &shape.dims);
            builder.push(Stmt::Store {
                param,
                index,
                value,
            });
            Ok(())
        })?;
        Ok(builder.finish())
    }

    pub(super) fn run_unless_empty(
        &mut self,
        instruction: &Instruction,
        kernel: (Kernel, Vec<ArgSource>),
    ) -> Built<()> {
        if kernel.0.body.is_empty() {
            return Ok(());
        }
        self.run(instruction, kernel)
    }
}

/// Whether one kernel for the computation would compute again and again what a buffer could hold: a sum of
/// sums, a sum that is broadcast, or what a convolution reads.
fn repeats_loops(computation: &Computation) -> bool {
    let mut holds_loop = vec![false; computation.instructions.len()];
    for (id, instruction) in computation.instructions.iter() {
        let mut operands = instruction.operands.iter();
        let from_loop = operands.any(|operand| holds_loop[operand.index()]);
        let (is_loop, repeats) = match &instruction.op.opcode() {
            Opcode::Structural(StructuralOp::Convolution) => return true,
            Opcode::Structural(
                StructuralOp::Dot | StructuralOp::Reduce | StructuralOp::ReduceWindow,
            ) => (true, true),
            Opcode::Structural(op) => (false, *op == StructuralOp::Broadcast),
            Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => (false, false),
        };
        if from_loop && repeats {
            return true;
        }
        holds_loop[id.index()] = from_loop || is_loop;
    }
    false
}

/// The node of the computation around the kernel that a node stands for, if it is a parameter.
fn outer_node(builder: &Builder<'_>, node: Node) -> Node {
    let mut node = node;
    while let Op::Parameter { number } = &builder.instruction(node).op {
        match builder.bound(node, *number) {
            Some(Bound::Node(outer)) => node = outer,
            Some(Bound::Scalar(_)) | None => break,
        }
    }
    node
}

/// Whether a buffer is passed to a kernel at most once: as what it writes.
pub(super) fn reads_only_once(args: &[ArgSource], buffer: BufferId) -> bool {
    let count = args.iter().filter(|arg| **arg == ArgSource::Buffer(buffer));
    count.count() <= 1
}

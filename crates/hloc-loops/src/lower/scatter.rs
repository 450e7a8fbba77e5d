//! `scatter`: a kernel that goes through the updates in order and combines each into the operand.

use hloc_ir::{ComputationId, InstrId, Instruction, Op};
use smallvec::SmallVec;

use super::builder::{ArgSource, Builder, Built, Indices, Node};
use super::computing::WindowDims;
use super::kernels::reads_only_once;
use super::region::{Leaf, Leaves, Region};
use super::steps::Lowerer;
use super::{is_empty, operand_id};
use crate::error::LowerError;
use crate::index::{Index, linear_index};
use crate::ir::{Access, BufferId, Expr, IndexRange, Kernel, LoopKind, ParamId, Stmt, ValueId};

/// What a scatter kernel is built from.
struct Plan<'a> {
    dims: WindowDims<'a>,
    to_apply: ComputationId,
    /// The arrays that are scattered into.
    inputs: Vec<Node>,
    indices: Node,
    updates: Vec<Node>,
    /// Sizes of the arrays scattered into.
    input_dims: Vec<i64>,
    /// Sizes of the updates.
    update_dims: Vec<i64>,
}

impl<'m> Lowerer<'m> {
    /// A scatter: the operands stay where they are if nothing else needs them, and are copied otherwise.
    pub(super) fn scatter(&mut self, region: &mut Region<'m>, id: InstrId) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let count = instruction.operands.len() / 2;
        let mut leaves = Leaves::new();
        let mut buffers = Vec::new();
        for at in 0..count {
            let operand = operand_id(instruction, at)?;
            let node = Node {
                frame: 0,
                instr: operand,
                leaf: 0,
            };
            let reusable = self.reusable(region, id, node);
            let uses = instruction
                .operands
                .iter()
                .filter(|other| **other == operand);
            match reusable.filter(|_| uses.count() == 1) {
                Some(buffer) => {
                    buffers.push(buffer);
                    leaves.push(Leaf::Buffer {
                        id: buffer,
                        owned: true,
                    });
                }
                None => {
                    let (buffer, leaf) = self.scatter_copy(region, id, operand, at)?;
                    buffers.push(buffer);
                    leaves.push(leaf);
                }
            }
        }
        let mut kernel = self.scatter_kernel(region, id, &buffers)?;
        // An index or an update may be the array scattered into under another name.
        if !buffers
            .iter()
            .all(|buffer| reads_only_once(&kernel.1, *buffer))
        {
            leaves.clear();
            buffers.clear();
            for at in 0..count {
                let operand = operand_id(instruction, at)?;
                let (buffer, leaf) = self.scatter_copy(region, id, operand, at)?;
                buffers.push(buffer);
                leaves.push(leaf);
            }
            kernel = self.scatter_kernel(region, id, &buffers)?;
        }
        self.run_unless_empty(instruction, kernel)?;
        Ok(leaves)
    }

    /// A buffer for result `at` that holds the operand.
    fn scatter_copy(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        operand: InstrId,
        at: usize,
    ) -> Built<(BufferId, Leaf)> {
        let instruction = &region.computation.instructions[id];
        let Some(shape) = region.computation.instructions[operand].shape.as_array() else {
            return Err(LowerError::internal(
                instruction,
                "it scatters into a tuple",
            ));
        };
        let (buffer, leaf) = self.output(region, id, at, shape);
        match region.leaves(operand).first() {
            Some(Leaf::Buffer { id: from, .. }) => self.copy(instruction, *from, buffer)?,
            Some(Leaf::Virtual(_)) => self.fill(region, operand, 0, buffer)?,
            Some(Leaf::Token) | None => {
                return Err(LowerError::internal(instruction, "an operand is no array"));
            }
        }
        Ok((buffer, leaf))
    }

    fn scatter_kernel(
        &self,
        region: &Region<'m>,
        id: InstrId,
        buffers: &[BufferId],
    ) -> Built<(Kernel, Vec<ArgSource>)> {
        let (mut builder, _) = self.builder(region, id, None);
        let instruction = &region.computation.instructions[id];
        let plan = plan(&builder, id, instruction)?;
        if plan.update_dims.contains(&0) || plan.input_dims.contains(&0) {
            return Ok(builder.finish());
        }
        let mut params: SmallVec<[ParamId; 1]> = SmallVec::new();
        for (input, buffer) in plan.inputs.iter().zip(buffers) {
            let shape = builder.shape(*input)?;
            if is_empty(shape) {
                return Ok(builder.finish());
            }
            let source = ArgSource::Buffer(*buffer);
            params.push(builder.param(source, shape.element_type, &shape.dims, Access::ReadWrite));
        }
        builder.scatter(&plan, &params)?;
        Ok(builder.finish())
    }
}

fn plan<'a>(builder: &Builder<'_>, id: InstrId, instruction: &'a Instruction) -> Built<Plan<'a>> {
    let Op::Scatter {
        update_window_dims,
        inserted_window_dims,
        scatter_dims_to_operand_dims,
        input_batching_dims,
        scatter_indices_batching_dims,
        index_vector_dim,
        to_apply,
        ..
    } = &instruction.op
    else {
        return Err(LowerError::internal(instruction, "it is no scatter"));
    };
    let node = Node {
        frame: 0,
        instr: id,
        leaf: 0,
    };
    let count = instruction.operands.len() / 2;
    let operands = |range: std::ops::Range<usize>| -> Built<Vec<Node>> {
        range.map(|at| builder.operand(node, at)).collect()
    };
    let (inputs, updates) = (operands(0..count)?, operands(count + 1..2 * count + 1)?);
    let dims_of = |nodes: &[Node]| -> Built<Vec<i64>> {
        let first = nodes.first().copied();
        let first = first.ok_or_else(|| LowerError::internal(instruction, "no operand"))?;
        Ok(builder.shape(first)?.dims.to_vec())
    };
    Ok(Plan {
        dims: WindowDims {
            offset_dims: update_window_dims,
            collapsed: inserted_window_dims,
            start_map: scatter_dims_to_operand_dims,
            batching: input_batching_dims,
            indices_batching: scatter_indices_batching_dims,
            index_vector_dim: *index_vector_dim,
        },
        to_apply: *to_apply,
        input_dims: dims_of(&inputs)?,
        update_dims: dims_of(&updates)?,
        inputs,
        indices: builder.operand(node, count)?,
        updates,
    })
}

impl Plan<'_> {
    /// The size of a window along each operand dimension.
    fn window_sizes(&self) -> Vec<i64> {
        let mut windows = self.dims.offset_dims.iter();
        let size = |dim: usize| {
            if !self.dims.runs_through(dim) {
                return 1;
            }
            let update = windows.next().and_then(|dim| usize::try_from(*dim).ok());
            update
                .and_then(|dim| self.update_dims.get(dim).copied())
                .unwrap_or(1)
        };
        (0..self.input_dims.len()).map(size).collect()
    }

    /// The update dimensions, those of the windows behind the others.
    fn split_dims(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.update_dims.len()).partition(|dim| !self.dims.offset_dims.contains(&(*dim as i64)))
    }
}

impl Builder<'_> {
    /// Loops over the windows in order; in each, where the whole window lies in the operand, loops over
    /// its elements.
    fn scatter(&mut self, plan: &Plan<'_>, params: &[ParamId]) -> Built<()> {
        let (outer, inner) = plan.split_dims();
        let extents = |dims: &[usize]| -> Vec<(i64, LoopKind)> {
            dims.iter()
                .map(|dim| (plan.update_dims[*dim], LoopKind::Serial))
                .collect()
        };
        let inner_extents: Vec<i64> = inner.iter().map(|dim| plan.update_dims[*dim]).collect();
        self.nest(&extents(&outer), Vec::new(), &mut |builder, batch, _| {
            let (starts, ranges) = builder.scatter_starts(plan, batch)?;
            builder.if_in_range(
                ranges,
                &mut |builder| {
                    builder.store_nest(&inner_extents, false, &mut |builder, window| {
                        let mut indices: Indices = plan
                            .update_dims
                            .iter()
                            .map(|_| Index::constant(0))
                            .collect();
                        for (dim, index) in outer.iter().zip(batch).chain(inner.iter().zip(window))
                        {
                            indices[*dim] = index.clone();
                        }
                        builder.combine_update(plan, params, &indices, batch, &starts)
                    })?;
                    Ok(Vec::new())
                },
                &mut |_| Ok(Vec::new()),
            )
        })?;
        Ok(())
    }

    /// The place of a window's first element, and what must hold for the window to lie in the operand.
    fn scatter_starts(
        &mut self,
        plan: &Plan<'_>,
        batch: &[Index],
    ) -> Built<(Vec<Index>, Vec<IndexRange>)> {
        let sizes = plan.window_sizes();
        let mut starts = vec![Index::constant(0); plan.input_dims.len()];
        let mut ranges = Vec::new();
        let num_dims = self.shape(plan.indices)?.num_dims();
        for (component, dim) in plan.dims.start_map.iter().enumerate() {
            let Some(dim) = usize::try_from(*dim).ok().filter(|dim| *dim < sizes.len()) else {
                continue;
            };
            let place = plan.dims.index_place(batch, num_dims, component);
            let value = self.value_at(plan.indices, &place)?;
            let last = plan.input_dims[dim] - sizes[dim];
            // One beyond either end is enough to tell that the window sticks out.
            let start = self.clamped_index(value, -1, last + 1);
            ranges.push(IndexRange {
                index: start.clone(),
                low: 0,
                high: last + 1,
            });
            starts[dim] = start;
        }
        Ok((starts, ranges))
    }

    /// Combines one element of each update into the operands.
    fn combine_update(
        &mut self,
        plan: &Plan<'_>,
        params: &[ParamId],
        indices: &[Index],
        batch: &[Index],
        starts: &[Index],
    ) -> Built<()> {
        let offsets = plan.dims.offsets(indices, batch, plan.input_dims.len());
        let place: Vec<Index> = offsets
            .iter()
            .zip(starts)
            .map(|(offset, start)| offset.add(start))
            .collect();
        let index = linear_index(&place, &plan.input_dims);
        let mut args: Vec<ValueId> = Vec::new();
        for param in params {
            let element_type = self.kernel.params[*param].element_type;
            let load = Expr::Load {
                param: *param,
                index: index.clone(),
            };
            args.push(self.emit(element_type, load));
        }
        for update in &plan.updates {
            args.push(self.value_at(*update, indices)?);
        }
        let results = self.apply(plan.to_apply, &args)?;
        for (param, value) in params.iter().zip(results) {
            self.push(Stmt::Store {
                param: *param,
                index: index.clone(),
                value,
            });
        }
        Ok(())
    }
}

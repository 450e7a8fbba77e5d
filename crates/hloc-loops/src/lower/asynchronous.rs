//! Asynchronous pairs, run in place: what the start asks for is done at once, the done hands it out.
//!
//! A start gives its operands, its results and contexts that say nothing. All are arrays of their own, so
//! that no array is known under two names.

use hloc_ir::{Array, ArrayShape, InstrId, Instruction, Op, Shape};

use super::builder::Built;
use super::region::{Leaf, Leaves, Region};
use super::steps::Lowerer;
use super::{leaf_of_tuple, operand_id};
use crate::error::LowerError;

impl<'m> Lowerer<'m> {
    /// The arrays of a start, an update or a done; `None` for other instructions.
    pub(super) fn asynchronous(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        instruction: &'m Instruction,
    ) -> Built<Option<Leaves>> {
        if let Op::AsyncStart { calls, .. } = &instruction.op {
            let mut leaves = self.operands_again(region, id, Leaves::new())?;
            let first = leaves.len();
            let callee = self.module.computations[*calls].root();
            let mut dests = Vec::new();
            for (at, shape) in callee.shape.leaves().into_iter().enumerate() {
                let (dest, leaf) = self.place(region, id, first + at, shape)?;
                dests.push(dest);
                leaves.push(leaf);
            }
            let mut args = Vec::new();
            for operand in &instruction.operands {
                args.push(self.argument(region, id, *operand)?);
            }
            self.computation(*calls, args, &dests)?;
            return self.contexts(region, id, leaves).map(Some);
        }
        if copies_operands(&instruction.op) {
            let leaves = self.operands_again(region, id, Leaves::new())?;
            let leaves = self.operands_again(region, id, leaves)?;
            return self.contexts(region, id, leaves).map(Some);
        }
        if let Op::AsyncUpdate { .. } = &instruction.op {
            return self.operands_again(region, id, Leaves::new()).map(Some);
        }
        let part = if let Op::CopyDone {} = &instruction.op {
            0
        } else if let Op::AsyncDone { .. } | Op::AllGatherDone {} | Op::CollectivePermuteDone {} =
            &instruction.op
        {
            1
        } else {
            return Ok(None);
        };
        self.handed_out(region, id, part).map(Some)
    }

    /// The place of array `leaf` of an instruction's value.
    fn place(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        leaf: usize,
        shape: &Shape,
    ) -> Built<(Option<crate::ir::BufferId>, Leaf)> {
        let instruction = &region.computation.instructions[id];
        match shape {
            Shape::Array(array) if array.dynamic == 0 => {
                let (buffer, place) = self.output(region, id, leaf, array);
                Ok((Some(buffer), place))
            }
            Shape::Token => Ok((None, Leaf::Token)),
            Shape::Array(_) | Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => {
                let reason = "asynchronous values of this kind are not compiled";
                Err(LowerError::unsupported(instruction, reason))
            }
        }
    }

    /// Copies of all arrays of the operands, behind `leaves`.
    fn operands_again(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        mut leaves: Leaves,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let wanted = instruction.shape.leaves();
        for operand in &instruction.operands {
            let shape = &region.computation.instructions[*operand].shape;
            for (from, shape) in shape.leaves().into_iter().enumerate() {
                let at = leaves.len();
                if !wanted
                    .get(at)
                    .is_some_and(|wanted| wanted.compatible(shape))
                {
                    let reason = "it gives arrays of other shapes than its operands";
                    return Err(LowerError::unsupported(instruction, reason));
                }
                leaves.push(self.copied(region, id, at, (*operand, from), shape)?);
            }
        }
        Ok(leaves)
    }

    fn copied(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        leaf: usize,
        (operand, from): (InstrId, usize),
        shape: &Shape,
    ) -> Built<Leaf> {
        let (buffer, place) = self.place(region, id, leaf, shape)?;
        if let Some(buffer) = buffer {
            let source = self.materialize(region, operand, from)?;
            self.copy(&region.computation.instructions[id], source, buffer)?;
        }
        Ok(place)
    }

    /// Zeros for the rest of a start's value.
    fn contexts(&mut self, region: &Region<'m>, id: InstrId, mut leaves: Leaves) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        for (leaf, shape) in instruction
            .shape
            .leaves()
            .into_iter()
            .enumerate()
            .skip(leaves.len())
        {
            let scalar = |shape: &&ArrayShape| shape.dims.is_empty() && shape.dynamic == 0;
            leaves.push(match shape.as_array().filter(scalar) {
                Some(shape) => {
                    let zero = Array::zeros(shape.element_type, &[]).map_err(|_| {
                        LowerError::internal(instruction, "there is no memory for a scalar")
                    })?;
                    Leaf::Buffer {
                        id: self.constant((region.id, id, leaf), zero),
                        owned: false,
                    }
                }
                None if *shape == Shape::Token => Leaf::Token,
                None => {
                    let reason = "it gives arrays of other shapes than its operands";
                    return Err(LowerError::unsupported(instruction, reason));
                }
            });
        }
        Ok(leaves)
    }

    /// Copies of the arrays of one part of a start's value.
    fn handed_out(&mut self, region: &mut Region<'m>, id: InstrId, part: i64) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let start = operand_id(instruction, 0)?;
        let tuple = &region.computation.instructions[start].shape;
        let mut leaves = Leaves::new();
        for (leaf, shape) in instruction.shape.leaves().into_iter().enumerate() {
            let from = leaf_of_tuple(tuple, part, leaf)
                .filter(|from| *from < region.leaves(start).len())
                .ok_or_else(|| LowerError::internal(instruction, "the start has no such part"))?;
            leaves.push(self.copied(region, id, leaf, (start, from), shape)?);
        }
        Ok(leaves)
    }
}

/// Starts whose results are their operands, on one device.
fn copies_operands(op: &Op) -> bool {
    if let Op::CollectivePermuteStart {
        source_target_pairs,
        ..
    } = op
    {
        return source_target_pairs.contains(&(0, 0));
    }
    if let Op::CopyStart { .. } | Op::AllGatherStart { .. } = op {
        return true;
    }
    false
}

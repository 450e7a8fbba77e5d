//! Calls, loops and branches as steps.

use hloc_ir::{ComputationId, Id, InstrId, Shape, trip_count};

use super::builder::{Built, Node};
use super::operand_id;
use super::region::{Leaf, Leaves, Region};
use super::steps::Lowerer;
use crate::error::LowerError;
use crate::ir::{BufferId, InstrRef, Step};

/// One array that a loop carries.
#[derive(Clone, Copy)]
struct State {
    buffer: BufferId,
    /// Whether iterations may change it.
    varies: bool,
}

impl<'m> Lowerer<'m> {
    /// The instructions of a called computation, as if they stood in place of the call.
    pub(super) fn inlined(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        callee: ComputationId,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let mut args = Vec::new();
        for operand in &instruction.operands {
            args.push(self.argument(region, id, *operand)?);
        }
        let dests: Vec<_> = (0..instruction.shape.leaves().len())
            .map(|leaf| region.targets.get(&(id, leaf)).copied())
            .collect();
        let mut results = self.computation(callee, args, &dests)?;
        // What the callee passes on stays the caller's array.
        let origins = self.analyses[region.id.index()].origins[id.index()].clone();
        for (result, (maker, leaf)) in results.iter_mut().zip(origins) {
            if maker != id
                && let Some(known) = region.leaves(maker).get(leaf)
                && let Leaf::Buffer { .. } = known
            {
                *result = *known;
            }
        }
        Ok(results)
    }

    /// An operand's arrays in buffers, as argument of a called computation that may overwrite what dies.
    pub(super) fn argument(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        operand: InstrId,
    ) -> Built<Leaves> {
        let mut leaves = Leaves::new();
        for leaf in 0..region.leaves(operand).len() {
            if region.leaves(operand)[leaf] == Leaf::Token {
                leaves.push(Leaf::Token);
                continue;
            }
            let buffer = self.materialize(region, operand, leaf)?;
            let owned = self.gives_away(region, id, operand, leaf);
            leaves.push(Leaf::Buffer { id: buffer, owned });
        }
        Ok(leaves)
    }

    /// Whether an operand's array is not needed after instruction `id` and stands among its operands once.
    fn gives_away(&self, region: &Region<'m>, id: InstrId, operand: InstrId, leaf: usize) -> bool {
        let node = Node {
            frame: 0,
            instr: operand,
            leaf,
        };
        if self.reusable(region, id, node).is_none() {
            return false;
        }
        let origins = &self.analyses[region.id.index()].origins;
        let origin = origins[operand.index()][leaf];
        let operands = &region.computation.instructions[id].operands;
        let uses = operands
            .iter()
            .flat_map(|operand| &origins[operand.index()])
            .filter(|other| **other == origin);
        uses.count() == 1
    }

    /// A loop over steps. Its state lies in buffers that stay the same for all iterations; what an
    /// iteration computes anew goes to a second buffer, which is then exchanged with the first.
    pub(super) fn while_loop(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        condition: ComputationId,
        body: ComputationId,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let init = operand_id(instruction, 0)?;
        let states = self.initial_states(region, id, init, body)?;
        let as_arguments = |may_change: bool| -> Leaves {
            let leaf = |state: &Option<State>| match state {
                Some(state) => Leaf::Buffer {
                    id: state.buffer,
                    owned: may_change && state.varies,
                },
                None => Leaf::Token,
            };
            states.iter().map(leaf).collect()
        };
        let (condition_steps, asked) = self
            .separate(|lowerer| lowerer.computation(condition, vec![as_arguments(false)], &[]))?;
        let Some(Leaf::Buffer { id: predicate, .. }) = asked.first().copied() else {
            return Err(LowerError::internal(
                instruction,
                "the condition gives no array",
            ));
        };
        let (body_steps, ()) = self.separate(|lowerer| {
            let results = lowerer.computation(body, vec![as_arguments(true)], &[])?;
            lowerer.next_states(region, id, &states, &results)
        })?;
        self.push(
            instruction,
            Step::While {
                condition: condition_steps,
                predicate,
                body: body_steps,
                trips: trip_count(self.module, region.computation, instruction),
                instruction: Some(InstrRef {
                    computation: region.id,
                    instr: id,
                }),
            },
        )?;
        let result = |(leaf, state): (usize, &Option<State>)| match state {
            Some(state) if state.varies => Leaf::Buffer {
                id: state.buffer,
                owned: true,
            },
            Some(_) => region.leaves(init)[leaf],
            None => Leaf::Token,
        };
        Ok(states.iter().enumerate().map(result).collect())
    }

    /// The buffers of a loop's state with the initial values in them.
    fn initial_states(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        init: InstrId,
        body: ComputationId,
    ) -> Built<Vec<Option<State>>> {
        let instruction = &region.computation.instructions[id];
        let callee = &self.module.computations[body];
        let shapes = instruction.shape.leaves();
        let mut states = Vec::new();
        for (leaf, shape) in shapes.into_iter().enumerate() {
            let Some(shape) = Shape::as_array(shape) else {
                states.push(None);
                continue;
            };
            let from = self.analyses[body.index()].passed_on(callee, leaf);
            let varies = from.is_none_or(|(_, from)| from != leaf);
            let buffer = if !varies || self.gives_away(region, id, init, leaf) {
                self.materialize(region, init, leaf)?
            } else {
                let buffer = self.temporary(shape);
                match region.leaves(init)[leaf] {
                    Leaf::Buffer { id: from, .. } => self.copy(instruction, from, buffer)?,
                    Leaf::Virtual(_) => self.fill(region, init, leaf, buffer)?,
                    Leaf::Token => {}
                }
                buffer
            };
            states.push(Some(State { buffer, varies }));
        }
        Ok(states)
    }

    /// Moves what an iteration gave to where the next one reads it.
    ///
    /// An array that is another state's old value is copied aside first, so that the order of moves does
    /// not matter; copies out of shared arrays come before the exchanges that take them away.
    fn next_states(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        states: &[Option<State>],
        results: &[Leaf],
    ) -> Built<()> {
        let instruction = &region.computation.instructions[id];
        let is_varying_state = |buffer: BufferId| {
            let mut varying = states.iter().flatten().filter(|state| state.varies);
            varying.any(|state| state.buffer == buffer)
        };
        let (mut copies, mut swaps) = (Vec::new(), Vec::new());
        for (state, result) in states.iter().zip(results) {
            let (Some(state), Leaf::Buffer { id: source, owned }) = (state, result) else {
                continue;
            };
            if !state.varies || state.buffer == *source {
                continue;
            }
            let is_taken = swaps.iter().any(|(_, taken)| taken == source);
            if is_varying_state(*source) {
                let shape = self.buffers[*source].shape.clone();
                let aside = self.temporary(&shape);
                self.copy(instruction, *source, aside)?;
                swaps.push((state.buffer, aside));
            } else if *owned && self.is_temporary(*source) && !is_taken {
                swaps.push((state.buffer, *source));
            } else {
                copies.push((*source, state.buffer));
            }
        }
        for (from, to) in copies {
            self.copy(instruction, from, to)?;
        }
        for (state, made) in swaps {
            if self.buffers[state].byte_size() > 0 {
                self.push(instruction, Step::Swap(state, made))?;
            }
        }
        Ok(())
    }

    /// Branches that all write their results to the same buffers.
    pub(super) fn conditional(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        branches: &[ComputationId],
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let index = self.materialize(region, operand_id(instruction, 0)?, 0)?;
        let mut args = Vec::new();
        for at in 0..branches.len() {
            let operand = operand_id(instruction, at + 1)?;
            args.push(self.argument(region, id, operand)?);
        }
        let mut leaves = Leaves::new();
        let mut dests = Vec::new();
        for (leaf, shape) in instruction.shape.leaves().into_iter().enumerate() {
            match Shape::as_array(shape) {
                Some(shape) => {
                    let (buffer, place) = self.output(region, id, leaf, shape);
                    leaves.push(place);
                    dests.push(Some(buffer));
                }
                None => {
                    leaves.push(Leaf::Token);
                    dests.push(None);
                }
            }
        }
        let mut lists = Vec::new();
        for (branch, args) in branches.iter().zip(args) {
            let (steps, _) =
                self.separate(|lowerer| lowerer.computation(*branch, vec![args], &dests))?;
            lists.push(steps);
        }
        self.push(
            instruction,
            Step::Conditional {
                index,
                branches: lists,
            },
        )?;
        Ok(leaves)
    }
}

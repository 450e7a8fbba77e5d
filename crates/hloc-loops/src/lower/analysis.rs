//! What is known about a computation before it is lowered: which values are the same array under
//! another name, and which instruction reads an array last.

use hloc_ir::{Computation, Id, InstrId, Instruction, Module, Op};

use super::{leaf_of_tuple, passes_operand_on};

/// The instruction that makes an array, and which of its arrays it is.
pub(super) type Origin = (InstrId, usize);

/// Facts about one computation.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    /// Per instruction and array of its value: who made it.
    pub(super) origins: Vec<Vec<Origin>>,
    /// Per instruction whether the root needs it, or it moves the counter behind `rng`.
    pub(super) needed: Vec<bool>,
    /// Whether the computation moves that counter.
    draws: bool,
    /// Per instruction and array: position of the last instruction that reads it; the root reads last.
    last_reads: Vec<Vec<usize>>,
}

/// The position of a read by whoever called the computation.
const AT_END: usize = usize::MAX;

impl Analysis {
    /// Facts about all computations of a module, by computation id.
    pub(super) fn of_module(module: &Module) -> Vec<Analysis> {
        let mut done: Vec<Analysis> = Vec::with_capacity(module.computations.len());
        for computation in module.computations.values() {
            let analysis = Analysis::of(module, computation, &done);
            done.push(analysis);
        }
        done
    }

    fn of(module: &Module, computation: &Computation, callees: &[Analysis]) -> Analysis {
        let mut analysis = Analysis {
            origins: Vec::with_capacity(computation.instructions.len()),
            needed: Vec::new(),
            draws: false,
            last_reads: Vec::new(),
        };
        let draws = |instruction: &Instruction| draws(instruction, callees);
        analysis.needed = needed(computation, draws);
        analysis.draws = computation.instructions.values().any(draws);
        for (id, instruction) in computation.instructions.iter() {
            let origins = analysis.origins_of(module, computation, callees, id, instruction);
            analysis.origins.push(origins);
        }
        analysis.collect_reads(computation);
        analysis
    }

    /// Whether instruction `reader` is the last to read an array.
    pub(super) fn dies_at(&self, origin: Origin, reader: InstrId) -> bool {
        let (instr, leaf) = origin;
        self.last_reads
            .get(instr.index())
            .and_then(|reads| reads.get(leaf))
            == Some(&reader.index())
    }

    /// Which array of the only parameter a result array is, if the computation passes it on.
    pub(super) fn passed_on(&self, computation: &Computation, leaf: usize) -> Option<Origin> {
        let origin = *self.origins.get(computation.root.index())?.get(leaf)?;
        let is_parameter = computation.parameters.contains(&origin.0);
        is_parameter.then_some(origin)
    }

    fn origins_of(
        &self,
        module: &Module,
        computation: &Computation,
        callees: &[Analysis],
        id: InstrId,
        instruction: &Instruction,
    ) -> Vec<Origin> {
        let of_operand = |at: usize| -> &[Origin] {
            let operand = instruction.operands.get(at);
            operand.map_or(&[], |operand| self.origins[operand.index()].as_slice())
        };
        let own = || (0..instruction.shape.leaves().len()).map(|leaf| (id, leaf));
        if let Op::Tuple {} = &instruction.op {
            (0..instruction.operands.len())
                .flat_map(|at| of_operand(at).iter().copied())
                .collect()
        } else if let Op::GetTupleElement { index } = &instruction.op {
            let tuple = &computation.instructions[instruction.operands[0]].shape;
            let origins = of_operand(0);
            let element = |(leaf, own): (usize, Origin)| {
                let leaf = leaf_of_tuple(tuple, *index, leaf);
                leaf.and_then(|leaf| origins.get(leaf).copied())
                    .unwrap_or(own)
            };
            own().enumerate().map(element).collect()
        } else if let Op::Call { to_apply, .. } = &instruction.op {
            let callee = &module.computations[*to_apply];
            let analysis = &callees[to_apply.index()];
            let inner = &analysis.origins[callee.root.index()];
            let place = |(leaf, own): (usize, Origin)| match analysis.passed_on(callee, leaf) {
                Some((parameter, leaf)) => {
                    let number = callee.parameters.iter().position(|id| *id == parameter);
                    let origins = number.map_or(&[] as &[Origin], of_operand);
                    origins.get(leaf).copied().unwrap_or(own)
                }
                None => (
                    id,
                    inner
                        .iter()
                        .position(|other| *other == inner[leaf])
                        .unwrap_or(leaf),
                ),
            };
            own().enumerate().map(place).collect()
        } else if let Op::While { body, .. } = &instruction.op {
            let callee = &module.computations[*body];
            let analysis = &callees[body.index()];
            let place = |(leaf, own): (usize, Origin)| match analysis.passed_on(callee, leaf) {
                Some((_, from)) if from == leaf => of_operand(0).get(leaf).copied().unwrap_or(own),
                Some(_) | None => own,
            };
            own().enumerate().map(place).collect()
        } else if passes_operand_on(computation, instruction) {
            of_operand(0).to_vec()
        } else {
            own().collect()
        }
    }

    fn collect_reads(&mut self, computation: &Computation) {
        self.last_reads = self
            .origins
            .iter()
            .map(|origins| vec![0; origins.len()])
            .collect();
        let root = self.origins[computation.root.index()].clone();
        for origin in root {
            self.read(origin, AT_END);
        }
        // Users stand behind their operands: going backwards, all reads of a value that is computed
        // again at each use are known before they are handed to its operands.
        for (id, instruction) in computation.instructions.iter().rev() {
            if !self.needed[id.index()] {
                continue;
            }
            let at = if super::is_virtual(instruction) {
                self.last_reads[id.index()]
                    .iter()
                    .copied()
                    .max()
                    .unwrap_or(0)
                    .max(id.index())
            } else if is_alias(computation, instruction) {
                continue;
            } else {
                id.index()
            };
            for operand in &instruction.operands {
                for origin in self.origins[operand.index()].clone() {
                    self.read(origin, at);
                }
            }
        }
    }

    fn read(&mut self, (instr, leaf): Origin, at: usize) {
        if let Some(last) = self.last_reads[instr.index()].get_mut(leaf) {
            *last = (*last).max(at);
        }
    }
}

/// Whether an instruction only names its operands' arrays again, which is no read.
fn is_alias(computation: &Computation, instruction: &Instruction) -> bool {
    let (Op::Tuple {} | Op::GetTupleElement { .. }) = &instruction.op else {
        return passes_operand_on(computation, instruction);
    };
    true
}

/// Whether an instruction moves the counter behind `rng`, in what it calls too.
fn draws(instruction: &Instruction, callees: &[Analysis]) -> bool {
    if let Op::RngGetAndUpdateState { .. } = instruction.op {
        return true;
    }
    let called = instruction.op.called_computations();
    let mut called = called.iter().filter_map(|id| callees.get(id.index()));
    called.any(|callee| callee.draws)
}

/// Which instructions the root needs, directly or not, or that `anyway` asks for.
fn needed(computation: &Computation, anyway: impl Fn(&Instruction) -> bool) -> Vec<bool> {
    let mut needed = vec![false; computation.instructions.len()];
    needed[computation.root.index()] = true;
    for (id, instruction) in computation.instructions.iter().rev() {
        if needed[id.index()] || anyway(instruction) {
            needed[id.index()] = true;
            for operand in &instruction.operands {
                needed[operand.index()] = true;
            }
        }
    }
    needed
}

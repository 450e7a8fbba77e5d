//! What running an instruction does besides giving a value.

use hloc_ir::{Computation, Id, Instruction, Module, Op, Opcode, StructuralOp};

/// What running an instruction does besides giving a value, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Nothing: two that are equal are one, and an unused one can go.
    None,
    /// It must run exactly as often as the program says.
    Outside,
}

/// The effects of a module's computations.
pub(crate) struct Effects {
    computations: Vec<Effect>,
}

impl Effects {
    /// Collects the effects of every computation; called ones have smaller ids than their callers.
    pub(crate) fn of(module: &Module) -> Effects {
        let mut effects = Effects {
            computations: Vec::with_capacity(module.computations.len()),
        };
        for computation in module.computations.values() {
            let effect = effects.of_computation(computation);
            effects.computations.push(effect);
        }
        effects
    }

    /// The effect of one instruction with all that it calls.
    pub(crate) fn of_instruction(&self, instruction: &Instruction) -> Effect {
        let called = instruction.op.called_computations();
        let called = called.iter().map(|id| self.computations[id.index()]);
        called.fold(own_effect(&instruction.op), Effect::max)
    }

    fn of_computation(&self, computation: &Computation) -> Effect {
        let instructions = computation.instructions.values();
        let effects = instructions.map(|instruction| self.of_instruction(instruction));
        effects.max().unwrap_or(Effect::None)
    }
}

/// The effect of an op, not counting what it calls.
fn own_effect(op: &Op) -> Effect {
    if let Op::CustomCall {
        custom_call_has_side_effect: false,
        ..
    } = op
    {
        return Effect::None;
    }
    match op.opcode() {
        Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => Effect::None,
        Opcode::Structural(op) => structural_effect(op),
    }
}

fn structural_effect(op: StructuralOp) -> Effect {
    use StructuralOp as S;
    match op {
        // Devices meet in collectives: one that does not take part lets the others wait forever.
        S::AllGather
        | S::AllGatherDone
        | S::AllGatherStart
        | S::AllReduce
        | S::AllReduceDone
        | S::AllReduceStart
        | S::AllToAll
        | S::CollectiveBroadcast
        | S::CollectivePermute
        | S::CollectivePermuteDone
        | S::CollectivePermuteStart
        | S::RaggedAllToAll
        | S::ReduceScatter
        | S::CustomCall
        | S::Infeed
        | S::Outfeed
        | S::Recv
        | S::RecvDone
        // The next one draws what comes behind it.
        | S::Rng
        | S::RngGetAndUpdateState
        | S::Send
        | S::SendDone => Effect::Outside,
        S::AddDependency
        | S::AfterAll
        | S::AsyncDone
        | S::AsyncStart
        | S::AsyncUpdate
        | S::BatchNormGrad
        | S::BatchNormInference
        | S::BatchNormTraining
        | S::Bitcast
        | S::BitcastConvert
        | S::Broadcast
        | S::Call
        | S::Cholesky
        | S::Compare
        | S::Concatenate
        | S::Conditional
        | S::Constant
        | S::Convert
        | S::Convolution
        | S::Copy
        | S::CopyDone
        | S::CopyStart
        | S::Domain
        | S::Dot
        | S::DynamicReshape
        | S::DynamicSlice
        | S::DynamicUpdateSlice
        | S::Fft
        | S::Fusion
        | S::Gather
        | S::GetDimensionSize
        | S::GetTupleElement
        | S::Iota
        | S::Map
        | S::OptBarrier
        | S::Pad
        | S::Parameter
        | S::PartitionId
        | S::RaggedDot
        | S::Reduce
        | S::ReducePrecision
        | S::ReduceWindow
        | S::ReplicaId
        | S::Reshape
        | S::Reverse
        | S::RngBitGenerator
        | S::ScaledDot
        | S::Scan
        | S::Scatter
        | S::SelectAndScatter
        | S::SetDimensionSize
        | S::Slice
        | S::Sort
        | S::StochasticConvert
        | S::TopK
        | S::Transpose
        | S::TriangularSolve
        | S::Tuple
        | S::While => Effect::None,
    }
}

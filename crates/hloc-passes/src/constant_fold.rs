//! Computes at compile time what depends on constants only.
//!
//! before:  two = f32[] constant(2)   ROOT r = f32[] multiply(two, two)
//! after:   two = f32[] constant(2)   ROOT r = f32[] constant(4)
//!
//! The evaluator computes the value, so it is the witness's bits that stand in the program: equal to
//! what compiled code gives for every op whose bound in the op table is 0 ulp, else within that bound.
//! Ops that call computations are not folded, nor `broadcast` and `iota`, whose results are larger than
//! what makes them. A fold takes at most [`MAX_BYTES`] of operands and result and all folds of a run
//! together [`MAX_TOTAL_BYTES`]. The result is never larger than the operands together, unless it is
//! tiny ([`TINY_BYTES`]). What the evaluator refuses stays.
//! The insides of fusions are left alone.

use hloc_eval::evaluate_op;
use hloc_ir::{Id, InstrId, Literal, Module, Op, Opcode, StructuralOp};
use hloc_verify::VerifiedModule;

use crate::module_rewriter::{ModuleRewriter, fused_computations};
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// Bytes of operands and result of one fold; the evaluator takes a millisecond or two for them.
const MAX_BYTES: i64 = 1 << 16;
/// Bytes of operands and results of all folds of one run.
const MAX_TOTAL_BYTES: i64 = 1 << 22;
/// Results up to here may be larger than their operands.
const TINY_BYTES: i64 = 64;

/// Constant folding.
#[derive(Clone, Copy, Debug)]
pub struct ConstantFold;

impl Pass for ConstantFold {
    fn name(&self) -> &'static str {
        "constant-fold"
    }

    fn summary(&self) -> &'static str {
        "computes what depends on constants only"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        let mut budget = MAX_TOTAL_BYTES;
        let fused = fused_computations(module);
        for (id, computation) in module.computations.iter() {
            if fused[id.index()] {
                rewriter.keep(id);
                continue;
            }
            let mut rebuilt = rewriter.rewriter(id);
            for id in computation.instructions.ids() {
                match fold(module, &rebuilt, id, &mut budget) {
                    Some(value) => {
                        let op = Op::Constant {
                            literal: value.into(),
                        };
                        let shape = computation.instructions[id].shape.clone();
                        rebuilt.put(id, op, &[], shape);
                    }
                    None => {
                        rebuilt.copy(id);
                    }
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// The value of an instruction, if it is to be folded.
fn fold(
    module: &VerifiedModule,
    rebuilt: &Rewriter<'_>,
    id: InstrId,
    budget: &mut i64,
) -> Option<Literal> {
    let instruction = &rebuilt.old().instructions[id];
    let result = instruction.shape.as_array()?;
    if instruction.operands.is_empty() || result.dynamic != 0 || !folds(instruction.op.opcode()) {
        return None;
    }
    let mut operands = Vec::with_capacity(instruction.operands.len());
    let mut operand_bytes = 0i64;
    for operand in &instruction.operands {
        let operand = rebuilt.made(rebuilt.mapped(*operand));
        let Op::Constant { literal } = &operand.op else {
            return None;
        };
        operand_bytes = operand_bytes.checked_add(operand.shape.as_array()?.byte_size()?)?;
        operands.push(&**literal);
    }
    let result_bytes = result.byte_size()?;
    let bytes = operand_bytes.checked_add(result_bytes)?;
    let grows = result_bytes > operand_bytes.max(TINY_BYTES);
    if grows || bytes > MAX_BYTES || bytes > *budget {
        return None;
    }
    let value = evaluate_op(&instruction.op, &operands, &instruction.shape, module).ok()?;
    *budget -= bytes;
    value
        .shape()
        .compatible(&instruction.shape)
        .then_some(value)
}

/// Whether ops of this kind are folded.
fn folds(opcode: Opcode) -> bool {
    use StructuralOp as S;
    let op = match opcode {
        Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => return true,
        Opcode::Structural(op) => op,
    };
    match op {
        S::BitcastConvert
        | S::Compare
        | S::Concatenate
        | S::Convert
        | S::Copy
        | S::DynamicSlice
        | S::DynamicUpdateSlice
        | S::Gather
        | S::Pad
        | S::ReducePrecision
        | S::Reshape
        | S::Reverse
        | S::Slice
        | S::Transpose => true,
        S::AddDependency
        | S::AfterAll
        | S::AllGather
        | S::AllGatherDone
        | S::AllGatherStart
        | S::AllReduce
        | S::AllReduceDone
        | S::AllReduceStart
        | S::AllToAll
        | S::AsyncDone
        | S::AsyncStart
        | S::AsyncUpdate
        | S::BatchNormGrad
        | S::BatchNormInference
        | S::BatchNormTraining
        | S::Bitcast
        | S::Broadcast
        | S::Call
        | S::Cholesky
        | S::CollectiveBroadcast
        | S::CollectivePermute
        | S::CollectivePermuteDone
        | S::CollectivePermuteStart
        | S::Conditional
        | S::Constant
        | S::Convolution
        | S::CopyDone
        | S::CopyStart
        | S::CustomCall
        | S::Domain
        | S::Dot
        | S::DynamicReshape
        | S::Fft
        | S::Fusion
        | S::GetDimensionSize
        | S::GetTupleElement
        | S::Infeed
        | S::Iota
        | S::Map
        | S::OptBarrier
        | S::Outfeed
        | S::Parameter
        | S::PartitionId
        | S::RaggedAllToAll
        | S::RaggedDot
        | S::Recv
        | S::RecvDone
        | S::Reduce
        | S::ReduceScatter
        | S::ReduceWindow
        | S::ReplicaId
        | S::Rng
        | S::RngBitGenerator
        | S::RngGetAndUpdateState
        | S::ScaledDot
        | S::Scan
        | S::Scatter
        | S::SelectAndScatter
        | S::Send
        | S::SendDone
        | S::SetDimensionSize
        | S::Sort
        | S::StochasticConvert
        | S::TopK
        | S::TriangularSolve
        | S::Tuple
        | S::While => false,
    }
}

#[cfg(test)]
mod tests {
    use super::ConstantFold;
    use crate::testing::check;

    #[test]
    fn chains_fold() {
        check(
            &ConstantFold,
            "two = f32[] constant(2)
             x = f32[] parameter(0)
             four = f32[] multiply(two, two)
             s = s32[] convert(four)
             ROOT t = (f32[], s32[]) tuple(four, s)",
            "two = f32[] constant(2)
             x = f32[] parameter(0)
             four = f32[] constant(4)
             s = s32[] constant(4)
             ROOT t = (f32[], s32[]) tuple(four, s)",
        );
    }

    #[test]
    fn nothing_grows() {
        let same = "c = f32[] constant(2)
             a = f32[99] broadcast(c), dimensions={}
             i = s32[9] iota(), iota_dimension=0
             z = f32[0] constant({})
             p = f32[99] pad(z, c), padding=0_99
             ROOT t = (f32[99], s32[9], f32[99]) tuple(a, i, p)";
        check(&ConstantFold, same, same);
    }
}

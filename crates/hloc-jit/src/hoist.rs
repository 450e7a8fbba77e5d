//! What of Cranelift's optimizer matters to loops in lanes, in one walk: equal values are computed once, and what a loop
//! does not change is computed before it.
//!
//! The optimizer tries its rules on every instruction, which is a sixth of compiling, and moves all constants before
//! the outermost loop, where they are more than there are registers: the allocator then takes another sixth to find out
//! which to put on the stack. Here a loop gets as many of them as it has registers left, and loads the others
//! where it needs them, as it would from the stack.
//!
//! What the rules would simplify is not there: indices, constants and conditions were simplified before
//! the emission. The exception are divisions by constants, so kernels with divisions of integers take the optimizer
//! ([`needs_rules`]).

use std::collections::HashMap;

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{
    Block, DataFlowGraph, Function, Inst, InstructionData, Opcode, Type, Value, ValueDef,
};
use cranelift_codegen::loop_analysis::{Loop, LoopAnalysis};
use cranelift_codegen::packed_option::PackedOption;
use foldhash::fast::FixedState;

/// Vector registers that values of a loop may take. The allocator needs the other three for copies of what instructions
/// overwrite: with 15 it takes a twentieth longer, and puts some on the stack.
const REGISTERS: usize = 13;

/// Whether a function has instructions that are slow until the optimizer's rules have rewritten them.
pub(crate) fn needs_rules(func: &Function) -> bool {
    let slow = |inst: Inst| {
        let op = func.dfg.insts[inst].opcode();
        op == Opcode::Udiv || op == Opcode::Sdiv || op == Opcode::Urem || op == Opcode::Srem
    };
    let mut blocks = func.layout.blocks();
    blocks.any(|block| func.layout.block_insts(block).any(slow))
}

/// Computes equal values once, and what a loop does not change before it.
pub(crate) fn hoist(func: &mut Function) {
    let cfg = ControlFlowGraph::with_function(func);
    let dominators = DominatorTree::with_function(func, &cfg);
    let mut loops = LoopAnalysis::new();
    loops.compute(func, &cfg, &dominators);
    let blocks: Vec<Block> = dominators.cfg_rpo().copied().collect();
    let values = func.dfg.num_values();
    let mut walk = Walk {
        func,
        cfg,
        dominators,
        loops,
        known: HashMap::with_capacity_and_hasher(values, FixedState::default()),
        same: SecondaryMap::with_capacity(values),
        free: SecondaryMap::new(),
        used_in: SecondaryMap::with_capacity(values),
    };
    for block in blocks {
        walk.block(block);
    }
}

struct Walk<'f> {
    func: &'f mut Function,
    cfg: ControlFlowGraph,
    dominators: DominatorTree,
    loops: LoopAnalysis,
    /// The value of each computation so far.
    known: HashMap<(InstructionData, Type), Value, FixedState>,
    /// For values whose computation was left out, those that they equal.
    same: SecondaryMap<Value, PackedOption<Value>>,
    /// Vector registers that are left in the loop of one block.
    free: SecondaryMap<Block, usize>,
    /// The last block in which a use of a value was counted.
    used_in: SecondaryMap<Value, PackedOption<Block>>,
}

impl Walk<'_> {
    /// Operands come before their uses: dominators are walked first.
    fn block(&mut self, block: Block) {
        if self.loops.is_loop_header(block).is_some() {
            self.free[block] = self.unused_registers(block);
        }
        let mut next = self.func.layout.first_inst(block);
        while let Some(inst) = next {
            next = self.func.layout.next_inst(inst);
            let same = &self.same;
            let canonical = |value| same[value].expand().unwrap_or(value);
            self.func.dfg.map_inst_values(inst, canonical);
            if let Some(result) = self.pure_result(inst) {
                self.place(inst, result, block);
            }
        }
    }

    /// How many vector registers a block leaves unused, if nothing were moved out of it.
    fn unused_registers(&mut self, block: Block) -> usize {
        let dfg = &self.func.dfg;
        let here = PackedOption::from(block);
        let (mut live, mut most) = (0_usize, 0);
        for inst in self.func.layout.block_insts(block).rev() {
            for result in dfg.inst_results(inst) {
                if self.used_in[*result] == here {
                    live -= 1;
                }
            }
            for value in dfg.inst_values(inst) {
                if self.used_in[value] != here && takes_register(dfg, value) {
                    self.used_in[value] = here;
                    live += 1;
                }
            }
            most = most.max(live);
        }
        REGISTERS.saturating_sub(most)
    }

    /// The result of an instruction that gives the same wherever it stands.
    fn pure_result(&self, inst: Inst) -> Option<Value> {
        let dfg = &self.func.dfg;
        let [result] = *dfg.inst_results(inst) else {
            return None;
        };
        let data = &dfg.insts[inst];
        if let InstructionData::Load {
            opcode: Opcode::Load,
            flags,
            ..
        } = data
        {
            let flags = dfg.mem_flags[*flags];
            return (flags.readonly() && flags.notrap() && flags.can_move()).then_some(result);
        }
        let op = data.opcode();
        let has_effects = op.can_load()
            || op.can_store()
            || op.is_call()
            || op.is_branch()
            || op.is_terminator()
            || op.can_trap()
            || op.other_side_effects();
        (!has_effects).then_some(result)
    }

    fn place(&mut self, inst: Inst, result: Value, block: Block) {
        let data = self.func.dfg.insts[inst];
        let ty = self.func.dfg.value_type(result);
        let is_vector_constant = ty.is_vector() && is_constant(data.opcode());
        let target = self.target(inst, block, is_vector_constant);
        let key = (data, ty);
        if let Some(known) = self.known.get(&key).copied()
            && self.may_replace(known, target, is_vector_constant)
        {
            self.same[result] = known.into();
            self.func.layout.remove_inst(inst);
            return;
        }
        if target != block {
            if is_vector_constant {
                if self.free[block] == 0 {
                    return;
                }
                self.free[block] -= 1;
            }
            if let Some(end) = self.func.layout.last_inst(target) {
                self.func.layout.remove_inst(inst);
                self.func.layout.insert_inst(inst, end);
            }
        }
        self.known.insert(key, result);
    }

    /// Whether a value that is known serves in a block. Constants in vectors serve where they were placed, so that they
    /// hold their registers for one loop.
    fn may_replace(&self, known: Value, block: Block, is_vector_constant: bool) -> bool {
        let home = self.home(known);
        if is_vector_constant {
            home == block
        } else {
            self.dominators.block_dominates(home, block)
        }
    }

    /// The block in which a value is made.
    fn home(&self, value: Value) -> Block {
        let block = match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => self.func.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => None,
        };
        block.unwrap_or_else(|| Block::from_u32(0))
    }

    /// The block before the outermost loop around `block` that makes no operand of `inst`; for constants in vectors, before
    /// the innermost.
    fn target(&self, inst: Inst, block: Block, is_vector_constant: bool) -> Block {
        let args = self.func.dfg.inst_args(inst);
        let homes = args.iter().map(|arg| self.home(*arg));
        let mut target = block;
        while let Some(around) = self.loops.innermost_loop(target) {
            let mut homes = homes.clone();
            if homes.any(|home| home == target || self.loops.is_in_loop(home, around)) {
                break;
            }
            let Some(entrance) = self.entrance(around) else {
                break;
            };
            target = entrance;
            if is_vector_constant {
                break;
            }
        }
        target
    }

    /// The one block from which a loop is entered.
    fn entrance(&self, around: Loop) -> Option<Block> {
        let header = self.loops.loop_header(around);
        let before = self.cfg.pred_iter(header).map(|pred| pred.block);
        let mut before = before.filter(|block| !self.loops.is_in_loop(*block, around));
        let entrance = before.next()?;
        before.next().is_none().then_some(entrance)
    }
}

fn is_constant(op: Opcode) -> bool {
    op == Opcode::Vconst || op == Opcode::F32const || op == Opcode::F64const || op == Opcode::Iconst
}

/// Whether a value takes a vector register all the time: constants need not.
fn takes_register(dfg: &DataFlowGraph, value: Value) -> bool {
    let ty = dfg.value_type(value);
    let is_constant = || {
        let def = dfg.value_def(value).inst();
        def.is_some_and(|inst| is_constant(dfg.insts[inst].opcode()))
    };
    (ty.is_vector() || ty.is_float()) && !is_constant()
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{
        AbiParam, Block, Function, InstBuilder, Signature, UserFuncName, types,
    };
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::{REGISTERS, hoist, needs_rules};
    use crate::math::clif::vector_constant;

    /// A loop that adds `constants` different constants to a vector, and twice what does not change in the loop.
    fn looped(constants: usize) -> (Function, [Block; 2]) {
        let mut signature = Signature::new(CallConv::SystemV);
        signature
            .params
            .extend([types::I64, types::F32X4].map(AbiParam::new));
        let mut func = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut func, &mut context);
        let blocks = [b.create_block(), b.create_block(), b.create_block()];
        b.append_block_params_for_function_params(blocks[0]);
        let (count, start) = (b.block_params(blocks[0])[0], b.block_params(blocks[0])[1]);
        b.switch_to_block(blocks[0]);
        b.ins().jump(blocks[1], &[start.into()]);
        let mut sum = b.append_block_param(blocks[1], types::F32X4);
        b.switch_to_block(blocks[1]);
        for _ in 0..2 {
            let fixed = b.ins().fneg(start);
            sum = b.ins().fadd(sum, fixed);
        }
        for at in 0..constants {
            let constant = vector_constant(&mut b, types::F32X4, at as u64 + 1);
            sum = b.ins().fadd(sum, constant);
        }
        b.ins()
            .brif(count, blocks[1], &[sum.into()], blocks[2], &[]);
        b.switch_to_block(blocks[2]);
        b.ins().return_(&[]);
        b.seal_all_blocks();
        (func, [blocks[0], blocks[1]])
    }

    /// Instructions before and in the loop after hoisting.
    fn hoisted(constants: usize) -> [usize; 2] {
        let (mut func, blocks) = looped(constants);
        assert!(!needs_rules(&func));
        hoist(&mut func);
        blocks.map(|block| func.layout.block_insts(block).count())
    }

    #[test]
    fn what_does_not_change_is_computed_once_before_the_loop() {
        // The negation and two constants before the jump; four sums and a branch.
        assert_eq!(hoisted(2), [4, 5]);
    }

    #[test]
    fn constants_take_no_more_registers_than_are_left() {
        let [before, inside] = hoisted(40);
        assert!(
            before < 2 + REGISTERS,
            "{before} instructions before the loop"
        );
        assert_eq!(before + inside, 40 + 1 + 1 + 42 + 1);
    }
}

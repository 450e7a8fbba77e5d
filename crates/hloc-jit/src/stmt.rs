//! Emission of statements: bindings, stores, loops, conditions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value, types};
use hloc_ir::ElementType;
use hloc_loops::ir::{Condition, For, If, LoopKind, Stmt, ValueId};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::{Kind, Reg, bits_type};

impl Emitter<'_, '_> {
    /// Emits statements in order.
    pub(crate) fn block(&mut self, statements: &[Stmt]) -> Result<(), JitError> {
        statements.iter().try_for_each(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), JitError> {
        match stmt {
            Stmt::Let { value, expr } => {
                let reg = self.expr(self.type_of(*value)?, expr)?;
                self.bind(*value, reg);
                Ok(())
            }
            Stmt::Store {
                param,
                index,
                value,
            } => {
                let (address, offset) = self.address(*param, index)?;
                let (_, element_type) = self.param(*param)?;
                let reg = self.reg(*value)?;
                self.store(element_type, reg, address, offset);
                Ok(())
            }
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::If(inner) => self.condition(inner),
        }
    }

    fn for_loop(&mut self, inner: &For) -> Result<(), JitError> {
        if inner.kind == LoopKind::Vector && self.vectorize && self.vector_loop(inner)? {
            return Ok(());
        }
        if self.vectorize && self.crosswise_loops(inner)? {
            return Ok(());
        }
        if inner.kind != LoopKind::Parallel {
            return self.all_iterations(inner);
        }
        if self.split.is_some_and(|split| split.chunks() == 1) {
            if !(self.vectorize && self.vector_whole(inner)?) {
                self.all_iterations(inner)?;
            }
            return Ok(());
        }
        let (begin, end) = self.range;
        let left = if self.vectorize {
            self.vector_part(inner, begin, end)?
        } else {
            Some(begin)
        };
        if let Some(begin) = left {
            self.remaining(inner, begin, end)?;
        }
        self.vectorize = self.target.vectorize;
        Ok(())
    }

    /// All iterations of a loop, one at a time.
    fn all_iterations(&mut self, inner: &For) -> Result<(), JitError> {
        let extent = self.extent(inner)?;
        let zero = self.b.ins().iconst(types::I64, 0);
        if extent == 1 {
            return self.single_iteration(inner, zero);
        }
        let end = self.b.ins().iconst(types::I64, extent);
        self.scalar_loop(inner, zero, end)
    }

    /// The loop over `begin..end`, which may be empty.
    fn remaining(&mut self, inner: &For, begin: Value, end: Value) -> Result<(), JitError> {
        let not_empty = self.b.ins().icmp(IntCC::SignedLessThan, begin, end);
        let (run, done) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(not_empty, run, &[], done, &[]);
        self.b.switch_to_block(run);
        self.b.seal_block(run);
        self.scalar_loop(inner, begin, end)?;
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        self.b.seal_block(done);
        Ok(())
    }

    /// How often the body runs.
    pub(crate) fn extent(&self, inner: &For) -> Result<i64, JitError> {
        match self.kernel.vars.get(inner.var) {
            Some(var) if var.extent >= 1 => Ok(var.extent),
            Some(var) => Err(self.malformed(format!("{} has extent {}", inner.var, var.extent))),
            None => Err(self.malformed(format!("{} is not declared", inner.var))),
        }
    }

    fn single_iteration(&mut self, inner: &For, counter: Value) -> Result<(), JitError> {
        for carried in &inner.carried {
            let init = self.reg(carried.init)?;
            self.bind(carried.current, init);
        }
        self.enter_loop(inner.var, counter);
        self.block(&inner.body)?;
        self.leave_loop();
        for carried in &inner.carried {
            let next = self.reg(carried.next)?;
            self.bind(carried.result, next);
        }
        Ok(())
    }

    /// The loop over `begin..end`, which is not empty, one iteration at a time.
    pub(crate) fn scalar_loop(
        &mut self,
        inner: &For,
        begin: Value,
        end: Value,
    ) -> Result<(), JitError> {
        let inits = inner.carried.iter().map(|carried| self.reg(carried.init));
        let inits = inits.collect::<Result<Vec<_>, _>>()?;
        self.scalar_loop_from(inner, &inits, begin, end)
    }

    /// The same with other values carried into the first iteration. The body may use the initial values
    /// for something else, so they stay what they are.
    pub(crate) fn scalar_loop_from(
        &mut self,
        inner: &For,
        inits: &[Reg],
        begin: Value,
        end: Value,
    ) -> Result<(), JitError> {
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let mut args = vec![begin];
        for (carried, init) in inner.carried.iter().zip(inits) {
            args.extend(self.carried_parts(carried.init, *init)?);
        }
        let counter = self.b.append_block_param(body, types::I64);
        let args = block_args(&args);
        self.b.ins().jump(body, &args);
        self.b.switch_to_block(body);
        for carried in &inner.carried {
            let current = self.carried_params(body, carried.current)?;
            self.bind(carried.current, current);
        }
        self.enter_loop(inner.var, counter);
        self.block(&inner.body)?;
        self.leave_loop();
        let next = self.b.ins().iadd_imm_s(counter, 1);
        let again = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        let mut results = Vec::new();
        for carried in &inner.carried {
            results.extend(self.carried_values(carried.next)?);
        }
        let results = block_args(&results);
        let mut repeated = vec![BlockArg::Value(next)];
        repeated.extend(&results);
        self.b.ins().brif(again, body, &repeated, exit, &results);
        self.b.seal_block(body);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        for carried in &inner.carried {
            let result = self.carried_params(exit, carried.result)?;
            self.bind(carried.result, result);
        }
        Ok(())
    }

    /// The registers that carry a value into the next iteration.
    fn carried_values(&mut self, value: ValueId) -> Result<Vec<Value>, JitError> {
        let reg = self.reg(value)?;
        self.carried_parts(value, reg)
    }

    /// The parts of `reg`, a value of the type of `value`.
    fn carried_parts(&mut self, value: ValueId, reg: Reg) -> Result<Vec<Value>, JitError> {
        let ty = self.type_of(value)?;
        Ok(match self.computed(ty, reg) {
            Reg::One(value) | Reg::Bits(value) => vec![value],
            Reg::Pair(re, im) => vec![re, im],
        })
    }

    fn carried_params(
        &mut self,
        block: cranelift_codegen::ir::Block,
        value: ValueId,
    ) -> Result<Reg, JitError> {
        let types = Kind::of(self.type_of(value)?).carried_types();
        Ok(self.append_params(block, types))
    }

    fn append_params(&mut self, block: cranelift_codegen::ir::Block, types: &[Type]) -> Reg {
        let mut append = |ty: &Type| self.b.append_block_param(block, *ty);
        match types {
            [re, im] => Reg::Pair(append(re), append(im)),
            [one, ..] => Reg::One(append(one)),
            [] => Reg::One(append(&types::I8)),
        }
    }

    fn condition(&mut self, inner: &If) -> Result<(), JitError> {
        let holds = match &inner.condition {
            Condition::InRange(ranges) => self.in_range(ranges)?,
            Condition::Value(value) => self.reg(*value)?.one(),
        };
        let (then, otherwise) = (self.b.create_block(), self.b.create_block());
        let merge = self.b.create_block();
        self.b.ins().brif(holds, then, &[], otherwise, &[]);
        let branches = [
            (then, &inner.then, true),
            (otherwise, &inner.otherwise, false),
        ];
        for (block, body, is_then) in branches {
            self.b.switch_to_block(block);
            self.b.seal_block(block);
            self.conditions += 1;
            self.computed_addresses.enter();
            self.block(body)?;
            self.computed_addresses.leave();
            self.conditions -= 1;
            let mut args = Vec::new();
            for merged in &inner.merged {
                let value = if is_then {
                    merged.then
                } else {
                    merged.otherwise
                };
                args.extend(self.merged_values(value)?);
            }
            let args = block_args(&args);
            self.b.ins().jump(merge, &args);
        }
        self.b.switch_to_block(merge);
        self.b.seal_block(merge);
        for merged in &inner.merged {
            let ty = self.type_of(merged.result)?;
            let result = self.merged_params(merge, ty);
            self.bind(merged.result, result);
        }
        Ok(())
    }

    /// The registers by which a branch gives a value: narrow floats as bits, which a padding or a
    /// concatenation only moves.
    fn merged_values(&mut self, value: ValueId) -> Result<Vec<Value>, JitError> {
        let (ty, reg) = (self.type_of(value)?, self.reg(value)?);
        Ok(match self.memory_form(ty, reg) {
            Reg::One(value) | Reg::Bits(value) => vec![value],
            Reg::Pair(re, im) => vec![re, im],
        })
    }

    fn merged_params(&mut self, block: cranelift_codegen::ir::Block, ty: ElementType) -> Reg {
        match Kind::of(ty) {
            Kind::Narrow(_) => Reg::Bits(self.b.append_block_param(block, bits_type(ty))),
            kind @ (Kind::Pred | Kind::Int(_) | Kind::Float(_) | Kind::Complex(_)) => {
                self.append_params(block, kind.carried_types())
            }
        }
    }
}

fn block_args(values: &[Value]) -> Vec<BlockArg> {
    values.iter().copied().map(BlockArg::Value).collect()
}

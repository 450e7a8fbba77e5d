//! Loops that run several iterations at once, in 128-bit vectors.
//!
//! [`plan`] decides whether a loop can; [`Vectors`] emits one stretch of iterations of it. All values of a
//! vector loop have lanes of one width: 32 bits (four lanes; narrower types are widened) or 64 bits (two).
//! Values that do not vary with the loop variable stay scalar and are spread over the lanes where used.
//!
//! A stretch is a number of *copies* of the body, one vector each, so that independent work overlaps. Each
//! copy stores as soon as it has computed, which keeps few registers alive.

mod body;
mod crosswise;
mod expr;
mod extreme;
mod float;
mod lanes;
mod memory;
mod plan;
mod reduce;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use hloc_loops::ir::For;

use crate::error::JitError;
use crate::kernel::Emitter;

pub(crate) use body::Vectors;
pub(crate) use lanes::{Lane, Width};
pub(crate) use plan::Plan;

impl Emitter<'_, '_> {
    /// Emits a vector loop as vector code; `false` if its body needs scalar code, and nothing is emitted.
    pub(crate) fn vector_loop(&mut self, inner: &For) -> Result<bool, JitError> {
        let Some(plan) = plan::plan(self.kernel, inner) else {
            return Ok(false);
        };
        if !plan.reductions.is_empty() {
            return self.vector_reduction(inner, &plan);
        }
        let (extent, lanes) = (self.extent(inner)?, plan.width.lanes());
        if extent < lanes {
            return Ok(false);
        }
        let step = lanes * plan.copies;
        let (main, rest) = (extent / step * step, extent / lanes * lanes);
        self.vector_stretch(inner, &plan, 0, main, plan.copies)?;
        self.vector_stretch(inner, &plan, main, rest, 1)?;
        if rest < extent {
            let begin = self.b.ins().iconst(types::I64, rest);
            let end = self.b.ins().iconst(types::I64, extent);
            let vectorize = std::mem::replace(&mut self.vectorize, false);
            self.scalar_loop(inner, begin, end)?;
            self.vectorize = vectorize;
        }
        Ok(true)
    }

    /// Emits as much of the iterations `begin..end` of a parallel loop as fills vectors, and gives the
    /// first iteration that is left. If the body needs scalar code, that is `begin`.
    pub(crate) fn vector_part(
        &mut self,
        inner: &For,
        begin: Value,
        end: Value,
    ) -> Result<Value, JitError> {
        let plan = plan::plan(self.kernel, inner);
        let Some(plan) = plan.filter(|plan| plan.reductions.is_empty()) else {
            return Ok(begin);
        };
        self.vectorize = false;
        let mut next = self.vector_run(inner, &plan, begin, end, plan.copies)?;
        if plan.copies > 1 {
            next = self.vector_run(inner, &plan, next, end, 1)?;
        }
        Ok(next)
    }

    /// As many steps of `copies` vectors as fit in `begin..end`; gives the first iteration that is left.
    fn vector_run(
        &mut self,
        inner: &For,
        plan: &Plan,
        begin: Value,
        end: Value,
        copies: i64,
    ) -> Result<Value, JitError> {
        let step = plan.width.lanes() * copies;
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(body, types::I64);
        let left = self.b.append_block_param(exit, types::I64);
        let last = self.b.ins().iadd_imm_s(end, -step);
        let fits = IntCC::SignedLessThanOrEqual;
        let any = self.b.ins().icmp(fits, begin, last);
        let args = [BlockArg::Value(begin)];
        self.b.ins().brif(any, body, &args, exit, &args);
        self.b.switch_to_block(body);
        self.enter_loop(inner.var, counter);
        Vectors::new(self, plan, copies).block(&inner.body)?;
        self.leave_loop();
        let next = self.b.ins().iadd_imm_s(counter, step);
        let again = self.b.ins().icmp(fits, next, last);
        let args = [BlockArg::Value(next)];
        self.b.ins().brif(again, body, &args, exit, &args);
        self.b.seal_block(body);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(left)
    }

    /// Iterations `begin..end`, a multiple of what `copies` vectors hold.
    fn vector_stretch(
        &mut self,
        inner: &For,
        plan: &Plan,
        begin: i64,
        end: i64,
        copies: i64,
    ) -> Result<(), JitError> {
        let step = plan.width.lanes() * copies;
        if begin >= end {
            return Ok(());
        }
        let first = self.b.ins().iconst(types::I64, begin);
        if end - begin == step {
            self.enter_loop(inner.var, first);
            Vectors::new(self, plan, copies).block(&inner.body)?;
            self.leave_loop();
            return Ok(());
        }
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(body, types::I64);
        self.b.ins().jump(body, &[BlockArg::Value(first)]);
        self.b.switch_to_block(body);
        self.enter_loop(inner.var, counter);
        Vectors::new(self, plan, copies).block(&inner.body)?;
        self.leave_loop();
        let next = self.b.ins().iadd_imm_s(counter, step);
        let end = self.b.ins().iconst(types::I64, end);
        let again = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        self.b
            .ins()
            .brif(again, body, &[BlockArg::Value(next)], exit, &[]);
        self.b.seal_block(body);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(())
    }
}

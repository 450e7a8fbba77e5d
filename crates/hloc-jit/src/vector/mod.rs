//! Loops that run several iterations at once, in vectors.
//!
//! [`plan`] decides whether a loop can; [`Vectors`] emits one stretch of iterations of it. All values of a
//! vector loop have lanes of one width: 32 bits (four lanes in 128 bits; narrower types are widened) or 64
//! bits (two). Values that do not vary with the loop variable stay scalar and are spread over the lanes where
//! used.
//!
//! A stretch is a number of *copies* of the body, one vector each, so that independent work overlaps. Each
//! copy stores as soon as it has computed, which keeps few registers alive.
//!
//! In a kernel that is retargeted (see [`crate::retarget`]), loops that fill wide vectors take them. What is
//! left over is done by one more vector that ends where the loop ends: some iterations run twice and write
//! the same once more. Only where the loop reads what it writes, narrow vectors and scalar code do the rest.

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
        let begin = if self.is_wide(&plan) {
            self.wide_stretches(inner, &plan, extent)?
        } else {
            0
        };
        let copies = if begin > 0 { 1 } else { plan.copies };
        let step = lanes * copies;
        let main = begin + (extent - begin) / step * step;
        let rest = begin + (extent - begin) / lanes * lanes;
        self.vector_stretch(inner, &plan, (begin, main), copies, false)?;
        self.vector_stretch(inner, &plan, (main, rest), 1, false)?;
        if rest < extent {
            let begin = self.b.ins().iconst(types::I64, rest);
            let end = self.b.ins().iconst(types::I64, extent);
            let vectorize = std::mem::replace(&mut self.vectorize, false);
            self.scalar_loop(inner, begin, end)?;
            self.vectorize = vectorize;
        }
        Ok(true)
    }

    /// Emits what of a loop fills wide vectors; gives the first iteration that is left.
    fn wide_stretches(&mut self, inner: &For, plan: &Plan, extent: i64) -> Result<i64, JitError> {
        let lanes = self.lanes(plan, true);
        if extent < lanes {
            return Ok(0);
        }
        let step = lanes * plan.copies;
        let main = extent / step * step;
        let may_repeat = plan::may_repeat(inner);
        if plan.copies == 1 && may_repeat {
            self.repeating_stretch(inner, plan, 0, extent)?;
            return Ok(extent);
        }
        self.vector_stretch(inner, plan, (0, main), plan.copies, true)?;
        if may_repeat {
            self.repeating_stretch(inner, plan, main, extent)?;
            return Ok(extent);
        }
        let rest = extent / lanes * lanes;
        self.vector_stretch(inner, plan, (main, rest), 1, true)?;
        Ok(rest)
    }

    /// Iterations `begin..end`, at least as many before `end` as fill a vector: the last vector ends there.
    fn repeating_stretch(
        &mut self,
        inner: &For,
        plan: &Plan,
        begin: i64,
        end: i64,
    ) -> Result<(), JitError> {
        let lanes = self.lanes(plan, true);
        let last = end - lanes;
        if begin >= end {
            return Ok(());
        }
        if end - begin <= lanes {
            return self.vector_stretch(inner, plan, (last, end), 1, true);
        }
        let first = self.b.ins().iconst(types::I64, begin);
        let last = self.b.ins().iconst(types::I64, last);
        self.repeating_run(inner, plan, first, last)
    }

    /// Vectors that begin at `first`, after it, and at last at `last`, which is not below `first`.
    fn repeating_run(
        &mut self,
        inner: &For,
        plan: &Plan,
        first: Value,
        last: Value,
    ) -> Result<(), JitError> {
        let lanes = self.lanes(plan, true);
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(body, types::I64);
        self.b.ins().jump(body, &[BlockArg::Value(first)]);
        self.b.switch_to_block(body);
        self.enter_loop(inner.var, counter);
        self.vector_body(inner, plan, 1, true)?;
        self.leave_loop();
        let next = self.b.ins().iadd_imm_s(counter, lanes);
        let is_beyond = self.b.ins().icmp(IntCC::SignedGreaterThan, next, last);
        let next = self.b.ins().select(is_beyond, last, next);
        let again = self.b.ins().icmp(IntCC::SignedLessThan, counter, last);
        let args = [BlockArg::Value(next)];
        self.b.ins().brif(again, body, &args, exit, &[]);
        self.b.seal_block(body);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(())
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
        let Some(plan) = plan.filter(|plan| plan.reductions.is_empty() && !plan.unrolled) else {
            return Ok(begin);
        };
        self.vectorize = false;
        let lanes = self.lanes(&plan, true);
        if self.is_wide(&plan) && self.extent(inner)? >= lanes {
            return self.wide_part(inner, &plan, begin, end);
        }
        let mut next = self.vector_run(inner, &plan, (begin, end), plan.copies, false)?;
        if plan.copies > 1 {
            next = self.vector_run(inner, &plan, (next, end), 1, false)?;
        }
        Ok(next)
    }

    /// Emits what of the iterations `begin..end` fills wide vectors; gives the first that is left.
    fn wide_part(
        &mut self,
        inner: &For,
        plan: &Plan,
        begin: Value,
        end: Value,
    ) -> Result<Value, JitError> {
        if !plan::may_repeat(inner) {
            let mut next = self.vector_run(inner, plan, (begin, end), plan.copies, true)?;
            if plan.copies > 1 {
                next = self.vector_run(inner, plan, (next, end), 1, true)?;
            }
            return self.vector_run(inner, plan, (next, end), 1, false);
        }
        let lanes = self.lanes(plan, true);
        let last = self.b.ins().iadd_imm_s(end, -lanes);
        let (fits, merge) = (self.b.create_block(), self.b.create_block());
        let left = self.b.append_block_param(merge, types::I64);
        let order = IntCC::SignedLessThanOrEqual;
        let any = self.b.ins().icmp(order, begin, last);
        let args = [BlockArg::Value(begin)];
        self.b.ins().brif(any, fits, &[], merge, &args);
        self.b.switch_to_block(fits);
        self.b.seal_block(fits);
        let done = [BlockArg::Value(end)];
        let mut next = begin;
        if plan.copies > 1 {
            next = self.vector_run(inner, plan, (begin, end), plan.copies, true)?;
            let rest = self.b.create_block();
            let is_done = self.b.ins().icmp(IntCC::Equal, next, end);
            self.b.ins().brif(is_done, merge, &done, rest, &[]);
            self.b.switch_to_block(rest);
            self.b.seal_block(rest);
            let is_beyond = self.b.ins().icmp(IntCC::SignedGreaterThan, next, last);
            next = self.b.ins().select(is_beyond, last, next);
        }
        self.repeating_run(inner, plan, next, last)?;
        self.b.ins().jump(merge, &done);
        self.b.switch_to_block(merge);
        self.b.seal_block(merge);
        Ok(left)
    }

    /// As many steps of `copies` vectors as fit in `begin..end`; gives the first iteration that is left.
    fn vector_run(
        &mut self,
        inner: &For,
        plan: &Plan,
        (begin, end): (Value, Value),
        copies: i64,
        is_wide: bool,
    ) -> Result<Value, JitError> {
        let step = self.lanes(plan, is_wide) * copies;
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
        self.vector_body(inner, plan, copies, is_wide)?;
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
        (begin, end): (i64, i64),
        copies: i64,
        is_wide: bool,
    ) -> Result<(), JitError> {
        let step = self.lanes(plan, is_wide) * copies;
        if begin >= end {
            return Ok(());
        }
        let first = self.b.ins().iconst(types::I64, begin);
        if end - begin == step {
            self.enter_loop(inner.var, first);
            self.vector_body(inner, plan, copies, is_wide)?;
            self.leave_loop();
            return Ok(());
        }
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(body, types::I64);
        self.b.ins().jump(body, &[BlockArg::Value(first)]);
        self.b.switch_to_block(body);
        self.enter_loop(inner.var, counter);
        self.vector_body(inner, plan, copies, is_wide)?;
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

    /// Whether loops of this plan may have wide vectors.
    fn is_wide(&self, plan: &Plan) -> bool {
        self.factor > 1 && !plan.is_strided
    }

    /// One iteration of a vector loop.
    fn vector_body(
        &mut self,
        inner: &For,
        plan: &Plan,
        copies: i64,
        is_wide: bool,
    ) -> Result<(), JitError> {
        if is_wide {
            Vectors::wide(self, plan, copies).block(&inner.body)
        } else {
            Vectors::new(self, plan, copies).block(&inner.body)
        }
    }

    /// Number of lanes of a vector.
    fn lanes(&self, plan: &Plan, is_wide: bool) -> i64 {
        let factor = if is_wide { self.factor } else { 1 };
        plan.width.lanes() * i64::from(factor)
    }
}

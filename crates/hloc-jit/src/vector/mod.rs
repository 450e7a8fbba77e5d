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
mod complex;
mod crosswise;
mod expr;
mod extreme;
mod float;
mod lanes;
mod memory;
pub(crate) mod plan;
mod reduce;
mod tables;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use hloc_loops::index::{Atom, Index, Term};
use hloc_loops::ir::{For, ParamId};
use hloc_loops::split::Split;

use crate::error::JitError;
use crate::kernel::Emitter;

pub(crate) use body::Vectors;
pub(crate) use lanes::{Lane, Width};
pub(crate) use plan::Plan;
pub(crate) use tables::Table;

impl Emitter<'_, '_> {
    /// Emits a vector loop as vector code; `false` if its body needs scalar code, and nothing is emitted.
    pub(crate) fn vector_loop(&mut self, inner: &For) -> Result<bool, JitError> {
        let Some(plan) = plan::plan(self.kernel, &self.constants, inner) else {
            return Ok(false);
        };
        if !plan.reductions.is_empty() {
            return self.vector_reduction(inner, &plan);
        }
        if self.extent(inner)? < plan.width.lanes() {
            return Ok(false);
        }
        self.whole_loop(inner, &plan)?;
        Ok(true)
    }

    /// Emits a parallel loop that one call runs from the first iteration to the last; `false` if its body needs
    /// scalar code, and nothing is emitted.
    pub(crate) fn vector_whole(&mut self, inner: &For) -> Result<bool, JitError> {
        let Some(plan) = self.parallel_plan(inner) else {
            return Ok(false);
        };
        self.whole_loop(inner, &plan)?;
        Ok(true)
    }

    /// The plan of a parallel loop: none whose order could depend on where it is cut.
    fn parallel_plan(&self, inner: &For) -> Option<Plan> {
        let plan = plan::plan(self.kernel, &self.constants, inner)?;
        let extent = self.kernel.vars.get(inner.var)?.extent;
        let fills_vectors = extent >= plan.width.lanes();
        (fills_vectors && plan.reductions.is_empty() && !plan.unrolled).then_some(plan)
    }

    /// All iterations of a loop that carries nothing.
    fn whole_loop(&mut self, inner: &For, plan: &Plan) -> Result<(), JitError> {
        let (extent, lanes) = (self.extent(inner)?, plan.width.lanes());
        let begin = if self.is_wide(inner, plan) {
            self.wide_stretches(inner, plan, extent)?
        } else {
            0
        };
        let copies = if begin > 0 { 1 } else { plan.copies };
        let step = lanes * copies;
        let mut rest = begin;
        if self.may_be_narrow(plan) {
            let main = begin + (extent - begin) / step * step;
            rest = begin + (extent - begin) / lanes * lanes;
            self.vector_stretch(inner, plan, (begin, main), copies, false)?;
            self.vector_stretch(inner, plan, (main, rest), 1, false)?;
        }
        if rest < extent {
            let begin = self.b.ins().iconst(types::I64, rest);
            let end = self.b.ins().iconst(types::I64, extent);
            let vectorize = std::mem::replace(&mut self.vectorize, false);
            self.scalar_loop(inner, begin, end)?;
            self.vectorize = vectorize;
        }
        Ok(())
    }

    /// Emits what of a loop fills wide vectors; gives the first iteration that is left.
    fn wide_stretches(&mut self, inner: &For, plan: &Plan, extent: i64) -> Result<i64, JitError> {
        let lanes = self.lanes(plan, true);
        if extent < lanes {
            return Ok(0);
        }
        if plan.unrolled {
            self.single_stretch(inner, plan, extent)?;
            return Ok(extent);
        }
        let step = lanes * plan.copies;
        let main = extent / step * step;
        let may_repeat = plan::may_repeat(inner);
        if may_repeat && !self.streamed(inner, plan).is_empty() {
            let begin = self.b.ins().iconst(types::I64, 0);
            let end = self.b.ins().iconst(types::I64, extent);
            self.wide_part(inner, plan, (begin, end), extent)?;
            return Ok(extent);
        }
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

    /// All iterations of a loop at once, with stores that pass the caches if these are aligned.
    fn single_stretch(&mut self, inner: &For, plan: &Plan, extent: i64) -> Result<(), JitError> {
        let copies = extent / self.lanes(plan, true);
        let streamed = self.streamed(inner, plan);
        if self.is_aligned(inner, plan, &streamed)? {
            return self.streaming(&streamed, |e| {
                e.vector_stretch(inner, plan, (0, extent), copies, true)
            });
        }
        let (run, other) = (self.b.create_block(), self.b.create_block());
        let done = self.b.create_block();
        let begin = self.b.ins().iconst(types::I64, 0);
        let unaligned = self.unaligned(inner, begin, &streamed)?;
        self.b.ins().brif(unaligned, other, &[], run, &[]);
        for (block, streamed) in [(run, &streamed[..]), (other, &[])] {
            self.b.switch_to_block(block);
            self.b.seal_block(block);
            self.streaming(streamed, |e| {
                e.vector_stretch(inner, plan, (0, extent), copies, true)
            })?;
            self.b.ins().jump(done, &[]);
        }
        self.b.switch_to_block(done);
        self.b.seal_block(done);
        Ok(())
    }

    /// Not 0 if iteration `begin` of a loop stores to an address that is no multiple of 64.
    fn unaligned(
        &mut self,
        inner: &For,
        begin: Value,
        streamed: &[(ParamId, &Index)],
    ) -> Result<Value, JitError> {
        self.enter_loop(inner.var, begin);
        let mut bits = self.b.ins().iconst(types::I64, 0);
        for (param, index) in streamed {
            let (address, offset) = self.address(*param, index)?;
            let address = self.b.ins().iadd_imm_s(address, i64::from(offset));
            bits = self.b.ins().bor(bits, address);
        }
        self.leave_loop();
        Ok(self.b.ins().band_imm_u(bits, 63))
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
    /// first iteration that is left. If the body needs scalar code, that is `begin`; `None` if vectors do
    /// all iterations.
    pub(crate) fn vector_part(
        &mut self,
        inner: &For,
        begin: Value,
        end: Value,
    ) -> Result<Option<Value>, JitError> {
        let Some(plan) = self.parallel_plan(inner) else {
            return Ok(Some(begin));
        };
        self.vectorize = false;
        let grain = self.split.map_or(1, Split::grain);
        let lanes = self.lanes(&plan, true);
        if self.is_wide(inner, &plan) && self.extent(inner)? >= lanes {
            return self.wide_part(inner, &plan, (begin, end), grain);
        }
        if !self.may_be_narrow(&plan) {
            return Ok(Some(begin));
        }
        let next = self.vector_runs(inner, &plan, (begin, end), false)?;
        let is_whole = grain % self.lanes(&plan, false) == 0;
        Ok((!is_whole).then_some(next))
    }

    /// As many vectors as fit in `begin..end`; gives the first iteration that is left.
    fn vector_runs(
        &mut self,
        inner: &For,
        plan: &Plan,
        (begin, end): (Value, Value),
        is_wide: bool,
    ) -> Result<Value, JitError> {
        let next = self.vector_run(inner, plan, (begin, end), plan.copies, is_wide)?;
        if plan.copies > 1 {
            return self.vector_run(inner, plan, (next, end), 1, is_wide);
        }
        Ok(next)
    }

    /// Emits what of the iterations `begin..end` fills wide vectors; gives the first that is left. Both are
    /// multiples of `grain`, and the first is below the second.
    ///
    /// Where iterations may run twice, none is: the last vector ends with the last iteration. It may begin
    /// before the first one, among iterations that another thread runs, and then both write the same.
    fn wide_part(
        &mut self,
        inner: &For,
        plan: &Plan,
        (begin, end): (Value, Value),
        grain: i64,
    ) -> Result<Option<Value>, JitError> {
        let lanes = self.lanes(plan, true);
        let streamed = self.streamed(inner, plan);
        let is_exact = !self.target.any_range && grain % lanes == 0;
        if is_exact && self.is_aligned(inner, plan, &streamed)? {
            self.streaming(&streamed, |e| match e.exact_copies(plan, grain) {
                Some(copies) => e.vector_run(inner, plan, (begin, end), copies, true),
                None => e.vector_runs(inner, plan, (begin, end), true),
            })?;
            return Ok(None);
        }
        if !plan::may_repeat(inner) {
            let mut next = self.vector_runs(inner, plan, (begin, end), true)?;
            if self.may_be_narrow(plan) {
                next = self.vector_run(inner, plan, (next, end), 1, false)?;
            }
            return Ok(Some(next));
        }
        let zero = self.b.ins().iconst(types::I64, 0);
        let last = self.b.ins().iadd_imm_s(end, -lanes);
        let last = self.b.ins().smax(last, zero);
        let mut next = begin;
        if !streamed.is_empty() {
            next = self.streaming_run(inner, plan, &streamed, (begin, end))?;
        } else if plan.copies > 1 {
            next = self.vector_run(inner, plan, (begin, end), plan.copies, true)?;
        }
        let (rest, done) = (self.b.create_block(), self.b.create_block());
        let any = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        self.b.ins().brif(any, rest, &[], done, &[]);
        self.b.switch_to_block(rest);
        self.b.seal_block(rest);
        let first = self.b.ins().smin(next, last);
        self.repeating_run(inner, plan, first, last)?;
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        self.b.seal_block(done);
        Ok(None)
    }

    /// How many copies of a wide vector divide `grain`, if not far fewer than planned: then there is no rest.
    fn exact_copies(&self, plan: &Plan, grain: i64) -> Option<i64> {
        let lanes = self.lanes(plan, true);
        let mut copies = plan.copies;
        while copies > 1 && grain % (lanes * copies) != 0 {
            copies /= 2;
        }
        let is_near = copies * 2 >= plan.copies;
        (is_near && grain % (lanes * copies) == 0).then_some(copies)
    }

    /// Whether everything that a loop writes past the caches is aligned for it where its vectors begin. Buffers
    /// are, for a kernel that is called with chunks.
    fn is_aligned(
        &self,
        inner: &For,
        plan: &Plan,
        streamed: &[(ParamId, &Index)],
    ) -> Result<bool, JitError> {
        let bytes = 16 * i64::from(self.factor);
        for (param, index) in streamed {
            let (_, element_type) = self.param(*param)?;
            let size = i64::try_from(element_type.size()).unwrap_or(1);
            let is_aligned = |term: &Term| match term.atom {
                Atom::Var(var) if var == inner.var => true,
                Atom::Var(_) | Atom::Dynamic(_) | Atom::Div(..) | Atom::Mod(..) => {
                    term.factor.wrapping_mul(size) % bytes == 0
                }
            };
            let offset = index.offset().wrapping_mul(size);
            let all = index.terms().iter().all(is_aligned);
            let step = self.lanes(plan, true) * size;
            if self.target.any_range || !all || offset % bytes != 0 || step % bytes != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Emits something whose stores to these arrays pass the caches.
    fn streaming<R>(
        &mut self,
        streamed: &[(ParamId, &Index)],
        emit: impl FnOnce(&mut Self) -> Result<R, JitError>,
    ) -> Result<R, JitError> {
        self.streamed = streamed.iter().map(|(param, _)| *param).collect();
        let emitted = emit(self);
        self.streamed.clear();
        emitted
    }

    /// The stores of a loop that pass the caches.
    fn streamed<'l>(&self, inner: &'l For, plan: &Plan) -> Vec<(ParamId, &'l Index)> {
        match self.target.streaming_bytes {
            Some(bytes) => plan::streamed(self.kernel, plan, inner, bytes),
            None => Vec::new(),
        }
    }

    /// As many steps as fit in `begin..end`, with stores that pass the caches, if these are aligned; gives the
    /// first iteration that is left.
    fn streaming_run(
        &mut self,
        inner: &For,
        plan: &Plan,
        streamed: &[(ParamId, &Index)],
        (begin, end): (Value, Value),
    ) -> Result<Value, JitError> {
        let (run, done) = (self.b.create_block(), self.b.create_block());
        let left = self.b.append_block_param(done, types::I64);
        let unaligned = self.unaligned(inner, begin, streamed)?;
        let args = [BlockArg::Value(begin)];
        self.b.ins().brif(unaligned, done, &args, run, &[]);
        self.b.switch_to_block(run);
        self.b.seal_block(run);
        let next = self.streaming(streamed, |e| {
            e.vector_run(inner, plan, (begin, end), plan.copies, true)
        })?;
        self.b.ins().jump(done, &[BlockArg::Value(next)]);
        self.b.switch_to_block(done);
        self.b.seal_block(done);
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

    /// Whether a loop may have wide vectors.
    fn is_wide(&self, inner: &For, plan: &Plan) -> bool {
        let is_even = || {
            let extent = self.kernel.vars.get(plan.var).map_or(0, |var| var.extent);
            extent % self.lanes(plan, true) == 0 && self.has_tables(inner)
        };
        self.factor > 1 && !plan.is_strided && (!plan.unrolled || is_even())
    }

    /// Whether a loop may have narrow vectors: in code that is retargeted, shuffles are those of wide ones.
    fn may_be_narrow(&self, plan: &Plan) -> bool {
        self.factor == 1 || !plan.has_complex
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

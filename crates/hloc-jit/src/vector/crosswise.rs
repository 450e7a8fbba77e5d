//! Two loops of which the outer one runs along the elements of a load that the inner one jumps over: as many
//! iterations of both at once as a vector has lanes, with as many vectors loaded along the outer loop and transposed
//! in registers.
//!
//! A wide block reads and writes whole lines of memory, each once: where rows are no multiple of that long, narrow
//! blocks, which seldom lie across two lines, are as fast.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, SourceLoc, Value, types};
use hloc_loops::index::{Atom, Index, Term};
use hloc_loops::ir::{Expr, For, LoopKind, ParamId, Stmt, ValueId};
use hloc_loops::transform::reads_own_elements;

use super::complex::{HIGH, LOW};
use super::{Lane, Plan, Vectors, Width, plan};
use crate::error::JitError;
use crate::kernel::{Emitter, ahead_by, ahead_mark};
use crate::repr::Reg;

/// The most statements of a block that is emitted for wide vectors, with a copy for each lane.
const MAX_WIDE_STATEMENTS: usize = 16;

/// The fewest elements of an array that is written in wide blocks, which take longer to compile.
const MIN_WIDE_ELEMENTS: i64 = 1 << 13;

/// A block of iterations of both loops.
struct Block<'b> {
    inner: &'b For,
    plan: &'b Plan,
    /// Iterations of either loop.
    size: i64,
    is_wide: bool,
}

impl Emitter<'_, '_> {
    /// Emits a loop that holds nothing but a vector loop with such loads; `false` if it is something else,
    /// and nothing is emitted.
    pub(crate) fn crosswise_loops(&mut self, outer: &For) -> Result<bool, JitError> {
        let [Stmt::For(inner)] = outer.body.as_slice() else {
            return Ok(false);
        };
        let is_plain = outer.kind == LoopKind::Serial && outer.carried.is_empty();
        if !is_plain || inner.kind != LoopKind::Vector {
            return Ok(false);
        }
        let Some(mut plan) = plan::plan(self.kernel, &self.constants, inner) else {
            return Ok(false);
        };
        // Several iterations of the outer loop at once: none may read what another one stores.
        if !reads_own_elements(&inner.body) || !self.is_crosswise(&plan, outer, inner)? {
            return Ok(false);
        }
        plan.rows = Some(outer.var);
        let extents = (self.extent(outer)?, self.extent(inner)?);
        let is_wide = self.fits_wide(outer, inner, &plan, extents)?;
        let block = Block {
            inner,
            plan: &plan,
            size: self.lanes(&plan, is_wide),
            is_wide,
        };
        if extents.0 < block.size || extents.1 % block.size != 0 {
            return Ok(false);
        }
        let streamed = if is_wide {
            self.streamed(inner, &plan)
        } else {
            Vec::new()
        };
        if self.is_aligned(inner, &plan, &streamed)? {
            self.streaming(&streamed, |e| e.blocks(outer, &block, extents))?;
        } else {
            self.blocks(outer, &block, extents)?;
        }
        Ok(true)
    }

    /// Whether wide blocks do all iterations, and each accesses whole lines of memory.
    fn fits_wide(
        &self,
        outer: &For,
        inner: &For,
        plan: &Plan,
        (rows, columns): (i64, i64),
    ) -> Result<bool, JitError> {
        let size = self.lanes(plan, true);
        let is_short = inner.body.len() <= MAX_WIDE_STATEMENTS;
        if self.factor == 1 || !is_short || rows % size != 0 || columns % size != 0 {
            return Ok(false);
        }
        let lines = |index: &Index| {
            let is_whole = |term: &Term| {
                let is_along =
                    term.atom == Atom::Var(outer.var) || term.atom == Atom::Var(inner.var);
                is_along && term.factor == 1 || term.factor % size == 0
            };
            index.offset() % size == 0 && index.terms().iter().all(is_whole)
        };
        Ok(inner.body.iter().all(|stmt| match stmt {
            Stmt::Let {
                value,
                expr: Expr::Load { index, .. },
            } => !plan.varying.contains(value) || lines(index),
            Stmt::Store { param, index, .. } => {
                let param = self.kernel.params.get(*param);
                let is_large = param.is_some_and(|param| param.num_elements() >= MIN_WIDE_ELEMENTS);
                is_large && lines(index)
            }
            Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => true,
        }))
    }

    /// All iterations of both loops.
    fn blocks(
        &mut self,
        outer: &For,
        block: &Block<'_>,
        (rows, columns): (i64, i64),
    ) -> Result<(), JitError> {
        let whole = rows / block.size * block.size;
        self.counted((0, whole), block.size, &mut |e, row| {
            e.block_row(outer, block, row, columns)
        })?;
        if whole == rows {
            return Ok(());
        }
        let begin = self.b.ins().iconst(types::I64, whole);
        let end = self.b.ins().iconst(types::I64, rows);
        self.scalar_loop(outer, begin, end)
    }

    /// All columns of as many rows as a block has, from `row` on.
    fn block_row(
        &mut self,
        outer: &For,
        block: &Block<'_>,
        row: Value,
        columns: i64,
    ) -> Result<(), JitError> {
        self.enter_loop(outer.var, row);
        self.counted((0, columns), block.size, &mut |e, column| {
            e.square(block, column)
        })?;
        self.leave_loop();
        Ok(())
    }

    /// A block from column `column` on.
    fn square(&mut self, block: &Block<'_>, column: Value) -> Result<(), JitError> {
        self.enter_loop(block.inner.var, column);
        if block.is_wide {
            Vectors::wide(self, block.plan, block.size).crosswise(block.inner)?;
        } else {
            Vectors::new(self, block.plan, block.size).crosswise(block.inner)?;
        }
        self.leave_loop();
        Ok(())
    }

    /// Whether every index moves evenly along both loops, there is a load to transpose, and nothing else
    /// depends on the outer loop.
    fn is_crosswise(&self, plan: &Plan, outer: &For, inner: &For) -> Result<bool, JitError> {
        let is_plain = plan.width == Width::Single && plan.reductions.is_empty();
        let mut found = false;
        for stmt in &inner.body {
            let (value, index) = match stmt {
                Stmt::Let {
                    value,
                    expr: Expr::Load { index, .. },
                } => (Some(*value), index),
                Stmt::Let {
                    expr: Expr::Index(index),
                    ..
                } => {
                    if index.mentions(outer.var) || index.mentions(inner.var) {
                        return Ok(false);
                    }
                    continue;
                }
                Stmt::Store { index, .. } => (None, index),
                Stmt::Let { .. } => continue,
                Stmt::For(_) | Stmt::If(_) => return Ok(false),
            };
            let (along_rows, along_columns) = (index.stride(outer.var), index.stride(inner.var));
            match (value, along_rows, along_columns) {
                (Some(value), _, _) if !plan.varying.contains(&value) => {
                    if index.mentions(outer.var) {
                        return Ok(false);
                    }
                }
                (Some(_), Some(_), Some(1)) => {}
                (None, Some(rows), Some(1)) if rows.abs() >= self.extent(inner)? => {}
                (Some(value), Some(1), Some(_)) => {
                    let lane = plan.width.lane(self.type_of(value)?);
                    found = match lane {
                        Some(Lane::Float) => true,
                        Some(Lane::Int(kind)) => kind.bits == 32,
                        Some(Lane::Mask | Lane::Narrow(_)) | None => return Ok(false),
                    };
                    if !found {
                        return Ok(false);
                    }
                }
                (_, _, _) => return Ok(false),
            }
        }
        Ok(is_plain && found)
    }

    /// A loop over `begin..end` in steps of `step`.
    fn counted(
        &mut self,
        (begin, end): (i64, i64),
        step: i64,
        body: &mut dyn FnMut(&mut Self, Value) -> Result<(), JitError>,
    ) -> Result<(), JitError> {
        let (block, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(block, types::I64);
        let first = self.b.ins().iconst(types::I64, begin);
        self.b.ins().jump(block, &[BlockArg::Value(first)]);
        self.b.switch_to_block(block);
        body(self, counter)?;
        let next = self.b.ins().iadd_imm_s(counter, step);
        let end = self.b.ins().iconst(types::I64, end);
        let again = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        let args = [BlockArg::Value(next)];
        self.b.ins().brif(again, block, &args, exit, &[]);
        self.b.seal_block(block);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(())
    }
}

impl Vectors<'_, '_, '_> {
    /// The body of a block; copies are iterations of the outer loop. All loads come before the first store.
    fn crosswise(&mut self, inner: &For) -> Result<(), JitError> {
        for stmt in &inner.body {
            if let Stmt::Let {
                value,
                expr: Expr::Load { param, index },
            } = stmt
                && self.plan.varying.contains(value)
                && index.stride(inner.var) != Some(1)
            {
                self.transposed(*value, *param, index)?;
                continue;
            }
            for copy in 0..self.copies() {
                self.straight(stmt, copy)?;
            }
        }
        Ok(())
    }

    /// The mark for loads of what is read once: in blocks, of what the next tile reads of the same rows.
    pub(super) fn ahead_mark(&self) -> SourceLoc {
        if self.plan.rows.is_none() {
            return ahead_mark();
        }
        let columns = self
            .e
            .kernel
            .vars
            .get(self.plan.var)
            .map_or(0, |var| var.extent);
        ahead_by(columns / 16)
    }

    /// Loads a vector along the outer loop for each lane, and binds the lanes of each copy.
    ///
    /// Joining the vectors of one half with those of the other, element by element, once for each bit of their
    /// number, puts every element where its row and column are exchanged.
    fn transposed(
        &mut self,
        value: ValueId,
        param: ParamId,
        index: &Index,
    ) -> Result<(), JitError> {
        let (ty, lane) = self.lane_of(value)?;
        let stride = index.stride(self.plan.var).unwrap_or(0);
        let size = i64::try_from(ty.size()).unwrap_or(1);
        let (address, offset) = self.e.address(param, index)?;
        let lines = stride.wrapping_mul(size).wrapping_mul(self.lane_count()) / 64;
        let is_ahead = self.is_wide() && self.e.read_ahead.contains(&param);
        let mut vectors = Vec::new();
        for at in 0..self.lane_count() {
            let distance = stride.wrapping_mul(size).wrapping_mul(at);
            let (address, offset) = self.displaced(address, offset, distance);
            if is_ahead {
                // What the processor fetches by itself lies behind the elements, not below them.
                self.e.b.set_srcloc(ahead_by(lines));
            }
            vectors.push(self.load(ty, lane, address, offset));
        }
        self.e.b.set_srcloc(SourceLoc::default());
        let half = vectors.len() / 2;
        for _ in 0..half.trailing_zeros() + 1 {
            let mut joined = Vec::new();
            for at in 0..half {
                joined.push(self.shuffle(vectors[at], vectors[at + half], LOW));
                joined.push(self.shuffle(vectors[at], vectors[at + half], HIGH));
            }
            vectors = joined;
        }
        for (copy, lanes) in (0..).zip(vectors) {
            let lanes = self.cast(lane.vector(self.width()), lanes);
            self.bind(value, copy, Reg::One(lanes));
        }
        Ok(())
    }
}

//! Two loops of which the outer one runs along the elements of a load that the inner one jumps over: four
//! iterations of both at once, with four vectors loaded along the outer loop and transposed in registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, ConstantData, InstBuilder, Value, types};
use hloc_loops::index::Index;
use hloc_loops::ir::{Expr, For, LoopKind, ParamId, Stmt, ValueId};
use hloc_loops::transform::reads_own_elements;

use super::{Lane, Plan, Vectors, Width, plan};
use crate::error::JitError;
use crate::kernel::Emitter;

/// Iterations of either loop in a block: the lanes of a vector.
const BLOCK: i64 = 4;

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
        let (rows, columns) = (self.extent(outer)?, self.extent(inner)?);
        if rows < BLOCK || columns % BLOCK != 0 {
            return Ok(false);
        }
        let Some(mut plan) = plan::plan(self.kernel, &self.constants, inner) else {
            return Ok(false);
        };
        // Four iterations of the outer loop at once: none may read what another one stores.
        if !reads_own_elements(&inner.body) || !self.is_crosswise(&plan, outer, inner)? {
            return Ok(false);
        }
        plan.rows = Some(outer.var);
        let (zero, whole) = (0, rows / BLOCK * BLOCK);
        self.counted(zero, whole, &mut |e, row| {
            e.enter_loop(outer.var, row);
            e.counted(0, columns, &mut |e, column| {
                e.enter_loop(inner.var, column);
                Vectors::new(e, &plan, BLOCK).crosswise(inner)?;
                e.leave_loop();
                Ok(())
            })?;
            e.leave_loop();
            Ok(())
        })?;
        if whole < rows {
            let begin = self.b.ins().iconst(types::I64, whole);
            let end = self.b.ins().iconst(types::I64, rows);
            self.scalar_loop(outer, begin, end)?;
        }
        Ok(true)
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

    /// A loop over `begin..end` in steps of a block.
    fn counted(
        &mut self,
        begin: i64,
        end: i64,
        body: &mut dyn FnMut(&mut Self, Value) -> Result<(), JitError>,
    ) -> Result<(), JitError> {
        let (block, exit) = (self.b.create_block(), self.b.create_block());
        let counter = self.b.append_block_param(block, types::I64);
        let first = self.b.ins().iconst(types::I64, begin);
        self.b.ins().jump(block, &[BlockArg::Value(first)]);
        self.b.switch_to_block(block);
        body(self, counter)?;
        let next = self.b.ins().iadd_imm_s(counter, BLOCK);
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
    /// The body for four iterations of both loops; copies are iterations of the outer one. All loads come
    /// before the first store.
    fn crosswise(&mut self, inner: &For) -> Result<(), JitError> {
        self.e.crosses_lanes = true;
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
            for copy in 0..BLOCK {
                self.straight(stmt, copy)?;
            }
        }
        Ok(())
    }

    /// Loads a vector along the outer loop for each lane, and binds the lanes of each copy.
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
        let mut along = Vec::new();
        for at in 0..BLOCK {
            let distance = stride.wrapping_mul(size).wrapping_mul(at);
            let (address, offset) = self.displaced(address, offset, distance);
            let vector = self.load(ty, lane, address, offset);
            along.push(self.cast(types::I8X16, vector));
        }
        let low = self.interleaved(along[0], along[1], 4, 0);
        let high = self.interleaved(along[0], along[1], 4, 8);
        let low_next = self.interleaved(along[2], along[3], 4, 0);
        let high_next = self.interleaved(along[2], along[3], 4, 8);
        let copies = [
            self.interleaved(low, low_next, 8, 0),
            self.interleaved(low, low_next, 8, 8),
            self.interleaved(high, high_next, 8, 0),
            self.interleaved(high, high_next, 8, 8),
        ];
        for (copy, lanes) in (0..).zip(copies) {
            let lanes = self.cast(lane.vector(self.width()), lanes);
            self.bind(value, copy, lanes);
        }
        Ok(())
    }

    /// Pieces of `size` bytes of the halves at byte `from` of two vectors, in turn.
    fn interleaved(&mut self, x: Value, y: Value, size: u8, from: u8) -> Value {
        let mut mask = Vec::new();
        for piece in 0..8 / size {
            for vector in [0, 16] {
                let first = vector + from + piece * size;
                mask.extend(first..first + size);
            }
        }
        let mask = ConstantData::from(mask.as_slice());
        let mask = self.e.b.func.dfg.immediates.push(mask);
        self.e.b.ins().shuffle(x, y, mask)
    }
}

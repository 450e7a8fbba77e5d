//! The body of a vector loop: statements, inner loops and uniform conditions, for all copies.

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, SourceLoc, Value, types};
use hloc_ir::ElementType;
use hloc_loops::ir::{Condition, For, If, Stmt, ValueId};

use super::{Lane, Plan, Width};
use crate::error::JitError;
use crate::kernel::{Emitter, streaming_mark};
use crate::repr::Reg;

/// The emission of one stretch of iterations.
pub(crate) struct Vectors<'e, 'a, 'f> {
    pub(super) e: &'e mut Emitter<'a, 'f>,
    pub(super) plan: &'e Plan,
    copies: i64,
    /// How many 128-bit vectors each vector holds.
    factor: u32,
    /// The lanes of each varying value in each copy.
    values: BTreeMap<(ValueId, i64), Reg>,
}

impl<'e, 'a, 'f> Vectors<'e, 'a, 'f> {
    /// An emission of `copies` vectors per iteration.
    pub(crate) fn new(e: &'e mut Emitter<'a, 'f>, plan: &'e Plan, copies: i64) -> Self {
        e.has_vectors = true;
        Vectors {
            e,
            plan,
            copies,
            factor: 1,
            values: BTreeMap::new(),
        }
    }

    /// An emission of vectors that the retargeter makes wide.
    pub(crate) fn wide(e: &'e mut Emitter<'a, 'f>, plan: &'e Plan, copies: i64) -> Self {
        e.has_wide |= e.factor > 1;
        let factor = e.factor;
        Vectors {
            factor,
            ..Vectors::new(e, plan, copies)
        }
    }

    /// Vectors per iteration.
    pub(super) fn copies(&self) -> i64 {
        self.copies
    }

    /// Number of lanes of a vector.
    pub(super) fn lane_count(&self) -> i64 {
        self.width().lanes() * i64::from(self.factor)
    }

    /// Whether vectors are wider than 128 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.factor > 1
    }

    /// Bytes of a vector.
    pub(super) fn vector_bytes(&self) -> u32 {
        16 * self.factor
    }

    /// Width of the lanes.
    pub(super) fn width(&self) -> Width {
        self.plan.width
    }

    /// How `value` lives in its lane.
    pub(super) fn lane_of(&self, value: ValueId) -> Result<(ElementType, Lane), JitError> {
        let ty = self.e.type_of(value)?;
        match self.width().lane(ty) {
            Some(lane) => Ok((ty, lane)),
            None => Err(self.e.malformed(format!("{value} of {ty} has no lanes"))),
        }
    }

    /// Binds the lanes of a value in a copy.
    pub(super) fn bind(&mut self, value: ValueId, copy: i64, lanes: Reg) {
        self.values.insert((value, copy), lanes);
    }

    /// The lanes of a value; one that does not vary is spread over them.
    pub(super) fn lanes(&mut self, value: ValueId, copy: i64) -> Result<Value, JitError> {
        if let Some(lanes) = self.values.get(&(value, copy)) {
            return Ok(lanes.one());
        }
        let (ty, lane) = self.lane_of(value)?;
        let reg = self.e.reg(value)?;
        match self.known_lanes(value, lane) {
            Some(lanes) => Ok(lanes),
            None => Ok(self.splat(ty, lane, reg)),
        }
    }

    /// The real and imaginary parts of a complex value; one that does not vary is spread over the lanes.
    pub(super) fn parts_of(
        &mut self,
        value: ValueId,
        copy: i64,
    ) -> Result<(Value, Value), JitError> {
        if let Some(lanes) = self.values.get(&(value, copy)) {
            return Ok(lanes.pair());
        }
        let (re, im) = self.e.reg(value)?.pair();
        let floats = self.width().floats();
        let re = self.e.b.ins().splat(floats, re);
        Ok((re, self.e.b.ins().splat(floats, im)))
    }

    /// Emits statements: what stands between inner blocks copy by copy, inner blocks for all copies.
    pub(crate) fn block(&mut self, block: &[Stmt]) -> Result<(), JitError> {
        let is_inner = |stmt: &Stmt| match stmt {
            Stmt::For(_) | Stmt::If(_) => true,
            Stmt::Let { .. } | Stmt::Store { .. } => false,
        };
        let mut rest = block;
        while !rest.is_empty() {
            let straight = rest.iter().position(is_inner).unwrap_or(rest.len());
            for copy in 0..self.copies {
                for stmt in &rest[..straight] {
                    self.straight(stmt, copy)?;
                }
            }
            rest = &rest[straight..];
            match rest.first() {
                Some(Stmt::For(inner)) => self.inner_loop(inner)?,
                Some(Stmt::If(inner)) => self.condition(inner)?,
                Some(Stmt::Let { .. } | Stmt::Store { .. }) | None => continue,
            }
            rest = &rest[1..];
        }
        Ok(())
    }

    /// Emits a statement without inner blocks in one copy.
    pub(super) fn straight(&mut self, stmt: &Stmt, copy: i64) -> Result<(), JitError> {
        match stmt {
            Stmt::Let { value, expr } if self.plan.varying.contains(value) => {
                let lanes = if self.has_complex(*value, expr)? {
                    self.complex_expr(*value, expr, copy)?
                } else {
                    Reg::One(self.expr(*value, expr, copy)?)
                };
                self.bind(*value, copy, lanes);
                Ok(())
            }
            // A value that does not vary is the same in all copies.
            Stmt::Let { value, expr } if copy == 0 => {
                let reg = self.e.expr(self.e.type_of(*value)?, expr)?;
                self.e.bind(*value, reg);
                Ok(())
            }
            Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => Ok(()),
            Stmt::Store {
                param,
                index,
                value,
            } => {
                let (address, offset) = self.place(*param, index, copy)?;
                if self.is_complex(*value)? {
                    let parts = self.parts_of(*value, copy)?;
                    self.store_parts(parts, address, offset);
                    return Ok(());
                }
                let lanes = self.lanes(*value, copy)?;
                let (_, lane) = self.lane_of(*value)?;
                let (_, ty) = self.e.param(*param)?;
                let is_streamed = self.is_wide() && self.e.streamed.contains(param);
                if is_streamed {
                    self.e.b.set_srcloc(streaming_mark());
                }
                self.store(ty, lane, lanes, address, offset);
                if is_streamed {
                    self.e.b.set_srcloc(SourceLoc::default());
                }
                Ok(())
            }
        }
    }

    fn inner_loop(&mut self, inner: &For) -> Result<(), JitError> {
        let extent = self.e.extent(inner)?;
        let zero = self.e.b.ins().iconst(types::I64, 0);
        let (body, exit) = (self.e.b.create_block(), self.e.b.create_block());
        let counter = self.e.b.append_block_param(body, types::I64);
        let mut args = vec![BlockArg::Value(zero)];
        for carried in &inner.carried {
            args.extend(self.args(carried.init)?);
        }
        self.e.b.ins().jump(body, &args);
        self.e.b.switch_to_block(body);
        for carried in &inner.carried {
            self.params(body, carried.current)?;
        }
        self.e.enter_loop(inner.var, counter);
        self.block(&inner.body)?;
        self.e.leave_loop();
        let next = self.e.b.ins().iadd_imm_s(counter, 1);
        let end = self.e.b.ins().iconst(types::I64, extent);
        let again = self.e.b.ins().icmp(IntCC::SignedLessThan, next, end);
        let mut results = Vec::new();
        for carried in &inner.carried {
            results.extend(self.args(carried.next)?);
        }
        let mut repeated = vec![BlockArg::Value(next)];
        repeated.extend(&results);
        let ins = self.e.b.ins();
        ins.brif(again, body, &repeated, exit, &results);
        self.e.b.seal_block(body);
        self.e.b.switch_to_block(exit);
        self.e.b.seal_block(exit);
        for carried in &inner.carried {
            self.params(exit, carried.result)?;
        }
        Ok(())
    }

    /// The lanes of a value in every copy, as arguments of a jump.
    fn args(&mut self, value: ValueId) -> Result<Vec<BlockArg>, JitError> {
        let mut args = Vec::new();
        for copy in 0..self.copies {
            if self.is_complex(value)? {
                let (re, im) = self.parts_of(value, copy)?;
                args.extend([re, im].map(BlockArg::Value));
            } else {
                args.push(BlockArg::Value(self.lanes(value, copy)?));
            }
        }
        Ok(args)
    }

    /// Binds a value in every copy to parameters of a block.
    fn params(&mut self, block: Block, value: ValueId) -> Result<(), JitError> {
        for copy in 0..self.copies {
            let lanes = if self.is_complex(value)? {
                let floats = self.width().floats();
                let [re, im] = [(); 2].map(|()| self.e.b.append_block_param(block, floats));
                Reg::Pair(re, im)
            } else {
                let (_, lane) = self.lane_of(value)?;
                let ty = lane.vector(self.width());
                Reg::One(self.e.b.append_block_param(block, ty))
            };
            self.bind(value, copy, lanes);
        }
        Ok(())
    }

    /// A condition that is the same in all lanes.
    fn condition(&mut self, inner: &If) -> Result<(), JitError> {
        let holds = match &inner.condition {
            Condition::InRange(ranges) => self.e.in_range(ranges)?,
            Condition::Value(value) => self.e.reg(*value)?.one(),
        };
        let (then, otherwise) = (self.e.b.create_block(), self.e.b.create_block());
        let merge = self.e.b.create_block();
        self.e.b.ins().brif(holds, then, &[], otherwise, &[]);
        let branches = [
            (then, &inner.then, true),
            (otherwise, &inner.otherwise, false),
        ];
        for (block, body, is_then) in branches {
            self.e.b.switch_to_block(block);
            self.e.b.seal_block(block);
            self.e.conditions += 1;
            self.e.computed_addresses.enter();
            self.block(body)?;
            self.e.computed_addresses.leave();
            self.e.conditions -= 1;
            let mut args = Vec::new();
            for merged in &inner.merged {
                let value = if is_then {
                    merged.then
                } else {
                    merged.otherwise
                };
                args.extend(self.args(value)?);
            }
            self.e.b.ins().jump(merge, &args);
        }
        self.e.b.switch_to_block(merge);
        self.e.b.seal_block(merge);
        for merged in &inner.merged {
            self.params(merge, merged.result)?;
        }
        Ok(())
    }
}

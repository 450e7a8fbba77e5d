//! Loops that combine one value per iteration.
//!
//! The order of combination is fixed: 16 partial results of 32-bit elements (8 of 64-bit ones) take every
//! sixteenth element each, the halves of the row of partial results are combined until one is left, that is
//! combined with the initial value, and the elements that are left over follow one by one. Nothing in this
//! depends on the processor; wider vectors would hold the same partial results.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use hloc_loops::ir::{Carried, Expr, For, Stmt};

use super::extreme::{is_extreme, is_ordered};
use super::plan::Reduction;
use super::{Plan, Vectors};
use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::Reg;

/// Vectors of partial results: 16 lanes of 32 bits.
const VECTORS: i64 = 4;

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits a reduction; `false` if the loop is too short for one round of partial results.
    pub(super) fn vector_reduction(&mut self, inner: &For, plan: &Plan) -> Result<bool, JitError> {
        let extent = self.extent(inner)?;
        let chunk = plan.width.lanes() * VECTORS;
        if extent < chunk {
            return Ok(false);
        }
        let is_wide = self.is_wide(inner, plan);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.enter_loop(inner.var, zero);
        let mut vectors = self.partial_vectors(plan, is_wide);
        let elements = vectors.elements(inner)?;
        let mut partial = Vec::new();
        for (reduction, elements) in plan.reductions.iter().zip(elements) {
            partial.push(vectors.begun(reduction, elements)?);
        }
        self.leave_loop();
        let main = extent / chunk * chunk;
        if main > chunk {
            partial = self.reduction_loop(inner, plan, &partial, (main, is_wide))?;
        }
        let mut folded = Vec::new();
        for ((reduction, carried), lanes) in
            plan.reductions.iter().zip(&inner.carried).zip(&partial)
        {
            let lanes = self
                .partial_vectors(plan, is_wide)
                .combined(reduction, lanes)?;
            let mut vectors = Vectors::new(self, plan, VECTORS);
            folded.push(vectors.fold(reduction, carried, lanes)?);
        }
        self.left_over(inner, plan, &folded, (main, extent), is_wide)?;
        Ok(true)
    }

    /// An emission of as many vectors as hold the partial results.
    fn partial_vectors<'e>(&'e mut self, plan: &'e Plan, is_wide: bool) -> Vectors<'e, 'a, 'f> {
        if is_wide {
            let copies = VECTORS / i64::from(self.factor);
            Vectors::wide(self, plan, copies)
        } else {
            Vectors::new(self, plan, VECTORS)
        }
    }

    /// Combines the rounds after the first; gives the partial results.
    fn reduction_loop(
        &mut self,
        inner: &For,
        plan: &Plan,
        partial: &[Vec<Value>],
        (end, is_wide): (i64, bool),
    ) -> Result<Vec<Vec<Value>>, JitError> {
        let chunk = plan.width.lanes() * VECTORS;
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let first = self.b.ins().iconst(types::I64, chunk);
        let counter = self.b.append_block_param(body, types::I64);
        let mut args = vec![BlockArg::Value(first)];
        args.extend(partial.iter().flatten().copied().map(BlockArg::Value));
        self.b.ins().jump(body, &args);
        self.b.switch_to_block(body);
        let mut append = |block| -> Vec<Vec<Value>> {
            let params = |lanes: &Vec<Value>| -> Vec<Value> {
                let types = lanes.iter().map(|lane| self.b.func.dfg.value_type(*lane));
                let types: Vec<_> = types.collect();
                let append = types
                    .into_iter()
                    .map(|ty| self.b.append_block_param(block, ty));
                append.collect()
            };
            partial.iter().map(params).collect()
        };
        let (current, result) = (append(body), append(exit));
        self.enter_loop(inner.var, counter);
        let mut vectors = self.partial_vectors(plan, is_wide);
        let elements = vectors.elements(inner)?;
        let mut next = Vec::new();
        for ((reduction, current), elements) in plan.reductions.iter().zip(&current).zip(&elements)
        {
            let combined = vectors.continued(reduction, current, elements)?;
            next.extend(combined.into_iter().map(BlockArg::Value));
        }
        self.leave_loop();
        let after = self.b.ins().iadd_imm_s(counter, chunk);
        let end = self.b.ins().iconst(types::I64, end);
        let again = self.b.ins().icmp(IntCC::SignedLessThan, after, end);
        let mut repeated = vec![BlockArg::Value(after)];
        repeated.extend(&next);
        self.b.ins().brif(again, body, &repeated, exit, &next);
        self.b.seal_block(body);
        self.b.switch_to_block(exit);
        self.b.seal_block(exit);
        Ok(result)
    }

    /// The iterations `begin..end`, combined one at a time, beginning with `folded` as the carried values.
    ///
    /// What several of them compute is computed in vectors that end where the loop ends; iterations before `begin`
    /// that these repeat are left out of account.
    fn left_over(
        &mut self,
        inner: &For,
        plan: &Plan,
        folded: &[Reg],
        (begin, end): (i64, i64),
        is_wide: bool,
    ) -> Result<(), JitError> {
        if end - begin > 1 && computes(inner, plan) {
            let elements = self.last_elements(inner, plan, (begin, end), is_wide)?;
            for (at, reduction) in plan.reductions.iter().enumerate() {
                let ty = self.type_of(reduction.element)?;
                let mut result = folded[at];
                for element in &elements[at] {
                    result = self.binary(reduction.op, ty, result, *element)?;
                }
                self.bind(inner.carried[at].result, result);
            }
            return Ok(());
        }
        for (carried, folded) in inner.carried.iter().zip(folded) {
            self.bind(carried.result, *folded);
        }
        if begin < end {
            let begin = self.b.ins().iconst(types::I64, begin);
            let end = self.b.ins().iconst(types::I64, end);
            self.scalar_loop_from(inner, folded, begin, end)?;
        }
        Ok(())
    }
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// What each reduction combines in the iterations `begin..end`, fewer than a round has.
    fn last_elements(
        &mut self,
        inner: &For,
        plan: &Plan,
        (begin, end): (i64, i64),
        is_wide: bool,
    ) -> Result<Vec<Vec<Reg>>, JitError> {
        let first = end - plan.width.lanes() * VECTORS;
        let counter = self.b.ins().iconst(types::I64, first);
        self.enter_loop(inner.var, counter);
        let mut vectors = self.partial_vectors(plan, is_wide);
        let elements = vectors.elements(inner)?;
        let repeated = usize::try_from(begin - first).unwrap_or(0);
        let mut last = Vec::new();
        for (reduction, elements) in plan.reductions.iter().zip(elements) {
            let (_, lane) = vectors.lane_of(reduction.element)?;
            let mut scalars = Vec::new();
            for lanes in elements {
                scalars.extend(vectors.scalars(lane, lanes));
            }
            last.push(scalars.split_off(repeated.min(scalars.len())));
        }
        self.leave_loop();
        Ok(last)
    }
}

/// Whether iterations do more than load and combine.
fn computes(inner: &For, plan: &Plan) -> bool {
    let lets = inner.body.iter().filter_map(|stmt| match stmt {
        Stmt::Let { value, expr } => Some((*value, expr)),
        Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
    });
    let mut computed = lets.filter(|(value, expr)| {
        let combines = plan.reductions.iter().any(|each| each.next == *value);
        !combines && !matches!(expr, Expr::Load { .. } | Expr::Constant(_))
    });
    computed.next().is_some()
}

impl Vectors<'_, '_, '_> {
    /// Emits the body for one round and gives the combined value of each reduction in each copy.
    fn elements(&mut self, inner: &For) -> Result<Vec<Vec<Value>>, JitError> {
        let combines = |stmt: &Stmt| match stmt {
            Stmt::Let { value, .. } => {
                let mut reductions = self.plan.reductions.iter();
                reductions.any(|reduction| reduction.next == *value)
            }
            Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => false,
        };
        let body: Vec<&Stmt> = inner.body.iter().filter(|stmt| !combines(stmt)).collect();
        let mut elements = vec![Vec::new(); self.plan.reductions.len()];
        for copy in 0..self.copies() {
            for stmt in &body {
                self.straight(stmt, copy)?;
            }
            for (reduction, elements) in self.plan.reductions.iter().zip(&mut elements) {
                elements.push(self.lanes(reduction.element, copy)?);
            }
        }
        Ok(elements)
    }

    /// The partial results after the first round.
    fn begun(
        &mut self,
        reduction: &Reduction,
        elements: Vec<Value>,
    ) -> Result<Vec<Value>, JitError> {
        let (_, lane) = self.lane_of(reduction.element)?;
        Ok(if is_extreme(reduction, lane) {
            self.first_extremes(reduction.op, &elements)
        } else {
            elements
        })
    }

    /// The partial results after one more round.
    fn continued(
        &mut self,
        reduction: &Reduction,
        current: &[Value],
        elements: &[Value],
    ) -> Result<Vec<Value>, JitError> {
        let (_, lane) = self.lane_of(reduction.element)?;
        if is_extreme(reduction, lane) {
            return Ok(self.next_extremes(reduction.op, current, elements));
        }
        let pairs = current.iter().zip(elements);
        let combine = |(current, element): (&Value, &Value)| {
            self.binary(reduction.op, lane, *current, *element)
        };
        pairs.map(combine).collect()
    }

    /// The partial results combined to one vector, in parts of 128 bits.
    fn combined(
        &mut self,
        reduction: &Reduction,
        partial: &[Value],
    ) -> Result<Vec<Value>, JitError> {
        let (_, lane) = self.lane_of(reduction.element)?;
        let whole = if is_extreme(reduction, lane) {
            self.folded_extremes(reduction.op, partial)
        } else {
            let combine = |vectors: &mut Self, a, b| vectors.binary(reduction.op, lane, a, b);
            self.halved(partial.to_vec(), combine)?
        };
        Ok(if self.is_wide() {
            self.parts(whole)
        } else {
            vec![whole]
        })
    }

    /// Combines halves with halves until one is left.
    fn halved<T: Copy>(
        &mut self,
        mut row: Vec<T>,
        combine: impl Fn(&mut Self, T, T) -> Result<T, JitError>,
    ) -> Result<T, JitError> {
        while row.len() > 1 {
            let (low, high) = row.split_at(row.len() / 2);
            let pairs: Vec<(T, T)> = low.iter().copied().zip(high.iter().copied()).collect();
            let combined = pairs.into_iter().map(|(a, b)| combine(self, a, b));
            row = combined.collect::<Result<_, _>>()?;
        }
        row.first()
            .copied()
            .ok_or_else(|| self.e.malformed("a reduction without partial results"))
    }

    /// Combines the parts of the partial results, halves with halves, and the initial value with what is left.
    fn fold(
        &mut self,
        reduction: &Reduction,
        carried: &Carried,
        parts: Vec<Value>,
    ) -> Result<Reg, JitError> {
        let (ty, lane) = self.lane_of(reduction.element)?;
        let is_ordered = is_extreme(reduction, lane) && is_ordered(self.width());
        let combine = |vectors: &mut Self, a, b| {
            if is_ordered {
                Ok(vectors.more_extreme_key(reduction.op, a, b))
            } else {
                vectors.binary(reduction.op, lane, a, b)
            }
        };
        let row = self.halved(parts, combine)?;
        let scalars = self.scalars(lane, row);
        let folded = if is_ordered {
            let keys = scalars.into_iter().map(Reg::one).collect();
            let key = self.halved(keys, combine)?;
            Reg::One(self.number_of_key(key))
        } else {
            let combine = |vectors: &mut Self, a, b| vectors.e.binary(reduction.op, ty, a, b);
            self.halved(scalars, combine)?
        };
        if is_extreme(reduction, lane) && self.is_neutral(reduction.op, carried.init) {
            return Ok(folded);
        }
        let init = self.e.reg(carried.init)?;
        self.e.binary(reduction.op, ty, init, folded)
    }
}

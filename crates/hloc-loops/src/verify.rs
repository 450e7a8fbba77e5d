//! Proves kernels sound: every access in bounds, every value bound before its use and well typed.
//!
//! Checked properties:
//! 1. A value is bound once, before its uses, in an enclosing block.
//! 2. Operands have the element types that their op needs.
//! 3. A loop variable is used only inside its loop; extents are at least 1.
//! 4. Every load and store lies in bounds, proved by intervals and the surrounding conditions.
//! 5. Loads read and stores write as the parameter's access says.
//! 6. A parallel loop is outermost, alone at its level but for bindings before it, and carries nothing.
//! 7. Index values come from `clamp-index`.
//!
//! A failure is always a bug of the lowering or of a transform, never of the user's program.

use std::fmt;

use hloc_ir::{BinaryOp, ElementType, Id, TernaryOp};

use crate::index::{Atom, Bounds, Index, Interval, Term};
use crate::ir::{
    Access, Block, Condition, Expr, For, If, IndexRange, Kernel, LoopKind, ParamId, Stmt, ValueId,
    VarId,
};

/// Bound of the scale of an index in a proof: indices are far below 2^46, so that nothing overflows.
const MAX_SCALE: i64 = 1 << 16;

/// A broken property of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    /// Name of the kernel.
    pub kernel: String,
    /// What is broken.
    pub message: String,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel @{}: {}", self.kernel, self.message)
    }
}

impl std::error::Error for KernelError {}

/// Checks all properties of one kernel.
///
/// # Errors
/// The first [`KernelError`] found.
pub fn verify_kernel(kernel: &Kernel) -> Result<(), KernelError> {
    let mut checker = Checker {
        kernel,
        bound: vec![false; kernel.values.len()],
        scope: Vec::new(),
        clamps: vec![None; kernel.values.len()],
        open: vec![None; kernel.vars.len()],
        conditions: Vec::new(),
        excluded: Vec::new(),
        impossible: 0,
    };
    let checked = checker
        .extents()
        .and_then(|()| checker.block(&kernel.body, 0));
    checked.map_err(|message| KernelError {
        kernel: kernel.name.clone(),
        message,
    })
}

type Checked = Result<(), String>;

struct Checker<'a> {
    kernel: &'a Kernel,
    /// Whether each value is in scope.
    bound: Vec<bool>,
    /// Values in scope, in binding order, so that leaving a block unbinds its values.
    scope: Vec<ValueId>,
    /// Bounds of the values that `clamp-index` made.
    clamps: Vec<Option<Interval>>,
    /// Bounds of the variables of the open loops, narrowed by conditions.
    open: Vec<Option<Interval>>,
    /// Ranges that hold here.
    conditions: Vec<IndexRange>,
    /// Ranges that do not hold here.
    excluded: Vec<IndexRange>,
    /// How many of the conditions around are never true: what they guard never runs.
    impossible: usize,
}

impl Bounds for Checker<'_> {
    fn var(&self, var: VarId) -> Interval {
        let everything = Interval {
            low: i64::MIN,
            high: i64::MAX,
        };
        self.open
            .get(var.index())
            .copied()
            .flatten()
            .unwrap_or(everything)
    }

    fn value(&self, value: ValueId) -> Interval {
        let everything = Interval {
            low: i64::MIN,
            high: i64::MAX,
        };
        self.clamps
            .get(value.index())
            .copied()
            .flatten()
            .unwrap_or(everything)
    }

    fn conditions(&self) -> &[IndexRange] {
        &self.conditions
    }
}

impl Checker<'_> {
    fn extents(&self) -> Checked {
        match self.kernel.vars.values().find(|var| var.extent < 1) {
            Some(var) => Err(format!(
                "loop variable {} has extent {}",
                var.name, var.extent
            )),
            None => Ok(()),
        }
    }

    fn block(&mut self, block: &Block, depth: usize) -> Checked {
        for (at, stmt) in block.iter().enumerate() {
            match stmt {
                Stmt::Let { value, expr } => {
                    self.expr(*value, expr)?;
                    self.bind(*value)?;
                }
                Stmt::Store {
                    param,
                    index,
                    value,
                } => self.store(*param, index, *value)?,
                Stmt::For(stmt) => {
                    if stmt.kind == LoopKind::Parallel && (depth > 0 || at + 1 != block.len()) {
                        return Err(
                            "a parallel loop must be the last statement of the kernel".to_owned()
                        );
                    }
                    self.loop_stmt(stmt, depth)?;
                }
                Stmt::If(stmt) => self.if_stmt(stmt, depth)?,
            }
        }
        Ok(())
    }

    fn bind(&mut self, value: ValueId) -> Checked {
        let Some(bound) = self.bound.get_mut(value.index()) else {
            return Err(format!("{value} does not exist"));
        };
        if std::mem::replace(bound, true) {
            return Err(format!("{value} is bound twice"));
        }
        self.scope.push(value);
        Ok(())
    }

    /// Unbinds what was bound since `scope` had `mark` values.
    fn leave(&mut self, mark: usize) {
        for value in self.scope.drain(mark..) {
            self.bound[value.index()] = false;
        }
    }

    fn type_of(&self, value: ValueId) -> Result<ElementType, String> {
        match self.bound.get(value.index()) {
            Some(true) => Ok(self.kernel.values[value].element_type),
            Some(false) => Err(format!("{value} is used where it is not bound")),
            None => Err(format!("{value} does not exist")),
        }
    }

    fn same(&self, what: &str, found: ElementType, wanted: ElementType) -> Checked {
        if found == wanted {
            Ok(())
        } else {
            Err(format!("{what} is {found}, not {wanted}"))
        }
    }

    fn access(&self, param: ParamId, index: &Index) -> Checked {
        let Some(buffer) = self.kernel.params.get(param) else {
            return Err(format!("{param} does not exist"));
        };
        for value in index.dynamic_values() {
            self.type_of(value)?;
        }
        for var in index.vars() {
            if self.open.get(var.index()).copied().flatten().is_none() {
                return Err(format!("{var} is used outside its loop"));
            }
        }
        let proved = |index: &Index, scale: i64| {
            let end = buffer.num_elements().checked_mul(scale);
            let interval = index.interval(self);
            interval
                .zip(end)
                .is_some_and(|(interval, end)| interval.within(0, end))
        };
        let (exact, scale) = self.with_exact_divisions(index);
        if self.impossible > 0 || proved(index, 1) || proved(&exact, scale) {
            return Ok(());
        }
        let mut text = String::new();
        let name = |var| {
            self.kernel
                .vars
                .get(var)
                .map_or_else(String::new, |var: &crate::ir::Var| var.name.clone())
        };
        index
            .write(&mut text, &name)
            .map_err(|error| error.to_string())?;
        Err(format!(
            "{}[{text}] is not proved to lie in 0..{}",
            buffer.name,
            buffer.num_elements()
        ))
    }

    /// The index times the returned scale, with `c * (x / c)` replaced by `x - r` wherever a condition
    /// says that `x mod c` is `r`. The scale makes the factor of each such quotient a multiple of `c`.
    fn with_exact_divisions(&self, index: &Index) -> (Index, i64) {
        let (mut exact, mut scale) = (index.clone(), 1i64);
        for range in &self.conditions {
            let [term] = range.index.terms() else {
                continue;
            };
            let (Atom::Mod(inner, divisor), 1) = (&term.atom, term.factor) else {
                continue;
            };
            let quotient = Index::quotient(inner, *divisor);
            let fixed = range.high.wrapping_sub(range.low) == 1;
            let larger = scale.saturating_mul(*divisor);
            if !fixed || larger > MAX_SCALE || exact.factor_of(&quotient) == 0 {
                continue;
            }
            if exact.factor_of(&quotient) % divisor != 0 {
                (exact, scale) = (exact.times(*divisor), larger);
            }
            let factor = exact.factor_of(&quotient);
            let rest = range.low.wrapping_sub(range.index.offset());
            let replacement = inner.plus(rest.wrapping_neg()).times(factor / divisor);
            exact = exact.add(&quotient.times(-factor)).add(&replacement);
        }
        (exact, scale)
    }

    fn store(&self, param: ParamId, index: &Index, value: ValueId) -> Checked {
        self.access(param, index)?;
        let buffer = &self.kernel.params[param];
        if buffer.access == Access::Read {
            return Err(format!("{} is stored to, but is only read", buffer.name));
        }
        self.same(
            "the stored value",
            self.type_of(value)?,
            buffer.element_type,
        )
    }

    fn loop_stmt(&mut self, stmt: &For, depth: usize) -> Checked {
        let Some(var) = self.kernel.vars.get(stmt.var) else {
            return Err(format!("{} does not exist", stmt.var));
        };
        if stmt.kind == LoopKind::Parallel && !stmt.carried.is_empty() {
            return Err(format!(
                "the parallel loop over {} carries values",
                var.name
            ));
        }
        let mark = self.scope.len();
        let bounds = Interval {
            low: 0,
            high: var.extent - 1,
        };
        if self.open[stmt.var.index()].replace(bounds).is_some() {
            return Err(format!(
                "the loops over {} are nested in each other",
                var.name
            ));
        }
        for carried in &stmt.carried {
            let carried_type = self.kernel.values[carried.current].element_type;
            self.same(
                "the initial value",
                self.type_of(carried.init)?,
                carried_type,
            )?;
            self.bind(carried.current)?;
        }
        self.block(&stmt.body, depth + 1)?;
        for carried in &stmt.carried {
            let carried_type = self.kernel.values[carried.current].element_type;
            self.same("the next value", self.type_of(carried.next)?, carried_type)?;
            self.same(
                "the result",
                self.kernel.values[carried.result].element_type,
                carried_type,
            )?;
        }
        self.leave(mark);
        self.open[stmt.var.index()] = None;
        stmt.carried
            .iter()
            .try_for_each(|carried| self.bind(carried.result))
    }

    fn if_stmt(&mut self, stmt: &If, depth: usize) -> Checked {
        let denied = match &stmt.condition {
            Condition::InRange(ranges) if ranges.len() == 1 => ranges.clone(),
            Condition::InRange(_) | Condition::Value(_) => Vec::new(),
        };
        let narrowed = self.enter_condition(&stmt.condition)?;
        let mark = self.scope.len();
        self.block(&stmt.then, depth + 1)?;
        let then: Vec<_> = stmt
            .merged
            .iter()
            .map(|merged| self.type_of(merged.then))
            .collect::<Result<_, _>>()?;
        self.leave(mark);
        self.leave_condition(narrowed);
        let excluded = self.excluded.len();
        self.excluded.extend(denied);
        let narrowed = self.enter_condition(&Condition::InRange(Vec::new()))?;
        self.block(&stmt.otherwise, depth + 1)?;
        self.leave_condition(narrowed);
        self.excluded.truncate(excluded);
        for (merged, then) in stmt.merged.iter().zip(then) {
            self.same(
                "the second merged value",
                self.type_of(merged.otherwise)?,
                then,
            )?;
            self.same(
                "the merged result",
                self.kernel.values[merged.result].element_type,
                then,
            )?;
        }
        self.leave(mark);
        stmt.merged
            .iter()
            .try_for_each(|merged| self.bind(merged.result))
    }

    /// Makes a condition known; returns what [`Checker::leave_condition`] needs to undo that.
    fn enter_condition(&mut self, condition: &Condition) -> Result<Narrowed, String> {
        let mut narrowed = Narrowed {
            conditions: self.conditions.len(),
            vars: Vec::new(),
            impossible: 0,
        };
        match condition {
            Condition::Value(value) => {
                self.same("the condition", self.type_of(*value)?, ElementType::Pred)?
            }
            Condition::InRange(ranges) => {
                for range in ranges {
                    for value in range.index.dynamic_values() {
                        self.type_of(value)?;
                    }
                    self.know_chain(range.clone(), &mut narrowed);
                }
                // Remainders that these ranges narrow narrow what quotients known before say.
                if ranges.iter().any(mentions_remainder) {
                    for range in self.conditions.clone() {
                        if let Some(range) = self.implied(&range) {
                            self.know_chain(range, &mut narrowed);
                        }
                    }
                }
            }
        }
        // What is denied cuts off an end of an index's interval as soon as that is known well enough.
        for denied in self.excluded.clone() {
            if let Some(range) = denied.complement(self) {
                self.know_chain(range, &mut narrowed);
            }
        }
        self.impossible += narrowed.impossible;
        Ok(narrowed)
    }

    /// Takes a range and what follows from it for true until the condition is left.
    fn know_chain(&mut self, range: IndexRange, narrowed: &mut Narrowed) {
        let mut next = Some(range);
        while let Some(range) = next {
            next = self.implied(&range);
            self.know(range, narrowed);
        }
    }

    /// Takes a range for true until the condition is left.
    fn know(&mut self, range: IndexRange, narrowed: &mut Narrowed) {
        narrowed.impossible += usize::from(self.is_impossible(&range));
        self.conditions.push(range.clone());
        for term in range.index.terms() {
            narrowed.vars.extend(self.narrow_var(&range, term));
        }
    }

    /// What a range of `x / c + rest` says about `x + c*rest`: `x / 7` in `0..4` puts `x` in `0..28`, and
    /// in `1..28` where `x mod 7` is known to be at least 1.
    ///
    /// `x + c*rest` is `c * (x / c + rest)` plus `x mod c`.
    fn implied(&self, range: &IndexRange) -> Option<IndexRange> {
        let (inner, divisor) = range
            .index
            .terms()
            .iter()
            .find_map(|term| match &term.atom {
                Atom::Div(inner, divisor) if term.factor == 1 => Some((inner, *divisor)),
                Atom::Div(..) | Atom::Mod(..) | Atom::Var(_) | Atom::Dynamic(_) => None,
            })?;
        let remainder = Index::remainder(inner, divisor).interval(self)?;
        let quotient = Index::quotient(inner, divisor);
        let rest = range.index.add(&quotient.times(-1));
        let last = range.high.checked_sub(1)?.checked_mul(divisor)?;
        Some(IndexRange {
            index: inner.add(&rest.times(divisor)),
            low: range.low.checked_mul(divisor)?.checked_add(remainder.low)?,
            high: last.checked_add(remainder.high)?.checked_add(1)?,
        })
    }

    /// Whether the bounds known so far rule the range out.
    fn is_impossible(&self, range: &IndexRange) -> bool {
        let empty = range.low >= range.high;
        let apart = |bounds: Interval| bounds.high < range.low || range.high <= bounds.low;
        empty || range.index.interval(self).is_some_and(apart)
    }

    /// A range of `c*var + rest` narrows the bounds of `var`; gives the bounds before.
    fn narrow_var(&mut self, range: &IndexRange, term: &Term) -> Option<(VarId, Interval)> {
        let Atom::Var(var) = term.atom else {
            return None;
        };
        let before = self.open.get(var.index()).copied().flatten()?;
        let own = Index::var(var).times(term.factor.checked_neg()?);
        let rest = range.index.add(&own).interval(&NoConditions(self))?;
        let solved = term.solved(range, rest)?;
        let narrowed = Interval {
            low: before.low.max(solved.low),
            high: before.high.min(solved.high),
        };
        self.open[var.index()] = Some(narrowed);
        Some((var, before))
    }

    fn leave_condition(&mut self, narrowed: Narrowed) {
        self.conditions.truncate(narrowed.conditions);
        self.impossible -= narrowed.impossible;
        for (var, before) in narrowed.vars.into_iter().rev() {
            self.open[var.index()] = Some(before);
        }
    }

    fn expr(&mut self, value: ValueId, expr: &Expr) -> Checked {
        let Some(bound) = self.kernel.values.get(value) else {
            return Err(format!("{value} does not exist"));
        };
        let result = bound.element_type;
        match expr {
            Expr::Constant(_) => Ok(()),
            Expr::Load { param, index } => self.load(*param, index, result),
            Expr::Index(index) => index
                .dynamic_values()
                .into_iter()
                .try_for_each(|v| self.type_of(v).map(drop)),
            Expr::ClampIndex {
                value: operand,
                low,
                high,
            } => self.clamp_index(value, *operand, *low, *high, result),
            Expr::Unary(op, operand) => {
                let operand = self.type_of(*operand)?;
                self.same(op.name(), result, op.result_type(operand))
            }
            Expr::Binary(op, lhs, rhs) => self.binary(*op, *lhs, *rhs, result),
            Expr::Ternary(op, operands) => self.ternary(*op, *operands, result),
            Expr::Compare { lhs, rhs, .. } => {
                self.same(
                    "the right operand",
                    self.type_of(*rhs)?,
                    self.type_of(*lhs)?,
                )?;
                self.same("the comparison", result, ElementType::Pred)
            }
            Expr::Convert(operand) => self.type_of(*operand).map(drop),
            Expr::BitcastConvert(operand) => {
                let operand = self.type_of(*operand)?;
                // Elements below a byte are held in one.
                let in_a_byte = operand.bits() <= 8 && result.bits() <= 8;
                if operand.bits() == result.bits() || in_a_byte {
                    Ok(())
                } else {
                    Err(format!("{operand} has not the width of {result}"))
                }
            }
            Expr::ReducePrecision { value: operand, .. } => {
                self.same("the operand", self.type_of(*operand)?, result)
            }
        }
    }

    fn load(&self, param: ParamId, index: &Index, result: ElementType) -> Checked {
        self.access(param, index)?;
        let buffer = &self.kernel.params[param];
        if buffer.access == Access::Write {
            return Err(format!(
                "{} is loaded from, but is only written",
                buffer.name
            ));
        }
        self.same("the loaded value", result, buffer.element_type)
    }

    fn clamp_index(
        &mut self,
        value: ValueId,
        operand: ValueId,
        low: i64,
        high: i64,
        result: ElementType,
    ) -> Checked {
        let operand = self.type_of(operand)?;
        if !operand.is_integer() {
            return Err(format!("clamp-index of {operand}"));
        }
        if low > high {
            return Err(format!("clamp-index into {low}..={high}"));
        }
        self.clamps[value.index()] = Some(Interval { low, high });
        self.same("the index value", result, ElementType::S64)
    }

    fn binary(&self, op: BinaryOp, lhs: ValueId, rhs: ValueId, result: ElementType) -> Checked {
        let operand = self.type_of(lhs)?;
        self.same("the right operand", self.type_of(rhs)?, operand)?;
        match op.result_type(operand) {
            Some(wanted) => self.same(op.name(), result, wanted),
            None => Err(format!("{op} of {operand}")),
        }
    }

    fn ternary(&self, op: TernaryOp, operands: [ValueId; 3], result: ElementType) -> Checked {
        let [a, b, c] = operands;
        let first = match op {
            TernaryOp::Select => ElementType::Pred,
            TernaryOp::Clamp => result,
        };
        self.same("the first operand", self.type_of(a)?, first)?;
        self.same("the second operand", self.type_of(b)?, result)?;
        self.same("the third operand", self.type_of(c)?, result)
    }
}

fn mentions_remainder(range: &IndexRange) -> bool {
    range.index.terms().iter().any(|term| match term.atom {
        Atom::Mod(..) => true,
        Atom::Div(..) | Atom::Var(_) | Atom::Dynamic(_) => false,
    })
}

/// The bounds without what conditions say, so that a condition does not narrow by itself.
struct NoConditions<'a, 'k>(&'a Checker<'k>);

impl Bounds for NoConditions<'_, '_> {
    fn var(&self, var: VarId) -> Interval {
        self.0.var(var)
    }
    fn value(&self, value: ValueId) -> Interval {
        self.0.value(value)
    }
}

/// What a condition changed.
struct Narrowed {
    conditions: usize,
    impossible: usize,
    vars: Vec<(VarId, Interval)>,
}

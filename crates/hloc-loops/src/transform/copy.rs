//! Copies of blocks with other loop variables and fresh values.

use std::collections::{BTreeMap, BTreeSet};

use hloc_ir::SideTable;

use super::Names;
use crate::index::{Atom, Index, VarExtents};
use crate::ir::{
    Block, Carried, Condition, Expr, For, If, IndexRange, Kernel, Merged, ParamId, Stmt, ValueId,
    VarId,
};

/// What a copy replaces.
pub(super) struct Copier<'a> {
    names: &'a mut Names,
    /// The kernel whose blocks are copied, if its names are not those of the copy.
    from: Option<&'a Kernel>,
    /// Parameters by the parameter that takes their place.
    params: BTreeMap<ParamId, ParamId>,
    /// Parameters that are no longer stored to.
    dropped: BTreeSet<ParamId>,
    /// Loop variables replaced by indices.
    vars: BTreeMap<VarId, Index>,
    /// Values bound in the copy, by the value they copy.
    values: SideTable<ValueId, Option<ValueId>>,
    /// Values that are no longer bound, by the value that takes their place.
    aliases: BTreeMap<ValueId, ValueId>,
}

impl<'a> Copier<'a> {
    /// A copier that replaces `var` by `index`.
    pub(super) fn replacing(names: &'a mut Names, var: VarId, index: Index) -> Copier<'a> {
        let mut copier = Copier {
            names,
            from: None,
            params: BTreeMap::new(),
            dropped: BTreeSet::new(),
            vars: BTreeMap::new(),
            values: SideTable::new(None),
            aliases: BTreeMap::new(),
        };
        copier.replace(var, index);
        copier
    }

    /// A copier of blocks of another kernel, whose parameters become others.
    pub(super) fn between(
        names: &'a mut Names,
        from: &'a Kernel,
        params: BTreeMap<ParamId, ParamId>,
    ) -> Copier<'a> {
        Copier {
            names,
            from: Some(from),
            params,
            dropped: BTreeSet::new(),
            vars: BTreeMap::new(),
            values: SideTable::new(None),
            aliases: BTreeMap::new(),
        }
    }

    /// Leaves out stores to a parameter.
    pub(super) fn drop_stores(&mut self, param: ParamId) {
        self.dropped.insert(param);
    }

    /// Replaces one more loop variable.
    pub(super) fn replace(&mut self, var: VarId, index: Index) {
        self.vars.insert(var, index);
    }

    /// Makes uses of `gone` use what the copy makes of `taken`.
    pub(super) fn alias(&mut self, gone: ValueId, taken: ValueId) {
        self.aliases.insert(gone, taken);
    }

    /// Makes uses of `value` use `taken`, a value of the copy.
    pub(super) fn take(&mut self, value: ValueId, taken: ValueId) {
        self.values.set(value, Some(taken));
    }

    /// What `value` is called in the copy.
    pub(super) fn value(&self, mut value: ValueId) -> ValueId {
        while let Some(taken) = self.aliases.get(&value) {
            value = *taken;
        }
        self.values[value].unwrap_or(value)
    }

    /// A fresh name for a value that the copy binds.
    pub(super) fn bind(&mut self, value: ValueId) -> ValueId {
        let old = match self.from {
            Some(kernel) => kernel.values[value],
            None => self.names.values[value],
        };
        let fresh = self.names.values.push(old);
        self.values.set(value, Some(fresh));
        fresh
    }

    /// The block with everything replaced and every bound value and inner loop variable fresh.
    pub(super) fn block(&mut self, block: &Block) -> Block {
        let mut copied = Vec::new();
        for stmt in block {
            if !self.is_gone(stmt) {
                copied.push(self.stmt(stmt));
            }
        }
        copied
    }

    fn is_gone(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let { value, .. } => self.aliases.contains_key(value),
            Stmt::Store { param, .. } => self.dropped.contains(param),
            Stmt::For(_) | Stmt::If(_) => false,
        }
    }

    fn param(&self, param: ParamId) -> ParamId {
        self.params.get(&param).copied().unwrap_or(param)
    }

    /// The statement with everything replaced.
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::Let { value, expr } => {
                let expr = self.expr(expr);
                Stmt::Let {
                    value: self.bind(*value),
                    expr,
                }
            }
            Stmt::Store {
                param,
                index,
                value,
            } => Stmt::Store {
                param: self.param(*param),
                index: self.index(index),
                value: self.value(*value),
            },
            Stmt::For(stmt) => Stmt::For(self.for_stmt(stmt)),
            Stmt::If(stmt) => Stmt::If(self.if_stmt(stmt)),
        }
    }

    fn for_stmt(&mut self, stmt: &For) -> For {
        let old = match self.from {
            Some(kernel) => kernel.vars[stmt.var].clone(),
            None => self.names.vars[stmt.var].clone(),
        };
        let var = self.names.vars.push(old);
        self.vars.insert(stmt.var, Index::var(var));
        self.loop_over(stmt, var)
    }

    /// The loop as a loop of `var`; what takes the place of its own variable is replaced already.
    pub(super) fn loop_over(&mut self, stmt: &For, var: VarId) -> For {
        let inits: Vec<_> = stmt
            .carried
            .iter()
            .map(|carried| self.value(carried.init))
            .collect();
        let currents: Vec<_> = stmt
            .carried
            .iter()
            .map(|carried| self.bind(carried.current))
            .collect();
        let body = self.block(&stmt.body);
        let mut carried = Vec::new();
        for ((old, init), current) in stmt.carried.iter().zip(inits).zip(currents) {
            let next = self.value(old.next);
            carried.push(Carried {
                init,
                current,
                next,
                result: self.bind(old.result),
            });
        }
        For {
            var,
            kind: stmt.kind,
            carried,
            body,
        }
    }

    fn if_stmt(&mut self, stmt: &If) -> If {
        let condition = match &stmt.condition {
            Condition::Value(value) => Condition::Value(self.value(*value)),
            Condition::InRange(ranges) => {
                Condition::InRange(ranges.iter().map(|range| self.range(range)).collect())
            }
        };
        let then = self.block(&stmt.then);
        let otherwise = self.block(&stmt.otherwise);
        let merge = |merged: &Merged, copier: &mut Self| {
            let (then, otherwise) = (copier.value(merged.then), copier.value(merged.otherwise));
            Merged {
                result: copier.bind(merged.result),
                then,
                otherwise,
            }
        };
        let merged = stmt
            .merged
            .iter()
            .map(|merged| merge(merged, self))
            .collect();
        If {
            condition,
            then,
            otherwise,
            merged,
        }
    }

    fn range(&self, range: &IndexRange) -> IndexRange {
        IndexRange {
            index: self.index(&range.index),
            low: range.low,
            high: range.high,
        }
    }

    /// The index with everything replaced.
    pub(super) fn index(&self, index: &Index) -> Index {
        let bounds = VarExtents(&self.names.vars);
        let map = |var: VarId| {
            self.vars
                .get(&var)
                .cloned()
                .unwrap_or_else(|| Index::var(var))
        };
        let renamed = index.map_values(&|value| self.value(value));
        renamed.substitute(&map, &bounds)
    }

    fn expr(&self, expr: &Expr) -> Expr {
        let value = |id: &ValueId| self.value(*id);
        match expr {
            Expr::Constant(bits) => Expr::Constant(*bits),
            Expr::Load { param, index } => Expr::Load {
                param: self.param(*param),
                index: self.index(index),
            },
            Expr::Index(index) => Expr::Index(self.index(index)),
            Expr::ClampIndex {
                value: operand,
                low,
                high,
            } => Expr::ClampIndex {
                value: value(operand),
                low: *low,
                high: *high,
            },
            Expr::Unary(op, operand) => Expr::Unary(*op, value(operand)),
            Expr::Binary(op, lhs, rhs) => Expr::Binary(*op, value(lhs), value(rhs)),
            Expr::Ternary(op, [a, b, c]) => Expr::Ternary(*op, [value(a), value(b), value(c)]),
            Expr::Compare {
                direction,
                order,
                lhs,
                rhs,
            } => Expr::Compare {
                direction: *direction,
                order: *order,
                lhs: value(lhs),
                rhs: value(rhs),
            },
            Expr::Convert(operand) => Expr::Convert(value(operand)),
            Expr::BitcastConvert(operand) => Expr::BitcastConvert(value(operand)),
            Expr::ReducePrecision {
                value: operand,
                exponent_bits,
                mantissa_bits,
            } => Expr::ReducePrecision {
                value: value(operand),
                exponent_bits: *exponent_bits,
                mantissa_bits: *mantissa_bits,
            },
        }
    }
}

/// Calls `see` for every index in the block: of loads, stores, conditions and `index` expressions.
pub(super) fn visit_indices(block: &Block, see: &mut dyn FnMut(&Index)) {
    for stmt in block {
        match stmt {
            Stmt::Let {
                expr: Expr::Load { index, .. } | Expr::Index(index),
                ..
            }
            | Stmt::Store { index, .. } => see(index),
            Stmt::Let { .. } => {}
            Stmt::For(stmt) => visit_indices(&stmt.body, see),
            Stmt::If(stmt) => {
                if let Condition::InRange(ranges) = &stmt.condition {
                    ranges.iter().for_each(|range| see(&range.index));
                }
                visit_indices(&stmt.then, see);
                visit_indices(&stmt.otherwise, see);
            }
        }
    }
}

/// The divisors `c` of `var / c` and `var mod c` in the index, where nothing but `var` is divided.
pub(super) fn plain_divisors(index: &Index, var: VarId, divisors: &mut Vec<i64>) {
    for term in index.terms() {
        match &term.atom {
            Atom::Div(inner, divisor) | Atom::Mod(inner, divisor) => {
                if **inner == Index::var(var) {
                    divisors.push(*divisor);
                } else {
                    plain_divisors(inner, var, divisors);
                }
            }
            Atom::Var(_) | Atom::Dynamic(_) => {}
        }
    }
}

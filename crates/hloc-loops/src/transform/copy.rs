//! Copies of blocks with other loop variables and fresh values.

use std::collections::BTreeMap;

use super::Names;
use crate::index::{Atom, Index, VarExtents};
use crate::ir::{
    Block, Carried, Condition, Expr, For, If, IndexRange, Kernel, Merged, ParamId, Stmt, ValueId,
    VarId,
};

/// What a copy replaces.
pub(super) struct Copier<'a> {
    names: &'a mut Names,
    /// The kernel that is copied from, if it is another one, and its parameters here.
    source: Option<(&'a Kernel, &'a BTreeMap<ParamId, ParamId>)>,
    /// Loop variables replaced by indices.
    vars: BTreeMap<VarId, Index>,
    /// Values bound in the copy, by the value they copy.
    values: BTreeMap<ValueId, ValueId>,
    /// Values that are no longer bound, by the value that takes their place.
    aliases: BTreeMap<ValueId, ValueId>,
}

impl<'a> Copier<'a> {
    /// A copier that replaces `var` by `index`.
    pub(super) fn replacing(names: &'a mut Names, var: VarId, index: Index) -> Copier<'a> {
        let vars = BTreeMap::from([(var, index)]);
        Copier {
            names,
            source: None,
            vars,
            values: BTreeMap::new(),
            aliases: BTreeMap::new(),
        }
    }

    /// A copier out of another kernel, whose parameters become those of `params`.
    pub(super) fn between(
        names: &'a mut Names,
        source: &'a Kernel,
        params: &'a BTreeMap<ParamId, ParamId>,
    ) -> Copier<'a> {
        Copier {
            names,
            source: Some((source, params)),
            vars: BTreeMap::new(),
            values: BTreeMap::new(),
            aliases: BTreeMap::new(),
        }
    }

    /// Replaces one more loop variable.
    pub(super) fn replace(&mut self, var: VarId, index: Index) {
        self.vars.insert(var, index);
    }

    /// Makes uses of `gone` use what the copy makes of `taken`.
    pub(super) fn alias(&mut self, gone: ValueId, taken: ValueId) {
        self.aliases.insert(gone, taken);
    }

    /// What `value` is called in the copy.
    pub(super) fn value(&self, mut value: ValueId) -> ValueId {
        while let Some(taken) = self.aliases.get(&value) {
            value = *taken;
        }
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// A fresh name for a value that the copy binds.
    pub(super) fn bind(&mut self, value: ValueId) -> ValueId {
        let like = match self.source {
            Some((source, _)) => source.values[value],
            None => self.names.values[value],
        };
        let fresh = self.names.values.push(like);
        self.values.insert(value, fresh);
        fresh
    }

    /// The block with everything replaced and every bound value and inner loop variable fresh.
    pub(super) fn block(&mut self, block: &Block) -> Block {
        block.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
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
        let like = match self.source {
            Some((source, _)) => source.vars[stmt.var].clone(),
            None => self.names.vars[stmt.var].clone(),
        };
        let var = self.names.vars.push(like);
        self.vars.insert(stmt.var, Index::var(var));
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

    fn param(&self, param: ParamId) -> ParamId {
        let known = self.source.and_then(|(_, params)| params.get(&param));
        known.copied().unwrap_or(param)
    }

    fn index(&self, index: &Index) -> Index {
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

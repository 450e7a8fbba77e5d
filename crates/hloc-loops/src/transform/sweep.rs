//! Combines columns few rows at a time, with the partial results in memory.
//!
//! before: `for j in 0..4096 vector { v = for k in 0..32 carrying … { … load a[j + 4096*k] … }; store b[j], v }`
//! after:  `for j … { v = for k in 0..8 … ; store b[j], v }`
//!         `for c in 0..3 { for j … { w = load b[j]; v = for k in 0..8 carrying … = w { … }; store b[j], v } }`
//!
//! Rows that lie far apart are as many streams of memory, each in a page of its own; processors follow few of them
//! well, and the lines of rows a power of two apart share a few places in the first-level cache. Eight rows are read
//! from end to end, and the row of partial results stays in the cache. The order in which each column is combined is
//! the same.

use hloc_ir::Arena;

use super::Names;
use super::copy::Copier;
use crate::index::Index;
use crate::ir::{
    Access, Block, Carried, Expr, For, LoopKind, Param, ParamId, Stmt, ValueId, VarId,
};

/// Rows that are read at a time.
const ROWS: i64 = 8;
/// The least distance of rows in bytes: a page. Rows closer together are read as one stream.
const APART: i64 = 4096;
/// The least size in bytes of an array that does not come from the caches.
const LARGE: i64 = 1 << 20;
/// The fewest columns: shorter rows are little to read from end to end.
const COLUMNS: i64 = 512;

/// The block with such loops cut; what they store is loaded, too, from then on.
pub(super) fn sweep(block: Block, params: &mut Arena<ParamId, Param>, names: &mut Names) -> Block {
    let mut swept = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => swept.push(stmt),
            Stmt::If(mut stmt) => {
                stmt.then = sweep(stmt.then, params, names);
                stmt.otherwise = sweep(stmt.otherwise, params, names);
                swept.push(Stmt::If(stmt));
            }
            Stmt::For(mut stmt) => match columns(&stmt, params, names) {
                Some(columns) => {
                    let stored: Vec<ParamId> = columns.stores.iter().map(|(id, _)| *id).collect();
                    swept.extend(columns.cut(names));
                    for param in stored {
                        params[param].access = Access::ReadWrite;
                    }
                }
                None => {
                    stmt.body = sweep(stmt.body, params, names);
                    swept.push(Stmt::For(stmt));
                }
            },
        }
    }
    swept
}

/// A loop over columns around one over rows that carries what is combined.
struct Columns<'s> {
    outer: &'s For,
    /// Constants, before the loop over rows.
    constants: &'s [Stmt],
    inner: &'s For,
    /// Where the result of each carried value is stored.
    stores: Vec<(ParamId, &'s Index)>,
    rows: i64,
}

/// The parts of a loop that is worth cutting; `None` for any other.
fn columns<'s>(
    outer: &'s For,
    params: &Arena<ParamId, Param>,
    names: &Names,
) -> Option<Columns<'s>> {
    if outer.kind != LoopKind::Vector || !outer.carried.is_empty() {
        return None;
    }
    let at = outer.body.iter().position(is_loop)?;
    let (constants, rest) = outer.body.split_at(at);
    let [Stmt::For(inner), stores @ ..] = rest else {
        return None;
    };
    let rows = names.extent(inner.var);
    let fits = rows % ROWS == 0 && rows >= 2 * ROWS && names.extent(outer.var) >= COLUMNS;
    if !fits || !constants.iter().all(is_constant) || !inner.body.iter().all(is_let) {
        return None;
    }
    let columns = Columns {
        outer,
        constants,
        inner,
        stores: stores_of(&inner.carried, stores)?,
        rows,
    };
    (columns.begins_with_constants() && columns.is_far_apart(params)).then_some(columns)
}

fn is_loop(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For(_) => true,
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::If(_) => false,
    }
}

fn is_let(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { .. } => true,
        Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => false,
    }
}

fn is_constant(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let { expr, .. } => matches!(expr, Expr::Constant(_)),
        Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => false,
    }
}

/// Where each result is stored, if the statements store each once and nothing else.
fn stores_of<'s>(carried: &[Carried], stmts: &'s [Stmt]) -> Option<Vec<(ParamId, &'s Index)>> {
    let place = |result: ValueId| {
        let mut places = stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Store {
                param,
                index,
                value,
            } if *value == result => Some((*param, index)),
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
        });
        places.next()
    };
    let places: Option<Vec<_>> = carried.iter().map(|each| place(each.result)).collect();
    places.filter(|places| !places.is_empty() && places.len() == stmts.len())
}

impl Columns<'_> {
    fn begins_with_constants(&self) -> bool {
        let binds = |stmt: &Stmt, init| match stmt {
            Stmt::Let { value, .. } => *value == init,
            Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => false,
        };
        let mut carried = self.inner.carried.iter();
        carried.all(|each| self.constants.iter().any(|stmt| binds(stmt, each.init)))
    }

    /// Whether rows of a large array are read that lie pages apart, and nothing of what is stored.
    fn is_far_apart(&self, params: &Arena<ParamId, Param>) -> bool {
        let mut is_far = false;
        for stmt in &self.inner.body {
            let Stmt::Let {
                expr: Expr::Load { param, index },
                ..
            } = stmt
            else {
                continue;
            };
            if self.stores.iter().any(|(stored, _)| stored == param) {
                return false;
            }
            let size = i64::try_from(params[*param].element_type.size()).unwrap_or(1);
            let bytes = params[*param].num_elements().saturating_mul(size);
            let apart = index
                .stride(self.inner.var)
                .unwrap_or(0)
                .saturating_mul(size);
            is_far |= bytes >= LARGE && apart >= APART && index.stride(self.outer.var) == Some(1);
        }
        is_far
    }

    /// The first rows, which begin with the constants, and the others, which go on from what is stored.
    fn cut(&self, names: &mut Names) -> Block {
        let first = names.var_like(self.inner.var, "", ROWS);
        let begun = self.part((first, Index::var(first)), false, names);
        let steps = names.var_like(self.inner.var, "_o", self.rows / ROWS - 1);
        let row = names.var_like(self.inner.var, "_i", ROWS);
        let place = Index::var(steps).times(ROWS).add(&Index::var(row));
        let continued = self.part((row, place.plus(ROWS)), true, names);
        let others = Stmt::For(For {
            var: steps,
            kind: LoopKind::Serial,
            carried: Vec::new(),
            body: vec![continued],
        });
        vec![begun, others]
    }

    /// The loop over columns for as many rows as the variable `row` counts, which are those at `place`.
    fn part(&self, (row, place): (VarId, Index), goes_on: bool, names: &mut Names) -> Stmt {
        let extent = names.extent(self.outer.var);
        let column = names.var_like(self.outer.var, "", extent);
        let mut copier = Copier::replacing(names, self.inner.var, place);
        copier.replace(self.outer.var, Index::var(column));
        let mut body: Block = self
            .constants
            .iter()
            .map(|stmt| copier.stmt(stmt))
            .collect();
        if goes_on {
            for (carried, (param, index)) in self.inner.carried.iter().zip(&self.stores) {
                let index = copier.index(index);
                body.push(Stmt::Let {
                    value: copier.bind(carried.init),
                    expr: Expr::Load {
                        param: *param,
                        index,
                    },
                });
            }
        }
        body.push(Stmt::For(copier.loop_over(self.inner, row)));
        for (carried, (param, index)) in self.inner.carried.iter().zip(&self.stores) {
            body.push(Stmt::Store {
                param: *param,
                index: copier.index(index),
                value: copier.value(carried.result),
            });
        }
        Stmt::For(For {
            var: column,
            kind: self.outer.kind,
            carried: Vec::new(),
            body,
        })
    }
}

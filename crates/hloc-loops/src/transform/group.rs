//! Takes several iterations of a loop around a short innermost loop together, so that vectors are full.
//!
//! before: `for i in 0..64 { for l in 0..3 vector { store b[3*i + l], a[3*i + l] + c[l] } }`
//! after:  `for i_o in 0..4 { for i_l in 0..48 vector { store b[48*i_o + i_l], a[48*i_o + i_l] + c[i_l mod 3] } }`
//!
//! The joined loop is emitted as one stretch, in which `i_l mod 3` is known for every lane. Iterations that
//! are left over keep their loops.

use super::copy::Copier;
use super::{Names, reads_own_elements};
use crate::index::{Index, VarExtents};
use crate::ir::{Block, Condition, Expr, For, If, IndexRange, LoopKind, Stmt};

/// Loops of fewer iterations do not fill vectors.
const SHORT: i64 = 16;
/// The joined loop runs a multiple of this.
const LANES: i64 = 16;
/// The most iterations of a joined loop.
const MAX_JOINED: i64 = 112;
/// The most statements of a joined loop times its vectors of four elements.
const MAX_UNROLLED: i64 = 600;

/// The block with short loops joined with the loop around them.
pub(super) fn group(block: Block, names: &mut Names) -> Block {
    block
        .into_iter()
        .map(|stmt| group_stmt(stmt, names))
        .collect()
}

fn group_stmt(stmt: Stmt, names: &mut Names) -> Stmt {
    match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => stmt,
        Stmt::If(mut stmt) => {
            stmt.then = group(stmt.then, names);
            stmt.otherwise = group(stmt.otherwise, names);
            Stmt::If(stmt)
        }
        Stmt::For(mut stmt) => match grouped(&stmt, names) {
            Some(grouped) => Stmt::For(grouped),
            None => {
                stmt.body = group(stmt.body, names);
                Stmt::For(stmt)
            }
        },
    }
}

fn grouped(outer: &For, names: &mut Names) -> Option<For> {
    let [Stmt::For(inner)] = outer.body.as_slice() else {
        return None;
    };
    let (rows, short) = (names.extent(outer.var), names.extent(inner.var));
    let plain = outer.carried.is_empty() && inner.carried.is_empty();
    if !plain || inner.kind != LoopKind::Vector || !(2..SHORT).contains(&short) {
        return None;
    }
    let group = group_of(short);
    let joined = group * short;
    let statements = i64::try_from(inner.body.len()).unwrap_or(i64::MAX);
    let is_small = joined <= MAX_JOINED && statements.saturating_mul(joined / 4) <= MAX_UNROLLED;
    if !is_small
        || rows < 2 * group
        || !fills_lanes(outer, inner, short)
        || !reads_own_elements(&inner.body)
    {
        return None;
    }
    if !names.may_copy(&inner.body, 2) {
        return None;
    }
    let groups = names.var_like(outer.var, "_o", (rows + group - 1) / group);
    let element = names.var_like(inner.var, "_i", joined);
    let bounds = VarExtents(&names.vars);
    let row = Index::var(groups).times(group);
    let row = row.add(&Index::var(element).div(short, &bounds));
    let column = Index::var(element).rem(short, &bounds);
    let mut copier = Copier::replacing(names, outer.var, row);
    copier.replace(inner.var, column);
    let whole = vec![Stmt::For(For {
        var: element,
        kind: LoopKind::Vector,
        carried: Vec::new(),
        body: copier.block(&inner.body),
    })];
    let body = match rows % group {
        0 => whole,
        rest => {
            let range = IndexRange {
                index: Index::var(groups),
                low: 0,
                high: rows / group,
            };
            let left = names.var_like(outer.var, "_i", rest);
            let row = Index::var(groups).times(group).add(&Index::var(left));
            let mut copier = Copier::replacing(names, outer.var, row);
            let body = copier.block(&outer.body);
            vec![Stmt::If(If {
                condition: Condition::InRange(vec![range]),
                then: whole,
                otherwise: vec![Stmt::For(For {
                    var: left,
                    kind: LoopKind::Serial,
                    carried: Vec::new(),
                    body,
                })],
                merged: Vec::new(),
            })]
        }
    };
    Some(For {
        var: groups,
        kind: outer.kind,
        carried: Vec::new(),
        body,
    })
}

/// How many rows of `short` elements fill vectors.
fn group_of(short: i64) -> i64 {
    let mut group = 1;
    while group * short % LANES != 0 || group * short < 2 * LANES {
        group += 1;
    }
    group
}

/// Whether stores run through both loops, and every load does or depends on one of them alone.
fn fills_lanes(outer: &For, inner: &For, short: i64) -> bool {
    let runs = |index: &Index| {
        index.stride(outer.var) == Some(short) && index.stride(inner.var) == Some(1)
    };
    let alone = |index: &Index| !index.mentions(outer.var) || !index.mentions(inner.var);
    inner.body.iter().all(|stmt| match stmt {
        Stmt::Let {
            expr: Expr::Load { index, .. },
            ..
        } => index.dynamic_values().is_empty() && (runs(index) || alone(index)),
        Stmt::Let {
            expr: Expr::Index(index),
            ..
        } => !index.mentions(outer.var) && !index.mentions(inner.var),
        Stmt::Let { .. } => true,
        Stmt::Store { index, .. } => runs(index),
        Stmt::For(_) | Stmt::If(_) => false,
    })
}

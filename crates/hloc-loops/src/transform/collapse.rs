//! Joins two nested loops that every index runs through without a gap.
//!
//! before: `for i in 0..4 { for j in 0..3 { store b[3*i + j], load a[3*i + j] } }`
//! after:  `for i in 0..12 { store b[i], load a[i] }`

use super::Names;
use super::copy::{Copier, visit_indices};
use crate::index::{Atom, Index};
use crate::ir::{Block, Carried, For, LoopKind, Stmt, VarId};

/// The block with all loops joined that can be.
pub(super) fn collapse(block: Block, names: &mut Names) -> Block {
    block
        .into_iter()
        .map(|stmt| collapse_stmt(stmt, names))
        .collect()
}

fn collapse_stmt(stmt: Stmt, names: &mut Names) -> Stmt {
    match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => stmt,
        Stmt::If(mut stmt) => {
            stmt.then = collapse(stmt.then, names);
            stmt.otherwise = collapse(stmt.otherwise, names);
            Stmt::If(stmt)
        }
        Stmt::For(mut stmt) => {
            stmt.body = collapse(stmt.body, names);
            Stmt::For(join(&stmt, names).unwrap_or(stmt))
        }
    }
}

fn join(outer: &For, names: &mut Names) -> Option<For> {
    let [Stmt::For(inner)] = outer.body.as_slice() else {
        return None;
    };
    let carried = joined_carried(outer, inner)?;
    let extent = names.extent(inner.var);
    let mut runs_through = true;
    visit_indices(&inner.body, &mut |index| {
        runs_through &= runs(index, outer.var, inner.var, extent)
    });
    let whole = names.extent(outer.var).checked_mul(extent)?;
    if !runs_through {
        return None;
    }
    let kind = match (outer.kind, inner.kind) {
        (LoopKind::Parallel, LoopKind::Parallel | LoopKind::Vector | LoopKind::Serial) => {
            LoopKind::Parallel
        }
        (LoopKind::Vector | LoopKind::Serial, LoopKind::Vector) => LoopKind::Vector,
        (LoopKind::Vector | LoopKind::Serial, LoopKind::Parallel | LoopKind::Serial) => {
            LoopKind::Serial
        }
    };
    let var = names.var_like(outer.var, "", whole);
    // In an index that runs through both, the factor of the inner variable is that of the joined one.
    let mut copier = Copier::replacing(names, inner.var, Index::var(var));
    copier.replace(outer.var, Index::constant(0));
    let carry = |old: &Carried, copier: &mut Copier<'_>| Carried {
        current: copier.bind(old.current),
        ..*old
    };
    let mut carried: Vec<_> = carried.iter().map(|old| carry(old, &mut copier)).collect();
    let body = copier.block(&inner.body);
    carried
        .iter_mut()
        .for_each(|carried| carried.next = copier.value(carried.next));
    Some(For {
        var,
        kind,
        carried,
        body,
    })
}

/// What the joined loop carries, if the inner loop does nothing but pass on what the outer carries.
fn joined_carried(outer: &For, inner: &For) -> Option<Vec<Carried>> {
    if outer.carried.len() != inner.carried.len() {
        return None;
    }
    let join = |(outer, inner): (&Carried, &Carried)| {
        let passed_on = inner.init == outer.current && outer.next == inner.result;
        passed_on.then_some(Carried {
            init: outer.init,
            result: outer.result,
            ..*inner
        })
    };
    outer.carried.iter().zip(&inner.carried).map(join).collect()
}

/// Whether the index depends on `extent * outer + inner` only, also inside divisions.
fn runs(index: &Index, outer: VarId, inner: VarId, extent: i64) -> bool {
    let mut factors = (0i64, 0i64);
    for term in index.terms() {
        match &term.atom {
            Atom::Var(var) if *var == outer => factors.0 = term.factor,
            Atom::Var(var) if *var == inner => factors.1 = term.factor,
            Atom::Var(_) | Atom::Dynamic(_) => {}
            Atom::Div(inner_index, _) | Atom::Mod(inner_index, _) => {
                if !runs(inner_index, outer, inner, extent) {
                    return false;
                }
            }
        }
    }
    factors.1.checked_mul(extent) == Some(factors.0)
}

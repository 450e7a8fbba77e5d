//! Splits a loop whose variable is divided by a constant into two loops.
//!
//! before: `for i in 0..6 { load a[(i / 3) + 2*(i mod 3)] }`
//! after:  `for i_o in 0..2 { for i_i in 0..3 { load a[i_o + 2*i_i] } }`

use super::Names;
use super::copy::{Copier, plain_divisors, visit_indices};
use crate::index::Index;
use crate::ir::{Block, Carried, For, LoopKind, Stmt};

/// The block with all loops split that can be, innermost ones last.
pub(super) fn split(block: Block, names: &mut Names) -> Block {
    block
        .into_iter()
        .map(|stmt| split_stmt(stmt, names))
        .collect()
}

fn split_stmt(stmt: Stmt, names: &mut Names) -> Stmt {
    match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => stmt,
        Stmt::If(mut stmt) => {
            stmt.then = split(stmt.then, names);
            stmt.otherwise = split(stmt.otherwise, names);
            Stmt::If(stmt)
        }
        Stmt::For(mut stmt) => {
            while let Some(divisor) = divisor_of(&stmt, names) {
                stmt = split_for(&stmt, divisor, names);
            }
            stmt.body = split(stmt.body, names);
            Stmt::For(stmt)
        }
    }
}

/// The largest constant that divides both the variable somewhere and its extent.
fn divisor_of(stmt: &For, names: &Names) -> Option<i64> {
    let extent = names.extent(stmt.var);
    let mut divisors = Vec::new();
    visit_indices(&stmt.body, &mut |index| {
        plain_divisors(index, stmt.var, &mut divisors)
    });
    divisors
        .into_iter()
        .filter(|divisor| *divisor < extent && extent % divisor == 0)
        .max()
}

fn split_for(stmt: &For, divisor: i64, names: &mut Names) -> For {
    let extent = names.extent(stmt.var);
    let outer = names.var_like(stmt.var, "_o", extent / divisor);
    let inner = names.var_like(stmt.var, "_i", divisor);
    let index = Index::var(outer).times(divisor).add(&Index::var(inner));
    let mut copier = Copier::replacing(names, stmt.var, index);
    let (outer_kind, inner_kind) = match stmt.kind {
        LoopKind::Parallel => (LoopKind::Parallel, LoopKind::Vector),
        LoopKind::Vector => (LoopKind::Serial, LoopKind::Vector),
        LoopKind::Serial => (LoopKind::Serial, LoopKind::Serial),
    };
    // The carried values pass through both loops: outer current → inner init … inner result → outer next.
    let mut outer_carried = Vec::new();
    for carried in &stmt.carried {
        let current = copier.bind(carried.current);
        outer_carried.push(Carried {
            init: carried.init,
            current,
            next: current,
            result: carried.result,
        });
    }
    let inner_currents: Vec<_> = stmt
        .carried
        .iter()
        .map(|carried| copier.bind(carried.current))
        .collect();
    let body = copier.block(&stmt.body);
    let mut inner_carried = Vec::new();
    for ((carried, outer), current) in stmt
        .carried
        .iter()
        .zip(&mut outer_carried)
        .zip(inner_currents)
    {
        let next = copier.value(carried.next);
        let result = copier.bind(carried.current);
        inner_carried.push(Carried {
            init: outer.current,
            current,
            next,
            result,
        });
        outer.next = result;
    }
    let inner_kind = innermost(inner_kind, &body);
    let inner = For {
        var: inner,
        kind: inner_kind,
        carried: inner_carried,
        body,
    };
    For {
        var: outer,
        kind: outer_kind,
        carried: outer_carried,
        body: vec![Stmt::For(inner)],
    }
}

/// Only a loop without inner loops may be a vector loop.
fn innermost(kind: LoopKind, body: &Block) -> LoopKind {
    if kind == LoopKind::Vector && has_loop(body) {
        LoopKind::Serial
    } else {
        kind
    }
}

fn has_loop(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => false,
        Stmt::For(_) => true,
        Stmt::If(stmt) => has_loop(&stmt.then) || has_loop(&stmt.otherwise),
    })
}

//! Tiles loops around loads that lie apart along the innermost loop and side by side along another.
//!
//! before: `for i in 0..64 { for j in 0..64 vector { store b[64*i + j], load a[i + 64*j] } }`
//! after:  `for i_o in 0..2 { for j_o in 0..4 { for i_i in 0..32 { for j_i in 0..16 vector { … } } } }`
//!
//! The lines of memory that one run of the innermost loop touches are then still in the cache when the
//! loop outside it comes to their next elements. What whole tiles leave over gets loops of its own.

use super::copy::Copier;
use super::{Names, reads_own_elements};
use crate::index::Index;
use crate::ir::{Block, Condition, Expr, For, If, IndexRange, LoopKind, Stmt, VarId};

/// Iterations of the outer loop in a tile: two lines of memory of 32-bit elements.
const OUTER: i64 = 32;
/// Iterations of the inner loop in a tile: one line of memory.
const INNER: i64 = 16;
/// Iterations of both in a tile of long loops. Long runs of lines are what the memory gives fast, and the
/// second-level cache holds such a tile even where rows lie a power of two apart.
const LONG: [i64; 2] = [64, 128];

/// Iterations of the outer and of the inner loop in a tile.
fn tile_size(outer: i64, inner: i64) -> [i64; 2] {
    // Enough tiles for many threads remain.
    if outer >= 8 * LONG[0] && inner >= 2 * LONG[1] {
        LONG
    } else {
        [OUTER, INNER]
    }
}

/// The block with loops tiled where that helps.
pub(super) fn tile(block: Block, names: &mut Names) -> Block {
    block
        .into_iter()
        .map(|stmt| tile_stmt(stmt, names))
        .collect()
}

fn tile_stmt(stmt: Stmt, names: &mut Names) -> Stmt {
    match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => stmt,
        Stmt::If(mut stmt) => {
            stmt.then = tile(stmt.then, names);
            stmt.otherwise = tile(stmt.otherwise, names);
            Stmt::If(stmt)
        }
        Stmt::For(mut stmt) => {
            if let Some(tiled) = tiled(&stmt, names) {
                return Stmt::For(tiled);
            }
            stmt.body = tile(stmt.body, names);
            Stmt::For(stmt)
        }
    }
}

/// Loops that hold nothing but each other, of which the outermost and the innermost are tiled.
struct Nest<'s> {
    outer: &'s For,
    between: Vec<&'s For>,
    inner: &'s For,
    /// Iterations of the outermost and of the innermost loop in a tile.
    tile: [i64; 2],
}

fn tiled(stmt: &For, names: &mut Names) -> Option<For> {
    let mut nest = nest(stmt)?;
    let (outer, inner) = (names.extent(nest.outer.var), names.extent(nest.inner.var));
    nest.tile = tile_size(outer, inner);
    if outer < OUTER || inner < 2 * INNER || !is_crosswise(&nest, inner) {
        return None;
    }
    if !names.may_copy(&nest.inner.body, 4) {
        return None;
    }
    let rows = nest.tile[0];
    let tiles = names.var_like(nest.outer.var, "_o", (outer + rows - 1) / rows);
    let whole = within(&nest, tiles, rows, names);
    let body = if outer % rows == 0 {
        whole
    } else {
        let range = IndexRange {
            index: Index::var(tiles),
            low: 0,
            high: outer / rows,
        };
        vec![Stmt::If(If {
            condition: Condition::InRange(vec![range]),
            then: whole,
            otherwise: within(&nest, tiles, outer % rows, names),
            merged: Vec::new(),
        })]
    };
    Some(For {
        var: tiles,
        kind: nest.outer.kind,
        carried: Vec::new(),
        body,
    })
}

fn nest(outer: &For) -> Option<Nest<'_>> {
    let mut between = Vec::new();
    let mut at = outer;
    loop {
        if !at.carried.is_empty() {
            return None;
        }
        match at.body.as_slice() {
            [Stmt::For(inner)] => {
                if at.var != outer.var {
                    between.push(at);
                }
                at = inner;
            }
            body => {
                let is_straight = body.iter().all(|stmt| match stmt {
                    Stmt::Let { .. } | Stmt::Store { .. } => true,
                    Stmt::For(_) | Stmt::If(_) => false,
                });
                let is_nest = is_straight && at.var != outer.var && at.kind == LoopKind::Vector;
                return is_nest.then_some(Nest {
                    outer,
                    between,
                    inner: at,
                    tile: [OUTER, INNER],
                });
            }
        }
    }
}

/// Whether the outermost loop moves to the next element of a load that the innermost one jumps along,
/// while all stores are side by side along the innermost one, and no iteration depends on an earlier one of
/// another tile.
fn is_crosswise(nest: &Nest<'_>, columns: i64) -> bool {
    let (outer, inner) = (nest.outer.var, nest.inner.var);
    let mut found = false;
    let mut stores_fit = true;
    for stmt in &nest.inner.body {
        match stmt {
            Stmt::Let {
                expr: Expr::Load { index, .. },
                ..
            } => {
                let jumps = index.stride(inner).is_some_and(|stride| stride.abs() > 1);
                found |= jumps && index.stride(outer) == Some(1);
            }
            Stmt::Store { index, .. } => {
                let apart = |stride: i64| stride == 0 || stride.abs() >= columns;
                stores_fit &= index.stride(inner) == Some(1);
                stores_fit &= index.stride(outer).is_some_and(apart);
            }
            Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => {}
        }
    }
    found && stores_fit && reads_own_elements(&nest.inner.body)
}

/// The loops inside that over tiles, for tiles of `rows` iterations of the outer loop.
fn within(nest: &Nest<'_>, tiles: VarId, rows: i64, names: &mut Names) -> Block {
    let between: Vec<VarId> = nest
        .between
        .iter()
        .map(|stmt| names.var_like(stmt.var, "", names.extent(stmt.var)))
        .collect();
    let extent = names.extent(nest.inner.var);
    let width = nest.tile[1];
    let columns = names.var_like(nest.inner.var, "_o", extent / width);
    let first = Index::var(columns).times(width);
    let mut body = vec![serial(columns, {
        part(nest, (tiles, rows), &between, (first, width), names)
    })];
    if extent % width != 0 {
        let first = Index::constant(extent / width * width);
        let rest = (first, extent % width);
        body.extend(part(nest, (tiles, rows), &between, rest, names));
    }
    for var in between.iter().rev() {
        body = vec![serial(*var, body)];
    }
    body
}

fn serial(var: VarId, body: Block) -> Stmt {
    Stmt::For(For {
        var,
        kind: LoopKind::Serial,
        carried: Vec::new(),
        body,
    })
}

/// The loops over one tile: `rows` by `len` iterations.
fn part(
    nest: &Nest<'_>,
    (tiles, rows): (VarId, i64),
    between: &[VarId],
    (first, len): (Index, i64),
    names: &mut Names,
) -> Block {
    let row = names.var_like(nest.outer.var, "_i", rows);
    let column = names.var_like(nest.inner.var, "_i", len);
    let place = Index::var(tiles).times(nest.tile[0]).add(&Index::var(row));
    let mut copier = Copier::replacing(names, nest.outer.var, place);
    copier.replace(nest.inner.var, first.add(&Index::var(column)));
    for (stmt, var) in nest.between.iter().zip(between) {
        copier.replace(stmt.var, Index::var(*var));
    }
    let body = copier.block(&nest.inner.body);
    vec![serial(
        row,
        vec![Stmt::For(For {
            var: column,
            kind: LoopKind::Vector,
            carried: Vec::new(),
            body,
        })],
    )]
}

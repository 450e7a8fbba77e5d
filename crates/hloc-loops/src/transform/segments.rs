//! Removes conditions from loops.
//!
//! A condition on the loop variable alone splits the loop where the answer changes:
//! before: `for j in 0..6 { v = if j - 1 in 0..4 { load a[j - 1] } else { 0 }; store b[j], v }`
//! after:  `for j in 0..1 { store b[j], 0 }  for j in 0..4 { store b[j + 1], load a[j] }  for j in 0..1 …`
//!
//! A condition that the loop does not change moves out of it, with a copy of the loop for each answer.
//! Only loops that carry no values and are not parallel are touched.

use super::Names;
use super::copy::Copier;
use crate::index::{Atom, Index};
use crate::ir::{Block, Condition, For, If, IndexRange, LoopKind, Stmt, VarId};

/// The block with conditions removed from its loops, outer loops first.
pub(super) fn segment(block: Block, names: &mut Names) -> Block {
    let mut done = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => done.push(stmt),
            Stmt::If(mut stmt) => {
                stmt.then = segment(stmt.then, names);
                stmt.otherwise = segment(stmt.otherwise, names);
                done.push(Stmt::If(stmt));
            }
            Stmt::For(stmt) => done.extend(segment_for(stmt, names)),
        }
    }
    done
}

fn segment_for(mut stmt: For, names: &mut Names) -> Block {
    let splittable = stmt.kind != LoopKind::Parallel && stmt.carried.is_empty();
    if splittable {
        let fixed =
            |range: &IndexRange| !range.index.mentions(stmt.var) && is_known_before_loops(range);
        if let Some(range) = first_range(&stmt.body, &fixed)
            && names.may_copy(&stmt.body, 1)
        {
            return unswitch(&stmt, range, names);
        }
        let own = |range: &IndexRange| bounds_on(range, stmt.var).is_some();
        if let Some(range) = first_range(&stmt.body, &own)
            && let Some(bounds) = bounds_on(&range, stmt.var)
            && names.may_copy(&stmt.body, 2)
        {
            return cut(&stmt, &range, bounds, names);
        }
    }
    stmt.body = segment(stmt.body, names);
    vec![Stmt::For(stmt)]
}

/// An index without run-time values is fixed by the loops around it.
fn is_known_before_loops(range: &IndexRange) -> bool {
    range.index.dynamic_values().is_empty()
}

/// The first range in a condition directly in the block, not in an inner loop, that `wanted` accepts.
fn first_range(block: &Block, wanted: &dyn Fn(&IndexRange) -> bool) -> Option<IndexRange> {
    block.iter().find_map(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) => None,
        Stmt::If(stmt) => {
            let here = match &stmt.condition {
                Condition::InRange(ranges) => ranges.iter().find(|range| wanted(range)).cloned(),
                Condition::Value(_) => None,
            };
            here.or_else(|| first_range(&stmt.then, wanted))
                .or_else(|| first_range(&stmt.otherwise, wanted))
        }
    })
}

/// Both answers to `range`, asked once around copies of the loop. Inner loops' variables never stand in
/// a range found by [`first_range`], as it does not look into inner loops.
fn unswitch(stmt: &For, range: IndexRange, names: &mut Names) -> Block {
    let whole = (0, names.extent(stmt.var));
    let then = copy_of(stmt, &range, true, whole, names);
    let otherwise = copy_of(stmt, &range, false, whole, names);
    vec![Stmt::If(If {
        condition: Condition::InRange(vec![range]),
        then,
        otherwise,
        merged: Vec::new(),
    })]
}

/// The values of `var` for which the range holds, if it asks about `var + c` alone.
fn bounds_on(range: &IndexRange, var: VarId) -> Option<(i64, i64)> {
    match range.index.terms() {
        [term] if term.factor == 1 && term.atom == Atom::Var(var) => Some((
            range.low.checked_sub(range.index.offset())?,
            range.high.checked_sub(range.index.offset())?,
        )),
        _ => None,
    }
}

/// A loop for each part of the loop's range in which the answer to `range` is fixed.
fn cut(stmt: &For, range: &IndexRange, (low, high): (i64, i64), names: &mut Names) -> Block {
    let extent = names.extent(stmt.var);
    let low = low.clamp(0, extent);
    let high = high.clamp(low, extent);
    let mut loops = Vec::new();
    for (begin, end, holds) in [(0, low, false), (low, high, true), (high, extent, false)] {
        if begin < end {
            loops.extend(copy_of(stmt, range, holds, (begin, end), names));
        }
    }
    loops
}

/// The loop over `begin..end` with `range` answered, and its other conditions removed too.
fn copy_of(
    stmt: &For,
    range: &IndexRange,
    holds: bool,
    (begin, end): (i64, i64),
    names: &mut Names,
) -> Block {
    let var = names.var_like(stmt.var, "", end - begin);
    let mut copier = Copier::replacing(names, stmt.var, Index::var(var).plus(begin));
    let resolved = resolve(&stmt.body, range, holds, &mut copier);
    let body = copier.block(&resolved);
    let kind = stmt.kind;
    segment_for(
        For {
            var,
            kind,
            carried: Vec::new(),
            body,
        },
        names,
    )
}

/// The block with every condition's `range` answered; `copier` learns what merged values become.
fn resolve(block: &Block, range: &IndexRange, holds: bool, copier: &mut Copier<'_>) -> Block {
    let mut resolved = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) => resolved.push(stmt.clone()),
            Stmt::If(stmt) => resolve_if(stmt, range, holds, copier, &mut resolved),
        }
    }
    resolved
}

fn resolve_if(
    stmt: &If,
    range: &IndexRange,
    holds: bool,
    copier: &mut Copier<'_>,
    resolved: &mut Block,
) {
    let asked = match &stmt.condition {
        Condition::InRange(ranges) if ranges.contains(range) => Some(ranges),
        Condition::InRange(_) | Condition::Value(_) => None,
    };
    let rest = asked.map(|ranges| {
        ranges
            .iter()
            .filter(|other| *other != range)
            .cloned()
            .collect::<Vec<_>>()
    });
    match rest {
        Some(rest) if !holds || rest.is_empty() => {
            let taken = if holds { &stmt.then } else { &stmt.otherwise };
            resolved.extend(resolve(taken, range, holds, copier));
            for merged in &stmt.merged {
                copier.alias(
                    merged.result,
                    if holds { merged.then } else { merged.otherwise },
                );
            }
        }
        rest => {
            let condition = rest.map_or_else(|| stmt.condition.clone(), Condition::InRange);
            let then = resolve(&stmt.then, range, holds, copier);
            let otherwise = resolve(&stmt.otherwise, range, holds, copier);
            resolved.push(Stmt::If(If {
                condition,
                then,
                otherwise,
                merged: stmt.merged.clone(),
            }));
        }
    }
}

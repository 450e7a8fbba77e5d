//! Within one block, a load takes the value that was stored to its element just before, and a store that is
//! overwritten before anything loads it goes away.
//!
//! before: `store out[i], v1  v2 = load out[i]  …  store out[i], v3`
//! after:  `… v1 …  store out[i], v3`

use std::collections::{BTreeMap, BTreeSet};

use super::Names;
use super::copy::Copier;
use super::merge::{accesses, loops, row};
use crate::index::Index;
use crate::ir::{Access, Block, Expr, Kernel, Param, ParamId, Stmt, ValueId};

/// What is known of a parameter at a point of the block.
struct Stored<'b> {
    index: &'b Index,
    value: ValueId,
    /// Where the store is, if nothing has loaded from the parameter since.
    unread: Option<usize>,
}

/// What the walk over a block finds.
#[derive(Default)]
struct Found {
    /// Loaded values with the stored value that they are.
    aliases: Vec<(ValueId, ValueId)>,
    /// Positions of stores that are overwritten.
    dead: Vec<usize>,
}

/// Forwards values in the block inside of the kernel's outermost loops.
pub(super) fn forward_stores(kernel: &mut Kernel) {
    let chain = loops(&kernel.body);
    let depth = chain.len();
    let found = walk(chain.last().map_or(&kernel.body, |inner| &inner.body));
    if found.aliases.is_empty() && found.dead.is_empty() {
        return;
    }
    let mut block = &mut kernel.body;
    for _ in 0..depth {
        let Some(Stmt::For(inner)) = block.first_mut() else {
            return;
        };
        block = &mut inner.body;
    }
    let mut at = 0;
    block.retain(|_| {
        at += 1;
        !found.dead.contains(&(at - 1))
    });
    let old = kernel.clone();
    let mut names = Names::empty();
    let params: BTreeMap<ParamId, ParamId> = old.params.ids().map(|id| (id, id)).collect();
    let mut copier = Copier::between(&mut names, &old, params);
    for (load, stored) in found.aliases {
        copier.alias(load, stored);
    }
    kernel.body = copier.block(&old.body);
    names.give_back(kernel);
    update_accesses(kernel);
}

fn walk(block: &Block) -> Found {
    let mut found = Found::default();
    let mut stored: BTreeMap<ParamId, Stored<'_>> = BTreeMap::new();
    for (at, stmt) in block.iter().enumerate() {
        match stmt {
            Stmt::Let {
                value,
                expr: Expr::Load { param, index },
            } => match stored.get_mut(param) {
                Some(known) if known.index == index => found.aliases.push((*value, known.value)),
                Some(known) => known.unread = None,
                None => {}
            },
            Stmt::Let { .. } => {}
            Stmt::Store {
                param,
                index,
                value,
            } => {
                let new = Stored {
                    index,
                    value: *value,
                    unread: Some(at),
                };
                if let Some(before) = stored.insert(*param, new)
                    && before.index == index
                {
                    found.dead.extend(before.unread);
                }
            }
            Stmt::For(_) | Stmt::If(_) => {
                accesses(std::slice::from_ref(stmt), &mut |param, _, is_store| {
                    if is_store {
                        stored.remove(&param);
                    } else if let Some(known) = stored.get_mut(&param) {
                        known.unread = None;
                    }
                })
            }
        }
    }
    found
}

/// Notes which parameters are only written now, in all elements.
fn update_accesses(kernel: &mut Kernel) {
    let mut read = BTreeSet::new();
    accesses(&kernel.body, &mut |param, _, is_store| {
        if !is_store {
            read.insert(param);
        }
    });
    let chain = loops(&kernel.body);
    let extents = chain.iter().map(|each| kernel.vars[each.var].extent);
    let extents: Vec<i64> = extents.collect();
    let is_filled = |(id, param): &(ParamId, &Param)| {
        let row = row(kernel, &chain, *id);
        param.access == Access::ReadWrite
            && !read.contains(id)
            && row.is_some_and(|row| row.width() == 1 && row.is_apart(&extents))
            && extents.iter().product::<i64>() == param.num_elements()
    };
    let filled: Vec<ParamId> = kernel
        .params
        .iter()
        .filter(is_filled)
        .map(|(id, _)| id)
        .collect();
    for id in filled {
        kernel.params[id].access = Access::Write;
    }
}

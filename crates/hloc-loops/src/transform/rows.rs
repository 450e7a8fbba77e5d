//! Cleans up joined kernels: values go from their store to the loads of the same row without memory, and a
//! temporary array that only this kernel uses takes the place of the result that is made of it.
//!
//! before: `store m[i], v4  for j vector { v5 = load m[i] … store e[4*i + j], v6 }  … load e[4*i + j] … store r[4*i + j]`
//! after:  `for j vector { … v4 … store r[4*i + j], v6 }  … load r[4*i + j] … store r[4*i + j]`

use std::collections::BTreeMap;

use hloc_ir::{Arena, SideTable};

use super::Names;
use super::copy::Copier;
use super::merge::{accesses, loops, rename, row};
use crate::index::Index;
use crate::ir::{Access, Block, Buffer, BufferId, Expr, For, Kernel, ParamId, Stmt, ValueId};

/// The kernel after the clean-up, whose buffers change with it; `None` if it reads nothing of what it writes, so that
/// there is nothing to clean. `mentions` says how often steps mention each buffer.
pub(crate) fn cleaned_up(
    kernel: &Kernel,
    args: &mut Vec<BufferId>,
    buffers: &Arena<BufferId, Buffer>,
    mentions: &SideTable<BufferId, usize>,
) -> Option<Kernel> {
    let mut params = kernel.params.values();
    if !params.any(|param| param.access == Access::ReadWrite) {
        return None;
    }
    let is_private = |id: BufferId| mentions[id] == 1 && buffers[id].is_temporary();
    let memory = |id: BufferId| {
        let shape = &buffers[id].shape;
        (shape.element_type, shape.num_elements())
    };
    let same_memory = |a: BufferId, b: BufferId| memory(a) == memory(b);
    let mut cleaned = kernel.clone();
    forward(&mut cleaned, args, &is_private);
    while let Some((gone, place)) = in_place(&cleaned, args, &is_private, &same_memory) {
        replace(&mut cleaned, args, gone, place);
    }
    Some(cleaned)
}

/// The block in which the joined bodies stand.
fn row_block(block: &Block) -> &Block {
    loops(block).last().map_or(block, |stmt| &stmt.body)
}

/// Hands values on that are stored once per row and loaded in the same row, and drops what nothing loads.
fn forward(kernel: &mut Kernel, args: &mut Vec<BufferId>, is_private: &dyn Fn(BufferId) -> bool) {
    let mut aliases: Vec<(ValueId, ValueId)> = Vec::new();
    let mut dropped = Vec::new();
    for (id, buffer) in kernel.params.ids().zip(args.iter()) {
        if kernel.params[id].access != Access::ReadWrite {
            continue;
        }
        let Some((stored, loads)) = handed_on(kernel, id) else {
            continue;
        };
        aliases.extend(loads.into_iter().map(|load| (load, stored)));
        dropped.push((id, is_private(*buffer)));
    }
    if dropped.is_empty() {
        return;
    }
    let old = kernel.clone();
    let gone = |id: ParamId| dropped.contains(&(id, true));
    let params = without(kernel, args, &gone);
    rename(kernel);
    let mut names = Names::empty();
    let mut copier = Copier::between(&mut names, &old, params);
    for (load, stored) in aliases {
        copier.alias(load, stored);
    }
    for (id, _) in dropped.iter().filter(|(_, is_gone)| *is_gone) {
        copier.drop_stores(*id);
    }
    kernel.body = copier.block(&old.body);
    names.give_back(kernel);
}

/// Removes parameters; gives the new place of each that stays.
fn without(
    kernel: &mut Kernel,
    args: &mut Vec<BufferId>,
    gone: &dyn Fn(ParamId) -> bool,
) -> BTreeMap<ParamId, ParamId> {
    let mut places = BTreeMap::new();
    let mut params = Arena::new();
    let mut buffers = Vec::new();
    for ((id, param), buffer) in kernel.params.iter().zip(args.iter()) {
        if !gone(id) {
            places.insert(id, params.push(param.clone()));
            buffers.push(*buffer);
        }
    }
    kernel.params = params;
    *args = buffers;
    places
}

/// The value stored to a parameter and all values loaded from it, if the one store stands in the row's
/// block before all loads, which are of the same element.
fn handed_on(kernel: &Kernel, param: ParamId) -> Option<(ValueId, Vec<ValueId>)> {
    let block = row_block(&kernel.body);
    let store = |stmt: &Stmt| match stmt {
        Stmt::Store {
            param: to,
            index,
            value,
        } if *to == param => Some((index.clone(), *value)),
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
    };
    let at = block.iter().position(|stmt| store(stmt).is_some())?;
    let (index, value) = store(&block[at])?;
    let (mut stores, mut before) = (0, 0);
    accesses(&kernel.body, &mut |other, _, is_store| {
        stores += usize::from(is_store && other == param);
    });
    accesses(&block[..at], &mut |other, _, _| {
        before += usize::from(other == param);
    });
    let mut loads = Vec::new();
    let same = loaded(&block[at + 1..], param, &index, &mut loads);
    let is_row = stores == 1 && before == 0 && same && !loads.is_empty();
    is_row.then_some((value, loads))
}

/// Collects what is loaded from a parameter; false if another element is.
fn loaded(block: &[Stmt], param: ParamId, index: &Index, loads: &mut Vec<ValueId>) -> bool {
    block.iter().all(|stmt| match stmt {
        Stmt::Let {
            value,
            expr: Expr::Load {
                param: from,
                index: at,
            },
        } if *from == param => {
            loads.push(*value);
            at == index
        }
        Stmt::Let { .. } | Stmt::Store { .. } => true,
        Stmt::For(stmt) => loaded(&stmt.body, param, index, loads),
        Stmt::If(stmt) => {
            loaded(&stmt.then, param, index, loads) && loaded(&stmt.otherwise, param, index, loads)
        }
    })
}

/// A private array that can lie where a result is made, and that result.
fn in_place(
    kernel: &Kernel,
    args: &[BufferId],
    is_private: &dyn Fn(BufferId) -> bool,
    same_memory: &dyn Fn(BufferId, BufferId) -> bool,
) -> Option<(ParamId, ParamId)> {
    let chain = loops(&kernel.body);
    let params: Vec<(ParamId, BufferId)> = kernel.params.ids().zip(args.iter().copied()).collect();
    let access = |id: ParamId| kernel.params[id].access;
    for (gone, buffer) in params.iter().rev() {
        if access(*gone) != Access::ReadWrite || !is_private(*buffer) {
            continue;
        }
        for (place, result) in &params {
            if place != gone
                && (access(*place) == Access::Write || is_overwritten(kernel, &chain, *place))
                && same_memory(*buffer, *result)
                && row(kernel, &chain, *gone).is_some_and(|gone| {
                    row(kernel, &chain, *place).is_some_and(|place| gone == place)
                })
                && is_done_before(row_block(&kernel.body), *gone, *place)
                && begins_with_store(&kernel.body, *gone)
                && rows_are_apart(kernel, &chain, *gone)
            {
                return Some((*gone, *place));
            }
        }
    }
    None
}

/// Whether the first that a row sees of a parameter is a loop that stores all of its part.
fn is_overwritten(kernel: &Kernel, chain: &[&For], param: ParamId) -> bool {
    let first = row_block(&kernel.body)
        .iter()
        .find(|stmt| uses(stmt, param));
    let (Some(Stmt::For(stmt)), Some(row)) = (first, row(kernel, chain, param)) else {
        return false;
    };
    let fills = |inner: &Stmt| match inner {
        Stmt::Store {
            param: to, index, ..
        } => {
            *to == param
                && index.stride(stmt.var) == Some(1)
                && kernel.vars[stmt.var].extent == row.width()
        }
        Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => false,
    };
    stmt.carried.is_empty() && begins_with_store(&stmt.body, param) && stmt.body.iter().any(fills)
}

fn uses(stmt: &Stmt, param: ParamId) -> bool {
    let mut found = false;
    accesses(std::slice::from_ref(stmt), &mut |other, _, _| {
        found |= other == param;
    });
    found
}

fn rows_are_apart(kernel: &Kernel, chain: &[&For], param: ParamId) -> bool {
    let extents: Vec<i64> = chain
        .iter()
        .map(|stmt| kernel.vars[stmt.var].extent)
        .collect();
    row(kernel, chain, param).is_some_and(|row| row.is_apart(&extents))
}

fn begins_with_store(block: &[Stmt], param: ParamId) -> bool {
    let mut first = None;
    accesses(block, &mut |other, _, is_store| {
        if other == param {
            first.get_or_insert(is_store);
        }
    });
    first == Some(true)
}

/// Whether the last use of an element of `gone` comes before the store to that element of `place`.
fn is_done_before(block: &[Stmt], gone: ParamId, place: ParamId) -> bool {
    let last = block.iter().rposition(|stmt| uses(stmt, gone));
    let first = block.iter().position(|stmt| uses(stmt, place));
    let (Some(last), Some(first)) = (last, first) else {
        return false;
    };
    if last != first {
        return last < first;
    }
    match &block[last] {
        Stmt::For(stmt) if stmt.carried.is_empty() => is_element_wise(&stmt.body, gone, place),
        Stmt::For(_) | Stmt::If(_) | Stmt::Let { .. } | Stmt::Store { .. } => false,
    }
}

/// Whether the innermost block loads of `gone` only the element of `place` that it stores afterwards.
fn is_element_wise(block: &Block, gone: ParamId, place: ParamId) -> bool {
    let block = row_block(block);
    let stored = block.iter().enumerate().find_map(|(at, stmt)| match stmt {
        Stmt::Store { param, index, .. } if *param == place => Some((at, index)),
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
    });
    let Some((stored_at, stored)) = stored else {
        return false;
    };
    block.iter().enumerate().all(|(at, stmt)| match stmt {
        Stmt::Let {
            expr: Expr::Load { param, index },
            ..
        } => *param != gone || at < stored_at && index == stored,
        Stmt::Let { .. } => true,
        Stmt::Store { param, .. } => *param != gone && (*param != place || at == stored_at),
        Stmt::For(_) | Stmt::If(_) => false,
    })
}

/// Puts the array of `gone` where that of `place` is.
fn replace(kernel: &mut Kernel, args: &mut Vec<BufferId>, gone: ParamId, place: ParamId) {
    let old = kernel.clone();
    kernel.params[place].access = Access::ReadWrite;
    let mut params = without(kernel, args, &|id| id == gone);
    if let Some(place) = params.get(&place).copied() {
        params.insert(gone, place);
    }
    rename(kernel);
    let mut names = Names::empty();
    kernel.body = Copier::between(&mut names, &old, params).block(&old.body);
    names.give_back(kernel);
}

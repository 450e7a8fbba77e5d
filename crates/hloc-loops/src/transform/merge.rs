//! Joins two kernels that run over the same rows, so that a row that the first has made is still in the
//! cache when the second reads it.
//!
//! before: `@max: for i in 0..8 parallel { v = for j … ; store m[i], v }`
//!         `@sub: for i in 0..8 parallel { for j vector { store b[4*i + j], a[4*i + j] - m[i] } }`
//! after:  `@sub: for i in 0..8 parallel { v = for j … ; store m[i], v  for j vector { … } }`
//!
//! Every buffer that one of them writes and both use must be used row by row: no iteration of the joined
//! loops touches an element of another iteration's.

use std::collections::BTreeMap;

use hloc_ir::Id;

use super::copy::Copier;
use super::{Names, count_statements};
use crate::index::{Index, VarExtents};
use crate::ir::{Access, Block, BufferId, Expr, For, Kernel, LoopKind, ParamId, Stmt, VarId};

/// A kernel with the buffers of its parameters.
pub(crate) type Call<'k> = (&'k Kernel, &'k [BufferId]);

/// The most parameters of a joined kernel.
const MAX_PARAMS: usize = 24;
/// The most statements of a joined kernel.
const MAX_STATEMENTS: usize = 400;
/// Fewer iterations inside a row are better left to loops that run through all rows.
const MIN_INNER: i64 = 32;

/// One kernel that does what `first` and then `second` do, if they share rows; with its buffers.
pub(crate) fn merge(first: Call<'_>, second: Call<'_>) -> Option<(Kernel, Vec<BufferId>)> {
    if !hands_on(first, second) || is_large(first.0, second.0) {
        return None;
    }
    let (one, two) = (loops(&first.0.body), loops(&second.0.body));
    let same_extent =
        |(a, b): &(&&For, &&For)| first.0.vars[a.var].extent == second.0.vars[b.var].extent;
    let common = one.iter().zip(&two).take_while(same_extent).count();
    let outermost =
        one.first()?.kind == LoopKind::Parallel && two.first()?.kind == LoopKind::Parallel;
    if !outermost || is_crosswise(&one) || is_crosswise(&two) {
        return None;
    }
    let fits = |depth: &usize| {
        let (one, two) = (&one[..*depth], &two[..*depth]);
        keeps_vectors((first.0, one), (second.0, two)) && are_apart(first, one, second, two)
    };
    let depth = (1..=common).rev().find(fits)?;
    Some(joined(first, second, depth))
}

/// Whether the second reads what the first writes.
fn hands_on(first: Call<'_>, second: Call<'_>) -> bool {
    let mut reads = second.0.params.iter().zip(second.1);
    reads.any(|((_, param), buffer)| {
        param.access != Access::Write
            && param_of(first, *buffer).is_some_and(|id| first.0.params[id].access != Access::Read)
    })
}

fn is_large(first: &Kernel, second: &Kernel) -> bool {
    first.params.len() + second.params.len() > MAX_PARAMS
        || count_statements(&first.body) + count_statements(&second.body) > MAX_STATEMENTS
}

fn param_of((kernel, args): Call<'_>, buffer: BufferId) -> Option<ParamId> {
    let at = args.iter().position(|arg| *arg == buffer)?;
    kernel.params.ids().nth(at)
}

/// Loops that hold nothing but each other and carry nothing, outermost first.
pub(super) fn loops(block: &Block) -> Vec<&For> {
    let (mut block, mut loops) = (block, Vec::new());
    while let [Stmt::For(stmt)] = block.as_slice()
        && stmt.carried.is_empty()
    {
        loops.push(stmt);
        block = &stmt.body;
    }
    loops
}

/// Whether a loop would be tiled: see [`super::tile`].
fn is_crosswise(loops: &[&For]) -> bool {
    let Some((inner, outer)) = loops.split_last() else {
        return false;
    };
    inner.body.iter().any(|stmt| match stmt {
        Stmt::Let {
            expr: Expr::Load { index, .. },
            ..
        } => {
            let jumps = index
                .stride(inner.var)
                .is_some_and(|stride| stride.abs() > 1);
            jumps && outer.iter().any(|outer| index.stride(outer.var) == Some(1))
        }
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => false,
    })
}

/// Whether joining the loops takes no vectors away: rows are long, or all accesses are side by side along
/// the innermost joined loop, or both bodies are straight.
fn keeps_vectors(one: (&Kernel, &[&For]), two: (&Kernel, &[&For])) -> bool {
    let row = |(kernel, loops): (&Kernel, &[&For])| {
        let innermost = loops.last()?;
        let inner = iterations(kernel, &innermost.body);
        Some((inner, is_side_by_side(&innermost.body, innermost.var)))
    };
    let (Some((one, one_lanes)), Some((two, two_lanes))) = (row(one), row(two)) else {
        return false;
    };
    let long = |inner: i64, lanes: bool| inner == 0 || inner >= MIN_INNER && !lanes;
    (one == 0 && two == 0)
        || (one_lanes && two_lanes)
        || (long(one, one_lanes) && long(two, two_lanes))
}

/// How many iterations the loops of a block make, 0 without loops.
fn iterations(kernel: &Kernel, block: &Block) -> i64 {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => 0,
        Stmt::If(stmt) => iterations(kernel, &stmt.then).max(iterations(kernel, &stmt.otherwise)),
        Stmt::For(stmt) => {
            let inner = iterations(kernel, &stmt.body).max(1);
            inner.saturating_mul(kernel.vars[stmt.var].extent)
        }
    };
    block.iter().map(of).max().unwrap_or(0)
}

/// Whether all accesses are of neighbors along `var`, or do not depend on it.
fn is_side_by_side(block: &Block, var: VarId) -> bool {
    let mut all = true;
    accesses(block, &mut |_, index, _| {
        all &= index
            .stride(var)
            .is_some_and(|stride| stride == 0 || stride == 1);
    });
    all
}

/// Calls `see` for every load and store, with true for a store.
pub(super) fn accesses(block: &[Stmt], see: &mut dyn FnMut(ParamId, &Index, bool)) {
    for stmt in block {
        match stmt {
            Stmt::Let {
                expr: Expr::Load { param, index },
                ..
            } => see(*param, index, false),
            Stmt::Let { .. } => {}
            Stmt::Store { param, index, .. } => see(*param, index, true),
            Stmt::For(stmt) => accesses(&stmt.body, see),
            Stmt::If(stmt) => {
                accesses(&stmt.then, see);
                accesses(&stmt.otherwise, see);
            }
        }
    }
}

/// Whether no iteration of the joined loops touches what another one of them writes.
fn are_apart(first: Call<'_>, one: &[&For], second: Call<'_>, two: &[&For]) -> bool {
    let extents: Vec<i64> = one
        .iter()
        .map(|stmt| first.0.vars[stmt.var].extent)
        .collect();
    let shared = |(at, buffer): (usize, &BufferId)| {
        let own = second.0.params.ids().nth(at)?;
        Some((param_of(first, *buffer)?, own))
    };
    let mut shared = second.1.iter().enumerate().filter_map(shared);
    shared.all(|(a, b)| {
        let only_read = |kernel: &Kernel, param| kernel.params[param].access == Access::Read;
        if only_read(first.0, a) && only_read(second.0, b) {
            return true;
        }
        let rows = (row(first.0, one, a), row(second.0, two, b));
        match rows {
            (Some(a), Some(b)) => a.strides == b.strides && a.max(b).is_apart(&extents),
            (_, _) => false,
        }
    })
}

/// What an iteration of some loops touches of a buffer: elements below `width` from where the strides lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) strides: Vec<i64>,
    width: i64,
}

impl Row {
    /// The wider of two rows of the same strides.
    pub(super) fn max(self, other: Row) -> Row {
        Row {
            width: self.width.max(other.width),
            ..self
        }
    }

    /// Number of elements from the first to the last that is touched.
    pub(super) fn width(&self) -> i64 {
        self.width
    }

    /// Whether rows of different iterations do not overlap.
    pub(super) fn is_apart(&self, extents: &[i64]) -> bool {
        let mut width = self.width;
        for (stride, extent) in self.strides.iter().zip(extents).rev() {
            if *stride < width {
                return false;
            }
            width = stride.saturating_mul(*extent);
        }
        true
    }
}

/// The row of a parameter in each iteration of `loops`, if all accesses agree.
pub(super) fn row(kernel: &Kernel, loops: &[&For], param: ParamId) -> Option<Row> {
    let mut found: Option<Row> = None;
    let mut agree = true;
    accesses(&kernel.body, &mut |other, index, _| {
        if other == param && agree {
            let own = row_of(kernel, loops, index);
            agree = match (&own, &found) {
                (Some(own), Some(found)) => own.strides == found.strides,
                (own, None) => own.is_some(),
                (None, Some(_)) => false,
            };
            found = match (own, found.take()) {
                (Some(own), Some(found)) => Some(own.max(found)),
                (own, found) => own.or(found),
            };
        }
    });
    found.filter(|_| agree)
}

fn row_of(kernel: &Kernel, loops: &[&For], index: &Index) -> Option<Row> {
    let mut rest = index.clone();
    let mut strides = Vec::new();
    for stmt in loops {
        let stride = index.stride(stmt.var)?;
        rest = rest.add(&Index::var(stmt.var).times(stride.checked_neg()?));
        strides.push(stride);
    }
    let interval = rest.interval(&VarExtents(&kernel.vars))?;
    (interval.low >= 0).then_some(Row {
        strides,
        width: interval.high.checked_add(1)?,
    })
}

/// Both kernels as one, with the outermost `depth` loops joined.
fn joined(first: Call<'_>, second: Call<'_>, depth: usize) -> (Kernel, Vec<BufferId>) {
    let (mut kernel, mut args) = (first.0.clone(), first.1.to_vec());
    let mut params = BTreeMap::new();
    for ((id, param), buffer) in second.0.params.iter().zip(second.1) {
        let known = args.iter().position(|arg| arg == buffer);
        let place = match known.map(ParamId::from_index) {
            Some(place) => {
                let access = &mut kernel.params[place].access;
                if *access != param.access {
                    *access = Access::ReadWrite;
                }
                place
            }
            None => {
                args.push(*buffer);
                kernel.params.push(param.clone())
            }
        };
        params.insert(id, place);
    }
    rename(&mut kernel);
    kernel.name.clone_from(&second.0.name);
    kernel.add_instructions(&second.0.instructions);
    let mut names = Names::of(&mut kernel);
    let (one, two) = (loops(&first.0.body), loops(&second.0.body));
    let mut copier = Copier::between(&mut names, second.0, params);
    for (stmt, own) in one.iter().zip(&two).take(depth) {
        copier.replace(own.var, Index::var(stmt.var));
    }
    let added = copier.block(&two[depth - 1].body);
    append(&mut kernel.body, depth, added);
    names.give_back(&mut kernel);
    (kernel, args)
}

/// Names parameters by number again.
pub(super) fn rename(kernel: &mut Kernel) {
    let (mut reads, mut writes) = (0, 0);
    for param in kernel.params.values_mut() {
        let (kind, number) = match param.access {
            Access::Read => ("in", &mut reads),
            Access::Write | Access::ReadWrite => ("out", &mut writes),
        };
        param.name = format!("{kind}{number}");
        *number += 1;
    }
}

/// Puts statements at the end of the body of the loop at this depth.
fn append(block: &mut Block, depth: usize, added: Block) {
    if depth == 0 {
        block.extend(added);
    } else if let [Stmt::For(stmt)] = block.as_mut_slice() {
        append(&mut stmt.body, depth - 1, added);
        let has_loop = stmt.body.iter().any(|stmt| match stmt {
            Stmt::For(_) | Stmt::If(_) => true,
            Stmt::Let { .. } | Stmt::Store { .. } => false,
        });
        if stmt.kind == LoopKind::Vector && has_loop {
            stmt.kind = LoopKind::Serial;
        }
    }
}

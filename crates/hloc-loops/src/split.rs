//! How the iterations of a kernel are shared between threads.
//!
//! How much work a kernel is decides whether several threads are worth their while. The estimate depends on the
//! kernel alone, so that the split into chunks does too: who emits a kernel knows the ranges it will be called
//! with.

use hloc_ir::{BinaryOp, Cost, UnaryOp};

use crate::ir::{Block, Expr, Kernel, LoopKind, Stmt};

/// Less work than this, in nanoseconds, stays on one thread.
const SERIAL_BELOW: u64 = 40_000;

/// What one chunk should cost, in nanoseconds.
const CHUNK_COST: u64 = 15_000;

/// No more chunks than this for one kernel.
const MAX_CHUNKS: u64 = 64;

/// Chunks of a loop begin at multiples of this many iterations, so that vectors stay whole and no two
/// threads write one cache line.
const CHUNK_ALIGN: u64 = 64;

/// Iterations that fill a vector where they are what vectors hold: fewer would take as long.
const LANES: u64 = 16;

/// How the iterations of a kernel's outermost loop are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Iterations of the outermost loop.
    pub extent: i64,
    /// Iterations of each chunk but the last, at least 1.
    pub chunk: i64,
}

impl Split {
    /// How many chunks there are.
    pub fn chunks(self) -> usize {
        self.extent
            .unsigned_abs()
            .div_ceil(self.chunk.unsigned_abs()) as usize
    }

    /// A number of iterations that every chunk begins and ends at a multiple of: 64 for chunks of 192 of 640
    /// iterations, 640 for a single chunk of them.
    pub fn grain(self) -> i64 {
        if self.chunks() <= 1 {
            return self.extent.max(1);
        }
        let (mut a, mut b) = (self.chunk.max(1), self.extent.max(1));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    }

    /// First iteration of a chunk and the one behind its last.
    pub fn range(self, chunk: usize) -> (i64, i64) {
        let begin = chunk as i64 * self.chunk;
        (begin, (begin + self.chunk).min(self.extent))
    }
}

/// The split of `kernel`: one chunk if it is little work or is more than one parallel loop.
///
/// `None` if it has several parallel loops of different extents, which no kernel may.
pub fn split(kernel: &Kernel) -> Option<Split> {
    let Some(extent) = parallel_extent(kernel) else {
        return Some(Split {
            extent: 1,
            chunk: 1,
        });
    };
    let mut extents = kernel
        .body
        .iter()
        .filter_map(|stmt| extent_of(kernel, stmt));
    if extents.any(|other| other != extent) {
        return None;
    }
    let whole = Split {
        extent,
        chunk: extent.max(1),
    };
    let work = block_cost(kernel, &kernel.body) / 4;
    if work < SERIAL_BELOW || !is_one_loop(kernel) {
        return Some(whole);
    }
    let iterations = extent.unsigned_abs();
    let chunks = (work / CHUNK_COST).clamp(1, MAX_CHUNKS);
    let mut chunk = iterations.div_ceil(chunks).max(1);
    if chunk > CHUNK_ALIGN {
        chunk = chunk.next_multiple_of(CHUNK_ALIGN);
    } else if !has_vector_loop(&kernel.body) {
        chunk = chunk.next_multiple_of(LANES).min(iterations);
    }
    Some(Split {
        extent,
        chunk: i64::try_from(chunk).unwrap_or(extent.max(1)),
    })
}

/// Number of iterations of the kernel's outermost parallel loop: what `begin..end` of its function is a
/// part of. `None` if it has none; then the function does everything at once.
pub fn parallel_extent(kernel: &Kernel) -> Option<i64> {
    kernel.body.iter().find_map(|stmt| extent_of(kernel, stmt))
}

fn extent_of(kernel: &Kernel, stmt: &Stmt) -> Option<i64> {
    match stmt {
        Stmt::For(each) if each.kind == LoopKind::Parallel => Some(kernel.vars[each.var].extent),
        Stmt::For(_) | Stmt::Let { .. } | Stmt::Store { .. } | Stmt::If(_) => None,
    }
}

/// Whether the kernel is one parallel loop after values that every chunk may compute for itself.
fn is_one_loop(kernel: &Kernel) -> bool {
    let Some((last, before)) = kernel.body.split_last() else {
        return false;
    };
    let binds = |stmt: &Stmt| match stmt {
        Stmt::Let { .. } => true,
        Stmt::For(_) | Stmt::Store { .. } | Stmt::If(_) => false,
    };
    extent_of(kernel, last).is_some() && before.iter().all(binds)
}

/// Whether vectors hold iterations of a loop inside of the parallel one.
fn has_vector_loop(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::For(each) => each.kind == LoopKind::Vector || has_vector_loop(&each.body),
        Stmt::If(each) => has_vector_loop(&each.then) || has_vector_loop(&each.otherwise),
        Stmt::Let { .. } | Stmt::Store { .. } => false,
    })
}

/// Cost of a block in quarters of a nanosecond, about what a scalar op costs in vectorized code.
fn block_cost(kernel: &Kernel, block: &Block) -> u64 {
    let costs = block.iter().map(|stmt| stmt_cost(kernel, stmt));
    costs.fold(0, u64::saturating_add)
}

fn stmt_cost(kernel: &Kernel, stmt: &Stmt) -> u64 {
    match stmt {
        Stmt::Let { expr, .. } => expr_cost(expr),
        Stmt::Store { .. } => 1,
        Stmt::For(each) => {
            let extent = kernel.vars[each.var].extent.unsigned_abs();
            block_cost(kernel, &each.body).saturating_mul(extent)
        }
        Stmt::If(each) => block_cost(kernel, &each.then)
            .max(block_cost(kernel, &each.otherwise))
            .saturating_add(1),
    }
}

fn expr_cost(expr: &Expr) -> u64 {
    match expr {
        Expr::Constant(_) => 0,
        Expr::Load { .. }
        | Expr::Index(_)
        | Expr::ClampIndex { .. }
        | Expr::Ternary(..)
        | Expr::Compare { .. }
        | Expr::Convert(_)
        | Expr::BitcastConvert(_)
        | Expr::ReducePrecision { .. } => 1,
        Expr::Unary(op, _) => unary_cost(*op),
        Expr::Binary(op, ..) => binary_cost(*op),
    }
}

fn unary_cost(op: UnaryOp) -> u64 {
    match op.cost() {
        Cost::Cheap => 1,
        Cost::Costly => 8,
    }
}

fn binary_cost(op: BinaryOp) -> u64 {
    match op.cost() {
        Cost::Cheap => 1,
        Cost::Costly => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::Split;

    #[test]
    fn chunks_begin_and_end_at_multiples_of_the_grain() {
        for (extent, chunk, grain) in [(640, 192, 64), (640, 640, 640), (100, 64, 4), (7, 3, 1)] {
            assert_eq!(Split { extent, chunk }.grain(), grain);
        }
    }

    #[test]
    fn chunks_cover_the_extent_once() {
        for (extent, chunk) in [(1, 1), (10, 3), (64, 64), (65, 64), (0, 1)] {
            let split = Split { extent, chunk };
            let mut next = 0;
            for number in 0..split.chunks() {
                let (begin, end) = split.range(number);
                assert_eq!(begin, next);
                assert!(end > begin);
                next = end;
            }
            assert_eq!(next, extent);
        }
    }
}

//! Transforms of kernels: fewer loops, fewer conditions, fewer divisions in the innermost loop.
//!
//! Each keeps every stored bit: iterations of a loop without carried values are independent, and the
//! order of a loop that carries values is never changed. [`optimize`] runs them in this order:
//!
//! 1. `segments`: a condition on a loop variable becomes loops over the ranges where it is fixed, and
//!    one that the loop does not change moves out of the loop;
//! 2. `split`: `i / c` and `i mod c` become two loops where `c` divides the extent;
//! 3. `collapse`: two nested loops become one where every index runs through both without a gap;
//! 4. `tile`: loops around loads that lie apart along the innermost loop run tile by tile;
//! 5. `sweep`: columns of rows that lie far apart are combined a few rows at a time;
//! 6. `group`: a short innermost loop is joined with several iterations of the loop around it.
//!
//! While a program is built, kernels that run over the same rows become one (`merge`), and
//! what only they use stays in registers or where the result is made (`rows`).
//!
//! `merge_loops` then makes one kernel of each counted loop of steps that is element-wise (`interchange`) or does
//! little per iteration (`whole_loop`), and leaves out what nothing uses afterwards (`unused`, `forward`).

mod collapse;
mod copy;
mod forward;
mod group;
mod interchange;
mod merge;
mod rows;
mod segments;
mod split;
mod sweep;
mod tile;
mod unused;
mod whole_loop;

use hloc_ir::Arena;
pub(crate) use whole_loop::merge_loops;

pub(crate) use merge::merge;
pub(crate) use rows::cleaned_up;

use crate::ir::{Block, Expr, Kernel, Stmt, Value, ValueId, Var, VarId};

/// The most statements a kernel may grow to by copying loop bodies, in times of what it had.
const MAX_GROWTH: usize = 4;

/// Statements that every kernel may grow by: small kernels may be cut into many parts.
const FREE_GROWTH: usize = 64;

/// Applies all transforms to a kernel.
pub fn optimize(kernel: &mut Kernel) {
    let mut names = Names::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    let body = segments::segment(body, &mut names);
    let body = split::split(body, &mut names);
    let body = collapse::collapse(body, &mut names);
    let body = tile::tile(body, &mut names);
    let body = sweep::sweep(body, &mut kernel.params, &mut names);
    kernel.body = group::group(body, &mut names);
    names.give_back(kernel);
}

/// Where transforms take new loop variables and values from.
struct Names {
    vars: Arena<VarId, Var>,
    values: Arena<ValueId, Value>,
    /// Statements in the kernel so far, copies included.
    statements: usize,
    /// The most statements it may have.
    limit: usize,
}

impl Names {
    /// Those of a kernel, which has none until they are given back.
    fn of(kernel: &mut Kernel) -> Names {
        let statements = count_statements(&kernel.body);
        Names {
            vars: std::mem::take(&mut kernel.vars),
            values: std::mem::take(&mut kernel.values),
            statements,
            limit: MAX_GROWTH * statements + FREE_GROWTH,
        }
    }

    /// None yet.
    fn empty() -> Names {
        Names {
            vars: Arena::new(),
            values: Arena::new(),
            statements: 0,
            limit: 0,
        }
    }

    /// Makes them those of a kernel.
    fn give_back(self, kernel: &mut Kernel) {
        kernel.vars = self.vars;
        kernel.values = self.values;
    }

    fn extent(&self, var: VarId) -> i64 {
        self.vars[var].extent
    }

    /// A variable named after `like`.
    fn var_like(&mut self, like: VarId, suffix: &str, extent: i64) -> VarId {
        let name = format!("{}{suffix}", self.vars[like].name);
        self.vars.push(Var { name, extent })
    }

    /// Whether `copies` more of `block` keep the kernel below its size limit; counts them if so.
    fn may_copy(&mut self, block: &Block, copies: usize) -> bool {
        let grown = self.statements + copies * count_statements(block);
        if grown > self.limit {
            return false;
        }
        self.statements = grown;
        true
    }
}

fn count_statements(block: &Block) -> usize {
    let count = |stmt: &Stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => 1,
        Stmt::For(stmt) => 1 + count_statements(&stmt.body),
        Stmt::If(stmt) => 1 + count_statements(&stmt.then) + count_statements(&stmt.otherwise),
    };
    block.iter().map(count).sum()
}

/// Whether every load of an array that the block stores to reads the very element that it stores: the order
/// of iterations that store different elements then does not matter.
pub fn reads_own_elements(block: &Block) -> bool {
    block.iter().all(|load| match load {
        Stmt::Let {
            expr: Expr::Load { param, index },
            ..
        } => block.iter().all(|store| match store {
            Stmt::Store {
                param: stored,
                index: place,
                ..
            } => stored != param || place == index,
            Stmt::Let { .. } => true,
            Stmt::For(_) | Stmt::If(_) => false,
        }),
        Stmt::Let { .. } | Stmt::Store { .. } => true,
        Stmt::For(_) | Stmt::If(_) => false,
    })
}

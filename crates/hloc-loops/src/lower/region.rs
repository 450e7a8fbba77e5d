//! One call of a computation: where each of its values lies.

use std::collections::BTreeMap;

use hloc_ir::{Computation, ComputationId, Id, InstrId};
use smallvec::SmallVec;

use crate::ir::BufferId;

/// Where one array of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// In memory.
    Buffer {
        id: BufferId,
        /// Whether the computation may overwrite the buffer once nothing reads it any more.
        owned: bool,
    },
    /// Nowhere: it is computed where it is used. Holds how deep such values lie on each other.
    Virtual(usize),
    /// An ordering token, which needs no memory.
    Token,
}

/// The arrays of one value.
pub(super) type Leaves = SmallVec<[Leaf; 1]>;

/// One call of a computation.
#[derive(Debug)]
pub(super) struct Region<'m> {
    pub(super) id: ComputationId,
    pub(super) computation: &'m Computation,
    /// Per instruction its arrays; empty if it is not lowered yet.
    pub(super) values: Vec<Leaves>,
    /// Buffers of the caller that results are to be written to, by the array that is that result.
    pub(super) targets: BTreeMap<(InstrId, usize), BufferId>,
}

impl Region<'_> {
    pub(super) fn leaves(&self, instr: InstrId) -> &Leaves {
        &self.values[instr.index()]
    }
}

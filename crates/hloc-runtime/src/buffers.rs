//! The memory of a run: where each buffer of the program lies.

#![expect(
    unsafe_code,
    reason = "buffers are reached through one table of raw pointers"
)]

use hloc_ir::{Arena, ElementType, Id};
use hloc_loops::ir::{Buffer, BufferId, BufferKind};
use hloc_tensor::Array;

use crate::RunError;

/// The first byte of a buffer.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Pointer(pub(crate) *mut u8);

// SAFETY: a pointer is only followed during a run, which borrows all memory it reaches; kernels write
// disjoint parts from different threads (invariant of `LoopKind::Parallel`).
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

/// Memory that one run at a time uses and the next can use again.
#[derive(Debug)]
pub(crate) struct Workspace {
    arena: Array,
    /// For operands that a library routine copies.
    pub(crate) scratch: Array,
    /// By buffer.
    table: Vec<Pointer>,
    /// The arguments of the current kernel.
    pub(crate) args: Vec<Pointer>,
    /// The counter behind `rng`.
    random: u128,
}

/// The counter behind `rng` at the start of a run: that of XLA.
const FIRST_RANDOM: u128 = 117_515_157;

/// How much memory a [`Workspace`] needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkspaceSize {
    pub(crate) arena: u64,
    pub(crate) scratch: u64,
    pub(crate) buffers: usize,
    pub(crate) max_args: usize,
}

impl Workspace {
    pub(crate) fn new(size: WorkspaceSize) -> Result<Workspace, RunError> {
        let bytes = |count: u64| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            Array::zeros(ElementType::U8, &[count]).map_err(RunError::OutOfMemory)
        };
        Ok(Workspace {
            arena: bytes(size.arena)?,
            scratch: bytes(size.scratch)?,
            table: Vec::with_capacity(size.buffers),
            args: Vec::with_capacity(size.max_args),
            random: FIRST_RANDOM,
        })
    }

    /// Fills the table for a run with these arrays, which were checked against the program.
    ///
    /// The pointers are valid until the arrays are moved, written or dropped.
    pub(crate) fn bind(
        &mut self,
        buffers: &Arena<BufferId, Buffer>,
        inputs: &[Array],
        outputs: &mut [Array],
    ) {
        self.random = FIRST_RANDOM;
        let arena = self.arena.bytes_mut().as_mut_ptr();
        self.table.clear();
        self.table
            .extend(buffers.values().map(|buffer| match &buffer.kind {
                // Never written: `Plan` refuses steps that write them.
                BufferKind::Parameter(number) => {
                    Pointer(inputs[*number].bytes().as_ptr().cast_mut())
                }
                BufferKind::Constant(array) => Pointer(array.bytes().as_ptr().cast_mut()),
                BufferKind::Result(number) => Pointer(outputs[*number].bytes_mut().as_mut_ptr()),
                // `Plan` has checked that the buffer lies in the arena, whose size fits in `usize`.
                BufferKind::Temporary { offset } => Pointer(arena.wrapping_add(*offset as usize)),
            }));
    }

    /// The counter behind `rng`, which moves on by so much.
    pub(crate) fn next_random(&mut self, delta: i64) -> u128 {
        let state = self.random;
        self.random = state.wrapping_add(i128::from(delta).cast_unsigned());
        state
    }

    pub(crate) fn pointer(&self, buffer: BufferId) -> Pointer {
        self.table[buffer.index()]
    }

    /// Exchanges the memory of two buffers of one size.
    pub(crate) fn swap(&mut self, a: BufferId, b: BufferId) {
        self.table.swap(a.index(), b.index());
    }

    /// Lists the pointers of `buffers` in `args`.
    pub(crate) fn gather_args(&mut self, buffers: &[BufferId]) {
        self.args.clear();
        self.args
            .extend(buffers.iter().map(|buffer| self.table[buffer.index()]));
    }
}

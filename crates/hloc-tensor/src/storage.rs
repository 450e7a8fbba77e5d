//! Bytes that start on a 64-byte boundary, made so that no `unsafe` is needed.
//!
//! Few bytes are chunks of the allocator. Many are pages of their own, which the system is asked to make
//! large: a walk over an array then misses far fewer address translations, and the first touch takes one
//! fault where it would take 512. Nothing depends on whether the system does so.

use bytemuck::{Pod, Zeroable};
use memmap2::{MmapMut, MmapOptions};

/// The alignment of array data, and the size of one chunk: a cache line, and the widest vector register.
const CHUNK: usize = 64;

/// The size of a large page, where there are any.
const LARGE_PAGE: usize = 2 << 20;

/// From so many bytes on, memory is made of large pages. The part behind the last whole large page is
/// made of small ones, so nothing is wasted but addresses.
const LARGE: usize = 2 * LARGE_PAGE;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Chunk([u8; CHUNK]);

/// A fixed number of bytes, aligned to 64. What lies behind them in the memory stays zero.
pub(crate) struct AlignedBytes {
    memory: Memory,
    len: usize,
}

enum Memory {
    Chunks(Vec<Chunk>),
    /// The bytes begin at `start`, the first large page in the mapping.
    Pages {
        mapping: MmapMut,
        start: usize,
    },
}

impl AlignedBytes {
    /// `len` zero bytes, or `None` when the allocator refuses.
    pub(crate) fn zeroed(len: usize) -> Option<AlignedBytes> {
        let memory = if len < LARGE {
            Memory::chunks(len)?
        } else {
            Memory::pages(len).or_else(|| Memory::chunks(len))?
        };
        Some(AlignedBytes { memory, len })
    }

    /// A copy of `bytes`, or `None` when the allocator refuses.
    pub(crate) fn copied(bytes: &[u8]) -> Option<AlignedBytes> {
        let mut copy = AlignedBytes::zeroed(bytes.len())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Some(copy)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Chunks(chunks) => &bytemuck::cast_slice(chunks)[..self.len],
            Memory::Pages { mapping, start } => &mapping[*start..*start + self.len],
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Chunks(chunks) => &mut bytemuck::cast_slice_mut(chunks)[..self.len],
            Memory::Pages { mapping, start } => &mut mapping[*start..*start + self.len],
        }
    }
}

impl Clone for AlignedBytes {
    /// # Panics
    /// When the allocator refuses, as cloning a vector does.
    fn clone(&self) -> AlignedBytes {
        AlignedBytes::copied(self.bytes()).expect("there is memory for a copy")
    }
}

impl Memory {
    fn chunks(len: usize) -> Option<Memory> {
        let chunks = bytemuck::allocation::try_zeroed_vec(len.div_ceil(CHUNK)).ok()?;
        Some(Memory::Chunks(chunks))
    }

    /// Fresh pages, which are zero; `None` where the system gives none.
    fn pages(len: usize) -> Option<Memory> {
        // Room for the bytes from the first boundary of a large page on.
        let room = len.checked_add(LARGE_PAGE)?;
        let mapping = MmapOptions::new().len(room).map_anon().ok()?;
        let start = mapping.as_ptr().align_offset(LARGE_PAGE);
        // Pages are aligned to more than a chunk, and so is a boundary within the room.
        if start > LARGE_PAGE {
            return None;
        }
        #[cfg(target_os = "linux")]
        {
            let whole = len / LARGE_PAGE * LARGE_PAGE;
            // Small pages serve as well where there are no large ones.
            let _ = mapping.advise_range(memmap2::Advice::HugePage, start, whole);
        }
        Some(Memory::Pages { mapping, start })
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedBytes, LARGE, LARGE_PAGE};

    #[test]
    fn large_and_small_memory_is_zero_aligned_and_copied() {
        for len in [
            0,
            1,
            65,
            LARGE - 1,
            LARGE,
            LARGE + 1,
            LARGE + LARGE_PAGE + 77,
        ] {
            let mut memory = AlignedBytes::zeroed(len).expect("a few megabytes");
            assert_eq!(memory.bytes().len(), len);
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
            let alignment = if len < LARGE { 64 } else { LARGE_PAGE };
            assert!(len == 0 || memory.bytes().as_ptr().addr().is_multiple_of(alignment));
            memory.bytes_mut().fill(7);
            let copy = memory.clone();
            assert!(copy.bytes() == memory.bytes());
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert!(AlignedBytes::zeroed(isize::MAX as usize - 64).is_none());
    }
}

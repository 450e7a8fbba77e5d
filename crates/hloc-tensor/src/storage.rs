//! Bytes that start on a 64-byte boundary, made of chunks so that no `unsafe` is needed.

use bytemuck::{Pod, Zeroable};

/// The alignment of array data, and the size of one chunk: a cache line, and the widest vector register.
const CHUNK: usize = 64;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Chunk([u8; CHUNK]);

/// A fixed number of bytes, aligned to 64. The last chunk's tail stays zero.
#[derive(Clone)]
pub(crate) struct AlignedBytes {
    chunks: Vec<Chunk>,
    len: usize,
}

impl AlignedBytes {
    /// `len` zero bytes, or `None` when the allocator refuses.
    pub(crate) fn zeroed(len: usize) -> Option<AlignedBytes> {
        let chunks = bytemuck::allocation::try_zeroed_vec(len.div_ceil(CHUNK)).ok()?;
        Some(AlignedBytes { chunks, len })
    }

    /// A copy of `bytes`, or `None` when the allocator refuses.
    pub(crate) fn copied(bytes: &[u8]) -> Option<AlignedBytes> {
        let mut copy = AlignedBytes::zeroed(bytes.len())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Some(copy)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.chunks)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.chunks)[..self.len]
    }
}

//! Emits loop nests as machine code with Cranelift.

//! Runs compiled programs: buffers, steps, library kernels.

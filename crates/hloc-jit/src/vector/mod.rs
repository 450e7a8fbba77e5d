//! Loops that run several iterations at once.

use hloc_loops::ir::For;

use crate::error::JitError;
use crate::kernel::Emitter;

impl Emitter<'_, '_> {
    /// Emits a vector loop as vector code; `false` if its body needs scalar code.
    pub(crate) fn vector_loop(&mut self, _inner: &For) -> Result<bool, JitError> {
        Ok(false)
    }
}

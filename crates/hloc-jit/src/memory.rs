//! Executable memory: the one place where compiled bytes become functions.
#![expect(
    unsafe_code,
    reason = "turning code addresses into functions and freeing code cannot be checked by the compiler"
)]

use std::sync::Mutex;

use cranelift_jit::JITModule;
use cranelift_module::FuncId;

/// A kernel's machine code: takes a table of buffer pointers, one per parameter, and the first and
/// last-plus-one iteration of its outermost parallel loop, which kernels without one ignore.
///
/// # Safety
/// Every pointer is valid for all elements of the parameter's dimensions, aligned to 64 bytes,
/// and written by nothing else meanwhile. Buffers overlap only where both parameters are read. The
/// range is a chunk of the kernel's [`hloc_loops::split::split`], or any within `0..extent` if the kernel was
/// compiled for those ([`crate::JitOptions::any_range`]). The [`crate::CompiledKernels`] it came from is alive.
pub type KernelFn = unsafe extern "C" fn(params: *const *mut u8, begin: i64, end: i64);

/// Owns the memory that the code of one program is in.
pub(crate) struct CodeMemory {
    /// Behind a lock only to be shared between threads; nothing but dropping uses it.
    module: Mutex<Option<JITModule>>,
    entries: Vec<KernelFn>,
}

impl CodeMemory {
    /// Takes over a finalized module; `functions` have the signature of kernels.
    pub(crate) fn new(module: JITModule, functions: &[FuncId]) -> CodeMemory {
        let entry = |id: &FuncId| {
            let address = module.get_finalized_function(*id);
            // SAFETY: the address is that of a finalized function, compiled with exactly this signature
            // in the platform's C calling convention. It stays mapped until the module is freed, which
            // only `drop` does.
            unsafe { std::mem::transmute::<*const u8, KernelFn>(address) }
        };
        let entries = functions.iter().map(entry).collect();
        CodeMemory {
            module: Mutex::new(Some(module)),
            entries,
        }
    }

    /// The function at position `at`.
    pub(crate) fn entry(&self, at: usize) -> Option<KernelFn> {
        self.entries.get(at).copied()
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        let module = match self.module.get_mut() {
            Ok(module) => module.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(module) = module {
            // SAFETY: calling an entry requires that its `CompiledKernels` is alive, so no code of this
            // module runs now or later.
            unsafe { module.free_memory() };
        }
    }
}

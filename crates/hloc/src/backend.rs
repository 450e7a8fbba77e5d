//! The stages of compiling below HLO: lower, emit, load.

use std::io::Read;
use std::sync::Arc;

use hloc_diag::{Diagnostic, Source};
use hloc_ir::print_module;
use hloc_jit::{CompiledKernels, JitError, JitOptions, VectorWidth, compile_kernels};
use hloc_loops::LowerError;
use hloc_loops::ir::Program;
use hloc_runtime::WorkerPool;
use hloc_verify::VerifiedModule;

use crate::{Compiler, Error, Executable, PassSelection, Staged, format};

/// Loop nests and library calls, with the module they were made of.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What will run.
    pub program: Program,
    /// The optimized module.
    pub module: VerifiedModule,
}

/// A program with the machine code of its kernels.
pub(crate) struct Emitted {
    /// What will run.
    pub(crate) lowered: Lowered,
    /// Its machine code.
    pub(crate) kernels: CompiledKernels,
    /// The same with 128-bit vectors, to compare with.
    pub(crate) narrow: Option<CompiledKernels>,
}

impl Compiler {
    /// All stages.
    ///
    /// # Errors
    /// As the single stages.
    pub fn compile(&self, text: &str) -> Result<Executable, Error> {
        self.compile_named("<text>", text)
    }

    /// All stages; messages call the text `name`.
    ///
    /// # Errors
    /// As the single stages.
    pub fn compile_named(&self, name: &str, text: impl Into<String>) -> Result<Executable, Error> {
        let verified = self.verify(self.parse(name, text)?)?;
        self.emit(self.lower(self.optimize(verified)?)?)
    }

    /// All stages from verification on, for a module that a [`Builder`](crate::Builder) or another program
    /// made.
    ///
    /// # Errors
    /// As the single stages. Findings name the line at which the builder was called.
    pub fn compile_module(&self, module: hloc_ir::Module) -> Result<Executable, Error> {
        let verified = self.verify(self.take(module))?;
        self.emit(self.lower(self.optimize(verified)?)?)
    }

    /// Turns instructions into loop nests and library calls and plans the buffers.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] naming op, element type and place.
    pub fn lower(&self, optimized: Staged<VerifiedModule>) -> Result<Staged<Lowered>, Error> {
        let transformed = self.current_options().passes != PassSelection::None;
        optimized.then(
            "lower",
            |times| &mut times.lower,
            |module, source| {
                let program = hloc_loops::lower_with(&module, &self.calls, transformed)
                    .and_then(|program| hloc_loops::finish(program, transformed))
                    .map_err(|error| lower_error(error, &module, source))?;
                Ok(Lowered { program, module })
            },
        )
    }

    /// Emits machine code.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] naming op, element type and place, [`Error::is_internal`] if the emitter
    /// fails.
    pub fn emit(&self, lowered: Staged<Lowered>) -> Result<Executable, Error> {
        let options = self.jit_options();
        let check_width = self.current_options().check_width;
        let staged = lowered.then(
            "emit",
            |times| &mut times.emit,
            |lowered, source| {
                let compile = |options: &JitOptions| {
                    compile_kernels(&lowered.program, options)
                        .map_err(|error| jit_error(error, &lowered.module, source))
                };
                let kernels = compile(&options)?;
                let narrow = JitOptions {
                    width: VectorWidth::Bits128,
                    ..options
                };
                let narrow = check_width.then(|| compile(&narrow)).transpose()?;
                Ok(Emitted {
                    lowered,
                    kernels,
                    narrow,
                })
            },
        )?;
        let pool = WorkerPool::new(self.current_options().threads);
        Executable::assemble(staged, Arc::new(pool))
    }

    /// Reads a file that [`Executable::save`] wrote, and compiles what it holds for this machine.
    ///
    /// The passes ran before it was saved: only what lowering needs runs again.
    ///
    /// # Errors
    /// [`Error::is_invalid_file`] if it is no such file, or one of another format version.
    pub fn load(&self, reader: impl Read) -> Result<Executable, Error> {
        let text = format::read(reader).map_err(Error::file)?;
        let names = ["call-inline", "legalize-broadcast"].map(str::to_owned);
        let compiler = self.clone().passes(PassSelection::Named(names.to_vec()));
        compiler.compile_named("<executable>", text)
    }

    /// What the emitter is told.
    pub fn jit_options(&self) -> JitOptions {
        let options = self.current_options();
        JitOptions {
            baseline_cpu: options.baseline_cpu,
            vectorize: options.vectorize,
            width: options.vector_width,
            threads: usize::from(options.threads == 1),
            ..JitOptions::default()
        }
    }
}

/// What lowering refuses: a limit of hloc, or a mistake in it.
fn lower_error(error: LowerError, module: &VerifiedModule, source: &Arc<Source>) -> Error {
    let message = error.to_string();
    match error {
        LowerError::Unsupported {
            span, instruction, ..
        } => {
            let found = Diagnostic::error("unsupported", message, span);
            Error::unsupported(source, with_line(found, module, &instruction))
        }
        LowerError::Limit {
            span, instruction, ..
        } => {
            let found = Diagnostic::error("limit", message, span);
            Error::unsupported(source, with_line(found, module, &instruction))
        }
        LowerError::Internal { .. } => {
            Error::internal("lower", message, Some(print_module(module)))
        }
    }
}

/// Adds the line of the user's program that the instruction of this name stems from, if it is known.
fn with_line(found: Diagnostic, module: &VerifiedModule, name: &str) -> Diagnostic {
    let instructions = module.computations.values();
    let mut instructions = instructions.flat_map(|each| each.instructions.values());
    let named = instructions.find(|instruction| &*instruction.name == name);
    let metadata = named.and_then(|instruction| instruction.metadata());
    match metadata.filter(|metadata| !metadata.source_file.is_empty()) {
        Some(metadata) => found.with_note(format!(
            "written at {}:{}",
            metadata.source_file, metadata.source_line
        )),
        None => found,
    }
}

/// What the emitter refuses.
fn jit_error(error: JitError, module: &VerifiedModule, source: &Arc<Source>) -> Error {
    let message = error.to_string();
    if let JitError::Unsupported { span, .. } = error {
        return Error::unsupported(source, Diagnostic::error("unsupported", message, span));
    }
    Error::internal("emit", message, Some(print_module(module)))
}

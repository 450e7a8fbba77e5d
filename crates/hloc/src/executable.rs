//! A compiled program, as the embedding API hands it out.

use std::io::{Read, Write};
use std::sync::Arc;

use hloc_ir::{ArrayShape, Id, print_module};
use hloc_jit::KernelWidth;
use hloc_loops::ir::{Program, Step};
use hloc_runtime::{RunError, Runner, WorkerPool};
use hloc_tensor::Array;
use hloc_verify::VerifiedModule;

use crate::backend::{Emitted, Lowered};
use crate::dynamic::DynamicSizes;
use crate::options::{StageKind, StageTime};
use crate::profile::Recorded;
use crate::{CompileTimes, Compiler, Error, Profile, ProfileOptions, Staged, format};

/// A compiled program. It may be run any number of times, by several threads at once.
///
/// ```
/// let executable = hloc::compile("ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")?;
/// assert_eq!(executable.parameters()[0].to_string(), "x: f32[]");
/// let result = executable.run(&[hloc::Array::scalar(3.0f32)])?;
/// assert_eq!(result[0].to_string(), "f32[] -3.0");
/// # Ok::<(), hloc::Error>(())
/// ```
#[derive(Debug)]
pub struct Executable {
    inner: hloc_runtime::Executable,
    /// The same with 128-bit vectors, to compare with.
    narrow: Option<hloc_runtime::Executable>,
    module: VerifiedModule,
    times: CompileTimes,
    stages: Vec<StageTime>,
    dynamic: DynamicSizes,
}

/// One array that a program takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in the program; `x.0` for the first element of a tuple `x`.
    pub name: String,
    /// Element type and dimensions.
    pub shape: ArrayShape,
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.shape)
    }
}

/// What a program was compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// HLO instructions, after the passes.
    pub instructions: usize,
    /// Loop nests with machine code.
    pub kernels: usize,
    /// Calls of library routines.
    pub library_calls: usize,
    /// Buffers: parameters, results, constants and temporaries.
    pub buffers: usize,
    /// See [`Executable::peak_buffer_bytes`].
    pub peak_buffer_bytes: u64,
    /// Bytes of constants that the program holds.
    pub constant_bytes: u64,
}

impl Executable {
    pub(crate) fn assemble(
        staged: Staged<Emitted>,
        pool: Arc<WorkerPool>,
    ) -> Result<Executable, Error> {
        let Emitted {
            lowered: Lowered { program, module },
            kernels,
            narrow,
        } = staged.value;
        let narrow = match narrow {
            Some(kernels) => {
                let (program, pool) = (program.clone(), Arc::clone(&pool));
                Some(hloc_runtime::Executable::with_pool(program, kernels, pool)?)
            }
            None => None,
        };
        let inner = hloc_runtime::Executable::with_pool(program, kernels, pool)?;
        let inputs: Vec<ArrayShape> = inner.parameter_shapes().cloned().collect();
        let outputs: Vec<ArrayShape> = inner.result_shapes().cloned().collect();
        let dynamic = DynamicSizes::of(&module, &inputs, &outputs);
        Ok(Executable {
            dynamic,
            inner,
            narrow,
            module,
            times: staged.times,
            stages: staged.stages,
        })
    }

    /// Runs the program: one array per parameter, tuples flattened; the results flattened too.
    ///
    /// # Errors
    /// [`Error::is_argument_mismatch`] if number, element types or dimensions of the inputs are not those of
    /// [`Executable::parameters`]; [`Error::is_internal`] if [`CompileOptions::check_width`] finds a
    /// difference.
    ///
    /// [`CompileOptions::check_width`]: crate::CompileOptions::check_width
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        if self.dynamic.is_empty() {
            return self.run_extended(inputs);
        }
        let results = self.run_extended(&self.extended(inputs)?)?;
        Ok(self.dynamic.cut(results).map_err(RunError::OutOfMemory)?)
    }

    /// The inputs with the sizes of their dynamic dimensions, where there are some.
    fn extended(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        let parameters = self.parameters();
        if inputs.len() != parameters.len() {
            return Err(RunError::WrongCount {
                expected: parameters.len(),
                given: inputs.len(),
            }
            .into());
        }
        let bounds: Vec<ArrayShape> = parameters.into_iter().map(|each| each.shape).collect();
        let extended = self.dynamic.extended(inputs, &bounds);
        Ok(extended.map_err(RunError::OutOfMemory)?)
    }

    /// Runs on inputs with all sizes.
    fn run_extended(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        let results = self.inner.run(inputs)?;
        if let Some(narrow) = &self.narrow {
            self.check_width(&results, &narrow.run(inputs)?)?;
        }
        Ok(results)
    }

    /// Compares with what 128-bit vectors give.
    fn check_width(&self, results: &[Array], narrow: &[Array]) -> Result<(), Error> {
        let pairs = results.iter().zip(narrow);
        let differs =
            |(_, (wide, narrow)): &(usize, (&Array, &Array))| wide.bytes() != narrow.bytes();
        match pairs.enumerate().find(differs) {
            None => Ok(()),
            Some((number, _)) => Err(Error::internal(
                "emit",
                format!("result {number} has other bits than with 128-bit vectors"),
                Some(print_module(&self.module)),
            )),
        }
    }

    /// A runner that keeps the results' memory from run to run.
    ///
    /// Results with dynamic dimensions have their bounds there, and the real sizes follow as scalars.
    ///
    /// # Errors
    /// As [`Executable::run`]; runs of the runner are not checked, but one run before them is.
    pub fn runner(&self, inputs: Vec<Array>) -> Result<Runner<'_>, Error> {
        let inputs = if self.dynamic.is_empty() {
            inputs
        } else {
            self.extended(&inputs)?
        };
        if self.narrow.is_some() {
            self.run_extended(&inputs)?;
        }
        Ok(self.inner.runner(inputs)?)
    }

    /// The arrays that the program takes, tuples flattened.
    pub fn parameters(&self) -> Vec<Parameter> {
        let names = self.inner.parameter_names().iter();
        let shapes = self.inner.parameter_shapes().cloned().collect();
        names
            .zip(self.dynamic.parameters(shapes))
            .map(|(name, shape)| Parameter {
                name: name.clone(),
                shape,
            })
            .collect()
    }

    /// Element types and dimensions of the arrays that the program gives, tuples flattened.
    pub fn results(&self) -> Vec<ArrayShape> {
        let shapes = self.inner.result_shapes().cloned().collect();
        self.dynamic.results(shapes)
    }

    /// The most bytes that a run allocates: results, temporaries, and copies of operands.
    ///
    /// The caller's arrays and the constants of the program are not counted.
    pub fn peak_buffer_bytes(&self) -> u64 {
        self.inner.peak_buffer_bytes()
    }

    /// Threads that one run may use.
    pub fn threads(&self) -> usize {
        self.inner.threads()
    }

    /// How long each stage of compiling took.
    pub fn times(&self) -> CompileTimes {
        self.times
    }

    /// When each part of compiling ran: stages, passes, and the emission of kernels.
    pub fn stage_times(&self) -> Vec<StageTime> {
        let mut stages = self.stages.clone();
        let mut known = Vec::new();
        for (id, kernel) in self.inner.program().kernels.iter() {
            let emission = self.inner.kernels().emission(id);
            // Kernels that differ only in name are compiled once.
            if known.contains(&(emission.begin, emission.thread)) {
                continue;
            }
            known.push((emission.begin, emission.thread));
            stages.push(StageTime {
                thread: emission.thread,
                ..StageTime::new(
                    &kernel.name,
                    StageKind::Kernel,
                    emission.begin,
                    emission.time,
                )
            });
        }
        stages
    }

    /// Runs the program again and again, and tells where the time goes.
    ///
    /// The program runs once, and then as often as [`ProfileOptions`] says; a program that takes seconds runs
    /// once only. The results are those of the last run.
    ///
    /// ```
    /// let text = "ENTRY e { x = f32[1000] parameter(0) ROOT y = f32[1000] exponential(x) }";
    /// let executable = hloc::compile(text)?;
    /// let x = hloc::Array::zeros(hloc::ElementType::F32, &[1000])?;
    /// let (results, profile) = executable.profile(&[x], &hloc::ProfileOptions::default())?;
    /// assert_eq!(results[0].to_vec::<f32>().map(|y| y[999]), Some(1.0));
    /// assert_eq!(profile.steps[0].instructions[0].opcode, "exponential");
    /// assert_eq!(profile.steps[0].work.bytes_read, 4000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Executable::run`].
    pub fn profile(
        &self,
        inputs: &[Array],
        options: &ProfileOptions,
    ) -> Result<(Vec<Array>, Profile), Error> {
        let runner = self.runner(inputs.to_vec())?;
        let (results, recorded) = Recorded::of(runner, options)?;
        let results = if self.dynamic.is_empty() {
            results
        } else {
            self.dynamic.cut(results).map_err(RunError::OutOfMemory)?
        };
        let stages = self.stage_times();
        let profile = Profile::new(&self.inner, &self.module, stages, recorded);
        Ok((results, profile))
    }

    /// What the program was compiled to.
    pub fn stats(&self) -> Stats {
        let program = self.inner.program();
        Stats {
            instructions: program.num_instructions,
            kernels: program.kernels.len(),
            library_calls: library_calls(&program.steps),
            buffers: program.buffers.len(),
            peak_buffer_bytes: self.inner.peak_buffer_bytes(),
            constant_bytes: self.inner.constant_bytes(),
        }
    }

    /// How wide the vectors of each kernel are, in the order of [`Program::kernels`].
    pub fn widths(&self) -> Vec<KernelWidth> {
        let kernels = self.inner.program().kernels.ids();
        let width = |kernel| self.inner.kernels().width(kernel).clone();
        kernels.map(width).collect()
    }

    /// Into how many chunks each kernel is split, in the order of [`Program::kernels`]: 1 for those that run on
    /// one thread or that a library routine calls.
    pub fn chunks(&self) -> Vec<usize> {
        let program = self.inner.program();
        let mut chunks = vec![1; program.kernels.len()];
        let steps = program.numbered_steps();
        for (step, count) in steps.into_iter().zip(self.inner.num_chunks()) {
            if let Step::Kernel { kernel, .. } = step {
                chunks[kernel.index()] = count;
            }
        }
        chunks
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.inner.kernels().code_bytes()
    }

    /// The module after the passes.
    pub fn module(&self) -> &VerifiedModule {
        &self.module
    }

    /// The loop nests and steps.
    pub fn program(&self) -> &Program {
        self.inner.program()
    }

    /// Writes a file that [`Executable::load`] reads.
    ///
    /// # Errors
    /// [`Error::is_invalid_file`] if writing fails.
    pub fn save(&self, writer: impl Write) -> Result<(), Error> {
        format::write(writer, &print_module(&self.module)).map_err(Error::file)
    }

    /// Reads a file that [`Executable::save`] wrote, and compiles what it holds for this machine.
    ///
    /// # Errors
    /// [`Error::is_invalid_file`] if it is no such file, or one of another format version.
    pub fn load(reader: impl Read) -> Result<Executable, Error> {
        Compiler::new().load(reader)
    }
}

fn library_calls(steps: &[Step]) -> usize {
    let calls = |step: &Step| match step {
        Step::Library(_) => 1,
        Step::Kernel { .. } | Step::Copy { .. } | Step::Swap(..) => 0,
        Step::While {
            condition, body, ..
        } => library_calls(condition) + library_calls(body),
        Step::Conditional { branches, .. } => {
            branches.iter().map(|branch| library_calls(branch)).sum()
        }
    };
    steps.iter().map(calls).sum()
}

#[cfg(test)]
mod tests {
    use super::Executable;

    #[test]
    fn executables_may_be_sent_and_shared() {
        fn check<T: Send + Sync>() {}
        check::<Executable>();
        check::<crate::Compiler>();
        check::<crate::Error>();
    }
}

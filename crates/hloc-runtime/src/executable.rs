//! A compiled program that runs.

#![expect(unsafe_code, reason = "bound workspaces are run")]

use std::sync::{Arc, Mutex, PoisonError};

use hloc_ir::ArrayShape;
use hloc_ir::Shape;
use hloc_jit::CompiledKernels;
use hloc_loops::ir::{BufferKind, Program};
use hloc_tensor::Array;

use crate::RunError;
use crate::buffers::Workspace;
use crate::execute::run_steps;
use crate::observe::{Observer, Recorder, Unobserved};
use crate::plan::{Plan, Planned, PlannedStep};
use crate::pool::WorkerPool;

/// A program with its machine code. Any number of threads may run it at once.
#[derive(Debug)]
pub struct Executable {
    program: Program,
    plan: Plan,
    /// Holds the memory of the machine code that `plan` points into.
    kernels: CompiledKernels,
    pool: Arc<WorkerPool>,
    /// Memory of finished runs, for the next ones.
    idle: Mutex<Vec<Workspace>>,
    parameter_names: Vec<String>,
}

impl Executable {
    /// Makes `program` ready to run with the machine code of its kernels, on one thread.
    ///
    /// # Errors
    /// [`RunError::UnsupportedCall`] for a library call of types that the routine does not take,
    /// [`RunError::InvalidProgram`] for a program that breaks a rule of the loop representation.
    pub fn new(program: Program, kernels: CompiledKernels) -> Result<Executable, RunError> {
        Executable::with_pool(program, kernels, Arc::new(WorkerPool::new(1)))
    }

    /// The same, with worker threads, which several executables may share.
    ///
    /// # Errors
    /// As [`Executable::new`].
    pub fn with_pool(
        program: Program,
        kernels: CompiledKernels,
        pool: Arc<WorkerPool>,
    ) -> Result<Executable, RunError> {
        let plan = Plan::new(&program, &kernels)?;
        let parameter_names = leaf_names(&program);
        Ok(Executable {
            program,
            plan,
            kernels,
            pool,
            idle: Mutex::default(),
            parameter_names,
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The machine code.
    pub fn kernels(&self) -> &CompiledKernels {
        &self.kernels
    }

    /// Name of each array that [`Executable::run`] takes: `x`, or `x.0.1` for a leaf of a tuple.
    pub fn parameter_names(&self) -> &[String] {
        &self.parameter_names
    }

    /// Element type and dimensions of each array that [`Executable::run`] takes.
    pub fn parameter_shapes(&self) -> impl ExactSizeIterator<Item = &ArrayShape> {
        let buffers = self.program.parameters.iter();
        buffers.map(|id| &self.program.buffers[*id].shape)
    }

    /// Element type and dimensions of each array that [`Executable::run`] gives back.
    pub fn result_shapes(&self) -> impl ExactSizeIterator<Item = &ArrayShape> {
        let buffers = self.program.results.iter();
        buffers.map(|id| &self.program.buffers[*id].shape)
    }

    /// The most bytes that a run allocates: results, temporaries, and copies of operands.
    ///
    /// The caller's arrays and the constants of the program are not counted.
    pub fn peak_buffer_bytes(&self) -> u64 {
        let results = self.program.results.iter();
        let results: u64 = results
            .map(|id| self.program.buffers[*id].byte_size())
            .sum();
        results + self.plan.size.arena + self.plan.size.scratch
    }

    /// Bytes of the constants that the program holds.
    pub fn constant_bytes(&self) -> u64 {
        let buffers = self.program.buffers.values();
        buffers
            .map(|buffer| match buffer.kind {
                BufferKind::Constant(_) => buffer.byte_size(),
                BufferKind::Parameter(_) | BufferKind::Result(_) | BufferKind::Temporary { .. } => {
                    0
                }
            })
            .sum()
    }

    /// Threads that a run may use.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Runs the program. Tuples among parameters and results are flattened.
    ///
    /// # Errors
    /// [`RunError::WrongCount`] and [`RunError::WrongArgument`] if the arrays do not fit the parameters,
    /// [`RunError::CustomCall`] if a handler fails, [`RunError::OutOfMemory`].
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, RunError> {
        self.check_inputs(inputs)?;
        let mut outputs = self.new_outputs()?;
        self.run_checked(inputs, &mut outputs, &Unobserved)?;
        Ok(outputs)
    }

    /// A runner that keeps its results' memory from run to run.
    ///
    /// # Errors
    /// As [`Executable::run`].
    pub fn runner(&self, inputs: Vec<Array>) -> Result<Runner<'_>, RunError> {
        self.check_inputs(&inputs)?;
        Ok(Runner {
            outputs: self.new_outputs()?,
            executable: self,
            inputs,
        })
    }

    fn check_inputs(&self, inputs: &[Array]) -> Result<(), RunError> {
        let expected = self.program.parameters.len();
        if inputs.len() != expected {
            return Err(RunError::WrongCount {
                expected,
                given: inputs.len(),
            });
        }
        for (position, (input, shape)) in inputs.iter().zip(self.parameter_shapes()).enumerate() {
            if input.element_type() != shape.element_type || *input.dims() != shape.dims[..] {
                return Err(RunError::WrongArgument {
                    name: self.parameter_names[position].clone(),
                    position,
                    expected: ArrayShape::new(shape.element_type, &shape.dims),
                    given: ArrayShape::new(input.element_type(), input.dims()),
                });
            }
        }
        Ok(())
    }

    fn new_outputs(&self) -> Result<Vec<Array>, RunError> {
        self.result_shapes()
            .map(|shape| Array::zeros(shape.element_type, &shape.dims))
            .collect::<Result<_, _>>()
            .map_err(RunError::OutOfMemory)
    }

    /// How many chunks each step is split into, by number: 1 for what is no kernel or runs on one thread.
    pub fn num_chunks(&self) -> Vec<usize> {
        let mut chunks = Vec::new();
        count_chunks(&self.plan.steps, &mut chunks);
        chunks
    }

    /// Runs over inputs that were checked, into outputs of the results' shapes.
    fn run_checked<O: Observer>(
        &self,
        inputs: &[Array],
        outputs: &mut [Array],
        observer: &O,
    ) -> Result<(), RunError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = idle().pop();
        let mut workspace = match reused {
            Some(workspace) => workspace,
            None => Workspace::new(self.plan.size)?,
        };
        workspace.bind(&self.program.buffers, inputs, outputs);
        // SAFETY: the arrays are borrowed until the end of this function, the outputs solely; `bind` has
        // made theirs unique. Their shapes are those of the program's buffers (checked, or made so).
        let done = unsafe { run_steps(&self.plan.steps, &mut workspace, &self.pool, observer) };
        idle().push(workspace);
        done
    }
}

fn count_chunks(steps: &[PlannedStep], chunks: &mut Vec<usize>) {
    for step in steps {
        let (count, inner): (usize, &[&[PlannedStep]]) = match &step.action {
            Planned::Kernel { split, .. } => (split.chunks(), &[]),
            Planned::While {
                condition, body, ..
            } => (1, &[condition, body]),
            Planned::Dot { .. }
            | Planned::Registered { .. }
            | Planned::Routine { .. }
            | Planned::NextRandom { .. }
            | Planned::Copy { .. }
            | Planned::Swap(..)
            | Planned::Conditional { .. } => (1, &[]),
        };
        chunks.push(count);
        inner.iter().for_each(|steps| count_chunks(steps, chunks));
        if let Planned::Conditional { branches, .. } = &step.action {
            branches
                .iter()
                .for_each(|steps| count_chunks(steps, chunks));
        }
    }
}

/// Names of the flattened parameters.
fn leaf_names(program: &Program) -> Vec<String> {
    let mut names = Vec::with_capacity(program.parameters.len());
    for (number, shape) in program.parameter_shapes.iter().enumerate() {
        let name = program.parameter_names.get(number);
        let name = name.map_or_else(|| format!("p{number}"), Clone::clone);
        push_leaf_names(name, shape, &mut names);
    }
    // Leaves that are no arrays have no buffer; without a name of its own, a buffer is known by number.
    let unnamed = names.len()..program.parameters.len();
    names.extend(unnamed.map(|number| format!("in{number}")));
    names
}

fn push_leaf_names(name: String, shape: &Shape, names: &mut Vec<String>) {
    match shape {
        Shape::Array(_) => names.push(name),
        Shape::Tuple(elements) => {
            for (number, element) in elements.iter().enumerate() {
                push_leaf_names(format!("{name}.{number}"), element, names);
            }
        }
        Shape::Token | Shape::Opaque => {}
        Shape::Buffer(inner) => push_leaf_names(name, inner, names),
    }
}

/// Runs one executable again and again on the same inputs, into the same results.
#[derive(Debug)]
pub struct Runner<'a> {
    executable: &'a Executable,
    inputs: Vec<Array>,
    outputs: Vec<Array>,
}

impl Runner<'_> {
    /// Runs once; the results replace those of the run before.
    ///
    /// # Errors
    /// [`RunError::CustomCall`] if a handler fails, [`RunError::OutOfMemory`].
    pub fn run(&mut self) -> Result<(), RunError> {
        self.executable
            .run_checked(&self.inputs, &mut self.outputs, &Unobserved)
    }

    /// Runs once, as [`Runner::run`]; `recorder` learns how long each step took.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn run_recorded(&mut self, recorder: &mut Recorder) -> Result<(), RunError> {
        recorder.begin_run();
        let done = self
            .executable
            .run_checked(&self.inputs, &mut self.outputs, recorder);
        recorder.end_run();
        done
    }

    /// The results of the last run; zeros before the first.
    pub fn outputs(&self) -> &[Array] {
        &self.outputs
    }
}

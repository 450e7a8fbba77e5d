//! A program's steps, checked and made ready to run.
//!
//! What the checks here prove is what the unsafe code of [`crate::execute`] relies on: every buffer has
//! the size that its users expect, and nothing writes the caller's arrays or constants.

use hloc_ir::{ArrayShape, ElementType, Id};
use hloc_jit::{CompiledKernels, KernelFn};
use hloc_loops::ir::{
    Access, Buffer, BufferId, BufferKind, Kernel, LibraryCall, LibraryStep, Program, Step,
};
use hloc_loops::routine::{Routine as Asked, RoutineCall};
use hloc_loops::split::{Split, split};

use crate::RunError;
use crate::buffers::WorkspaceSize;
use crate::dot::DotPlan;
use crate::registered::RegisteredCall;
use crate::routine::Routine;

/// One step, ready to run, with its number among [`Program::numbered_steps`].
#[derive(Debug)]
pub(crate) struct PlannedStep {
    pub(crate) number: usize,
    pub(crate) action: Planned,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Planned {
    Kernel {
        entry: KernelFn,
        args: Box<[BufferId]>,
        split: Split,
    },
    Dot {
        plan: Box<DotPlan>,
        operands: [Span; 2],
        result: Span,
    },
    Registered {
        call: Box<RegisteredCall>,
        inputs: Box<[Span]>,
        outputs: Box<[Span]>,
    },
    Routine {
        routine: Box<dyn Routine>,
        inputs: Box<[Span]>,
        outputs: Box<[Span]>,
    },
    /// Writes the counter behind `rng` and moves it on.
    NextRandom {
        delta: i64,
        to: Span,
    },
    Copy {
        from: Span,
        to: BufferId,
    },
    Swap(BufferId, BufferId),
    While {
        condition: Vec<PlannedStep>,
        predicate: BufferId,
        body: Vec<PlannedStep>,
    },
    Conditional {
        index: BufferId,
        /// `pred`, where true is branch 0; else `s32`.
        is_predicate: bool,
        branches: Vec<Vec<PlannedStep>>,
    },
}

/// A buffer with its size in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) buffer: BufferId,
    pub(crate) bytes: usize,
}

/// The steps of a program and the memory they need.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<PlannedStep>,
    pub(crate) size: WorkspaceSize,
}

impl Plan {
    /// Checks `program` and prepares its steps.
    ///
    /// # Errors
    /// [`RunError::InvalidProgram`] for a program that would read or write out of bounds,
    /// [`RunError::UnsupportedCall`] for a library call of types that the routine does not take.
    pub(crate) fn new(program: &Program, kernels: &CompiledKernels) -> Result<Plan, RunError> {
        let mut planner = Planner {
            program,
            kernels,
            num_steps: 0,
            size: WorkspaceSize {
                arena: program.arena_bytes,
                buffers: program.buffers.len(),
                ..WorkspaceSize::default()
            },
        };
        planner.check_buffers()?;
        let steps = planner.steps(&program.steps)?;
        Ok(Plan {
            steps,
            size: planner.size,
        })
    }
}

struct Planner<'a> {
    program: &'a Program,
    kernels: &'a CompiledKernels,
    /// Steps that were planned or are being planned.
    num_steps: usize,
    size: WorkspaceSize,
}

impl Planner<'_> {
    fn check_buffers(&self) -> Result<(), RunError> {
        let program = self.program;
        for (id, buffer) in program.buffers.iter() {
            let fits = match &buffer.kind {
                BufferKind::Parameter(number) => program.parameters.get(*number) == Some(&id),
                BufferKind::Result(number) => program.results.get(*number) == Some(&id),
                BufferKind::Constant(array) => {
                    buffer.shape.element_type == array.element_type()
                        && buffer.shape.dims[..] == *array.dims()
                }
                BufferKind::Temporary { offset } => offset
                    .checked_add(buffer.byte_size())
                    .is_some_and(|end| end <= program.arena_bytes && offset % 64 == 0),
            };
            if !fits || buffer.shape.byte_size().is_none() {
                return Err(invalid(format!(
                    "buffer {id} has no place for {}",
                    buffer.shape
                )));
            }
        }
        for (number, id) in program.parameters.iter().enumerate() {
            if !matches!(self.buffer(*id)?.kind, BufferKind::Parameter(at) if at == number) {
                return Err(invalid(format!("parameter {number} is not buffer {id}")));
            }
        }
        for (number, id) in program.results.iter().enumerate() {
            if !matches!(self.buffer(*id)?.kind, BufferKind::Result(at) if at == number) {
                return Err(invalid(format!("result {number} is not buffer {id}")));
            }
        }
        Ok(())
    }

    fn steps(&mut self, steps: &[Step]) -> Result<Vec<PlannedStep>, RunError> {
        let mut planned = Vec::with_capacity(steps.len());
        for step in steps {
            let number = self.num_steps;
            self.num_steps += 1;
            let action = self.step(step)?;
            planned.push(PlannedStep { number, action });
        }
        Ok(planned)
    }

    fn step(&mut self, step: &Step) -> Result<Planned, RunError> {
        match step {
            Step::Kernel { kernel, args } => {
                let code = self.program.kernels.get(*kernel);
                let code = code.ok_or_else(|| invalid(format!("there is no kernel {kernel}")))?;
                self.check_args(code, args)?;
                let split = split(code).ok_or_else(|| {
                    invalid(format!(
                        "kernel `{}` has parallel loops of different extents",
                        code.name
                    ))
                })?;
                self.size.max_args = self.size.max_args.max(args.len());
                Ok(Planned::Kernel {
                    entry: self.kernels.entry(*kernel),
                    args: args.clone().into(),
                    split,
                })
            }
            Step::Library(step) => self.library(step),
            Step::Copy { from, to } => {
                let bytes = self.span(*from)?.bytes;
                if bytes != self.writable(*to)?.bytes || from == to {
                    return Err(invalid(format!("{from} cannot be copied to {to}")));
                }
                Ok(Planned::Copy {
                    from: self.span(*from)?,
                    to: *to,
                })
            }
            Step::Swap(a, b) => self.swap(*a, *b),
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                self.scalar(*predicate, &[ElementType::Pred])?;
                Ok(Planned::While {
                    condition: self.steps(condition)?,
                    predicate: *predicate,
                    body: self.steps(body)?,
                })
            }
            Step::Conditional { index, branches } => self.conditional(*index, branches),
        }
    }

    fn swap(&self, a: BufferId, b: BufferId) -> Result<Planned, RunError> {
        let temporary = |id| {
            Ok(matches!(
                self.buffer(id)?.kind,
                BufferKind::Temporary { .. }
            ))
        };
        if !temporary(a)? || !temporary(b)? || self.span(a)?.bytes != self.span(b)?.bytes {
            return Err(invalid(format!("{a} and {b} cannot be exchanged")));
        }
        Ok(Planned::Swap(a, b))
    }

    fn conditional(
        &mut self,
        index: BufferId,
        branches: &[Vec<Step>],
    ) -> Result<Planned, RunError> {
        let element_type = self.scalar(index, &[ElementType::Pred, ElementType::S32])?;
        if branches.is_empty() {
            return Err(invalid("a conditional has no branches"));
        }
        let branches: Result<_, _> = branches.iter().map(|steps| self.steps(steps)).collect();
        Ok(Planned::Conditional {
            index,
            is_predicate: element_type == ElementType::Pred,
            branches: branches?,
        })
    }

    fn library(&mut self, step: &LibraryStep) -> Result<Planned, RunError> {
        match &step.call {
            LibraryCall::Dot(call) => {
                let ([lhs, rhs], [result]) = (&step.inputs[..], &step.outputs[..]) else {
                    return Err(invalid("a dot does not have two operands and one result"));
                };
                self.has_shape(*lhs, &call.lhs)?;
                self.has_shape(*rhs, &call.rhs)?;
                self.has_shape(*result, &call.result)?;
                let (lhs, rhs, result) =
                    (self.span(*lhs)?, self.span(*rhs)?, self.writable(*result)?);
                if self.overlap(lhs, result)? || self.overlap(rhs, result)? {
                    return Err(invalid("the result of a dot overlaps an operand"));
                }
                let plan = Box::new(DotPlan::new(call)?);
                self.size.scratch = self.size.scratch.max(plan.scratch_bytes() as u64);
                Ok(Planned::Dot {
                    plan,
                    operands: [lhs, rhs],
                    result,
                })
            }
            LibraryCall::Routine(call) => self.routine(call, step),
        }
    }

    /// No output of a routine overlaps an input or another output.
    fn routine(&self, call: &RoutineCall, step: &LibraryStep) -> Result<Planned, RunError> {
        if call.inputs.len() != step.inputs.len() || call.outputs.len() != step.outputs.len() {
            return Err(invalid("a routine has more or fewer buffers than shapes"));
        }
        let mut inputs = Vec::with_capacity(step.inputs.len());
        for (id, shape) in step.inputs.iter().zip(&call.inputs) {
            self.has_shape(*id, shape)?;
            inputs.push(self.span(*id)?);
        }
        let mut outputs: Vec<Span> = Vec::with_capacity(step.outputs.len());
        for (id, shape) in step.outputs.iter().zip(&call.outputs) {
            self.has_shape(*id, shape)?;
            let output = self.writable(*id)?;
            for other in inputs.iter().chain(&outputs) {
                if output.bytes > 0 && other.bytes > 0 && self.overlap(*other, output)? {
                    return Err(invalid("an output of a routine overlaps another buffer"));
                }
            }
            outputs.push(output);
        }
        if let (Asked::RngState { delta }, [to]) = (&call.routine, &outputs[..])
            && to.bytes == 16
        {
            return Ok(Planned::NextRandom {
                delta: *delta,
                to: *to,
            });
        }
        if let Asked::Registered(asked) = &call.routine {
            return Ok(Planned::Registered {
                call: Box::new(RegisteredCall::new(call, asked)),
                inputs: inputs.into(),
                outputs: outputs.into(),
            });
        }
        Ok(Planned::Routine {
            routine: crate::routine::plan(call, self.program, self.kernels)?,
            inputs: inputs.into(),
            outputs: outputs.into(),
        })
    }

    fn check_args(&self, kernel: &Kernel, args: &[BufferId]) -> Result<(), RunError> {
        if kernel.params.len() != args.len() {
            return Err(invalid(format!(
                "kernel `{}` has {} parameters, but is given {} buffers",
                kernel.name,
                kernel.params.len(),
                args.len()
            )));
        }
        for (param, id) in kernel.params.values().zip(args) {
            let buffer = self.buffer(*id)?;
            let fits = buffer.shape.element_type == param.element_type
                && buffer.shape.num_elements() == Some(param.num_elements());
            if !fits {
                return Err(invalid(format!(
                    "parameter `{}` of kernel `{}` is {}{:?}, but buffer {id} is {}",
                    param.name, kernel.name, param.element_type, param.dims, buffer.shape
                )));
            }
            match param.access {
                Access::Read => {}
                Access::Write | Access::ReadWrite => {
                    self.writable(*id)?;
                }
            }
        }
        Ok(())
    }

    fn buffer(&self, id: BufferId) -> Result<&Buffer, RunError> {
        let buffer = self.program.buffers.get(id);
        buffer.ok_or_else(|| invalid(format!("there is no buffer {id}")))
    }

    fn span(&self, id: BufferId) -> Result<Span, RunError> {
        let bytes = self.buffer(id)?.byte_size();
        let bytes = usize::try_from(bytes)
            .map_err(|_| invalid(format!("buffer {id} is larger than memory")))?;
        Ok(Span { buffer: id, bytes })
    }

    fn writable(&self, id: BufferId) -> Result<Span, RunError> {
        match self.buffer(id)?.kind {
            BufferKind::Result(_) | BufferKind::Temporary { .. } => self.span(id),
            BufferKind::Parameter(_) | BufferKind::Constant(_) => Err(invalid(format!(
                "a step writes {id}, which is only to be read"
            ))),
        }
    }

    fn has_shape(&self, id: BufferId, shape: &ArrayShape) -> Result<(), RunError> {
        let buffer = &self.buffer(id)?.shape;
        let fits = buffer.element_type == shape.element_type
            && buffer.num_elements() == shape.num_elements();
        if fits {
            return Ok(());
        }
        Err(invalid(format!("buffer {id} is {buffer}, not {shape}")))
    }

    /// The element type of a scalar, which is one of `types`.
    fn scalar(&self, id: BufferId, types: &[ElementType]) -> Result<ElementType, RunError> {
        let shape = &self.buffer(id)?.shape;
        if shape.num_elements() == Some(1) && types.contains(&shape.element_type) {
            return Ok(shape.element_type);
        }
        Err(invalid(format!("buffer {id} decides, but is {shape}")))
    }

    /// Whether two buffers share bytes. Exchanged temporaries have one size, and places apart stay so.
    fn overlap(&self, a: Span, b: Span) -> Result<bool, RunError> {
        let place = |span: Span| {
            Ok(match self.buffer(span.buffer)?.kind {
                BufferKind::Temporary { offset } => Some((offset, offset + span.bytes as u64)),
                BufferKind::Parameter(_) | BufferKind::Constant(_) | BufferKind::Result(_) => None,
            })
        };
        Ok(match (place(a)?, place(b)?) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            (_, _) => a.buffer.index() == b.buffer.index(),
        })
    }
}

fn invalid(message: impl Into<String>) -> RunError {
    RunError::InvalidProgram(message.into())
}

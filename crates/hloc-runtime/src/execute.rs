//! Running the steps of a program.

#![expect(
    unsafe_code,
    reason = "machine code is called, and buffers are reached through raw pointers"
)]

use crate::RunError;
use crate::buffers::{Pointer, Workspace};
use crate::observe::Observer;
use crate::plan::{Planned, PlannedStep, Span};
use crate::pool::WorkerPool;

/// Runs `steps` over the buffers that the workspace is bound to.
///
/// # Safety
/// `workspace` was bound to arrays of the program that the steps were planned for, and the arrays are
/// neither moved nor used by anyone else meanwhile. The kernels' machine code is in memory.
///
/// # Errors
/// [`RunError::CustomCall`] from a handler; no other step fails.
pub(crate) unsafe fn run_steps<O: Observer>(
    steps: &[PlannedStep],
    workspace: &mut Workspace,
    pool: &WorkerPool,
    observer: &O,
) -> Result<(), RunError> {
    for step in steps {
        let begin = observer.now();
        // SAFETY: passed on.
        unsafe { run_step(step, workspace, pool, observer)? };
        observer.step_done(step.number, begin);
    }
    Ok(())
}

/// # Safety
/// As [`run_steps`].
unsafe fn run_step<O: Observer>(
    step: &PlannedStep,
    workspace: &mut Workspace,
    pool: &WorkerPool,
    observer: &O,
) -> Result<(), RunError> {
    match &step.action {
        Planned::Kernel { entry, args, split } => {
            workspace.gather_args(args);
            let args = Pointer(workspace.args.as_mut_ptr().cast());
            pool.run(split.chunks(), &|chunk| {
                let started = observer.now();
                let (begin, end) = split.range(chunk);
                // A copy of the whole, which may be sent to other threads.
                let Pointer(table) = { args };
                // SAFETY: `Plan` has checked that the table has a pointer to a buffer of the right type and
                // size for each parameter, and that those written are not shared; the loop verifier has
                // proved all accesses in bounds and iterations of a parallel loop independent.
                unsafe { entry(table.cast_const().cast(), begin, end) };
                observer.chunk_done(step.number, chunk, started);
            });
        }
        Planned::Dot {
            plan,
            operands: [lhs, rhs],
            result,
        } => {
            // SAFETY: `Plan` has checked sizes and that the result overlaps no operand; scratch memory is
            // the workspace's own.
            unsafe {
                let lhs = read(workspace, *lhs);
                let rhs = read(workspace, *rhs);
                let result = write(workspace, *result);
                plan.run(lhs, rhs, result, workspace.scratch.bytes_mut(), pool);
            }
        }
        Planned::Routine {
            routine,
            inputs,
            outputs,
        } => {
            // SAFETY: `Plan` has checked sizes and that the outputs overlap no other buffer.
            let (inputs, mut outputs): (Vec<&[u8]>, Vec<&mut [u8]>) = unsafe {
                (
                    inputs.iter().map(|span| read(workspace, *span)).collect(),
                    outputs.iter().map(|span| write(workspace, *span)).collect(),
                )
            };
            routine.run(&inputs, &mut outputs, pool);
        }
        Planned::NextRandom { delta, to } => {
            let state = workspace.next_random(*delta);
            // SAFETY: `Plan` has checked that the buffer may be written.
            let target = unsafe { write(workspace, *to) };
            // The low word first.
            target.copy_from_slice(&state.to_le_bytes());
        }
        Planned::Registered {
            call,
            inputs,
            outputs,
        } => {
            // SAFETY: as for a routine.
            let (inputs, mut outputs): (Vec<&[u8]>, Vec<&mut [u8]>) = unsafe {
                (
                    inputs.iter().map(|span| read(workspace, *span)).collect(),
                    outputs.iter().map(|span| write(workspace, *span)).collect(),
                )
            };
            call.run(&inputs, &mut outputs)?;
        }
        Planned::Copy { from, to } => {
            let (source, target) = (workspace.pointer(from.buffer), workspace.pointer(*to));
            // SAFETY: both buffers have this size; `copy` permits overlap.
            unsafe { std::ptr::copy(source.0.cast_const(), target.0, from.bytes) };
        }
        Planned::Swap(a, b) => workspace.swap(*a, *b),
        Planned::While {
            condition,
            predicate,
            body,
        } => loop {
            // SAFETY: passed on; the predicate is one byte.
            unsafe {
                run_steps(condition, workspace, pool, observer)?;
                if workspace.pointer(*predicate).0.read() == 0 {
                    break;
                }
                run_steps(body, workspace, pool, observer)?;
                observer.iterated(step.number);
            }
        },
        Planned::Conditional {
            index,
            is_predicate,
            branches,
        } => {
            let pointer = workspace.pointer(*index).0;
            // SAFETY: passed on; the index is one byte or four, at a multiple of its size.
            unsafe {
                let branch = if *is_predicate {
                    usize::from(pointer.read() == 0)
                } else {
                    usize::try_from(pointer.cast::<i32>().read()).unwrap_or(usize::MAX)
                };
                let last = branches.len() - 1;
                run_steps(&branches[branch.min(last)], workspace, pool, observer)?;
            }
        }
    }
    Ok(())
}

/// # Safety
/// The buffer is not written while the slice is used.
unsafe fn read<'a>(workspace: &Workspace, span: Span) -> &'a [u8] {
    // SAFETY: the buffer has this many bytes (`Plan`), and its memory outlives the run.
    unsafe { std::slice::from_raw_parts(workspace.pointer(span.buffer).0, span.bytes) }
}

/// # Safety
/// The buffer is not otherwise used while the slice is.
unsafe fn write<'a>(workspace: &Workspace, span: Span) -> &'a mut [u8] {
    // SAFETY: as in `read`.
    unsafe { std::slice::from_raw_parts_mut(workspace.pointer(span.buffer).0, span.bytes) }
}

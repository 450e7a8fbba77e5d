//! Walks through computations and hands each instruction its operands.

use std::cell::{Cell, OnceCell};

use hloc_ir::{
    Computation, ComputationId, CustomCalls, Id, InstrId, Instruction, Literal, Module, Op, Shape,
};

use crate::{EvalError, MAX_CALL_DEPTH, ops};

/// What one run changes, and what is worked out once for it.
pub(crate) struct Run {
    /// The counter behind `rng`.
    random: Cell<u128>,
    /// Per computation whether it draws random numbers.
    draws: OnceCell<Vec<bool>>,
}

impl Run {
    /// The state at the start of a program: that of XLA.
    pub(crate) fn new() -> Run {
        Run {
            random: Cell::new(117_515_157),
            draws: OnceCell::new(),
        }
    }
}

/// Evaluates computations of one module, so many calls deep.
#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'m> {
    pub(crate) module: &'m Module,
    run: &'m Run,
    /// What answers custom calls that the evaluator does not know.
    pub(crate) calls: &'m CustomCalls,
    depth: usize,
}

impl<'m> Evaluator<'m> {
    pub(crate) fn new(module: &'m Module, run: &'m Run, calls: &'m CustomCalls) -> Evaluator<'m> {
        Evaluator {
            module,
            run,
            calls,
            depth: 0,
        }
    }

    /// The counter behind `rng`, which moves on by so much.
    pub(crate) fn next_random(self, delta: u128) -> u128 {
        let state = self.run.random.get();
        self.run.random.set(state.wrapping_add(delta));
        state
    }

    /// Whether an instruction moves the counter behind `rng`, in what it calls too.
    ///
    /// Such instructions run even if nothing uses what they give.
    fn draws(self, instruction: &Instruction) -> bool {
        let draws = self.run.draws.get_or_init(|| draws(self.module));
        is_drawing(&instruction.op, draws)
    }

    /// The result of a computation for these arguments.
    pub(crate) fn computation(
        self,
        id: ComputationId,
        mut arguments: Vec<Literal>,
    ) -> Result<Literal, EvalError> {
        if self.depth == MAX_CALL_DEPTH {
            let message = format!("calls are nested deeper than {MAX_CALL_DEPTH}");
            return Err(EvalError::limit(message));
        }
        let inner = Evaluator {
            depth: self.depth + 1,
            ..self
        };
        let computation = self.called(id)?;
        let last_uses = last_uses(computation, |instruction| self.draws(instruction));
        let mut values: Vec<Option<Literal>> = vec![None; computation.instructions.len()];
        for (id, instruction) in computation.instructions.iter() {
            let Some(_) = last_uses[id.index()] else {
                continue;
            };
            let value = if let Op::Parameter { number } = instruction.op {
                take_argument(&mut arguments, number).map_err(|error| error.at(instruction))?
            } else {
                let operands = take_operands(&instruction.operands, id, &last_uses, &mut values);
                inner
                    .instruction(computation, instruction, operands)
                    .map_err(|error| error.at(instruction))?
            };
            values[id.index()] = Some(value);
        }
        values[computation.root.index()]
            .take()
            .ok_or_else(|| EvalError::argument(format!("`{}` has no root", computation.name)))
    }

    fn instruction(
        self,
        computation: &Computation,
        instruction: &Instruction,
        operands: Vec<Literal>,
    ) -> Result<Literal, EvalError> {
        if let (Op::Bitcast {}, [operand]) = (&instruction.op, &instruction.operands[..]) {
            let from = &computation.instructions[*operand].shape;
            return ops::apply_bitcast(operands, from, &instruction.shape);
        }
        if let Op::CustomCall { .. } = &instruction.op {
            return ops::custom_call(self.calls, instruction, operands);
        }
        let declared = computation.operand_shapes(instruction);
        let (op, shape) = (&instruction.op, &instruction.shape);
        if !ops::is_dynamic(&declared, &operands, shape) {
            return ops::apply(self, op, operands, shape);
        }
        let mut operands = operands;
        let real = ops::resolve(self, op, &declared, &mut operands, shape)?;
        ops::apply(self, &real.op, operands, &real.shape)
    }

    /// The computation `id`.
    pub(crate) fn called(self, id: ComputationId) -> Result<&'m Computation, EvalError> {
        self.module
            .computations
            .get(id)
            .ok_or_else(|| EvalError::argument(format!("there is no computation {id}")))
    }
}

/// Each parameter is one instruction, so its argument may be moved.
fn take_argument(arguments: &mut [Literal], number: i64) -> Result<Literal, EvalError> {
    usize::try_from(number)
        .ok()
        .and_then(|number| arguments.get_mut(number))
        .map(|argument| std::mem::replace(argument, Literal::Tuple(Vec::new())))
        .ok_or_else(|| EvalError::argument(format!("there is no argument {number}")))
}

/// Per computation whether it draws random numbers. Called ones stand before their callers.
fn draws(module: &Module) -> Vec<bool> {
    let mut draws = Vec::with_capacity(module.computations.len());
    for computation in module.computations.values() {
        let mut instructions = computation.instructions.values();
        let drawing = instructions.any(|instruction| is_drawing(&instruction.op, &draws));
        draws.push(drawing);
    }
    draws
}

fn is_drawing(op: &Op, draws: &[bool]) -> bool {
    if let Op::Rng { .. } | Op::RngGetAndUpdateState { .. } = op {
        return true;
    }
    let called = op.called_computations();
    called.iter().any(|id| draws.get(id.index()) == Some(&true))
}

/// The last user of each instruction, `None` if the root does not depend on it and it is not to be run
/// `anyway`. The root uses itself.
fn last_uses(
    computation: &Computation,
    anyway: impl Fn(&Instruction) -> bool,
) -> Vec<Option<InstrId>> {
    let mut last_uses = vec![None; computation.instructions.len()];
    if let Some(last_use) = last_uses.get_mut(computation.root.index()) {
        *last_use = Some(computation.root);
    }
    // Operands have smaller ids than their users, so one backward walk finds everything live.
    for (id, instruction) in computation.instructions.iter().rev() {
        if last_uses[id.index()].is_none() {
            if !anyway(instruction) {
                continue;
            }
            last_uses[id.index()] = Some(id);
        }
        for operand in &instruction.operands {
            last_uses[operand.index()].get_or_insert(id);
        }
    }
    last_uses
}

/// The operands' values. A value used for the last time is moved, so that ops may update it in place.
fn take_operands(
    operands: &[InstrId],
    user: InstrId,
    last_uses: &[Option<InstrId>],
    values: &mut [Option<Literal>],
) -> Vec<Literal> {
    let last = |at: usize| {
        let operand = operands[at];
        last_uses[operand.index()] == Some(user) && !operands[at + 1..].contains(&operand)
    };
    (0..operands.len())
        .map(|at| {
            let value = &mut values[operands[at].index()];
            let taken = if last(at) {
                value.take()
            } else {
                value.clone()
            };
            taken.expect("operands stand before their users and live until the last of them")
        })
        .collect()
}

/// Whether a value is one of this shape; a token's value is an empty tuple, and dynamic dimensions may be
/// smaller than their bounds.
pub(crate) fn holds_value_of(shape: &Shape, value: &Literal) -> bool {
    match (shape, value) {
        (Shape::Array(shape), Literal::Array(array)) => {
            let fits = |(at, (bound, size)): (usize, (&i64, &i64))| {
                size == bound || (shape.is_dynamic(at) && size <= bound)
            };
            shape.element_type == array.element_type()
                && shape.num_dims() == array.num_dims()
                && shape.dims.iter().zip(array.dims()).enumerate().all(fits)
        }
        (Shape::Tuple(shapes), Literal::Tuple(values)) => {
            shapes.len() == values.len()
                && shapes
                    .iter()
                    .zip(values)
                    .all(|(shape, value)| holds_value_of(shape, value))
        }
        (Shape::Token, Literal::Tuple(values)) => values.is_empty(),
        (
            Shape::Array(_) | Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_),
            Literal::Array(_) | Literal::Tuple(_),
        ) => false,
    }
}

//! Calling a computation of scalars many times: reducers, comparators, selectors.

use hloc_ir::{ComputationId, ElementType, Literal};
use hloc_tensor::Array;

use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::{ScalarProgram, Value};

/// A computation that takes and gives scalars.
pub(super) struct Callee<'m> {
    evaluator: Evaluator<'m>,
    id: ComputationId,
    /// Element types of the parameters.
    parameters: Vec<ElementType>,
    /// The computation as steps with their registers, if it holds scalar ops only.
    program: Option<(ScalarProgram, Vec<Value>)>,
}

impl<'m> Callee<'m> {
    /// Prepares the computation `id` for calls with `count` arguments.
    pub(super) fn new(
        evaluator: Evaluator<'m>,
        id: ComputationId,
        count: usize,
    ) -> Result<Callee<'m>, EvalError> {
        let computation = evaluator.called(id)?;
        let parameters: Option<Vec<ElementType>> = computation
            .program_shape()
            .parameters
            .iter()
            .map(|shape| shape.as_array().filter(|shape| shape.is_scalar()))
            .map(|shape| shape.map(|shape| shape.element_type))
            .collect();
        let parameters = parameters
            .filter(|parameters| parameters.len() == count)
            .ok_or_else(|| {
                EvalError::argument(format!(
                    "`{}` does not take {count} scalars",
                    computation.name
                ))
            })?;
        let program = ScalarProgram::compile(evaluator.module, id)
            .filter(|program| program.num_parameters() == count)
            .map(|program| {
                let registers = program.registers();
                (program, registers)
            });
        Ok(Callee {
            evaluator,
            id,
            parameters,
            program,
        })
    }

    /// Calls with these arguments and writes the results to the front of `results`.
    pub(super) fn call(
        &mut self,
        arguments: impl Iterator<Item = Value>,
        results: &mut [Value],
    ) -> Result<(), EvalError> {
        let Some((program, registers)) = &mut self.program else {
            return self.call_slowly(arguments, results);
        };
        for (register, argument) in registers.iter_mut().zip(arguments) {
            *register = argument;
        }
        program
            .run(registers)
            .ok_or_else(|| EvalError::argument("arguments do not fit the called computation"))?;
        for (result, register) in results.iter_mut().zip(program.results()) {
            *result = registers[*register];
        }
        Ok(())
    }

    /// Whether a comparator or selector says so.
    pub(super) fn holds(
        &mut self,
        arguments: impl Iterator<Item = Value>,
    ) -> Result<bool, EvalError> {
        let mut result = [Value::Pred(false)];
        self.call(arguments, &mut result)?;
        Ok(result[0] == Value::Pred(true))
    }

    fn call_slowly(
        &self,
        arguments: impl Iterator<Item = Value>,
        results: &mut [Value],
    ) -> Result<(), EvalError> {
        let mut literals = Vec::new();
        for (argument, ty) in arguments.zip(&self.parameters) {
            let mut array = Array::zeros(*ty, &[])?;
            argument.write(*ty, array.bytes_mut());
            literals.push(Literal::Array(array));
        }
        let leaves = self.evaluator.computation(self.id, literals)?.into_leaves();
        if leaves.len() < results.len() || leaves.iter().any(|leaf| leaf.num_elements() != 1) {
            return Err(EvalError::argument(
                "the called computation does not give scalars",
            ));
        }
        for (result, leaf) in results.iter_mut().zip(&leaves) {
            *result = Value::at(leaf, 0);
        }
        Ok(())
    }
}

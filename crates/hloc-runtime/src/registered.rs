//! Custom calls that the program around hloc answers.

use hloc_ir::{ArrayShape, CustomCall};
use hloc_loops::routine::{Registered, RoutineCall};
use hloc_tensor::{Array, TensorError};

use crate::RunError;

/// A call with the shapes of its arrays.
#[derive(Debug)]
pub(crate) struct RegisteredCall {
    asked: Registered,
    inputs: Vec<ArrayShape>,
    outputs: Vec<ArrayShape>,
}

impl RegisteredCall {
    pub(crate) fn new(call: &RoutineCall, asked: &Registered) -> RegisteredCall {
        RegisteredCall {
            asked: asked.clone(),
            inputs: call.inputs.clone(),
            outputs: call.outputs.clone(),
        }
    }

    /// Calls the handler with copies of the inputs and copies what it gives.
    ///
    /// # Errors
    /// [`RunError::CustomCall`], [`RunError::OutOfMemory`].
    pub(crate) fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), RunError> {
        let arrays = self.inputs.iter().zip(inputs).map(|(shape, bytes)| {
            let mut array = Array::zeros(shape.element_type, &shape.dims)?;
            array.bytes_mut().copy_from_slice(bytes);
            Ok(array)
        });
        let arrays: Vec<Array> = arrays
            .collect::<Result<_, TensorError>>()
            .map_err(RunError::OutOfMemory)?;
        let call = CustomCall {
            target: &self.asked.target,
            operands: &arrays,
            results: &self.outputs,
            backend_config: &self.asked.backend_config,
        };
        let given = self.asked.handler.call(&call);
        let given = given.map_err(|message| RunError::CustomCall {
            target: self.asked.target.clone(),
            message,
        })?;
        for (array, bytes) in given.iter().zip(outputs) {
            bytes.copy_from_slice(array.bytes());
        }
        Ok(())
    }
}

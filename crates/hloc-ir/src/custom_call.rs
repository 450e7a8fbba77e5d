//! Custom calls that the program around hloc answers.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hloc_tensor::Array;

use crate::{ArrayShape, BackendConfig, Instruction};

/// One call, as its handler sees it.
#[derive(Clone, Copy, Debug)]
pub struct CustomCall<'a> {
    /// The name that is called.
    pub target: &'a str,
    /// The operands.
    pub operands: &'a [Array],
    /// Element type and dimensions of each array that must come back, tuples flattened.
    pub results: &'a [ArrayShape],
    /// The text of `backend_config`: without quotes, with braces; empty if there is none.
    pub backend_config: &'a str,
}

type Function = dyn Fn(&CustomCall<'_>) -> Result<Vec<Array>, String> + Send + Sync;

/// What answers calls of one target.
///
/// Two handlers are equal if one is a clone of the other.
#[derive(Clone)]
pub struct CustomCallHandler(Arc<Function>);

impl CustomCallHandler {
    /// Answers calls by `function`, whose error is a message.
    pub fn new(
        function: impl Fn(&CustomCall<'_>) -> Result<Vec<Array>, String> + Send + Sync + 'static,
    ) -> CustomCallHandler {
        CustomCallHandler(Arc::new(function))
    }

    /// The arrays that the handler gives.
    ///
    /// # Errors
    /// The handler's message; that it panicked; that it gave other arrays than [`CustomCall::results`] says.
    pub fn call(&self, call: &CustomCall<'_>) -> Result<Vec<Array>, String> {
        let given = catch_unwind(AssertUnwindSafe(|| (self.0)(call)))
            .map_err(|panic| format!("it panicked: {}", text_of(&*panic)))??;
        if given.len() != call.results.len() {
            let wanted = call.results.len();
            return Err(format!(
                "it gave {} arrays instead of {wanted}",
                given.len()
            ));
        }
        for (number, (array, shape)) in given.iter().zip(call.results).enumerate() {
            if array.element_type() != shape.element_type || *array.dims() != shape.dims[..] {
                let given = ArrayShape::new(array.element_type(), array.dims());
                return Err(format!(
                    "it gave {given} as result {number} instead of {shape}"
                ));
            }
        }
        Ok(given)
    }
}

impl fmt::Debug for CustomCallHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomCallHandler")
    }
}

impl PartialEq for CustomCallHandler {
    fn eq(&self, other: &CustomCallHandler) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a panic says, if it says something.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// Handlers by target.
///
/// ```
/// use hloc_ir::{CustomCallHandler, CustomCalls};
///
/// let mut calls = CustomCalls::new();
/// calls.register("pass", CustomCallHandler::new(|call| Ok(call.operands.to_vec())));
/// assert!(calls.get("pass").is_some() && calls.get("other").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CustomCalls(BTreeMap<Box<str>, CustomCallHandler>);

impl CustomCalls {
    /// No handlers.
    pub const fn new() -> CustomCalls {
        CustomCalls(BTreeMap::new())
    }

    /// Lets `handler` answer calls of `target`, in place of one that did before.
    pub fn register(&mut self, target: impl Into<Box<str>>, handler: CustomCallHandler) {
        self.0.insert(target.into(), handler);
    }

    /// The handler of a target.
    pub fn get(&self, target: &str) -> Option<&CustomCallHandler> {
        self.0.get(target)
    }
}

impl Instruction {
    /// The text of `backend_config`: without quotes, with braces; empty if there is none.
    pub fn backend_config(&self) -> &str {
        let attributes = self.attributes.as_ref();
        match attributes.and_then(|attributes| attributes.backend_config.as_ref()) {
            Some(BackendConfig::Braces(text) | BackendConfig::String(text)) => text,
            None => "",
        }
    }
}

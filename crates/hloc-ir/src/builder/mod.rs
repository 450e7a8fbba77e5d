//! Modules built by a program: [`Builder`], the typed API in the manner of `XlaBuilder`.
//!
//! Every method adds one instruction (a few, where its text says so), works out the result shape by
//! the rule that the verifier uses, and gives a [`Value`]. A mistake is remembered with the line of the
//! caller; the value that comes back is then poisoned, and what is built of it is left out without a
//! further word, so one mistake gives one [`Diagnostic`]. [`Builder::build`] gives the module or all
//! mistakes; nothing here panics.
//!
//! ```
//! use hloc_ir::{Builder, ElementType, Shape};
//!
//! let b = Builder::new("axpy");
//! let a = b.parameter(Shape::scalar(ElementType::F32), "a");
//! let x = b.parameter(Shape::array(ElementType::F32, &[3]), "x");
//! let module = b.build(b.multiply(a, x)).expect("the shapes fit");
//! assert_eq!(module.entry().root().shape.to_string(), "f32[3]");
//! ```

mod array;
mod batch;
mod calls;
mod elementwise;
mod library;
pub mod numpy;
mod report;
mod state;
#[cfg(test)]
mod tests;

use std::cell::{RefCell, RefMut};
use std::panic::Location;
use std::rc::Rc;

use hloc_diag::Diagnostic;
use hloc_tensor::{Array, Element, ElementType, Scalar};

pub use batch::BatchNorm;
pub use calls::{Callee, ScatterNumbers};
pub use library::{ConvolutionNumbers, DotNumbers, GatherNumbers};

use crate::{ArrayShape, FrontendValue, Literal, Module, Op, Shape};
use state::{Place, Shared};

/// The codes of the mistakes that only a builder can find, each with its rule in a sentence.
pub const CODES: &[(&str, &str)] = &[
    (
        "builder-broadcast-in-dim",
        "`broadcast_in_dim` takes one result dimension for each operand dimension, in range and strictly increasing; \
         the operand's size there is 1 or the result's, and no operand dimension is dynamic.",
    ),
    (
        "builder-foreign-value",
        "Operands and computations come from the builder that uses them.",
    ),
    (
        "builder-lengths",
        "Lists that speak of the same dimensions have one entry for each.",
    ),
    (
        "builder-name",
        "Names begin with a letter or `_` and go on with letters, digits, `_`, `.` and `-`, all ASCII, and are \
         not the name of a type (`f32`, `token`): other names could not be read back from the printed text.",
    ),
    (
        "builder-outer-value",
        "A computation sees its own instructions only: what a closure needs from outside is passed as an operand.",
    ),
    (
        "builder-parameter",
        "Parameters are made by `parameter`, in the order of their numbers; those of a closure are its arguments.",
    ),
    (
        "numpy-broadcast",
        "Shapes are aligned on the right and padded with 1; sizes that meet are equal, or one of them is 1.",
    ),
];

/// The result of an instruction of a [`Builder`].
///
/// A copyable handle, of use only with the builder that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    builder: u32,
    frame: u32,
    index: u32,
}

impl Value {
    const POISON: u32 = u32::MAX;

    /// Whether a mistake led to this value, so that there is no instruction behind it.
    pub fn is_poisoned(self) -> bool {
        self.index == Value::POISON
    }
}

/// Builds a [`Module`]; see the [module's text](crate::builder).
#[derive(Debug)]
pub struct Builder {
    shared: Rc<RefCell<Shared>>,
    frame: u32,
}

impl Builder {
    /// A builder of a module with this name and an entry computation `main`.
    ///
    /// A name that HLO text cannot hold is a mistake that [`Builder::build`] tells (`builder-name`).
    #[track_caller]
    pub fn new(name: &str) -> Builder {
        let at = Location::caller();
        Builder {
            shared: Rc::new(RefCell::new(Shared::new(name, at))),
            frame: 0,
        }
    }

    /// Whether instructions carry the caller's file and line as metadata, so that later stages can name
    /// them; they do unless told otherwise.
    pub fn record_places(&self, record: bool) {
        self.shared().records_places = record;
    }

    /// The module so far, with `root` as its result. The builder can be used on.
    ///
    /// # Errors
    /// Every mistake made so far, in the order of the calls; each names the line of the call.
    #[track_caller]
    pub fn build(&self, root: Value) -> Result<Module, Vec<Diagnostic>> {
        let at = Location::caller();
        self.shared().module(root, at)
    }

    /// The mistakes made so far, in the order of the calls.
    pub fn errors(&self) -> Vec<Diagnostic> {
        self.shared().errors.clone()
    }

    /// What is valid so far but probably not meant, such as an accidental outer product.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.shared().warnings.clone()
    }

    /// The shape of a value; none if it is poisoned or another builder's.
    pub fn shape(&self, value: Value) -> Option<Shape> {
        self.shared().shape(value).cloned()
    }

    /// The dimension sizes of a value; none if it is poisoned, another builder's, or no array.
    pub fn dims(&self, value: Value) -> Option<Vec<i64>> {
        Some(self.array_shape(value)?.dims.to_vec())
    }

    /// Any instruction, for ops without a method of their own.
    ///
    /// `shape` is needed where the op does not settle it (`custom-call`, `rng`, `infeed` ...); where it
    /// does, a shape that is given must agree.
    #[track_caller]
    pub fn instruction(&self, op: Op, operands: &[Value], shape: Option<Shape>) -> Value {
        let at = Location::caller();
        if let Op::Parameter { .. } = op {
            return self.mistake(
                "builder-parameter",
                "a parameter is made as an instruction",
                Some("call `parameter`"),
                at,
            );
        }
        self.emit(op, operands, shape, at)
    }

    /// The next argument of the module: the first call makes number 0.
    #[track_caller]
    pub fn parameter(&self, shape: Shape, name: &str) -> Value {
        let at = Location::caller();
        if self.frame != 0 {
            return self.mistake(
                "builder-parameter",
                format!("the closure asks for a parameter `{name}` of its own"),
                Some("use the closure's arguments"),
                at,
            );
        }
        self.shared().parameter(0, shape, name, at)
    }

    /// A constant array.
    #[track_caller]
    pub fn constant(&self, array: Array) -> Value {
        let literal = array.into();
        self.emit(Op::Constant { literal }, &[], None, Location::caller())
    }

    /// A constant of any shape.
    #[track_caller]
    pub fn literal(&self, literal: Literal) -> Value {
        let literal = literal.into();
        self.emit(Op::Constant { literal }, &[], None, Location::caller())
    }

    /// A constant without dimensions: `b.scalar(1.5f32)`.
    #[track_caller]
    pub fn scalar<T: Element>(&self, value: T) -> Value {
        let literal = Array::scalar(value).into();
        self.emit(Op::Constant { literal }, &[], None, Location::caller())
    }

    /// A constant without dimensions, converted to `element_type` as `convert` does.
    ///
    /// A value that the type cannot hold is told among the [warnings](Builder::warnings) as
    /// `constant-overflow`.
    #[track_caller]
    pub fn scalar_of(&self, element_type: ElementType, value: f64) -> Value {
        let at = Location::caller();
        let Ok(mut array) = Array::zeros(element_type, &[]) else {
            return self.mistake("shape_c2", "there is no memory for a scalar", None, at);
        };
        array.set(0, Scalar::Float(value));
        let kept = array.get(0).to_f64();
        if is_lost(element_type, value, kept) {
            self.warn(
                "constant-overflow",
                format!("the constant {value} becomes {kept} as {element_type}"),
                at,
            );
        }
        let literal = array.into();
        self.emit(Op::Constant { literal }, &[], None, at)
    }

    /// Gives the instruction behind `value` a name; a number is added where it is taken.
    #[track_caller]
    pub fn name(&self, value: Value, name: &str) -> Value {
        let at = Location::caller();
        self.shared().rename(self.frame, value, name, at);
        value
    }

    /// Sets a frontend attribute of the instruction behind `value`:
    /// `b.frontend_attribute(d, "hloc.allow", "accidental-outer-product")` silences a lint.
    #[track_caller]
    pub fn frontend_attribute(&self, value: Value, key: &str, text: &str) -> Value {
        let at = Location::caller();
        if let Some(instruction) = self.shared().instruction_mut(self.frame, value, at) {
            let attributes = instruction.attributes.get_or_insert_default();
            let text = FrontendValue::String(text.into());
            attributes.frontend_attributes.insert(key.into(), text);
        }
        value
    }

    fn shared(&self) -> RefMut<'_, Shared> {
        self.shared.borrow_mut()
    }

    fn emit(&self, op: Op, operands: &[Value], declared: Option<Shape>, at: Place) -> Value {
        self.shared().emit(self.frame, op, operands, declared, at)
    }

    fn mistake(
        &self,
        code: &'static str,
        message: impl Into<String>,
        help: Option<&str>,
        at: Place,
    ) -> Value {
        let mut shared = self.shared();
        shared.mistake(code, message.into(), help, at);
        shared.poison()
    }

    fn warn(&self, code: &'static str, message: impl Into<String>, at: Place) {
        self.shared().warn(code, message.into(), &[], at);
    }

    fn array_shape(&self, value: Value) -> Option<ArrayShape> {
        self.shared().shape(value)?.as_array().cloned()
    }

    /// The shape that `derive` makes of an array; of anything else one that no rule gets to look at,
    /// because rules look at operands first.
    fn derived(&self, value: Value, derive: impl FnOnce(&ArrayShape) -> ArrayShape) -> Shape {
        match self.array_shape(value) {
            Some(array) => Shape::Array(derive(&array)),
            None => Shape::Token,
        }
    }
}

/// Whether a type holds something else than `value`, rounding aside.
fn is_lost(element_type: ElementType, value: f64, kept: f64) -> bool {
    if element_type.is_predicate() || !value.is_finite() {
        return false;
    }
    if element_type.is_integer() {
        return kept != value.trunc();
    }
    !kept.is_finite() || value.abs() >= 1.0 && (kept - value).abs() > value.abs() * 0.5
}

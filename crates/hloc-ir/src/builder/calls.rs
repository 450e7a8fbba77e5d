//! Instructions with computations of their own, which closures build.

use std::panic::Location;

use super::state::Place;
use super::{Builder, Value};
use crate::attr::{ElidedDims, Window};
use crate::{ComputationId, ElementType, Id, Op, Shape};

/// A computation that a builder has completed, to be called by instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Callee {
    builder: u32,
    id: ComputationId,
}

impl Callee {
    /// The id for ops that [`Builder::instruction`] makes; of no use in another builder.
    ///
    /// An instruction with the id of a computation that could not be built is poisoned.
    pub fn id(self) -> ComputationId {
        self.id
    }
}

/// The id of computations that mistakes kept from being built.
pub(super) fn poisoned_computation() -> ComputationId {
    ComputationId::from_index(u32::MAX as usize)
}

/// An id that names nothing: the rule of the op says what is wrong with the operands before it looks.
fn no_computation() -> ComputationId {
    ComputationId::from_index(u32::MAX as usize - 1)
}

/// Where the updates of a `scatter` go; see its op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are the HLO attributes of the same name"
)]
pub struct ScatterNumbers {
    pub update_window_dims: Vec<i64>,
    pub inserted_window_dims: Vec<i64>,
    pub scatter_dims_to_operand_dims: Vec<i64>,
    pub input_batching_dims: Vec<i64>,
    pub scatter_indices_batching_dims: Vec<i64>,
    pub index_vector_dim: i64,
    pub indices_are_sorted: bool,
    pub unique_indices: bool,
}

impl Builder {
    /// A computation of these parameters, whose result is what `body` gives. `body` gets a builder of
    /// the computation and its parameters; values from outside may not be used in it.
    #[track_caller]
    pub fn computation(
        &self,
        name: &str,
        parameters: &[Shape],
        body: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Callee {
        let at = Location::caller();
        let id = self.traced(name, parameters, at, body);
        let builder = self.shared().id();
        Callee { builder, id }
    }

    fn traced(
        &self,
        name: &str,
        parameters: &[Shape],
        at: Place,
        body: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> ComputationId {
        let frame = self.shared().begin(name, at);
        let inner = Builder {
            shared: std::rc::Rc::clone(&self.shared),
            frame,
        };
        let argument = |(number, shape): (usize, &Shape)| {
            let name = format!("arg{number}");
            inner.shared().parameter(frame, shape.clone(), &name, at)
        };
        let arguments: Vec<Value> = parameters.iter().enumerate().map(argument).collect();
        let root = body(&inner, &arguments);
        let finished = self.shared().finish(frame, root, at);
        finished.unwrap_or_else(poisoned_computation)
    }

    /// The id of a computation of this builder; of another's a mistake and the poisoned id.
    fn own(&self, callee: Callee, at: Place) -> ComputationId {
        let mut shared = self.shared();
        if callee.builder == shared.id() {
            return callee.id;
        }
        let message = "the called computation belongs to another builder".to_owned();
        let help = "build each module with the computations of its own builder";
        shared.mistake("builder-foreign-value", message, Some(help), at);
        poisoned_computation()
    }

    /// Scalars of the values' element types; none if a value has no shape or is no array.
    fn element_scalars(&self, values: &[Value]) -> Option<Vec<Shape>> {
        let scalar = |value: &Value| Some(Shape::scalar(self.array_shape(*value)?.element_type));
        values.iter().map(scalar).collect()
    }

    /// A computation of scalars over the elements of `first` and `second`, unless they have none.
    fn over_elements(
        &self,
        name: &str,
        first: &[Value],
        second: &[Value],
        at: Place,
        body: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> ComputationId {
        let parameters = self
            .element_scalars(first)
            .zip(self.element_scalars(second))
            .map(|(first, second)| [first, second].concat());
        match parameters {
            Some(parameters) => self.traced(name, &parameters, at, body),
            None => no_computation(),
        }
    }

    /// Runs a computation on operands.
    #[track_caller]
    pub fn call(&self, callee: Callee, operands: &[Value]) -> Value {
        let at = Location::caller();
        let op = Op::Call {
            to_apply: self.own(callee, at),
            is_composite: false,
        };
        self.emit(op, operands, None, at)
    }

    /// Combines all elements along `dimensions`, beginning with the scalar `init`: the closure gets the
    /// value so far and an element.
    ///
    /// ```
    /// # use hloc_ir::{Builder, ElementType, Shape};
    /// let b = Builder::new("sum");
    /// let x = b.parameter(Shape::array(ElementType::F32, &[2, 3]), "x");
    /// let sum = b.reduce(x, b.scalar(0f32), &[1], |b, args| b.add(args[0], args[1]));
    /// assert_eq!(b.dims(sum), Some(vec![2]));
    /// ```
    #[track_caller]
    pub fn reduce(
        &self,
        x: Value,
        init: Value,
        dimensions: &[i64],
        combine: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        self.reduced(&[x], &[init], dimensions, Location::caller(), combine)
    }

    /// As [`Builder::reduce`] for several arrays together: the closure gets the values so far, then one
    /// element of each array, and gives a tuple.
    #[track_caller]
    pub fn reduce_many(
        &self,
        arrays: &[Value],
        inits: &[Value],
        dimensions: &[i64],
        combine: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        self.reduced(arrays, inits, dimensions, Location::caller(), combine)
    }

    fn reduced(
        &self,
        arrays: &[Value],
        inits: &[Value],
        dimensions: &[i64],
        at: Place,
        combine: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let op = Op::Reduce {
            dimensions: dimensions.to_vec(),
            to_apply: self.over_elements("reducer", inits, arrays, at, combine),
        };
        self.emit(op, &[arrays, inits].concat(), None, at)
    }

    /// Combines the elements of each window, beginning with the scalar `init`.
    #[track_caller]
    pub fn reduce_window(
        &self,
        x: Value,
        init: Value,
        window: Window,
        combine: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let op = Op::ReduceWindow {
            window: Some(window),
            to_apply: self.over_elements("reducer", &[init], &[x], at, combine),
        };
        self.emit(op, &[x, init], None, at)
    }

    /// In each window of `x` the element is found that `select` prefers, and the source value of that
    /// window is combined into its place by `scatter`.
    #[track_caller]
    pub fn select_and_scatter(
        &self,
        x: Value,
        source: Value,
        init: Value,
        window: Window,
        select: impl FnOnce(&Builder, &[Value]) -> Value,
        scatter: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let op = Op::SelectAndScatter {
            window: Some(window),
            select: self.over_elements("select", &[x], &[x], at, select),
            scatter: self.over_elements("combine", &[init], &[source], at, scatter),
        };
        self.emit(op, &[x, source, init], None, at)
    }

    /// Applies a computation of scalars to the elements of arrays of one shape.
    #[track_caller]
    pub fn map(&self, arrays: &[Value], apply: impl FnOnce(&Builder, &[Value]) -> Value) -> Value {
        let at = Location::caller();
        let num_dims = arrays.first().and_then(|x| self.array_shape(*x));
        let num_dims = num_dims.map_or(0, |array| array.num_dims());
        let op = Op::Map {
            dimensions: ElidedDims((0..num_dims as i64).collect()),
            to_apply: self.over_elements("mapped", arrays, &[], at, apply),
        };
        self.emit(op, arrays, None, at)
    }

    /// Sorts along `dimension`; the closure says whether its first argument stands before its second.
    ///
    /// Several arrays are moved together: the closure gets two elements of each, and a tuple comes back.
    #[track_caller]
    pub fn sort(
        &self,
        arrays: &[Value],
        dimension: i64,
        is_stable: bool,
        compare: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let twice: Vec<Value> = arrays.iter().flat_map(|x| [*x, *x]).collect();
        let op = Op::Sort {
            dimensions: vec![dimension],
            is_stable,
            to_apply: self.over_elements("comparator", &twice, &[], at, compare),
        };
        self.emit(op, arrays, None, at)
    }

    /// Runs `body` on the carried value as long as `condition` gives true; both get it as `args[0]`.
    ///
    /// ```
    /// # use hloc_ir::{Builder, ComparisonDirection};
    /// let b = Builder::new("count");
    /// let ten = b.while_loop(
    ///     b.scalar(0i32),
    ///     |b, args| b.compare(args[0], b.scalar(10i32), ComparisonDirection::Lt),
    ///     |b, args| b.add(args[0], b.scalar(1i32)),
    /// );
    /// assert!(b.build(ten).is_ok());
    /// ```
    #[track_caller]
    pub fn while_loop(
        &self,
        init: Value,
        condition: impl FnOnce(&Builder, &[Value]) -> Value,
        body: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let op = match self.shape(init) {
            Some(carried) => Op::While {
                condition: self.traced("condition", std::slice::from_ref(&carried), at, condition),
                body: self.traced("body", &[carried], at, body),
            },
            None => Op::While {
                condition: no_computation(),
                body: no_computation(),
            },
        };
        self.emit(op, &[init], None, at)
    }

    /// `on_true` of `true_operand` if `condition` (`pred[]`) holds, else `on_false` of `false_operand`.
    #[track_caller]
    pub fn conditional(
        &self,
        condition: Value,
        true_operand: Value,
        on_true: impl FnOnce(&Builder, &[Value]) -> Value,
        false_operand: Value,
        on_false: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let shapes = self.shape(true_operand).zip(self.shape(false_operand));
        let (on_true, on_false) = match shapes {
            Some((yes, no)) => (
                self.traced("on_true", &[yes], at, on_true),
                self.traced("on_false", &[no], at, on_false),
            ),
            None => (no_computation(), no_computation()),
        };
        let op = Op::Conditional {
            branch_computations: None,
            true_computation: Some(on_true),
            false_computation: Some(on_false),
        };
        self.emit(op, &[condition, true_operand, false_operand], None, at)
    }

    /// The branch that `index` (`s32[]`) numbers, each with its operand; the last one for an index out of
    /// range.
    #[track_caller]
    pub fn switch(&self, index: Value, branches: &[(Callee, Value)]) -> Value {
        let at = Location::caller();
        let ids = branches.iter().map(|(callee, _)| self.own(*callee, at));
        let op = Op::Conditional {
            branch_computations: Some(ids.collect()),
            true_computation: None,
            false_computation: None,
        };
        let operands = branches.iter().map(|(_, operand)| *operand);
        let operands: Vec<Value> = std::iter::once(index).chain(operands).collect();
        self.emit(op, &operands, None, at)
    }

    /// `x` with `updates` combined into it at the places that `indices` list: the closure gets the
    /// element so far and an update.
    #[track_caller]
    pub fn scatter(
        &self,
        x: Value,
        indices: Value,
        updates: Value,
        numbers: &ScatterNumbers,
        combine: impl FnOnce(&Builder, &[Value]) -> Value,
    ) -> Value {
        let at = Location::caller();
        let numbers = numbers.clone();
        let op = Op::Scatter {
            update_window_dims: numbers.update_window_dims,
            inserted_window_dims: numbers.inserted_window_dims,
            scatter_dims_to_operand_dims: numbers.scatter_dims_to_operand_dims,
            input_batching_dims: ElidedDims(numbers.input_batching_dims),
            scatter_indices_batching_dims: ElidedDims(numbers.scatter_indices_batching_dims),
            index_vector_dim: numbers.index_vector_dim,
            indices_are_sorted: numbers.indices_are_sorted,
            unique_indices: numbers.unique_indices,
            to_apply: self.over_elements("combiner", &[x], &[updates], at, combine),
        };
        self.emit(op, &[x, indices, updates], None, at)
    }

    /// The sum along `dimensions`.
    #[track_caller]
    pub fn reduce_add(&self, x: Value, dimensions: &[i64]) -> Value {
        let at = Location::caller();
        let ty = self
            .array_shape(x)
            .map_or(ElementType::F32, |array| array.element_type);
        let zero = self.scalar_of(ty, 0.0);
        self.reduced(&[x], &[zero], dimensions, at, |b, args| {
            b.add(args[0], args[1])
        })
    }
}

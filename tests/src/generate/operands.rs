//! Where operands come from: values at hand, new arguments and constants, values made harmless.

use hloc_ir::{Array, ElementType, Literal};

use super::builder::{Generator, Part, Place, Value};
use super::knowledge::Knowledge;
use super::values::{self, Flavor};

impl Generator {
    /// A new array: a parameter of the entry, a constant, or a constant repeated.
    pub(super) fn fresh(&mut self, ty: ElementType, dims: &[i64], flavor: Flavor) -> Value {
        let count: i64 = dims.iter().product();
        let in_entry = self.scope().place == Place::Entry;
        if in_entry && (count > 30 || !self.random.one_in(3)) {
            let array = values::array(&mut self.random, ty, dims, flavor);
            return self.argument(array, flavor.knowledge());
        }
        if count <= 30 {
            let array = values::array(&mut self.random, ty, dims, flavor);
            return self.constant(&array, flavor.knowledge());
        }
        let array = values::array(&mut self.random, ty, &[], flavor);
        let scalar = self.constant(&array, flavor.knowledge());
        let part = (ty, dims.to_vec(), scalar.known);
        self.add(part, "broadcast", &[&scalar], ", dimensions={}")
    }

    /// A parameter of the entry with this argument.
    pub(super) fn argument(&mut self, array: Array, known: Knowledge) -> Value {
        let (ty, dims) = (array.element_type(), array.dims().to_vec());
        self.arguments.push(Literal::Array(array));
        self.parameter_of(&(ty, dims, known))
    }

    /// A constant.
    pub(super) fn constant(&mut self, array: &Array, known: Knowledge) -> Value {
        let part = (array.element_type(), array.dims().to_vec(), known);
        let literal = hloc_ir::print_literal(&Literal::Array(array.clone()));
        self.constant_line(part, &literal)
    }

    fn constant_line(&mut self, (ty, dims, known): Part, literal: &str) -> Value {
        let shape = self.shape(ty, &dims);
        let name = self.line(&shape, &format!("constant({literal})"), &[]);
        self.value(name, ty, &dims, known)
    }

    /// An existing value that is accepted, the latest more often.
    pub(super) fn pick(&mut self, accepts: impl Fn(&Value) -> bool) -> Option<Value> {
        let fits: Vec<Value> = self
            .scope()
            .values
            .iter()
            .filter(|value| accepts(value))
            .cloned()
            .collect();
        if fits.is_empty() {
            return None;
        }
        let first = if self.random.one_in(2) {
            fits.len().saturating_sub(3)
        } else {
            0
        };
        Some(self.random.pick(&fits[first..]).clone())
    }

    /// An exact array of an accepted type: an existing one, or a new one.
    pub(super) fn exact(&mut self, accepts: impl Fn(ElementType) -> bool) -> Value {
        let fits = |value: &Value| value.known.is_exact() && accepts(value.ty);
        if !self.random.one_in(4)
            && let Some(found) = self.pick(fits)
        {
            return found;
        }
        let ty = self.type_where(accepts);
        let dims = self.sizes();
        self.fresh(ty, &dims, Flavor::Wild)
    }

    /// An element type that is accepted; one must be.
    pub(super) fn type_where(&mut self, accepts: impl Fn(ElementType) -> bool) -> ElementType {
        for _ in 0..4 {
            let ty = values::element_type(&mut self.random);
            if accepts(ty) {
                return ty;
            }
        }
        let fits: Vec<ElementType> = ElementType::ALL
            .iter()
            .copied()
            .filter(|ty| accepts(*ty))
            .collect();
        *self.random.pick(&fits)
    }

    /// An exact array of this type and these sizes.
    pub(super) fn exact_of(&mut self, ty: ElementType, dims: &[i64]) -> Value {
        let fits = |value: &Value| value.known.is_exact() && value.ty == ty && value.dims == dims;
        if !self.random.one_in(5)
            && let Some(found) = self.pick(fits)
        {
            return found;
        }
        self.fresh(ty, dims, Flavor::Wild)
    }

    /// Any array, exact or not: for ops that only move elements.
    pub(super) fn movable(&mut self, accepts: impl Fn(&Value) -> bool) -> Value {
        if !self.random.one_in(6)
            && let Some(found) = self.pick(&accepts)
        {
            return found;
        }
        loop {
            let (ty, dims) = (values::element_type(&mut self.random), self.sizes());
            let candidate = Value {
                name: String::new(),
                ty,
                dims,
                known: Knowledge::WILD,
            };
            if accepts(&candidate) {
                return self.fresh(ty, &candidate.dims, Flavor::Wild);
            }
        }
    }

    /// Whole numbers of at most `bound`: found, made of another value, or new.
    pub(super) fn tame(&mut self, ty: ElementType, dims: &[i64], bound: f64) -> Value {
        let same = |value: &Value| value.ty == ty && value.dims == dims && value.known.is_exact();
        if self.random.one_in(2)
            && let Some(found) =
                self.pick(|value| same(value) && value.known.is_whole_within(bound))
        {
            return found;
        }
        let clamps = ty.is_float() && super::knowledge::largest_whole(ty) >= bound;
        if clamps
            && self.random.one_in(2)
            && let Some(found) = self.pick(same)
        {
            return self.tamed(&found, bound);
        }
        self.fresh(ty, dims, Flavor::Whole(bound))
    }

    /// The nearest whole numbers within the bound, 0 for NaN.
    fn tamed(&mut self, value: &Value, bound: f64) -> Value {
        let Value { ty, dims, .. } = value.clone();
        let scalar = |generator: &mut Generator, number: f64| {
            let mut array = Array::zeros(ty, &[]).expect("a scalar fits");
            array.set(0, hloc_tensor::Scalar::Float(number));
            generator.constant(&array, Knowledge::whole(bound))
        };
        let (low, high) = (scalar(self, -bound), scalar(self, bound));
        let part = (ty, dims.clone(), Knowledge::WILD);
        let clamped = self.add(part.clone(), "clamp", &[&low, value, &high], "");
        let rounded = self.add(part, "round-nearest-even", &[&clamped], "");
        let pred = (ElementType::Pred, dims.clone(), Knowledge::WILD);
        let number = self.add(pred, "compare", &[value, value], ", direction=EQ");
        let zero = scalar(self, 0.0);
        let zeros = (ty, dims.clone(), zero.known);
        let zeros = self.add(zeros, "broadcast", &[&zero], ", dimensions={}");
        let part = (ty, dims, Knowledge::whole(bound));
        self.add(part, "select", &[&number, &rounded, &zeros], "")
    }

    /// Adds 0 to a value of which only the signs of zeros are uncertain, which makes them positive.
    pub(super) fn settled(&mut self, value: &Value, known: Knowledge) {
        let zero = hloc_tensor::Scalar::Float(0.0).converted(value.ty);
        if self.random.one_in(4) || zero.to_f64() != 0.0 {
            return;
        }
        let mut array = Array::zeros(value.ty, &[]).expect("a scalar fits");
        array.set(0, zero);
        let zero = self.constant(&array, Knowledge::whole(0.0));
        let part = (value.ty, value.dims.clone(), known);
        self.add(part, "add", &[value, &zero], "");
    }
}

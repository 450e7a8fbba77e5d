//! Small vocabulary for passes that spell an op out in others: each call makes one instruction.

use hloc_ir::{
    Array, ArrayShape, BinaryOp, CompareType, ComparisonDirection, Computation, Element,
    ElementType, InstrId, Instruction, Op, Origin, Scalar, Shape, TernaryOp, UnaryOp,
};

use crate::rewriter::Rewriter;

/// Where instructions are made.
pub(crate) trait Make {
    /// Makes an instruction under a fresh name.
    fn make(&mut self, op: Op, operands: &[InstrId], shape: Shape) -> InstrId;
    /// What an instruction made before gives.
    fn shape(&self, id: InstrId) -> &Shape;

    /// The array shape of an instruction that gives an array.
    fn array(&self, id: InstrId) -> ArrayShape {
        match self.shape(id) {
            Shape::Array(shape) => ArrayShape::new(shape.element_type, &shape.dims),
            Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => {
                ArrayShape::new(ElementType::Pred, &[])
            }
        }
    }

    /// A scalar of a type that Rust has.
    fn scalar<T: Element>(&mut self, value: T) -> InstrId {
        let array = Array::scalar(value);
        let shape = Shape::scalar(array.element_type());
        let literal = array.into();
        self.make(Op::Constant { literal }, &[], shape)
    }

    /// A number as a scalar of any type: rounded, wrapped or saturated as `convert` does.
    fn number(&mut self, element_type: ElementType, value: f64) -> InstrId {
        self.constant(element_type, Scalar::Float(value))
    }

    /// A value as a scalar of any type, converted as `convert` does.
    fn constant(&mut self, element_type: ElementType, value: Scalar) -> InstrId {
        let mut array = Array::zeros(element_type, &[]).expect("a scalar is small");
        array.set(0, value.converted(element_type));
        let literal = array.into();
        self.make(Op::Constant { literal }, &[], Shape::scalar(element_type))
    }

    /// The zero of any type as an array of these sizes; `false` of `pred`.
    fn zeros(&mut self, element_type: ElementType, dims: &[i64]) -> InstrId {
        let scalar = self.constant(element_type, Scalar::Pred(false));
        self.spread(scalar, dims)
    }

    /// A scalar at every place of these sizes.
    fn spread(&mut self, scalar: InstrId, dims: &[i64]) -> InstrId {
        if dims.is_empty() {
            return scalar;
        }
        self.broadcast(scalar, dims, &[])
    }

    /// A number at every place of the sizes of `like`, in its element type.
    fn number_like(&mut self, like: InstrId, value: f64) -> InstrId {
        let shape = self.array(like);
        let scalar = self.number(shape.element_type, value);
        self.spread(scalar, &shape.dims)
    }

    /// `broadcast` to these sizes.
    fn broadcast(&mut self, x: InstrId, dims: &[i64], dimensions: &[i64]) -> InstrId {
        let ty = self.array(x).element_type;
        let op = Op::Broadcast {
            dimensions: dimensions.to_vec(),
        };
        self.make(op, &[x], Shape::array(ty, dims))
    }

    /// `reshape`, unless the sizes are these already.
    fn reshape(&mut self, x: InstrId, dims: &[i64]) -> InstrId {
        let shape = self.array(x);
        if shape.dims[..] == *dims {
            return x;
        }
        let op = Op::Reshape {
            inferred_dimension: None,
        };
        self.make(op, &[x], Shape::array(shape.element_type, dims))
    }

    /// `convert`, unless the type is this already.
    fn convert(&mut self, x: InstrId, ty: ElementType) -> InstrId {
        let shape = self.array(x);
        if shape.element_type == ty {
            return x;
        }
        self.make(Op::Convert {}, &[x], Shape::array(ty, &shape.dims))
    }

    /// `bitcast-convert` to a type of the same width.
    fn bits(&mut self, x: InstrId, ty: ElementType) -> InstrId {
        let dims = self.array(x).dims;
        self.make(Op::BitcastConvert {}, &[x], Shape::array(ty, &dims))
    }

    /// An element-wise op with one operand.
    fn unary(&mut self, op: UnaryOp, x: InstrId) -> InstrId {
        let shape = self.array(x);
        let ty = op.result_type(shape.element_type);
        self.make(Op::unary(op), &[x], Shape::array(ty, &shape.dims))
    }

    /// An element-wise op with two operands of one shape.
    fn binary(&mut self, op: BinaryOp, x: InstrId, y: InstrId) -> InstrId {
        let shape = Shape::Array(self.array(x));
        self.make(Op::binary(op), &[x, y], shape)
    }

    /// Element by element, in the order of numbers.
    fn compare(&mut self, direction: ComparisonDirection, x: InstrId, y: InstrId) -> InstrId {
        let dims = self.array(x).dims;
        let op = Op::Compare {
            direction,
            compare_type: None::<CompareType>,
            broadcast_dimensions: None,
        };
        self.make(op, &[x, y], Shape::array(ElementType::Pred, &dims))
    }

    /// `yes` where `chosen`, else `no`.
    fn select(&mut self, chosen: InstrId, yes: InstrId, no: InstrId) -> InstrId {
        let shape = Shape::Array(self.array(yes));
        self.make(Op::ternary(TernaryOp::Select), &[chosen, yes, no], shape)
    }

    /// Element `index` of a tuple.
    fn element(&mut self, tuple: InstrId, index: usize) -> InstrId {
        let shape = self.shape(tuple).as_tuple().and_then(|all| all.get(index));
        let shape = shape.cloned().unwrap_or(Shape::Tuple(Vec::new()));
        let index = index as i64;
        self.make(Op::GetTupleElement { index }, &[tuple], shape)
    }

    /// A tuple of these values.
    fn tuple(&mut self, elements: &[InstrId]) -> InstrId {
        let shapes = elements.iter().map(|id| self.shape(*id).clone()).collect();
        self.make(Op::Tuple {}, elements, Shape::Tuple(shapes))
    }

    /// Numbers along dimension `dimension` of these sizes.
    fn iota(&mut self, ty: ElementType, dims: &[i64], dimension: usize) -> InstrId {
        let op = Op::Iota {
            iota_dimension: dimension as i64,
        };
        self.make(op, &[], Shape::array(ty, dims))
    }
}

/// Makes instructions on the way to a replacement of one instruction.
pub(crate) struct InPlace<'a, 'm> {
    pub(crate) rebuilt: &'a mut Rewriter<'m>,
    /// The old instruction that is replaced.
    pub(crate) like: InstrId,
}

impl Make for InPlace<'_, '_> {
    fn make(&mut self, op: Op, operands: &[InstrId], shape: Shape) -> InstrId {
        self.rebuilt.emit(self.like, op, operands, shape)
    }

    fn shape(&self, id: InstrId) -> &Shape {
        &self.rebuilt.made(id).shape
    }
}

/// A new computation.
pub(crate) struct Body {
    computation: Computation,
    origin: Origin,
}

impl Body {
    /// An empty one; what it holds stands at `origin`.
    pub(crate) fn new(origin: Origin) -> Body {
        Body {
            computation: Computation::new("body"),
            origin,
        }
    }

    /// The next parameter.
    pub(crate) fn parameter(&mut self, shape: Shape) -> InstrId {
        let number = self.computation.parameters.len() as i64;
        self.make(Op::Parameter { number }, &[], shape)
    }

    /// The computation with this root.
    pub(crate) fn finish(mut self, root: InstrId) -> Computation {
        self.computation.root = root;
        self.computation
    }
}

impl Make for Body {
    fn make(&mut self, op: Op, operands: &[InstrId], shape: Shape) -> InstrId {
        let number = self.computation.instructions.len();
        let name = format!("{}.{number}", op.opcode().name());
        let mut instruction = Instruction::new(name, op, operands, shape);
        instruction.origin = self.origin.clone();
        self.computation.push(instruction)
    }

    fn shape(&self, id: InstrId) -> &Shape {
        &self.computation.instructions[id].shape
    }
}

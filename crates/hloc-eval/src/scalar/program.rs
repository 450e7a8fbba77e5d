//! Computations of scalars as a list of steps on registers, for reducers and comparators.
//!
//! Evaluating an instruction costs allocations; a reducer is called for every element. So a
//! computation made only of scalar ops is turned into steps once and then run on plain values.

use hloc_ir::{
    ComputationId, ElementType, Id, InstrId, Instruction, Literal, Module, Op, Shape, TernaryOp,
};

use super::{BinaryFn, CompareFn, UnaryFn, Value, bitcast_convert, clamp};
use hloc_tensor::Array;

/// Deeper calls than this are left to the general evaluator and its limit.
const MAX_DEPTH: usize = 16;

/// A computation as steps. Registers `0..parameters` take the arguments.
#[derive(Clone, Debug)]
pub(crate) struct ScalarProgram {
    registers: Vec<Value>,
    parameters: usize,
    steps: Vec<Step>,
    results: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Step {
    function: Function,
    operands: [usize; 3],
    result: usize,
}

#[derive(Clone, Debug)]
enum Function {
    Unary(UnaryFn),
    Binary(BinaryFn),
    Compare(CompareFn),
    Select,
    Clamp,
    Convert(ElementType, ElementType),
    BitcastConvert(ElementType, ElementType),
    ReducePrecision(ElementType, i64, i64),
}

impl ScalarProgram {
    /// The steps of a computation, `None` if it holds anything but scalar ops.
    pub(crate) fn compile(module: &Module, id: ComputationId) -> Option<ScalarProgram> {
        let computation = module.computations.get(id)?;
        let mut compiler = Compiler {
            module,
            registers: Vec::new(),
            steps: Vec::new(),
        };
        let mut arguments = Vec::new();
        for parameter in &computation.parameters {
            let ty = scalar_type(&computation.instructions.get(*parameter)?.shape)?;
            arguments.push(vec![compiler.register(zero(ty), ty)]);
        }
        let parameters = arguments.len();
        let results = compiler.computation(id, &arguments, 0)?;
        Some(ScalarProgram {
            results: results.iter().map(|register| register.number).collect(),
            registers: compiler.registers,
            parameters,
            steps: compiler.steps,
        })
    }

    /// Fresh registers for [`ScalarProgram::run`], constants set.
    pub(crate) fn registers(&self) -> Vec<Value> {
        self.registers.clone()
    }

    /// How many arguments it takes.
    pub(crate) fn num_parameters(&self) -> usize {
        self.parameters
    }

    /// The registers that hold the results after a run, tuples flattened.
    pub(crate) fn results(&self) -> &[usize] {
        &self.results
    }

    /// Runs on registers whose first ones hold the arguments. `None` if an argument is of a wrong kind.
    pub(crate) fn run(&self, registers: &mut [Value]) -> Option<()> {
        for step in &self.steps {
            let [a, b, c] = step.operands.map(|operand| registers[operand]);
            registers[step.result] = match &step.function {
                Function::Unary(f) => f.call(a)?,
                Function::Binary(f) => f.call(a, b)?,
                Function::Compare(f) => f.call(a, b)?,
                Function::Select if a == Value::Pred(true) => b,
                Function::Select => c,
                Function::Clamp => clamp(a, b, c)?,
                Function::Convert(from, to) => a.converted(*from, *to),
                Function::BitcastConvert(from, to) => bitcast(a, *from, *to)?,
                Function::ReducePrecision(ty, exponent, mantissa) => {
                    a.with_precision(*ty, *exponent, *mantissa)
                }
            };
        }
        Some(())
    }
}

fn bitcast(value: Value, from: ElementType, to: ElementType) -> Option<Value> {
    let mut array = Array::zeros(from, &[]).ok()?;
    value.write(from, array.bytes_mut());
    let result = bitcast_convert(&array, to, &[]).ok()?;
    Some(Value::at(&result, 0))
}

fn zero(ty: ElementType) -> Value {
    Value::read(ty, &[0; 16][..ty.size()])
}

/// The element type of a static scalar shape.
fn scalar_type(shape: &Shape) -> Option<ElementType> {
    let shape = shape.as_array()?;
    shape.is_scalar().then_some(shape.element_type)
}

#[derive(Clone, Copy)]
struct Register {
    number: usize,
    ty: ElementType,
}

/// The registers of one value, tuples flattened.
type Leaves = Vec<Register>;

struct Compiler<'m> {
    module: &'m Module,
    registers: Vec<Value>,
    steps: Vec<Step>,
}

impl Compiler<'_> {
    fn register(&mut self, value: Value, ty: ElementType) -> Register {
        self.registers.push(value);
        Register {
            number: self.registers.len() - 1,
            ty,
        }
    }

    fn computation(
        &mut self,
        id: ComputationId,
        arguments: &[Leaves],
        depth: usize,
    ) -> Option<Leaves> {
        let computation = self.module.computations.get(id)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let mut values: Vec<Leaves> = Vec::new();
        for (_, instruction) in computation.instructions.iter() {
            let operands: Option<Vec<&Leaves>> = instruction
                .operands
                .iter()
                .map(|operand: &InstrId| values.get(operand.index()))
                .collect();
            let leaves = self.instruction(instruction, &operands?, arguments, depth)?;
            if !leaves_fit(&leaves, &instruction.shape) {
                return None;
            }
            values.push(leaves);
        }
        values.into_iter().nth(computation.root.index())
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        operands: &[&Leaves],
        arguments: &[Leaves],
        depth: usize,
    ) -> Option<Leaves> {
        if let Op::Parameter { number } = &instruction.op {
            return arguments.get(usize::try_from(*number).ok()?).cloned();
        }
        if let Op::Constant { literal } = &instruction.op {
            return self.constant(literal);
        }
        if let Op::Call { to_apply: id, .. } | Op::Fusion { calls: id, .. } = &instruction.op {
            let arguments: Vec<Leaves> = operands.iter().map(|leaves| (*leaves).clone()).collect();
            return self.computation(*id, &arguments, depth + 1);
        }
        if let Op::Tuple {} = instruction.op {
            return Some(
                operands
                    .iter()
                    .flat_map(|leaves| leaves.iter().copied())
                    .collect(),
            );
        }
        if let Op::Copy {} | Op::OptBarrier {} = instruction.op {
            return operands.first().map(|leaves| (*leaves).clone());
        }
        // Only scalars get this far, of which these are the identity.
        let inputs: Option<Vec<Register>> = operands.iter().map(|leaves| single(leaves)).collect();
        let inputs = inputs?;
        if let Op::Broadcast { .. } | Op::Reshape { .. } = instruction.op {
            return Some(vec![*inputs.first()?]);
        }
        let (function, ty) = function(&instruction.op, &inputs, &instruction.shape)?;
        let operand = |at: usize| inputs.get(at).map_or(0, |register| register.number);
        let operands = [operand(0), operand(1), operand(2)];
        let result = self.register(zero(ty), ty);
        self.steps.push(Step {
            function,
            operands,
            result: result.number,
        });
        Some(vec![result])
    }

    fn constant(&mut self, literal: &Literal) -> Option<Leaves> {
        let array = literal.as_array()?;
        if array.num_dims() != 0 {
            return None;
        }
        Some(vec![
            self.register(Value::at(array, 0), array.element_type()),
        ])
    }
}

fn single(leaves: &Leaves) -> Option<Register> {
    match leaves[..] {
        [register] => Some(register),
        _ => None,
    }
}

/// Whether the registers are of the types of the shape's leaves, all scalars.
fn leaves_fit(leaves: &Leaves, shape: &Shape) -> bool {
    let shapes = shape.leaves();
    shapes.len() == leaves.len()
        && shapes
            .iter()
            .zip(leaves)
            .all(|(shape, register)| scalar_type(shape) == Some(register.ty))
}

/// The function of a scalar op and its result type; `None` for all other ops and for operand types
/// that do not go together.
fn function(op: &Op, inputs: &[Register], shape: &Shape) -> Option<(Function, ElementType)> {
    let types: Vec<ElementType> = inputs.iter().map(|register| register.ty).collect();
    let to = scalar_type(shape)?;
    if let (Op::Unary { op, .. }, [x]) = (op, &types[..]) {
        let f = UnaryFn::select(*op, *x)?;
        Some((Function::Unary(f), f.to))
    } else if let (Op::Binary { op, .. }, [x, y]) = (op, &types[..]) {
        let f = BinaryFn::select(*op, *x)?;
        (x == y).then_some((Function::Binary(f), f.to))
    } else if let (
        Op::Compare {
            direction,
            compare_type,
            ..
        },
        [x, y],
    ) = (op, &types[..])
    {
        let f = CompareFn::select(*direction, *compare_type, *x)?;
        (x == y).then_some((Function::Compare(f), ElementType::Pred))
    } else if let (Op::Ternary { op, .. }, [x, y, z]) = (op, &types[..]) {
        match op {
            TernaryOp::Select => (x.is_predicate() && y == z).then_some((Function::Select, *y)),
            TernaryOp::Clamp => (x == y && y == z).then_some((Function::Clamp, *y)),
        }
    } else if let (Op::Convert {}, [from]) = (op, &types[..]) {
        Some((Function::Convert(*from, to), to))
    } else if let (Op::BitcastConvert {}, [from]) = (op, &types[..]) {
        (from.bits() == to.bits()).then_some((Function::BitcastConvert(*from, to), to))
    } else if let (
        Op::ReducePrecision {
            exponent_bits,
            mantissa_bits,
        },
        [ty],
    ) = (op, &types[..])
    {
        let function = Function::ReducePrecision(*ty, *exponent_bits, *mantissa_bits);
        Some((function, *ty))
    } else {
        None
    }
}

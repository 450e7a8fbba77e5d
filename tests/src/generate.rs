//! Random valid programs of element-wise, broadcast, data-movement and reduction instructions.
//!
//! Apart from the root, only ops are used whose result is exact or correctly rounded, so that every
//! engine must give the same bits; the root may be a transcendental function, compared within its bound.

use std::fmt::Write;

use hloc_ir::{Array, BinaryOp, Domain, ElementType, UnaryOp};
use hloc_tensor::Scalar;

use crate::random::Random;

/// A program with arguments for its parameters.
#[derive(Clone, Debug)]
pub struct Program {
    /// HLO text.
    pub text: String,
    /// One array per parameter.
    pub arguments: Vec<Array>,
    /// Largest difference that engines may have, in units in the last place.
    pub ulps: u64,
}

const TYPES: &[ElementType] = &[
    ElementType::Pred,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::F16,
    ElementType::BF16,
    ElementType::F32,
    ElementType::F32,
    ElementType::F64,
];
const EXACT_UNARY: &[UnaryOp] = &[
    UnaryOp::Abs,
    UnaryOp::Ceil,
    UnaryOp::CountLeadingZeros,
    UnaryOp::Floor,
    UnaryOp::IsFinite,
    UnaryOp::Negate,
    UnaryOp::Not,
    UnaryOp::Popcnt,
    UnaryOp::RoundNearestAfz,
    UnaryOp::RoundNearestEven,
    UnaryOp::Sign,
    UnaryOp::Sqrt,
];
const TRANSCENDENTAL: &[UnaryOp] = &[
    UnaryOp::Cbrt,
    UnaryOp::Cosine,
    UnaryOp::Exponential,
    UnaryOp::ExponentialMinusOne,
    UnaryOp::Log,
    UnaryOp::LogPlusOne,
    UnaryOp::Logistic,
    UnaryOp::Rsqrt,
    UnaryOp::Sine,
    UnaryOp::Tan,
    UnaryOp::Tanh,
];
const MAX_ELEMENTS: i64 = 500;

#[derive(Clone, Debug)]
struct Value {
    name: String,
    ty: ElementType,
    dims: Vec<i64>,
}

struct Generator {
    random: Random,
    body: String,
    reducers: String,
    values: Vec<Value>,
    arguments: Vec<Array>,
}

/// The program of this seed.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator {
        random: Random::new(seed),
        body: String::new(),
        reducers: String::new(),
        values: Vec::new(),
        arguments: Vec::new(),
    };
    for _ in 0..=generator.random.below(3) {
        generator.parameter();
    }
    for _ in 0..2 + generator.random.below(12) {
        generator.instruction();
    }
    let ulps = generator.root();
    let text = format!(
        "HloModule random_{seed}\n\n{}ENTRY main {{\n{}}}\n",
        generator.reducers, generator.body
    );
    Program {
        text,
        arguments: generator.arguments,
        ulps,
    }
}

fn shape(ty: ElementType, dims: &[i64]) -> String {
    let sizes: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("{ty}[{}]", sizes.join(","))
}

fn braces(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers
        .into_iter()
        .map(|number| number.to_string())
        .collect();
    format!("{{{}}}", numbers.join(","))
}

impl Generator {
    fn add(&mut self, ty: ElementType, dims: &[i64], right: &str) -> Value {
        let name = format!("v{}", self.values.len());
        writeln!(self.body, "  {name} = {} {right}", shape(ty, dims))
            .expect("writing to a string does not fail");
        let value = Value {
            name,
            ty,
            dims: dims.to_vec(),
        };
        self.values.push(value.clone());
        value
    }

    fn any(&mut self) -> Value {
        self.random.pick(&self.values).clone()
    }

    fn parameter(&mut self) {
        let ty = *self.random.pick(TYPES);
        let dims: Vec<i64> = (0..self.random.below(4))
            .map(|_| *self.random.pick(&[1, 2, 3, 4, 5, 7, 17]))
            .collect();
        let number = self.arguments.len();
        let array = self.array(ty, &dims);
        self.arguments.push(array);
        self.add(ty, &dims, &format!("parameter({number})"));
    }

    fn array(&mut self, ty: ElementType, dims: &[i64]) -> Array {
        let mut array = Array::zeros(ty, dims).expect("small arrays fit");
        for at in 0..array.num_elements() {
            let scalar = self.scalar(ty);
            array.set(at, scalar);
        }
        array
    }

    fn scalar(&mut self, ty: ElementType) -> Scalar {
        let bits = self.random.bits();
        if ty.is_predicate() {
            return Scalar::Pred(bits & 1 == 1);
        }
        if ty.is_float() {
            let special = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                2.5,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                1e-40,
                3e4,
            ];
            let plain = (bits % 2001) as f64 / 100.0 - 10.0;
            return Scalar::Float(if self.random.one_in(4) {
                *self.random.pick(&special)
            } else {
                plain
            });
        }
        let small = (bits % 41) as i64 - 20;
        let value = if self.random.one_in(3) {
            bits as i64
        } else {
            small
        };
        if ty.is_signed_integer() {
            Scalar::Int(value)
        } else {
            Scalar::Uint(value as u64)
        }
    }

    fn instruction(&mut self) {
        let operand = self.any();
        match self.random.below(14) {
            0 => self.unary(&operand),
            1 | 2 => self.binary(&operand),
            3 => self.compare_and_select(&operand),
            4 => self.convert(&operand),
            5 | 6 => self.broadcast(&operand),
            7 => self.reshape(&operand),
            8 => self.transpose(&operand),
            9 => self.slice(&operand),
            10 => self.pad(&operand),
            11 => self.concatenate(&operand),
            12 => self.iota_or_reverse(&operand),
            _ => self.reduce(&operand),
        }
    }

    fn unary(&mut self, operand: &Value) {
        let fits: Vec<_> = EXACT_UNARY
            .iter()
            .filter(|op| op.domain().accepts(operand.ty))
            .collect();
        if let Some(op) = (!fits.is_empty()).then(|| **self.random.pick(&fits)) {
            let ty = op.result_type(operand.ty);
            self.add(ty, &operand.dims, &format!("{op}({})", operand.name));
        }
    }

    /// A value like `operand`: an existing one, or one made from it.
    fn like(&mut self, operand: &Value) -> Value {
        let same = |value: &&Value| value.ty == operand.ty && value.dims == operand.dims;
        let fits: Vec<Value> = self.values.iter().filter(same).cloned().collect();
        self.random.pick(&fits).clone()
    }

    fn binary(&mut self, operand: &Value) {
        let exact = |op: &&BinaryOp| {
            let inexact = matches!(op, BinaryOp::Atan2 | BinaryOp::Complex)
                || (**op == BinaryOp::Power && operand.ty.is_float());
            !inexact && op.domain().accepts(operand.ty)
        };
        let fits: Vec<_> = BinaryOp::ALL.iter().filter(exact).collect();
        let op = **self.random.pick(&fits);
        let other = self.like(operand);
        self.add(
            operand.ty,
            &operand.dims,
            &format!("{op}({}, {})", operand.name, other.name),
        );
    }

    fn compare_and_select(&mut self, operand: &Value) {
        let other = self.like(operand);
        let direction = *self.random.pick(&["EQ", "NE", "LT", "LE", "GT", "GE"]);
        let right = format!(
            "compare({}, {}), direction={direction}",
            operand.name, other.name
        );
        let chosen = self.add(ElementType::Pred, &operand.dims, &right);
        if self.random.one_in(3) && Domain::Real.accepts(operand.ty) {
            let right = format!("clamp({}, {}, {})", other.name, operand.name, operand.name);
            self.add(operand.ty, &operand.dims, &right);
        } else {
            let right = format!("select({}, {}, {})", chosen.name, operand.name, other.name);
            self.add(operand.ty, &operand.dims, &right);
        }
    }

    fn convert(&mut self, operand: &Value) {
        let ty = *self.random.pick(TYPES);
        self.add(ty, &operand.dims, &format!("convert({})", operand.name));
    }

    fn broadcast(&mut self, operand: &Value) {
        let (mut dims, mut places) = (Vec::new(), Vec::new());
        for size in &operand.dims {
            if self.random.one_in(2) {
                dims.push(*self.random.pick(&[1, 2, 3, 5]));
            }
            places.push(dims.len() as i64);
            dims.push(*size);
        }
        if self.random.one_in(2) {
            dims.push(*self.random.pick(&[1, 2, 4, 9]));
        }
        if dims.iter().product::<i64>() <= MAX_ELEMENTS {
            let right = format!("broadcast({}), dimensions={}", operand.name, braces(places));
            self.add(operand.ty, &dims, &right);
        }
    }

    fn reshape(&mut self, operand: &Value) {
        let mut rest: i64 = operand.dims.iter().product();
        let mut dims = Vec::new();
        for divisor in [2, 3, 5, 7] {
            if rest % divisor == 0 && rest > 0 && self.random.one_in(2) {
                dims.push(divisor);
                rest /= divisor;
            }
        }
        dims.insert(self.random.below(dims.len() + 1), rest);
        self.add(operand.ty, &dims, &format!("reshape({})", operand.name));
    }

    fn transpose(&mut self, operand: &Value) {
        let mut order: Vec<usize> = (0..operand.dims.len()).collect();
        for at in (1..order.len()).rev() {
            let other = self.random.below(at + 1);
            order.swap(at, other);
        }
        let dims: Vec<i64> = order.iter().map(|dim| operand.dims[*dim]).collect();
        let numbers = braces(order.iter().map(|dim| *dim as i64));
        self.add(
            operand.ty,
            &dims,
            &format!("transpose({}), dimensions={numbers}", operand.name),
        );
    }

    fn slice(&mut self, operand: &Value) {
        let (mut dims, mut parts) = (Vec::new(), Vec::new());
        for size in &operand.dims {
            let start = self.random.below(*size as usize + 1) as i64;
            let limit = start + self.random.below((size - start) as usize + 1) as i64;
            let (start, limit) = if start == limit {
                (0, *size)
            } else {
                (start, limit)
            };
            let stride = 1 + self.random.below(3) as i64;
            dims.push((limit - start + stride - 1) / stride);
            parts.push(format!("[{start}:{limit}:{stride}]"));
        }
        self.add(
            operand.ty,
            &dims,
            &format!("slice({}), slice={{{}}}", operand.name, parts.join(", ")),
        );
    }

    fn pad(&mut self, operand: &Value) {
        if operand.dims.is_empty() {
            return;
        }
        let (mut dims, mut parts) = (Vec::new(), Vec::new());
        for size in &operand.dims {
            let low = self.random.below(4) as i64 - 1;
            let high = self.random.below(4) as i64 - 1;
            let interior = self.random.below(2) as i64;
            dims.push(low + size + (size - 1).max(0) * interior + high);
            parts.push(format!("{low}_{high}_{interior}"));
        }
        if dims.iter().any(|size| *size < 0) || dims.iter().product::<i64>() > MAX_ELEMENTS {
            return;
        }
        let literal = if operand.ty.is_predicate() {
            "true"
        } else {
            "1"
        };
        let filler = self.add(operand.ty, &[], &format!("constant({literal})"));
        let right = format!(
            "pad({}, {}), padding={}",
            operand.name,
            filler.name,
            parts.join("x")
        );
        self.add(operand.ty, &dims, &right);
    }

    fn concatenate(&mut self, operand: &Value) {
        if operand.dims.is_empty() {
            return;
        }
        let dim = self.random.below(operand.dims.len());
        let other = self.like(operand);
        let mut dims = operand.dims.clone();
        dims[dim] += other.dims[dim];
        if dims.iter().product::<i64>() <= MAX_ELEMENTS {
            let right = format!(
                "concatenate({}, {}), dimensions={{{dim}}}",
                operand.name, other.name
            );
            self.add(operand.ty, &dims, &right);
        }
    }

    fn iota_or_reverse(&mut self, operand: &Value) {
        if operand.dims.is_empty() {
            return;
        }
        let dim = self.random.below(operand.dims.len());
        if self.random.one_in(2) && !operand.ty.is_predicate() {
            self.add(
                operand.ty,
                &operand.dims,
                &format!("iota(), iota_dimension={dim}"),
            );
        } else {
            let right = format!("reverse({}), dimensions={{{dim}}}", operand.name);
            self.add(operand.ty, &operand.dims, &right);
        }
    }

    /// Sums and products of floats depend on the order of reduction; greatest and least do not.
    fn reduce(&mut self, operand: &Value) {
        let ops: &[&str] = if operand.ty.is_float() {
            &["maximum", "minimum"]
        } else if operand.ty.is_predicate() {
            &["and", "or"]
        } else {
            &["add", "multiply", "maximum", "minimum", "xor"]
        };
        let op = *self.random.pick(ops);
        let reducer = format!("reducer{}", self.values.len());
        let ty = operand.ty;
        writeln!(
            self.reducers,
            "{reducer} {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT r = {ty}[] {op}(a, b)\n}}\n"
        )
        .expect("writing to a string does not fail");
        let literal = if ty.is_predicate() { "false" } else { "1" };
        let init = self.add(ty, &[], &format!("constant({literal})"));
        let gone: Vec<usize> = (0..operand.dims.len())
            .filter(|_| self.random.one_in(2))
            .collect();
        let kept = operand
            .dims
            .iter()
            .enumerate()
            .filter(|(dim, _)| !gone.contains(dim));
        let dims: Vec<i64> = kept.map(|(_, size)| *size).collect();
        let numbers = braces(gone.iter().map(|dim| *dim as i64));
        let right = format!(
            "reduce({}, {}), dimensions={numbers}, to_apply={reducer}",
            operand.name, init.name
        );
        self.add(ty, &dims, &right);
    }

    /// Marks the root; gives the largest difference that it may have.
    fn root(&mut self) -> u64 {
        let last = self.values[self.values.len() - 1].clone();
        let native = [ElementType::F32, ElementType::F64].contains(&last.ty);
        let (right, ty, ulps) = if native && self.random.one_in(2) {
            let op = *self.random.pick(TRANSCENDENTAL);
            (
                format!("{op}({})", last.name),
                last.ty,
                u64::from(op.ulp()) + 1,
            )
        } else if last.ty == ElementType::Pred {
            (format!("not({})", last.name), last.ty, 0)
        } else {
            (format!("negate({})", last.name), last.ty, 0)
        };
        writeln!(
            self.body,
            "  ROOT result = {} {right}",
            shape(ty, &last.dims)
        )
        .expect("writing to a string does not fail");
        ulps
    }
}

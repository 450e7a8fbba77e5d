//! How far compiled functions of floats are from the truth, in units in the last place.
//!
//! The truth is the crate `core-math`, whose results are correctly rounded and which shares nothing with hloc: for
//! `f32` its functions of `f64`, for `f64` its results themselves.

use std::fmt::Write as _;

use hloc::{Compiler, Executable};
use hloc_ir::{Array, BinaryOp, UnaryOp};

/// Elements of one call.
const CHUNK: usize = 1 << 16;
/// Pairs of operands, and operands of type `f64`, that are tried of each function.
const SAMPLES: usize = 1 << 18;

/// What is measured: an expression of `x`, or of `x` and `y`.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// How the table names it.
    pub name: &'static str,
    /// The bound in the table of ops.
    pub bound: u32,
    truth: Truth,
}

#[derive(Clone, Copy, Debug)]
enum Truth {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

/// The greatest error that was met, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// In units in the last place.
    pub error: f64,
    /// The operands; the second is 0 if there is one.
    pub at: [f64; 2],
}

impl Worst {
    fn meet(&mut self, error: f64, at: [f64; 2]) {
        if error > self.error {
            *self = Worst { error, at };
        }
    }

    /// The greater one.
    #[must_use]
    pub fn or(mut self, other: Worst) -> Worst {
        self.meet(other.error, other.at);
        self
    }
}

const fn unary(op: UnaryOp, truth: fn(f64) -> f64) -> Function {
    Function {
        name: op.name(),
        bound: op.ulp(),
        truth: Truth::One(truth),
    }
}

const fn binary(op: BinaryOp, truth: fn(f64, f64) -> f64) -> Function {
    Function {
        name: op.name(),
        bound: op.ulp(),
        truth: Truth::Two(truth),
    }
}

/// `1 / (1 + e^-x)` of the exponential that is not above 1; rounded three times.
fn logistic(x: f64) -> f64 {
    let power = core_math::exp(-x.abs());
    let numerator = if x < 0.0 { power } else { 1.0 };
    numerator / (1.0 + power)
}

/// Every function that is measured. `abs` is the modulus of the complex number `x + i y`.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "abs",
        bound: UnaryOp::Abs.ulp(),
        truth: Truth::Two(core_math::hypot),
    },
    unary(UnaryOp::Acos, core_math::acos),
    unary(UnaryOp::Acosh, core_math::acosh),
    unary(UnaryOp::Asin, core_math::asin),
    unary(UnaryOp::Asinh, core_math::asinh),
    binary(BinaryOp::Atan2, core_math::atan2),
    unary(UnaryOp::Atanh, core_math::atanh),
    unary(UnaryOp::Cbrt, core_math::cbrt),
    unary(UnaryOp::Cosine, core_math::cos),
    unary(UnaryOp::Cosh, core_math::cosh),
    unary(UnaryOp::Erf, core_math::erf),
    unary(UnaryOp::Exponential, core_math::exp),
    unary(UnaryOp::ExponentialMinusOne, core_math::expm1),
    unary(UnaryOp::Log, core_math::log),
    unary(UnaryOp::LogPlusOne, core_math::log1p),
    unary(UnaryOp::Logistic, logistic),
    binary(BinaryOp::Power, core_math::pow),
    unary(UnaryOp::Rsqrt, core_math::rsqrt),
    unary(UnaryOp::Sine, core_math::sin),
    unary(UnaryOp::Sinh, core_math::sinh),
    unary(UnaryOp::Sqrt, f64::sqrt),
    unary(UnaryOp::Tan, core_math::tan),
    unary(UnaryOp::Tanh, core_math::tanh),
];

/// The greatest errors of `function` for `f32` and for `f64`.
///
/// A function of one `f32` is computed for every `step`-th of the 2^32 bit patterns, 1 for all; all else for as many
/// random operands as tests have time for.
///
/// # Errors
/// What hloc says if it does not compile or run the function.
pub fn measure(function: &Function, step: usize) -> Result<[Worst; 2], hloc::Error> {
    let single = match function.truth {
        Truth::One(_) => {
            let patterns = (0..=u32::MAX).step_by(step).chain(SPECIAL);
            measure_single(function, patterns.map(|bits| [f32::from_bits(bits), 0.0]))?
        }
        Truth::Two(_) => {
            let pairs = pairs(30.0).map(|pair| pair.map(|x| x as f32));
            measure_single(function, pairs)?
        }
    };
    Ok([single, measure_double(function)?])
}

/// The part of the bit patterns of `f32` from `first` on that [`measure`] takes with a step of `step`.
///
/// # Errors
/// As [`measure`].
pub fn measure_from(function: &Function, first: u32, step: usize) -> Result<Worst, hloc::Error> {
    let patterns = (first..=u32::MAX).step_by(step);
    measure_single(function, patterns.map(|bits| [f32::from_bits(bits), 0.0]))
}

/// Whether the function has one operand.
pub fn is_unary(function: &Function) -> bool {
    matches!(function.truth, Truth::One(_))
}

fn measure_single(
    function: &Function,
    operands: impl Iterator<Item = [f32; 2]>,
) -> Result<Worst, hloc::Error> {
    let executable = compile(function, "f32", "c64")?;
    let mut worst = Worst::default();
    let mut operands = operands.peekable();
    while operands.peek().is_some() {
        let chunk: Vec<[f32; 2]> = operands.by_ref().take(CHUNK).collect();
        let found: Vec<f32> = call(&executable, function, &chunk)?;
        for ([x, y], found) in chunk.into_iter().zip(found) {
            let at = [f64::from(x), f64::from(y)];
            let exact = match function.truth {
                Truth::One(truth) => truth(at[0]),
                Truth::Two(truth) => truth(at[0], at[1]),
            };
            worst.meet(single_error(found, exact), at);
        }
    }
    Ok(worst)
}

fn measure_double(function: &Function) -> Result<Worst, hloc::Error> {
    let executable = compile(function, "f64", "c128")?;
    let mut worst = Worst::default();
    let operands: Vec<[f64; 2]> = pairs(200.0).collect();
    for chunk in operands.chunks(CHUNK) {
        let found: Vec<f64> = call(&executable, function, chunk)?;
        for ([x, y], found) in chunk.iter().zip(found) {
            let exact = match function.truth {
                Truth::One(truth) => truth(*x),
                Truth::Two(truth) => truth(*x, *y),
            };
            worst.meet(double_error(found, exact), [*x, *y]);
        }
    }
    Ok(worst)
}

fn compile(function: &Function, real: &str, complex: &str) -> Result<Executable, hloc::Error> {
    let (name, n) = (function.name, CHUNK);
    let body = match function.truth {
        Truth::One(_) => format!("ROOT r = {real}[{n}] {name}(x)"),
        Truth::Two(_) if name == "abs" => {
            format!("z = {complex}[{n}] complex(x, y)\n ROOT r = {real}[{n}] abs(z)")
        }
        Truth::Two(_) => format!("ROOT r = {real}[{n}] {name}(x, y)"),
    };
    Compiler::new().threads(1).compile(&format!(
        "HloModule m\nENTRY main {{\n x = {real}[{n}] parameter(0)\n y = {real}[{n}] parameter(1)\n {body}\n}}\n"
    ))
}

/// The function of a chunk of operands, filled up with ones.
fn call<T: hloc_ir::Element + From<f32>>(
    executable: &Executable,
    function: &Function,
    chunk: &[[T; 2]],
) -> Result<Vec<T>, hloc::Error> {
    let column = |at: usize| {
        let mut values: Vec<T> = chunk.iter().map(|operands| operands[at]).collect();
        values.resize(CHUNK, T::from(1.0));
        Array::from_slice(&[CHUNK as i64], &values).expect("as many elements as it says")
    };
    let results = executable.run(&[column(0), column(1)])?;
    let found = results.first().and_then(Array::to_vec::<T>);
    Ok(found.unwrap_or_else(|| panic!("{} gives another type", function.name)))
}

/// Patterns that no step should miss.
const SPECIAL: [u32; 10] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
];

/// Random operands: of all sizes; of sizes up to `2^range` with exponents that powers can bear; near 1.
fn pairs(range: f64) -> impl Iterator<Item = [f64; 2]> {
    let mut state = 1u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..SAMPLES).map(move |at| {
        let (a, b, sign) = (next(), next(), if next() < 0.5 { -1.0 } else { 1.0 });
        match at % 4 {
            0 => [
                sign * ((a * 2.0 - 1.0) * range).exp2(),
                ((b * 2.0 - 1.0) * range).exp2(),
            ],
            1 => {
                let x = (a * 16.0 - 8.0).exp2();
                [x, (b * 2.0 - 1.0) * range * 5.0 / x.log2()]
            }
            2 => [sign * a * 20.0, (b - 0.5) * 8.0],
            _ => [sign * (1.0 + (a - 0.5) / 64.0), (b - 0.5) * 2000.0],
        }
    })
}

/// The error of an `f32`. NaN for what is none, a wrong infinity and the wrong zero are errors without end.
fn single_error(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found.is_nan() || rounded.is_nan() {
        return endless(found.is_nan() != rounded.is_nan());
    }
    let greatest = f64::from(f32::MAX);
    if found.is_infinite() || rounded.is_infinite() {
        // What would come after the greatest finite number is as far from it as its neighbor.
        let step = unit(f32::MAX);
        let value = |x: f64| x.clamp(-greatest - step, greatest + step);
        let far = (value(f64::from(found)) - value(exact)).abs() / step;
        return if exact.is_infinite() {
            endless(found != rounded)
        } else {
            far
        };
    }
    if found == 0.0 && rounded == 0.0 {
        let differs = found.is_sign_negative() != rounded.is_sign_negative();
        return endless(differs) + exact.abs() / unit(0.0);
    }
    (f64::from(found) - exact).abs() / unit(rounded)
}

fn endless(is_wrong: bool) -> f64 {
    if is_wrong { f64::INFINITY } else { 0.0 }
}

/// The distance of `x` to its greater neighbor.
fn unit(x: f32) -> f64 {
    let exponent = ((x.to_bits() >> 23) & 0xff).max(1).cast_signed();
    2f64.powi(exponent - 150)
}

/// How many numbers lie between an `f64` and the correctly rounded result, plus 1.
fn double_error(found: f64, exact: f64) -> f64 {
    if found.is_nan() || exact.is_nan() {
        return endless(found.is_nan() != exact.is_nan());
    }
    if found == 0.0 && exact == 0.0 {
        return endless(found.is_sign_negative() != exact.is_sign_negative());
    }
    let place = |x: f64| {
        let magnitude = (x.to_bits() & (u64::MAX >> 1)).cast_signed();
        if x.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    };
    place(found).abs_diff(place(exact)) as f64
}

/// Whether an error is beyond the bound of the function; a bound of 0 is that of correct rounding.
pub fn is_beyond(function: &Function, worst: Worst) -> bool {
    worst.error > f64::from(function.bound).max(0.5)
}

/// The table of the documentation: what was computed, and a row for each function.
pub fn table(step: usize, rows: &[(Function, [Worst; 2])]) -> String {
    let patterns = match step {
        1 => "all bit patterns".to_owned(),
        step => format!("one in {step} bit patterns"),
    };
    let mut table = format!(
        "Of `f32` with one operand {patterns}, else {SAMPLES} random operands.\n\n\
         | function | bound | f32 | f64 |\n|---|---|---|---|\n"
    );
    for (function, [single, double]) in rows {
        let operands = if is_unary(function) {
            format!("{:e}", single.at[0])
        } else {
            format!("{:e}, {:e}", single.at[0], single.at[1])
        };
        writeln!(
            table,
            "| `{}` | {} | {:.3} ({operands}) | {} |",
            function.name, function.bound, single.error, double.error
        )
        .expect("writing to a string does not fail");
    }
    table
}

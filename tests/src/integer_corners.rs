//! Feeds every corner of integer arithmetic to every engine, in a child process for each element type:
//! where hloc gave an instruction that traps, the test says which.
//!
//! Expected values are those of [`expected`], written from HLO's rules and independent of the evaluator.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

use hloc::{Compiler, PassSelection};
use hloc_ir::{Array, ElementClass, ElementType, Scalar};

const TYPES: &[ElementType] = &[
    ElementType::S1,
    ElementType::S2,
    ElementType::S4,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U1,
    ElementType::U2,
    ElementType::U4,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
];
const BINARY: &[&str] = &[
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "power",
    "maximum",
    "minimum",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
];
const SIGNED_UNARY: &[&str] = &[
    "negate",
    "not",
    "count-leading-zeros",
    "popcnt",
    "abs",
    "sign",
];
/// Numbers of elements; 0 stands for a scalar.
const SIZES: &[usize] = &[0, 1, 3, 64];
/// Names the element type to a child.
const VARIABLE: &str = "HLOC_INTEGER_CORNERS";

#[test]
fn no_corner_traps_or_differs() {
    let failed: Vec<String> = TYPES
        .iter()
        .filter_map(|ty| child(&ty.to_string()).err())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The test above is worth something only if a dying child is seen.
#[test]
fn a_child_that_dies_is_reported_by_name() {
    let message = child("abort").expect_err("the child aborts");
    assert!(message.contains("dies on purpose"), "{message}");
}

/// Runs [`in_a_child`] for an element type in a process of its own.
fn child(name: &str) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["in_a_child", "--exact", "--ignored", "--nocapture"])
        .env(VARIABLE, name)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rfind(|line| line.starts_with("corner: "));
    let last = last.unwrap_or("before the first corner");
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {} in {last}\n{errors}", output.status))
}

#[test]
#[ignore = "is run by the others, in a child"]
fn in_a_child() {
    let Ok(name) = std::env::var(VARIABLE) else {
        return;
    };
    if name == "abort" {
        say("dies on purpose");
        std::process::abort();
    }
    let ty = TYPES.iter().find(|ty| ty.to_string() == name);
    let ty = *ty.expect("a type of the list");
    for size in SIZES {
        check_arithmetic(ty, *size);
        let floats = ElementType::ALL.iter();
        for float in floats.filter(|ty| ty.class() == ElementClass::Float) {
            // The formats below 16 bits are converted to one of these first.
            if float.size() > 1 || *size >= 3 {
                check_conversions(ty, *float, *size);
            }
        }
    }
}

/// Tells the parent what comes next.
fn say(what: &str) {
    let mut out = std::io::stdout();
    // A parent that no longer listens has no use for it.
    let _ = writeln!(out, "corner: {what}").and_then(|()| out.flush());
}

fn wrapped(value: i128, ty: ElementType) -> i128 {
    let unused = 128 - ty.bits();
    if ty.is_signed_integer() {
        value << unused >> unused
    } else {
        (((value as u128) << unused) >> unused) as i128
    }
}

fn least(ty: ElementType) -> i128 {
    if ty.is_signed_integer() {
        -(1i128 << (ty.bits() - 1))
    } else {
        0
    }
}

fn greatest(ty: ElementType) -> i128 {
    least(ty) + (1i128 << ty.bits()) - 1
}

/// What HLO says an op gives; `y` is not used by ops with one operand.
fn expected(op: &str, x: i128, y: i128, ty: ElementType) -> i128 {
    let bits = i128::from(ty.bits());
    let in_width = (0..bits).contains(&y);
    let pattern = x as u128 & ((1u128 << bits) - 1);
    let result = match op {
        "add" => x + y,
        "subtract" => x - y,
        "multiply" => x.wrapping_mul(y),
        // All bits set; a quotient that overflows wraps.
        "divide" if y == 0 => -1,
        "divide" => x / y,
        "remainder" if y == 0 => x,
        "remainder" => x % y,
        "power" => power(x, y),
        "maximum" => x.max(y),
        "minimum" => x.min(y),
        "shift-left" if in_width => x << y,
        "shift-left" => 0,
        "shift-right-logical" if in_width => (pattern >> y) as i128,
        "shift-right-logical" => 0,
        // The uppermost bit is copied in, also for unsigned types.
        "shift-right-arithmetic" => {
            let signed = (pattern as i128) << (128 - bits) >> (128 - bits);
            signed >> if in_width { y } else { bits - 1 }
        }
        "negate" => -x,
        "not" => !x,
        "count-leading-zeros" => bits - (128 - i128::from(pattern.leading_zeros())),
        "popcnt" => pattern.count_ones().into(),
        "abs" => x.abs(),
        "sign" => x.signum(),
        _ => panic!("{op} has no rule here"),
    };
    wrapped(result, ty)
}

/// By multiplying; a negative exponent leaves only powers of ±1.
fn power(x: i128, y: i128) -> i128 {
    match (x, y) {
        (1, _) | (_, 0) => 1,
        (-1, _) => 1 - 2 * (y & 1),
        (_, ..=-1) => 0,
        // Beyond 64 factors a product of even numbers has no bits left, and odd ones repeat: only the
        // lowest bits of the exponent count.
        (_, _) => {
            let (mut result, mut square, mut rest) = (1u64, x as u64, y);
            while rest > 0 {
                if rest & 1 == 1 {
                    result = result.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                rest >>= 1;
            }
            result.into()
        }
    }
}

/// The ends of the type, what is next to them and to zero, and amounts around the width.
fn corners(ty: ElementType) -> Vec<i128> {
    let (least, greatest, bits) = (least(ty), greatest(ty), i128::from(ty.bits()));
    let mut values = vec![
        least,
        least + 1,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        greatest - 1,
        greatest,
    ];
    values.extend([bits - 1, bits, bits + 1]);
    values
        .iter_mut()
        .for_each(|value| *value = wrapped(*value, ty));
    values.sort_unstable();
    values.dedup();
    values
}

/// All pairs of corners in chunks of `size`, the last one filled up.
fn chunks(ty: ElementType, size: usize) -> Vec<[Vec<i128>; 2]> {
    let values = corners(ty);
    let pairs = values
        .iter()
        .flat_map(|x| values.iter().map(move |y| (*x, *y)));
    let pairs: Vec<(i128, i128)> = pairs.collect();
    let split = |pairs: &[(i128, i128)]| {
        let filled = pairs.iter().cycle().take(size.max(1));
        let (x, y) = filled.copied().unzip();
        [x, y]
    };
    pairs.chunks(size.max(1)).map(split).collect()
}

fn shape(ty: ElementType, size: usize) -> String {
    if size == 0 {
        format!("{ty}[]")
    } else {
        format!("{ty}[{size}]")
    }
}

fn literal(values: impl Iterator<Item = String>, size: usize) -> String {
    let values: Vec<String> = values.collect();
    if size == 0 {
        values.concat()
    } else {
        format!("{{{}}}", values.join(", "))
    }
}

fn array(ty: ElementType, size: usize, values: impl Iterator<Item = Scalar>) -> Array {
    let dims: &[i64] = if size == 0 { &[] } else { &[size as i64] };
    let mut array = Array::zeros(ty, dims).expect("a small array");
    for (at, value) in values.enumerate() {
        array.set(at, value);
    }
    array
}

fn integers(ty: ElementType, size: usize, values: &[i128]) -> Array {
    let scalar = |value: &i128| {
        if ty.is_signed_integer() {
            Scalar::Int(*value as i64)
        } else {
            Scalar::Uint(*value as u64)
        }
    };
    array(ty, size, values.iter().map(scalar))
}

fn integer(value: Scalar) -> i128 {
    match value {
        Scalar::Int(value) => value.into(),
        Scalar::Uint(value) => value.into(),
        Scalar::Pred(_) | Scalar::Float(_) | Scalar::Complex(..) => panic!("no integer"),
    }
}

fn ops(ty: ElementType) -> Vec<(&'static str, bool)> {
    let unary = if ty.is_signed_integer() {
        SIGNED_UNARY
    } else {
        &SIGNED_UNARY[..4]
    };
    let binary = BINARY.iter().map(|op| (*op, true));
    binary.chain(unary.iter().map(|op| (*op, false))).collect()
}

/// All ops on some operands, which are parameters or constants.
fn check_arithmetic(ty: ElementType, size: usize) {
    let chunks = chunks(ty, size);
    let shape = shape(ty, size);
    let parameters = format!("x0 = {shape} parameter(0)\ny0 = {shape} parameter(1)\n");
    let text = program(&parameters, 1, &shape, ty);
    for engine in Engine::all(&text, &format!("{shape} parameters")) {
        for [x, y] in &chunks {
            let inputs = [x, y].map(|values| integers(ty, size, values));
            let results = engine.run(&inputs);
            check_results(&engine.name, ty, &[[x.clone(), y.clone()]], &results);
        }
    }
    // Constants need a program each; a few hundred instructions make one.
    for chunks in chunks.chunks(24) {
        let mut constants = String::new();
        for (at, operands) in chunks.iter().enumerate() {
            for (name, values) in ["x", "y"].iter().zip(operands) {
                let values = literal(values.iter().map(i128::to_string), size);
                writeln!(constants, "{name}{at} = {shape} constant({values})").expect("memory");
            }
        }
        let text = program(&constants, chunks.len(), &shape, ty);
        for engine in Engine::all(&text, &format!("{shape} constants")) {
            check_results(&engine.name, ty, chunks, &engine.run(&[]));
        }
    }
}

fn program(operands: &str, count: usize, shape: &str, ty: ElementType) -> String {
    let mut text = format!("ENTRY e {{\n{operands}");
    let (mut names, mut shapes) = (Vec::new(), Vec::new());
    for at in 0..count {
        for (number, (op, is_binary)) in ops(ty).iter().enumerate() {
            let second = if *is_binary {
                format!(", y{at}")
            } else {
                String::new()
            };
            writeln!(text, "r{at}_{number} = {shape} {op}(x{at}{second})").expect("memory");
            names.push(format!("r{at}_{number}"));
            shapes.push(shape);
        }
    }
    format!(
        "{text}ROOT t = ({}) tuple({})\n}}",
        shapes.join(", "),
        names.join(", ")
    )
}

fn check_results(engine: &str, ty: ElementType, chunks: &[[Vec<i128>; 2]], results: &[Array]) {
    let ops = ops(ty);
    assert_eq!(results.len(), chunks.len() * ops.len());
    for ([x, y], results) in chunks.iter().zip(results.chunks(ops.len())) {
        for ((op, _), result) in ops.iter().zip(results) {
            for (at, (x, y)) in x.iter().zip(y).enumerate() {
                let (got, want) = (integer(result.get(at)), expected(op, *x, *y, ty));
                assert_eq!(got, want, "{engine}: {op}({x}, {y}) of {ty}");
            }
        }
    }
}

/// Truncates, saturates; NaN gives 0.
fn converted(value: f64, ty: ElementType) -> i128 {
    if value.is_nan() {
        return 0;
    }
    (value as i128).clamp(least(ty), greatest(ty))
}

/// Floats in and out of range to an integer type.
fn check_conversions(ty: ElementType, float: ElementType, size: usize) {
    let mut values = vec![
        0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.999, 1e300, -1e300, 6e4, -6e4,
    ];
    values.extend([
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        127.5,
        -128.5,
        255.5,
    ]);
    values.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|power| 2.0f64.powi(power)));
    values.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|power| -(2.0f64.powi(power))));
    let (from, to) = (shape(float, size), shape(ty, size));
    let parameter = format!("ENTRY e {{ x = {from} parameter(0) ROOT r = {to} convert(x) }}");
    let engines = Engine::all(&parameter, &format!("convert to {to} of {from} parameter"));
    for values in values.chunks(size.max(1)) {
        let filled: Vec<f64> = values.iter().cycle().take(size.max(1)).copied().collect();
        let input = array(
            float,
            size,
            filled.iter().map(|value| Scalar::Float(*value)),
        );
        let check = |engine: &str, result: &Array| {
            for at in 0..input.num_elements() {
                // What the narrow type holds is what is converted.
                let value = input.get(at).to_f64();
                let got = integer(result.get(at));
                assert_eq!(
                    got,
                    converted(value, ty),
                    "{engine}: {value} of {float} to {ty}"
                );
            }
        };
        for engine in &engines {
            check(&engine.name, &engine.run(std::slice::from_ref(&input))[0]);
        }
        if size > 3 || values.len() < size {
            continue;
        }
        // As the narrow type holds it: a literal beyond its range is refused.
        let held = (0..input.num_elements()).map(|at| input.get(at).to_f64());
        let spelled = held.map(|value| format!("{value:?}").to_lowercase());
        let text = literal(spelled, size);
        let constant =
            format!("ENTRY e {{ x = {from} constant({text}) ROOT r = {to} convert(x) }}");
        for engine in Engine::all(&constant, &format!("convert to {to} of {from} {text}")) {
            check(&engine.name, &engine.run(&[])[0]);
        }
    }
}

/// Computes the results of a program.
type Run = Box<dyn Fn(&[Array]) -> Vec<Array>>;

/// One way to run a program.
struct Engine {
    name: String,
    run: Run,
}

impl Engine {
    /// The evaluator, compiled code without passes, and with all.
    fn all(text: &str, what: &str) -> Vec<Engine> {
        let compiler = Compiler::new().threads(1);
        let parsed = compiler.parse("corners", text).expect("well-formed");
        let verified = compiler
            .verify(parsed)
            .unwrap_or_else(|error| panic!("{error}"));
        let evaluator = compiler.clone();
        let mut engines = vec![Engine {
            name: format!("evaluator, {what}"),
            run: Box::new(move |inputs| evaluator.evaluate(&verified, inputs).expect("evaluates")),
        }];
        for (name, passes) in [
            ("no passes", PassSelection::None),
            ("passes", PassSelection::All),
        ] {
            let name = format!("{name}, {what}");
            say(&format!("compiling, {name}"));
            let executable = compiler.clone().passes(passes).compile(text);
            let executable = executable.unwrap_or_else(|error| panic!("{name}: {error}"));
            engines.push(Engine {
                name,
                run: Box::new(move |inputs| executable.run(inputs).expect("runs")),
            });
        }
        engines
    }

    fn run(&self, inputs: &[Array]) -> Vec<Array> {
        say(&self.name);
        (self.run)(inputs)
    }
}

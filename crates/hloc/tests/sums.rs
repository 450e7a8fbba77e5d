//! Sums of a million `f32`: accurate to 1e-6 in compiled code and on the evaluator, whichever way they run.

use hloc::{Array, Compiler, PassSelection};

const COUNT: usize = 1_000_000;

/// Numbers between 0 and 1 that look random; their exact sum is known in `f64` to 1e-10.
fn terms() -> Vec<f32> {
    let mut state = 1u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    std::iter::repeat_with(next).take(COUNT).collect()
}

/// Sums over `dimensions` of the terms with these dimensions, from each engine.
fn sums(dims: &[i64], dimensions: &str, result: &str) -> Vec<Vec<f32>> {
    let shape = format!("f32{dims:?}").replace(' ', "");
    let text = format!(
        "add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
         ENTRY e {{
           x = {shape} parameter(0)
           zero = f32[] constant(0)
           ROOT r = {result} reduce(x, zero), dimensions={dimensions}, to_apply=add
         }}"
    );
    let input = Array::from_slice(dims, &terms()).expect("a million elements");
    let inputs = [input];
    let mut results = Vec::new();
    for passes in [PassSelection::None, PassSelection::All] {
        let executable = Compiler::new().passes(passes).compile(&text);
        results.push(executable.expect("compiles").run(&inputs).expect("runs"));
    }
    let compiler = Compiler::new();
    let verified = compiler
        .parse("sums", text)
        .and_then(|parsed| compiler.verify(parsed));
    let verified = verified.expect("valid");
    results.push(compiler.evaluate(&verified, &inputs).expect("evaluates"));
    let elements = |arrays: Vec<Array>| arrays[0].to_vec::<f32>().expect("f32");
    results.into_iter().map(elements).collect()
}

#[track_caller]
fn assert_accurate(got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        let error = (f64::from(*got) - want).abs() / want.abs();
        assert!(error < 1e-6, "{got} is off by {error:e} from {want}");
    }
}

#[test]
fn to_a_scalar() {
    let want: f64 = terms().iter().map(|x| f64::from(*x)).sum();
    for got in sums(&[1000, 1000], "{0,1}", "f32[]") {
        assert_accurate(&got, &[want]);
    }
    for got in sums(&[COUNT as i64], "{0}", "f32[]") {
        assert_accurate(&got, &[want]);
    }
}

#[test]
fn of_rows() {
    let terms = terms();
    let sum = |half: &[f32]| half.iter().map(|x| f64::from(*x)).sum();
    let want: Vec<f64> = terms.chunks(COUNT / 2).map(sum).collect();
    for got in sums(&[2, COUNT as i64 / 2], "{1}", "f32[2]") {
        assert_accurate(&got, &want);
    }
}

#[test]
fn of_columns() {
    let terms = terms();
    let column = |at: usize| {
        terms
            .iter()
            .skip(at)
            .step_by(4)
            .map(|x| f64::from(*x))
            .sum()
    };
    let want: Vec<f64> = (0..4).map(column).collect();
    for got in sums(&[COUNT as i64 / 4, 4], "{0}", "f32[4]") {
        assert_accurate(&got, &want);
    }
}

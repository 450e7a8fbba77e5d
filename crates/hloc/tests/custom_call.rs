//! Custom calls that the embedding program answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hloc::{Array, Compiler, Error, PassSelection};

const CALL: &str = r#"ENTRY e {
  x = f32[3] parameter(0)
  two = f32[] constant(2)
  twos = f32[3] broadcast(two), dimensions={}
  y = f32[3] multiply(x, twos)
  called = (f32[3], s32[]) custom-call(y), custom_call_target="add", backend_config="10"
  sum = f32[3] get-tuple-element(called), index=0
  count = s32[] get-tuple-element(called), index=1
  z = f32[3] add(sum, y)
  ROOT r = (f32[3], s32[]) tuple(z, count)
}"#;

fn input() -> Array {
    Array::from_slice(&[3], &[1.0f32, 2.0, 3.0]).expect("three elements")
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Adds the number of the backend configuration and counts elements.
fn adding() -> Compiler {
    Compiler::new().threads(2).custom_call("add", |call| {
        let number: f32 = call.backend_config.parse().map_err(text)?;
        let elements = call.operands[0].to_vec::<f32>().ok_or("f32 expected")?;
        let sums: Vec<f32> = elements.iter().map(|x| x + number).collect();
        let sums = Array::from_slice(&call.results[0].dims, &sums).map_err(text)?;
        Ok(vec![sums, Array::scalar(elements.len() as i32)])
    })
}

/// What compiled code and the evaluator give.
fn both(compiler: &Compiler, program: &str) -> [Result<Vec<Array>, Error>; 2] {
    let verified = compiler
        .parse("t", program)
        .and_then(|parsed| compiler.verify(parsed));
    let verified = verified.expect("valid");
    let executable = compiler.compile(program).expect("the target is known");
    [
        executable.run(&[input()]),
        compiler.evaluate(&verified, &[input()]),
    ]
}

#[test]
fn handlers_answer() {
    for passes in [PassSelection::All, PassSelection::None] {
        for results in both(&adding().passes(passes), CALL) {
            let results = results.expect("the handler answers");
            assert_eq!(results[0].as_slice::<f32>(), Some(&[14.0, 18.0, 22.0][..]));
            assert_eq!(results[1].as_slice::<i32>(), Some(&[3][..]));
        }
    }
}

#[test]
fn unknown_targets_are_refused_with_their_place() {
    let error = hloc::compile(CALL).expect_err("nobody answers");
    assert!(error.is_unsupported());
    let message = error.to_string();
    assert!(
        message.contains("`add` is unknown") && message.contains(":6:3"),
        "{message}"
    );
}

#[test]
fn failures_are_told() {
    type Answer = fn(&hloc::CustomCall<'_>) -> Result<Vec<Array>, String>;
    let answers: [(Answer, &str); 4] = [
        (|_| Err("no luck".to_owned()), "no luck"),
        (|_| panic!("out of luck"), "it panicked: out of luck"),
        (|_| Ok(Vec::new()), "it gave 0 arrays instead of 2"),
        (
            |call| Ok(vec![call.operands[0].clone(), Array::scalar(1.0f32)]),
            "it gave f32[] as result 1 instead of s32[]",
        ),
    ];
    for (answer, message) in answers {
        for results in both(&Compiler::new().custom_call("add", answer), CALL) {
            let error = results.expect_err("the handler fails");
            assert!(error.is_custom_call_failure());
            let shown = error.to_string();
            assert!(
                shown.contains("the custom call to `add` failed") && shown.contains(message),
                "{shown}"
            );
        }
    }
}

#[test]
fn calls_in_loops_and_calls_without_results() {
    let text = r#"
body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[3] custom-call(x), custom_call_target="count"
  ROOT t = (s32[], f32[3]) tuple(next, y)
}
cond {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT p = pred[] compare(i, five), direction=LT
}
ENTRY e {
  x = f32[3] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[3]) tuple(zero, x)
  w = (s32[], f32[3]) while(s), condition=cond, body=body
  ROOT r = f32[3] get-tuple-element(w), index=1
}"#;
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let compiler = Compiler::new().custom_call("count", move |call| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(call.operands.to_vec())
    });
    for (number, results) in both(&compiler, text).into_iter().enumerate() {
        assert_eq!(results.expect("the handler answers"), [input()], "{number}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 10);
}

//! Programs through the whole pipeline, by the embedding API.

use hloc::{Array, Compiler, ElementType, Executable, PassSelection};

fn run(text: &str, inputs: &[Array]) -> Vec<Array> {
    hloc::compile(text)
        .and_then(|executable| executable.run(inputs))
        .unwrap_or_else(|error| panic!("{error}"))
}

const SWITCH: &str = "
one { one.x = f32[2] parameter(0) ROOT one.y = f32[2] negate(one.x) }
two { two.x = f32[2] parameter(0) ROOT two.y = f32[2] multiply(two.x, two.x) }
three { ROOT three.x = f32[2] parameter(0) }
ENTRY main {
  which = s32[] parameter(0)
  x = f32[2] parameter(1)
  ROOT y = f32[2] conditional(which, x, x, x), branch_computations={one, two, three}
}";

#[test]
fn indices_out_of_range_run_the_last_branch() {
    let x = Array::from_slice(&[2], &[3.0f32, -2.0]).expect("two");
    let executable = hloc::compile(SWITCH).expect("valid");
    for (index, want) in [
        (0, [-3.0, 2.0]),
        (1, [9.0, 4.0]),
        (2, [3.0, -2.0]),
        (3, [3.0, -2.0]),
        (-1, [3.0, -2.0]),
        (i32::MIN, [3.0, -2.0]),
    ] {
        let results = executable
            .run(&[Array::scalar(index), x.clone()])
            .expect("run");
        assert_eq!(results[0].as_slice::<f32>(), Some(&want[..]), "{index}");
    }
}

#[test]
fn true_is_the_first_branch() {
    let text = "
yes { yes.x = s32[] parameter(0) ROOT yes.y = s32[] add(yes.x, yes.x) }
no { no.x = s32[] parameter(0) ROOT no.y = s32[] negate(no.x) }
ENTRY main {
  p = pred[] parameter(0)
  x = s32[] parameter(1)
  ROOT y = s32[] conditional(p, x, x), true_computation=yes, false_computation=no
}";
    for (predicate, want) in [(true, 10), (false, -5)] {
        let results = run(text, &[Array::scalar(predicate), Array::scalar(5i32)]);
        assert_eq!(results[0], Array::scalar(want));
    }
}

const LOOP: &str = "
condition {
  condition.s = (s32[], s32[], f32[4], f32[4]) parameter(0)
  condition.i = s32[] get-tuple-element(condition.s), index=0
  condition.n = s32[] get-tuple-element(condition.s), index=1
  ROOT condition.go = pred[] compare(condition.i, condition.n), direction=LT
}
body {
  body.s = (s32[], s32[], f32[4], f32[4]) parameter(0)
  body.i = s32[] get-tuple-element(body.s), index=0
  body.one = s32[] constant(1)
  body.next = s32[] add(body.i, body.one)
  body.n = s32[] get-tuple-element(body.s), index=1
  body.a = f32[4] get-tuple-element(body.s), index=2
  body.b = f32[4] get-tuple-element(body.s), index=3
  body.sum = f32[4] add(body.a, body.b)
  ROOT body.r = (s32[], s32[], f32[4], f32[4]) tuple(body.next, body.n, body.b, body.sum)
}
ENTRY main {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  a = f32[4] constant({0, 1, 2, 3})
  b = f32[4] constant({1, 1, 1, 1})
  s = (s32[], s32[], f32[4], f32[4]) tuple(zero, n, a, b)
  ROOT w = (s32[], s32[], f32[4], f32[4]) while(s), condition=condition, body=body
}";

#[test]
fn loops_run_any_number_of_times_and_swap_their_state() {
    let executable = hloc::compile(LOOP).expect("valid");
    // Fibonacci numbers from (0, 1), (1, 1), (2, 1) and (3, 1).
    for (rounds, a, b) in [
        (0, [0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]),
        (1, [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]),
        (2, [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]),
        (5, [5.0, 8.0, 11.0, 14.0], [8.0, 13.0, 18.0, 23.0]),
    ] {
        // Twice: the second run must not see what the first has left behind.
        for _ in 0..2 {
            let results = executable.run(&[Array::scalar(rounds)]).expect("run");
            assert_eq!(results[0], Array::scalar(rounds.max(0)));
            assert_eq!(results[2].as_slice::<f32>(), Some(&a[..]), "{rounds}");
            assert_eq!(results[3].as_slice::<f32>(), Some(&b[..]), "{rounds}");
        }
    }
}

#[test]
fn a_result_may_be_a_parameter_a_constant_or_twice_the_same() {
    let text = "ENTRY main {
  x = s32[2] parameter(0)
  c = s32[2] constant({7, 8})
  ROOT t = (s32[2], s32[2], s32[2], s32[2]) tuple(x, x, c, c)
}";
    let x = Array::from_slice(&[2], &[1i32, 2]).expect("two");
    let c = Array::from_slice(&[2], &[7i32, 8]).expect("two");
    let results = run(text, std::slice::from_ref(&x));
    assert_eq!(results, [x.clone(), x, c.clone(), c]);
}

#[test]
fn arrays_without_elements_are_fine() {
    let text = "ENTRY main {
  x = f32[0,3] parameter(0)
  y = f32[3,2] parameter(1)
  d = f32[0,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[3,0] transpose(x), dimensions={1,0}
  f = f32[3,3] dot(e, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[0,2], f32[3,3]) tuple(d, f)
}";
    let inputs = [[0, 3], [3, 2]].map(|dims| Array::zeros(ElementType::F32, &dims).expect("small"));
    let results = run(text, &inputs);
    assert_eq!(results[0].dims(), [0, 2]);
    assert_eq!(results[1].as_slice::<f32>(), Some(&[0.0f32; 9][..]));
}

const LARGE: &str = "
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[700,300] parameter(0)
  y = f32[300,500] parameter(1)
  e = f32[700,300] exponential(x)
  d = f32[700,500] dot(e, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[700,500] tanh(d)
  zero = f32[] constant(0)
  r = f32[700] reduce(t, zero), dimensions={1}, to_apply=sum
  s = f32[] reduce(r, zero), dimensions={0}, to_apply=sum
  ROOT all = (f32[700,500], f32[700], f32[]) tuple(t, r, s)
}";

fn large_inputs() -> [Array; 2] {
    [[700i64, 300], [300, 500]].map(|dims| {
        let elements: Vec<f32> = (0..dims[0] * dims[1])
            .map(|at| ((at * 7919 % 1013) as f32 - 506.0) / 997.0)
            .collect();
        Array::from_slice(&dims, &elements).expect("right size")
    })
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let inputs = large_inputs();
    let results = [1, 2, 5].map(|threads| {
        let executable = Compiler::new().threads(threads).compile(LARGE);
        let executable = executable.expect("valid");
        assert_eq!(executable.threads(), threads);
        executable.run(&inputs).expect("run")
    });
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn several_threads_run_one_executable() {
    let inputs = large_inputs();
    let executable = Compiler::new().threads(2).compile(LARGE).expect("valid");
    let want = executable.run(&inputs).expect("run");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(executable.run(&inputs).expect("run") == want);
                }
            });
        }
    });
}

#[test]
fn a_runner_gives_what_run_gives() {
    let executable = hloc::compile(LOOP).expect("valid");
    let inputs = vec![Array::scalar(9i32)];
    let want = executable.run(&inputs).expect("run");
    let mut runner = executable.runner(inputs).expect("fits");
    for _ in 0..3 {
        runner.run().expect("run");
        assert_eq!(runner.outputs(), want);
        // A result that the caller keeps is not overwritten by the next run.
        let kept = runner.outputs().to_vec();
        runner.run().expect("run");
        assert_eq!(kept, want);
    }
}

#[test]
fn inputs_must_fit() {
    let executable = hloc::compile(SWITCH).expect("valid");
    let error = executable.run(&[]).expect_err("too few");
    assert!(error.is_argument_mismatch() && !error.is_internal());
    assert_eq!(
        error.to_string(),
        "the program takes 2 arrays, but 0 were given"
    );
    let wrong = [Array::scalar(0i64), Array::scalar(0.0f32)];
    let error = executable.run(&wrong).expect_err("wrong type");
    assert_eq!(
        error.to_string(),
        "parameter `which` (number 0 from 0) is s32[], but the array given is s64[]"
    );
}

#[test]
fn tuples_are_flattened() {
    let text = "ENTRY main {
  t = (f32[2], (s32[], f32[])) parameter(0)
  a = f32[2] get-tuple-element(t), index=0
  n = (s32[], f32[]) get-tuple-element(t), index=1
  ROOT r = ((s32[], f32[]), f32[2]) tuple(n, a)
}";
    let executable = hloc::compile(text).expect("valid");
    let names: Vec<String> = executable
        .parameters()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["t.0: f32[2]", "t.1.0: s32[]", "t.1.1: f32[]"]);
    let a = Array::from_slice(&[2], &[1.0f32, 2.0]).expect("two");
    let inputs = [a.clone(), Array::scalar(3i32), Array::scalar(4.0f32)];
    let results = executable.run(&inputs).expect("run");
    assert_eq!(results, [Array::scalar(3i32), Array::scalar(4.0f32), a]);
}

#[test]
fn errors_are_told_apart() {
    let invalid = hloc::compile("ENTRY e { x = f32[2] parametr(0) }").expect_err("a slip");
    assert!(invalid.is_invalid_hlo() && !invalid.is_unsupported());
    assert_eq!(invalid.diagnostics()[0].code, "unknown-opcode");
    assert!(invalid.to_string().contains("<text>:1:"), "{invalid}");

    let unknown = Compiler::new().passes(PassSelection::Named(vec!["speed".to_owned()]));
    let error = unknown.compile(SWITCH).expect_err("no such pass");
    assert!(error.is_invalid_option());

    let text = "ENTRY e { x = f32[4] parameter(0) ROOT y = c64[3] custom-call(x), custom_call_target=\"elsewhere\" }";
    let error = hloc::compile(text).expect_err("there is no such target");
    assert!(error.is_unsupported(), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("custom-call") && message.contains("c64"),
        "{message}"
    );
}

#[test]
fn asynchronous_pairs_run_in_place() {
    let text = "
HloModule pairs
ENTRY main {
  x = f32[2] parameter(0)
  copying = (f32[2], f32[2], u32[]) copy-start(x)
  copied = f32[2] copy-done(copying)
  start = ((f32[2]), f32[2], s32[]) negate-start(copied)
  update = ((f32[2]), f32[2], s32[]) negate-update(start)
  negative = f32[2] negate-done(update)
  permuting = (f32[2], f32[2]) collective-permute-start(negative), source_target_pairs={{0,0}}
  permuted = f32[2] collective-permute-done(permuting)
  ROOT r = (f32[2], f32[2]) tuple(permuted, x)
}";
    let executable = hloc::compile(text).expect("compiles");
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).expect("two");
    let results = executable.run(std::slice::from_ref(&x)).expect("runs");
    let negative = Array::from_slice(&[2], &[-1.0f32, -2.0]).expect("two");
    assert_eq!(results, [negative, x]);
}

#[test]
fn a_broadcast_takes_no_memory() {
    let text = "
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[1000] parameter(0)
  y = f32[1000] parameter(1)
  xb = f32[1000,1000] broadcast(x), dimensions={0}
  yb = f32[1000,1000] broadcast(y), dimensions={1}
  d = f32[1000,1000] subtract(xb, yb)
  a = f32[1000,1000] abs(d)
  zero = f32[] constant(0)
  ROOT r = f32[1000] reduce(a, zero), dimensions={1}, to_apply=sum
}";
    let executable = hloc::compile(text).expect("valid");
    assert!(
        executable.peak_buffer_bytes() < 100_000,
        "{} bytes",
        executable.peak_buffer_bytes()
    );
}

#[test]
fn saved_executables_give_the_same_results() {
    let executable = hloc::compile(LARGE).expect("valid");
    let mut file = Vec::new();
    executable.save(&mut file).expect("written");
    assert!(hloc::is_executable(&file));
    let loaded = Executable::load(&file[..]).expect("readable");
    let inputs = large_inputs();
    assert!(loaded.run(&inputs).expect("run") == executable.run(&inputs).expect("run"));
    let error = Executable::load(&b"HloModule"[..]).expect_err("text");
    assert!(error.is_invalid_file());
}

#[test]
fn without_passes_results_are_the_same() {
    let inputs = large_inputs();
    let plain = Compiler::new().passes(PassSelection::None).compile(LARGE);
    let plain = plain.expect("valid").run(&inputs).expect("run");
    let optimized = run(LARGE, &inputs);
    for (got, want) in optimized.iter().zip(&plain) {
        assert!(
            hloc_tensor::compare(
                got,
                want,
                hloc_tensor::Tolerance::Close {
                    rtol: 1e-5,
                    atol: 1e-5
                }
            )
            .is_ok()
        );
    }
}

#[test]
fn long_sums_stay_close_for_any_number_of_threads() {
    let add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }";
    let cases = [
        (vec![1_000_003], "0", 1),
        (vec![20_001, 50], "0", 50),
        (vec![40, 25_011], "0,1", 1),
        (vec![3, 25_000, 14], "1", 42),
        (vec![3, 350_000], "1", 3),
    ];
    for (dims, reduced, results) in cases {
        let count: i64 = dims.iter().product();
        let sizes: Vec<String> = dims.iter().map(i64::to_string).collect();
        let kept = dims
            .iter()
            .enumerate()
            .filter(|(at, _)| !reduced.contains(&at.to_string()));
        let kept: Vec<String> = kept.map(|(_, size)| size.to_string()).collect();
        let text = format!(
            "{add} ENTRY main {{ x = f32[{}] parameter(0) z = f32[] constant(0)
             ROOT r = f32[{}] reduce(x, z), dimensions={{{reduced}}}, to_apply=add }}",
            sizes.join(","),
            kept.join(",")
        );
        // One summand is the hardest case: each rounding errs the same way.
        let tenths = Array::from_slice(&dims, &vec![0.1f32; count as usize]).expect("as many");
        let want = f64::from(0.1f32) * (count / results) as f64;
        let mut sums = Vec::new();
        for threads in [1, 2] {
            let executable = Compiler::new()
                .threads(threads)
                .compile(&text)
                .expect("valid");
            let result = executable.run(std::slice::from_ref(&tenths)).expect("run");
            sums.push(result[0].to_vec::<f32>().expect("f32"));
        }
        assert_eq!(sums[0], sums[1]);
        for sum in &sums[0] {
            let error = (f64::from(*sum) - want).abs() / want;
            assert!(error < 1e-6, "{dims:?}: {sum} for {want}, off by {error:e}");
        }
    }
}

//! What a profile says of steps and instructions. Times are not looked at.

use std::time::Duration;

use hloc::{Array, Compiler, Profile, ProfileOptions, ProfiledStep, Roofline};

/// A profile of a program on zeros, in the order of the steps' numbers.
fn profiled(text: &str) -> Profile {
    let compiler = Compiler::new().threads(2);
    let parsed = compiler.parse("text", text).expect("reads");
    let source = parsed.shared_source();
    let verified = compiler.verify(parsed).expect("is right");
    let optimized = compiler.optimize(verified).expect("passes");
    let lowered = compiler.lower(optimized).expect("lowers");
    let executable = compiler.emit(lowered).expect("emits");
    let parameters = executable.parameters();
    let inputs = parameters.iter().map(|parameter| {
        let shape = &parameter.shape;
        Array::zeros(shape.element_type, &shape.dims).expect("fits")
    });
    let inputs: Vec<Array> = inputs.collect();
    let options = ProfileOptions {
        min_time: Duration::ZERO,
        max_runs: 3,
        events: true,
    };
    let (_, mut profile) = executable.profile(&inputs, &options).expect("runs");
    profile.locate(&source);
    profile.steps.sort_by_key(|step| step.number);
    profile
}

fn named<'p>(profile: &'p Profile, name: &str) -> &'p ProfiledStep {
    let mut steps = profile.steps.iter();
    steps.find(|step| step.name == name).expect("it ran")
}

/// Bytes read, bytes written, operations.
fn work(step: &ProfiledStep) -> (u64, u64, Option<u64>) {
    let work = step.work;
    (work.bytes_read, work.bytes_written, work.operations)
}

#[test]
fn a_broadcast_operand_counts_its_own_bytes() {
    let profile = profiled(
        "ENTRY e {
           x = f32[64,32] parameter(0)
           y = f32[32] parameter(1)
           row = f32[64,32] broadcast(y), dimensions={1}
           ROOT sum = f32[64,32] add(x, row)
         }",
    );
    let [step] = profile.steps.as_slice() else {
        panic!("one kernel: {profile}");
    };
    assert_eq!(work(step), (8192 + 128, 8192, Some(2048)));
    let names = step.instructions.iter();
    let names: Vec<_> = names.map(|each| (each.name.as_str(), each.line)).collect();
    assert_eq!(names, [("row", Some(4)), ("sum", Some(5))]);
    let parts = step.instructions.iter().map(|each| each.part);
    assert_eq!(parts.collect::<Vec<_>>(), [0.0, 1.0]);
}

#[test]
fn only_touched_elements_count() {
    let profile = profiled(
        "ENTRY e {
           table = f32[1000,64] parameter(0)
           rows = s32[10] parameter(1)
           ROOT taken = f32[10,64] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0},
             start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
         }",
    );
    let step = named(&profile, "taken");
    assert_eq!(work(step), (10 * 64 * 4 + 10 * 4, 10 * 64 * 4, Some(0)));
}

#[test]
fn products_count_their_terms() {
    let profile = profiled(
        r#"ENTRY e {
           a = f32[64,48] parameter(0)
           b = f32[48,32] parameter(1)
           ROOT c = f32[64,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0},
             metadata={op_name="jit(f)/dot_general" source_file="f.py" source_line=7}
         }"#,
    );
    let step = named(&profile, "c");
    assert_eq!(step.kind, "dot");
    let bytes = |elements: u64| 4 * elements;
    let read = bytes(64 * 48) + bytes(48 * 32);
    let operations = 2 * 64 * 48 * 32;
    assert_eq!(work(step), (read, bytes(64 * 32), Some(operations)));
    let dot = &step.instructions[0];
    assert_eq!(dot.op_name.as_deref(), Some("jit(f)/dot_general"));
    assert_eq!(dot.source.as_deref(), Some("f.py:7"));
}

#[test]
fn loops_count_iterations() {
    let profile = profiled(
        "body { s = (s32[], f32[5000]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           x = f32[5000] get-tuple-element(s), index=1
           one = s32[] constant(1)
           next = s32[] add(i, one)
           turned = f32[5000] cosine(x)
           y = f32[5000] reverse(turned), dimensions={0}
           ROOT r = (s32[], f32[5000]) tuple(next, y) }
         condition { s = (s32[], f32[5000]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           bound = s32[] constant(12)
           ROOT more = pred[] compare(i, bound), direction=LT }
         ENTRY e { x = f32[5000] parameter(0)
           zero = s32[] constant(0)
           init = (s32[], f32[5000]) tuple(zero, x)
           loop = (s32[], f32[5000]) while(init), condition=condition, body=body
           ROOT r = f32[5000] get-tuple-element(loop), index=1 }",
    );
    let [each] = profile.loops.as_slice() else {
        panic!("one loop: {profile}");
    };
    assert_eq!(each.iterations, 12 * profile.runs.count);
    assert_eq!(each.timing.count, profile.runs.count);
    let step = profile
        .steps
        .iter()
        .find(|step| step.instructions.iter().any(|each| each.name == "y"))
        .expect("the body's kernel");
    assert_eq!(step.timing.count, 12 * profile.runs.count);
    assert_eq!(step.in_loop, Some(0));
    let text = profile.to_string();
    assert!(
        text.contains("(in loop)") && text.contains("outside kernels"),
        "{text}"
    );
}

#[test]
fn times_add_up() {
    let profile = profiled(
        "less { a = f32[] parameter(0) b = f32[] parameter(1)
           ROOT l = pred[] compare(a, b), direction=LT }
         ENTRY e { x = f32[100000] parameter(0)
           a = f32[100000] sine(x)
           ROOT s = f32[100000] sort(a), dimensions={0}, to_apply=less }",
    );
    let inside: Duration = profile.steps.iter().map(|step| step.timing.total).sum();
    assert_eq!(inside + profile.outside, profile.runs.total);
    assert_eq!(named(&profile, "s").work.operations, None);
    let json: String = profile.to_json();
    assert!(json.starts_with('{') && json.ends_with('}'));
}

#[test]
fn the_roofline_is_what_sets_the_least_time() {
    let roofline = Roofline {
        bandwidths: vec![(1000, 2e9), (1_000_000, 1e9)],
        operations_per_second: 1e10,
        threads: 1,
    };
    assert_eq!(roofline.bandwidth(1000), 2e9);
    assert_eq!(roofline.bandwidth(5_000_000), 1e9);
    let mut work = hloc::Work {
        bytes_read: 600,
        bytes_written: 400,
        operations: Some(10),
        is_double: false,
    };
    assert_eq!(roofline.least_time(work), (Duration::from_nanos(500), true));
    work.operations = Some(10_000);
    work.is_double = true;
    assert_eq!(
        roofline.least_time(work),
        (Duration::from_nanos(2000), false)
    );
    let measured = Roofline::measure(&Compiler::new().threads(1)).expect("measures");
    assert!(measured.operations_per_second > 1e7);
    assert!(measured.bandwidths.iter().all(|(_, rate)| *rate > 1e6));
}

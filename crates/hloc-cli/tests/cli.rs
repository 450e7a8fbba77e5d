//! The contract of the command line: verbs, streams, exit statuses.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hloc_tensor::{Array, npz};

const ADD: &str = "HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  ROOT sum = f32[3] add(x, y)
}
";

fn hloc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hloc"))
        .args(args)
        .output()
        .expect("hloc starts")
}

fn hloc_on(text: &str, args: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hloc"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hloc starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("hloc reads");
    drop(stdin);
    child.wait_with_output().expect("hloc ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// The exit status, or -1 after a signal.
fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// A path for a file of this test, in a directory that the build owns.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("a path of this test is text")
}

#[test]
fn check_tells_all_mistakes_on_stderr() {
    let good = hloc_on(ADD, &["check", "-"]);
    assert_eq!((status(&good), stderr(&good)), (0, String::new()));
    assert_eq!(
        stdout(&good),
        "<stdin>: ok, 3 instructions in 1 computation\n"
    );

    let wrong = ADD
        .replace("f32[3] add", "f32[4] add")
        .replace("ROOT", "bad = s32[2] negate(x)\n  ROOT");
    let bad = hloc_on(&wrong, &["check", "-"]);
    assert_eq!((status(&bad), stdout(&bad)), (1, String::new()));
    let errors = stderr(&bad)
        .lines()
        .filter(|line| line.starts_with("error["))
        .count();
    assert_eq!(errors, 2, "{}", stderr(&bad));

    let json = hloc_on(&wrong, &["check", "-", "--format", "json"]);
    assert_eq!((status(&json), stderr(&json)), (1, String::new()));
    for line in stdout(&json).lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(value["severity"], "error");
        assert!(value["line"].is_u64(), "{line}");
    }
}

#[test]
fn fmt_is_a_fixed_point() {
    let once = hloc_on(ADD, &["fmt", "-"]);
    let twice = hloc_on(&stdout(&once), &["fmt", "-"]);
    assert_eq!(status(&once), 0);
    assert_eq!(stdout(&once), stdout(&twice));
}

#[test]
fn opt_prints_after_passes() {
    let output = hloc_on(
        ADD,
        &["opt", "-", "--passes", "cse,dce", "--print-after", "all"],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("// after cse\n") && text.contains("// after dce\n"));
    let again = hloc_on(
        &text[text.find("// result").expect("the result")..],
        &["check", "-"],
    );
    assert_eq!(status(&again), 0, "{}", stderr(&again));

    let unknown = hloc_on(ADD, &["opt", "-", "--passes", "dcee"]);
    assert_eq!(status(&unknown), 2);
    assert!(stderr(&unknown).contains("no pass is named `dcee`"));
    let list = hloc(&["opt", "--list-passes"]);
    assert!(stdout(&list).contains("legalize-broadcast"));
}

#[test]
fn run_reads_and_writes_numpy_files() {
    let (input, output) = (scratch("run-in.npz"), scratch("run-out.npz"));
    let x = Array::from_slice(&[3], &[1.0f32, 2.0, 3.0]).expect("three");
    let y = Array::from_slice(&[3], &[0.5f32, 0.25, 0.0]).expect("three");
    // One by position, one by name, one that is not needed.
    let members = [("in0", x.clone()), ("y", y), ("other", x)];
    npz::write(
        &input,
        &members.map(|(name, array)| (name.to_owned(), array)),
    )
    .expect("written");
    let (input, output) = (text_of(&input), text_of(&output));
    let ran = hloc_on(
        ADD,
        &[
            "run",
            "-",
            "--inputs",
            input,
            "--output",
            output,
            "--threads",
            "2",
        ],
    );
    assert_eq!(
        (status(&ran), stdout(&ran)),
        (0, String::new()),
        "{}",
        stderr(&ran)
    );
    let (name, array) = npz::read(output).expect("readable").remove(0);
    assert_eq!(name, "out0");
    let array = array
        .into_array(hloc_tensor::ElementType::F32)
        .expect("f32");
    assert_eq!(array.as_slice::<f32>(), Some(&[1.5f32, 2.25, 3.0][..]));

    let printed = hloc_on(ADD, &["run", "-", "--inputs", input]);
    assert_eq!(stdout(&printed), "out0 = f32[3] [1.5 , 2.25, 3.  ]\n");
    let compared = hloc_on(ADD, &["run", "-", "--random", "7", "--compare"]);
    assert_eq!(status(&compared), 0, "{}", stderr(&compared));
    assert!(stdout(&compared).starts_with("1 of 1 results equal"));
}

#[test]
fn inputs_that_do_not_fit_are_wrong_usage() {
    let none = hloc_on(ADD, &["run", "-"]);
    assert_eq!(status(&none), 2);
    assert!(stderr(&none).contains("the program takes x: f32[3], y: f32[3]"));

    let input = scratch("wrong-in.npz");
    let arrays = ["in0", "in1"].map(|name| {
        let array = Array::from_slice(&[2], &[1.0f32, 2.0]).expect("two");
        (name.to_owned(), array)
    });
    npz::write(&input, &arrays[..1]).expect("written");
    let missing = hloc_on(ADD, &["run", "-", "--inputs", text_of(&input)]);
    assert_eq!(status(&missing), 2);
    assert!(
        stderr(&missing).contains("has neither `in1` nor `y`"),
        "{}",
        stderr(&missing)
    );
    npz::write(&input, &arrays).expect("written");
    let shape = hloc_on(ADD, &["run", "-", "--inputs", text_of(&input)]);
    assert_eq!(status(&shape), 2);
    let message = stderr(&shape);
    assert!(
        message.contains("`x`") && message.contains("f32[3]") && message.contains("f32[2]"),
        "{message}"
    );
}

#[test]
fn compile_writes_an_executable_that_runs() {
    let (source, built) = (scratch("compiled.hlo"), scratch("compiled.hloc"));
    std::fs::write(&source, ADD).expect("written");
    let compiled = hloc(&["compile", text_of(&source)]);
    assert_eq!(status(&compiled), 0, "{}", stderr(&compiled));
    for word in ["instructions", "kernel", "buffers", "peak", "parse", "emit"] {
        assert!(stdout(&compiled).contains(word), "{}", stdout(&compiled));
    }
    let from_text = hloc(&["run", text_of(&source), "--random", "1"]);
    let from_file = hloc(&["run", text_of(&built), "--random", "1"]);
    assert_eq!(status(&from_file), 0, "{}", stderr(&from_file));
    assert_eq!(stdout(&from_text), stdout(&from_file));

    let mut bytes = std::fs::read(&built).expect("written");
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&built, bytes).expect("written");
    let damaged = hloc(&["run", text_of(&built), "--random", "1"]);
    assert_eq!(status(&damaged), 2);
    assert!(stderr(&damaged).contains("damaged"));
}

#[test]
fn every_stage_can_be_emitted() {
    let emit = |stage: &str| {
        let output = hloc_on(ADD, &["compile", "-", "--emit", stage]);
        assert_eq!(status(&output), 0, "{stage}: {}", stderr(&output));
        stdout(&output)
    };
    assert!(emit("hlo").starts_with("HloModule m"));
    assert!(emit("loops").contains("kernel @"));
    assert!(emit("clif").contains("function u0:0"));
    assert!(emit("asm").contains("; kernel"));
    assert!(emit("graph").starts_with("digraph"));
    let object = scratch("emitted.o");
    let output = hloc_on(
        ADD,
        &[
            "compile",
            "-",
            "--emit",
            "obj",
            "-o",
            text_of(&object),
            "--stats",
        ],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("kernel"));
    assert!(!std::fs::read(&object).expect("written").is_empty());
}

#[test]
fn stats_tell_what_was_chosen() {
    let text = "less { a = f32[] parameter(0) b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[500] parameter(0)
  y = f32[300,500] parameter(1)
  e = f32[500] exponential(x)
  row = f32[300,500] broadcast(e), dimensions={1}
  sum = f32[300,500] add(y, row)
  ROOT s = f32[300,500] sort(sum), dimensions={1}, to_apply=less
}
";
    let output = scratch("stats.hloc");
    let compiled = hloc_on(text, &["compile", "-", "-o", text_of(&output), "--stats"]);
    assert_eq!(status(&compiled), 0, "{}", stderr(&compiled));
    let said = stdout(&compiled);
    for words in [
        "  fusion",
        "300 parallel (500 vector)",
        "sort  f32[300,500], f32[300,500] -> f32[300,500]",
        "e (exponential)  it is costly, and a broadcast would repeat it for each element",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn bench_has_the_agreed_fields() {
    let output = hloc_on(
        ADD,
        &["bench", "-", "--json", "--min-time", "0", "--threads", "1"],
    );
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    for stage in ["parse", "verify", "passes", "lower", "emit", "total"] {
        assert!(value["compile_ms"][stage].is_f64(), "{value}");
    }
    for time in ["min", "median", "max"] {
        assert!(value["run_ms"][time].is_f64(), "{value}");
    }
    for count in [
        "runs",
        "compiles",
        "peak_buffer_bytes",
        "threads",
        "kernels",
    ] {
        assert!(value[count].is_u64(), "{value}");
    }
    assert!(value["first_compile_ms"].is_f64(), "{value}");
    assert_eq!(value["threads"], 1);
    let table = hloc_on(ADD, &["bench", "-", "--min-time", "0"]);
    assert!(stdout(&table).contains("run, median"));
}

#[test]
fn a_profile_stands_beside_the_results() {
    let plain = hloc_on(ADD, &["run", "-", "--random", "1"]);
    let profiled = hloc_on(ADD, &["run", "-", "--random", "1", "--profile"]);
    assert_eq!(status(&profiled), 0, "{}", stderr(&profiled));
    assert_eq!(stdout(&profiled), stdout(&plain));
    let report = stderr(&profiled);
    for words in [
        "roof:",
        "GFLOP/s, multiply-adds",
        "By kernel and library call:",
        "outside kernels",
        "sum = f32[3] add  line 5",
        "By instruction",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let json = hloc_on(
        ADD,
        &["bench", "-", "--json", "--min-time", "0", "--profile"],
    );
    let value: serde_json::Value = serde_json::from_str(&stdout(&json)).expect("JSON");
    let step = &value["profile"]["steps"][0];
    assert_eq!(step["bytes_read"], 24, "{value}");
    assert_eq!(step["instructions"][0]["name"], "sum");
    let table = hloc_on(ADD, &["bench", "-", "--min-time", "0", "--profile"]);
    assert!(stdout(&table).contains("By instruction"));
}

/// A program with several kernels, one of which is split into chunks.
const LARGE: &str = "ENTRY main {
  x = f32[1000,1000] parameter(0)
  y = f32[1000,1000] sine(x)
  z = f32[1000,1000] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[1000,1000] exponential(z)
}
";

#[test]
fn a_trace_nests() {
    let (trace, output) = (scratch("trace.json"), scratch("trace-out.npz"));
    let ran = hloc_on(
        LARGE,
        &[
            "run",
            "-",
            "--random",
            "1",
            "--threads",
            "2",
            "--output",
            text_of(&output),
            "--trace",
            text_of(&trace),
        ],
    );
    assert_eq!(
        (status(&ran), stdout(&ran), stderr(&ran)),
        (0, String::new(), String::new())
    );
    let text = std::fs::read_to_string(&trace).expect("written");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let complete = events.iter().filter(|event| event["ph"] == "X");
    let complete: Vec<&serde_json::Value> = complete.collect();
    for category in ["compile", "pass", "emit", "run", "kernel", "dot", "chunk"] {
        let mut own = complete.iter();
        assert!(own.any(|event| event["cat"] == category), "{category}");
    }
    for stage in [
        "parse", "verify", "passes", "fusion", "lower", "emit", "run 1", "run 3",
    ] {
        assert!(
            complete.iter().any(|event| event["name"] == stage),
            "{stage}"
        );
    }
    let number = |event: &serde_json::Value, key: &str| event[key].as_f64().expect("a number");
    let begins = complete.iter().map(|event| number(event, "ts"));
    assert!(begins.is_sorted());
    // Events of one thread lie in each other or apart, but for rounding.
    let mut open: Vec<(u64, f64)> = Vec::new();
    for event in &complete {
        let thread = event["tid"].as_u64().expect("a thread");
        let begin = number(event, "ts");
        let end = begin + number(event, "dur");
        open.retain(|(other, until)| *other != thread || begin < *until - 0.01);
        let inside = open
            .iter()
            .filter(|(other, _)| *other == thread)
            .all(|(_, until)| end <= *until + 0.01);
        assert!(inside, "{event}");
        open.push((thread, end));
    }
    let dot = complete.iter().find(|event| event["cat"] == "dot");
    let args = &dot.expect("a dot")["args"];
    assert_eq!(args["bytes_written"], 4_000_000);
    assert_eq!(args["operations"], 2_000_000_000u64);
    assert_eq!(args["shape"], "f32[1000,1000]");
    assert_eq!(args["instructions"][0], "z");
}

#[test]
fn codes_are_explained() {
    assert!(stdout(&hloc(&["explain", "broadcast_c4"])).starts_with("broadcast_c4\n\n"));
    assert!(stdout(&hloc(&["explain", "unknown-opcode"])).contains("hloc ops"));
    let slip = hloc(&["explain", "brodcast_c4"]);
    assert_eq!(status(&slip), 2);
    assert!(stderr(&slip).contains("did you mean `broadcast_c4`?"));
}

#[test]
fn wrong_usage_is_status_2() {
    assert_eq!(status(&hloc(&[])), 2);
    assert_eq!(status(&hloc(&["frobnicate"])), 2);
    assert_eq!(status(&hloc(&["check", "/no/such/file.hlo"])), 2);
    assert_eq!(status(&hloc(&["--help"])), 0);
    for verb in [
        "check", "fmt", "opt", "compile", "run", "bench", "explain", "ops",
    ] {
        let help = stdout(&hloc(&[verb, "--help"]));
        assert!(
            help.contains("Examples:") && help.contains("Exit status"),
            "{verb}"
        );
    }
}

#[test]
fn text_that_is_no_text_is_refused() {
    let path = scratch("binary.hlo");
    std::fs::write(&path, b"HloModule \xff").expect("written");
    let output = hloc(&["check", text_of(&path)]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("not UTF-8"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hloc"))
        .args(["ops", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hloc starts");
    drop(child.stdout.take());
    let mut errors = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut errors).expect("text");
    assert_eq!(child.wait().expect("hloc ends").code(), Some(0));
    assert_eq!(errors, "");
}

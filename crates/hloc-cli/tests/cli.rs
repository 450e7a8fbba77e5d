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
    for count in ["runs", "peak_buffer_bytes", "threads", "kernels"] {
        assert!(value[count].is_u64(), "{value}");
    }
    assert_eq!(value["threads"], 1);
    let table = hloc_on(ADD, &["bench", "-", "--min-time", "0"]);
    assert!(stdout(&table).contains("run, median"));
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

//! Programs checked in a process of their own, so that the end of it is a failure like others.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use hloc_diag::Source;
use serde_json::{Value, json};

use crate::engines::{Failure, Kind, check};
use crate::generate::{Program, Slack, program};
use crate::{literals, stages};

/// The longest that one program may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The word that makes `run-random` answer questions instead.
pub const FLAG: &str = "--worker";

/// A process that checks programs, started anew when it ends.
#[derive(Debug, Default)]
pub struct Worker {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    /// Checks the program of a seed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn seed(&mut self, seed: u64) -> Result<(), Failure> {
        self.ask(&json!({ "seed": seed }))
    }

    /// Checks a program.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn program(&mut self, program: &Program) -> Result<(), Failure> {
        let arguments: Vec<String> = program.arguments.iter().map(literals::text).collect();
        let slack: Vec<Value> = program
            .slack
            .iter()
            .map(|slack| slack_value(*slack))
            .collect();
        self.ask(&json!({ "text": program.text, "arguments": arguments, "slack": slack }))
    }

    fn ask(&mut self, question: &Value) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(Kind::Death, error.to_string());
        if self.running.is_none() {
            self.running = Some(start().map_err(failed)?);
        }
        let Some(running) = &mut self.running else {
            return Err(Failure::new(Kind::Death, "no process"));
        };
        // A process that has ended is noticed by the missing answer.
        let _ = writeln!(running.input, "{question}").and_then(|()| running.input.flush());
        match running.answers.recv_timeout(TIME_LIMIT) {
            Ok(answer) => read_answer(&answer),
            Err(reason) => {
                let message = self.end();
                Err(match reason {
                    RecvTimeoutError::Timeout => {
                        Failure::new(Kind::Time, format!("took more than {TIME_LIMIT:?}"))
                    }
                    RecvTimeoutError::Disconnected => Failure::new(Kind::Death, message),
                })
            }
        }
    }

    /// Ends the process; says how it ended.
    fn end(&mut self) -> String {
        let Some(mut running) = self.running.take() else {
            return "no process".to_owned();
        };
        // It may have ended on its own, which is what is asked about.
        std::thread::sleep(Duration::from_millis(50));
        let ended = running.child.try_wait();
        if !matches!(ended, Ok(Some(_))) {
            let _ = running.child.kill();
        }
        running
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

fn start() -> std::io::Result<Running> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(FLAG)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let missing = || std::io::Error::other("a pipe is missing");
    let input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running {
        child,
        input,
        answers,
    })
}

/// Answers questions until the input ends.
///
/// # Errors
/// Those of reading and writing.
pub fn serve(input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    for line in input.lines() {
        let answer = match answer(&line?) {
            Ok(()) => json!({}),
            Err(failure) => {
                json!({ "kind": format!("{:?}", failure.kind), "message": failure.message })
            }
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Result<(), Failure> {
    let invalid = |error: String| Failure::new(Kind::Invalid, error);
    let question: Value = serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
    if let Some(seed) = question["seed"].as_u64() {
        let program = program(seed);
        return check(&program.text, &program.arguments, &program.slack);
    }
    let text = question["text"].as_str().unwrap_or("");
    let source = Source::new("random", text).map_err(|error| invalid(error.to_string()))?;
    let module = stages::verified(&source).map_err(invalid)?;
    let parameters = module.entry().program_shape().parameters;
    let empty = Vec::new();
    let literal = |(value, shape): (&Value, &hloc_ir::Shape)| {
        literals::read(value.as_str().unwrap_or(""), shape)
    };
    let arguments = question["arguments"].as_array().unwrap_or(&empty);
    let arguments: Result<Vec<_>, String> =
        arguments.iter().zip(&parameters).map(literal).collect();
    let slack = question["slack"].as_array().unwrap_or(&empty);
    let slack: Vec<Slack> = slack.iter().map(read_slack).collect();
    check(text, &arguments.map_err(invalid)?, &slack)
}

fn slack_value(slack: Slack) -> Value {
    match slack {
        Slack::Exact => json!({}),
        Slack::Ulps(ulps) => json!({ "ulps": ulps }),
        Slack::Close { rtol, atol } => json!({ "rtol": rtol, "atol": atol }),
    }
}

fn read_slack(value: &Value) -> Slack {
    if let Some(ulps) = value["ulps"].as_u64() {
        return Slack::Ulps(ulps);
    }
    match (value["rtol"].as_f64(), value["atol"].as_f64()) {
        (Some(rtol), Some(atol)) => Slack::Close { rtol, atol },
        _ => Slack::Exact,
    }
}

fn read_answer(answer: &str) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(answer).unwrap_or_default();
    let Some(name) = value["kind"].as_str() else {
        return Ok(());
    };
    let kinds = [
        Kind::Invalid,
        Kind::RoundTrip,
        Kind::Evaluator,
        Kind::Compiler,
        Kind::Difference,
        Kind::Panic,
        Kind::Death,
        Kind::Time,
    ];
    let kind = kinds.into_iter().find(|kind| format!("{kind:?}") == name);
    let message = value["message"].as_str().unwrap_or("");
    Err(Failure::new(kind.unwrap_or(Kind::Death), message))
}

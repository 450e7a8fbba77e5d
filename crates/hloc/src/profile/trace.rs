//! A profile as a trace for `chrome://tracing` and Perfetto.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hloc_runtime::Event;
use serde_json::{Value, json};

use super::{Profile, ProfiledStep};
use crate::{StageKind, StageTime};

/// Numbers of the threads that emit kernels begin here; those of a run begin at 0.
const FIRST_EMITTING: usize = 100;

/// A complete event of the trace format.
struct Complete {
    name: String,
    category: &'static str,
    thread: usize,
    begin: Instant,
    time: Duration,
    args: Value,
}

impl Profile {
    /// The stages of compiling and the first runs as text in Chrome's trace event format, if
    /// [`ProfileOptions::events`](super::ProfileOptions::events) asked for events.
    ///
    /// `chrome://tracing` and ui.perfetto.dev show it. Stages hold passes and kernels being emitted; a run holds
    /// its steps, and a loop those of its iterations. What worker threads do of a kernel is in their own rows.
    pub fn trace(&self) -> String {
        let mut events: Vec<Complete> = self.stages.iter().map(staged).collect();
        let mut run = 0;
        for event in &self.events {
            run += usize::from(event.step.is_none());
            events.push(self.ran(event, run));
        }
        // What begins first and lasts longer is around what follows.
        events.sort_by_key(|event| (event.begin, std::cmp::Reverse(event.time)));
        let start = events.first().map(|event| event.begin);
        let threads: BTreeSet<usize> = events.iter().map(|event| event.thread).collect();
        let mut all: Vec<Value> = threads.into_iter().map(thread_name).collect();
        all.extend(events.iter().map(|event| event.json(start)));
        json!({
            "traceEvents": all,
            "displayTimeUnit": "ns",
            "otherData": {
                "program": "hloc",
                "events_left_out": self.events_left_out,
            },
        })
        .to_string()
    }

    /// An event of a run, which is told of when it ends: `number` runs have ended, this one included.
    fn ran(&self, event: &Event, number: usize) -> Complete {
        let complete = |name: String, category: &'static str, args: Value| Complete {
            name,
            category,
            thread: event.thread,
            begin: event.begin,
            time: event.time,
            args,
        };
        let Some(at) = event.step else {
            return complete(format!("run {number}"), "run", json!({}));
        };
        let name = self.numbered.get(at).cloned().unwrap_or_default();
        let step = self.steps.iter().find(|step| step.number == at);
        match (event.chunk, step) {
            (Some(chunk), _) => complete(
                format!("{name} [{chunk}]"),
                "chunk",
                json!({"chunk": chunk}),
            ),
            (None, Some(step)) => complete(name, step.kind, args(step)),
            (None, None) => complete(name, "control", json!({})),
        }
    }
}

impl Complete {
    /// Times are microseconds since `start`.
    fn json(&self, start: Option<Instant>) -> Value {
        let since = start.map_or(Duration::ZERO, |start| self.begin.duration_since(start));
        json!({
            "name": self.name,
            "cat": self.category,
            "ph": "X",
            "ts": since.as_nanos() as f64 / 1e3,
            "dur": self.time.as_nanos() as f64 / 1e3,
            "pid": 1,
            "tid": self.thread,
            "args": self.args,
        })
    }
}

fn staged(stage: &StageTime) -> Complete {
    let category = match stage.kind {
        StageKind::Stage => "compile",
        StageKind::Pass => "pass",
        StageKind::Kernel => "emit",
    };
    Complete {
        name: stage.name.clone(),
        category,
        thread: match stage.thread {
            0 => 0,
            thread => FIRST_EMITTING + thread,
        },
        begin: stage.begin,
        time: stage.time,
        args: json!({}),
    }
}

fn args(step: &ProfiledStep) -> Value {
    let instructions: Vec<&str> = step
        .instructions
        .iter()
        .map(|each| each.name.as_str())
        .collect();
    let shape = step.instructions.last().map(|each| each.shape.as_str());
    json!({
        "bytes_read": step.work.bytes_read,
        "bytes_written": step.work.bytes_written,
        "operations": step.work.operations,
        "instructions": instructions,
        "shape": shape,
        "vector_bits": step.vector_bits,
        "chunks": step.chunks,
    })
}

fn thread_name(thread: usize) -> Value {
    let name = match thread {
        0 => "main".to_owned(),
        thread if thread < FIRST_EMITTING => format!("worker {thread}"),
        thread => format!("emitter {}", thread - FIRST_EMITTING),
    };
    json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": {"name": name}})
}

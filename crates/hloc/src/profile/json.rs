//! A profile as JSON.

use serde_json::{Value, json};

use super::{Profile, ProfiledInstruction, ProfiledStep, Timing};

impl Profile {
    /// The numbers of the tables as JSON: one object with `runs`, `first_run_ms`, `outside_ms`, `steps`, `loops`
    /// and `roofline` (null if it was not measured). Times are in milliseconds, totals those of all runs.
    pub fn to_json(&self) -> String {
        let roofline = self.roofline.as_ref().map(|roofline| {
            let bandwidths = roofline.bandwidths.iter();
            let bandwidths: Vec<Value> = bandwidths
                .map(|(bytes, rate)| json!({"bytes": bytes, "bytes_per_second": rate}))
                .collect();
            json!({
                "bandwidths": bandwidths,
                "operations_per_second": roofline.operations_per_second,
                "threads": roofline.threads,
            })
        });
        let loops = self.loops.iter().map(|each| {
            json!({
                "name": each.name,
                "iterations": each.iterations,
                "time": timing(each.timing),
                "in_loop": each.in_loop,
            })
        });
        json!({
            "runs": timing(self.runs),
            "disturbed_runs": self.disturbed_runs,
            "first_run_ms": milliseconds(self.first_run),
            "outside_ms": milliseconds(self.outside),
            "steps": self.steps.iter().map(|each| self.step(each)).collect::<Vec<_>>(),
            "loops": loops.collect::<Vec<_>>(),
            "roofline": roofline,
        })
        .to_string()
    }

    fn step(&self, step: &ProfiledStep) -> Value {
        let least = self.roofline.as_ref().map(|roofline| {
            let (least, _) = roofline.least_time(step.work);
            milliseconds(least)
        });
        json!({
            "name": step.name,
            "kind": step.kind,
            "time": timing(step.timing),
            "bytes_read": step.work.bytes_read,
            "bytes_written": step.work.bytes_written,
            "operations": step.work.operations,
            "least_ms": least,
            "vector_bits": step.vector_bits,
            "chunks": step.chunks,
            "in_loop": step.in_loop,
            "instructions": step.instructions.iter().map(instruction).collect::<Vec<_>>(),
        })
    }
}

fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn timing(timing: Timing) -> Value {
    json!({
        "count": timing.count,
        "total_ms": milliseconds(timing.total),
        "median_ms": milliseconds(timing.median),
        "least_ms": milliseconds(timing.least),
    })
}

fn instruction(each: &ProfiledInstruction) -> Value {
    json!({
        "name": each.name,
        "opcode": each.opcode,
        "shape": each.shape,
        "op_name": each.op_name,
        "source": each.source,
        "line": each.line,
        "part": each.part,
    })
}

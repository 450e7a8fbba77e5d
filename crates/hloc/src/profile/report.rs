//! A profile as tables.

use std::fmt;
use std::time::Duration;

use super::{Profile, ProfiledInstruction, ProfiledStep, Roofline};

/// The most rows of a table; what follows is summed up.
const MAX_ROWS: usize = 40;

/// Steps with less than this share of the time are not explained.
const EXPLAINED_SHARE: f64 = 0.01;

/// The most instructions that are listed of one step.
const MAX_INSTRUCTIONS: usize = 16;

/// Times below are mostly the clock's own.
const SHORTEST: Duration = Duration::from_micros(2);

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.heading(f)?;
        if let Some(roofline) = &self.roofline {
            write_roofline(roofline, f)?;
        }
        f.write_str("\nBy kernel and library call:\n")?;
        write_table(&self.step_rows(), 10, f)?;
        if !self.loops.is_empty() {
            f.write_str("\nLoops:\n")?;
            write_table(&self.loop_rows(), 4, f)?;
        }
        self.explain(f)?;
        f.write_str("\nBy instruction (a step's time is divided by an estimate of each instruction's work):\n")?;
        write_table(&self.origin_rows(), 3, f)
    }
}

impl Profile {
    fn heading(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs;
        let plural = if runs.count == 1 { "" } else { "s" };
        let disturbed = match self.disturbed_runs {
            0 => String::new(),
            count => format!(" ({count} disturbed ones left out)"),
        };
        writeln!(
            f,
            "{} run{plural}{disturbed}, median {}, shortest {}; first run {}; {} thread{}",
            runs.count,
            duration(runs.median),
            duration(runs.least),
            duration(self.first_run),
            self.threads,
            if self.threads == 1 { "" } else { "s" },
        )
    }

    fn share(&self, time: Duration) -> f64 {
        let all = self.runs.total.as_secs_f64();
        if all > 0.0 {
            time.as_secs_f64() / all
        } else {
            0.0
        }
    }

    /// Time in one run of the program, on average.
    fn per_run(&self, time: Duration) -> Duration {
        let runs = u32::try_from(self.runs.count.max(1)).unwrap_or(u32::MAX);
        time / runs
    }

    fn times_per_run(&self, count: u64) -> String {
        let runs = self.runs.count.max(1);
        if count.is_multiple_of(runs) {
            (count / runs).to_string()
        } else {
            format!("{:.1}", count as f64 / runs as f64)
        }
    }

    fn step_rows(&self) -> Vec<Vec<String>> {
        let heading = [
            "share", "a run", "times", "median", "read", "written", "GB/s", "GFLOP/s", "of roof",
            "limit", "what", "name",
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        let shown = self.steps.len().min(MAX_ROWS);
        rows.extend(self.steps[..shown].iter().map(|step| self.step_row(step)));
        let rest = &self.steps[shown..];
        if !rest.is_empty() {
            let time = rest.iter().map(|step| step.timing.total).sum();
            rows.push(self.sum_row(time, &format!("{} others", rest.len())));
        }
        rows.push(self.sum_row(self.outside, "outside kernels"));
        rows.push(self.sum_row(self.runs.total, "all"));
        rows
    }

    fn step_row(&self, step: &ProfiledStep) -> Vec<String> {
        let timing = step.timing;
        let rate = |rate: Option<f64>| {
            let rate = rate.filter(|rate| *rate > 0.0);
            rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.1}", rate / 1e9))
        };
        let (of_roof, limit) = self.of_roofline(step);
        let place = step.in_loop.and_then(|at| self.loops.get(at));
        let name = match place {
            Some(each) => format!("{} (in {})", step.name, each.name),
            None => step.name.clone(),
        };
        vec![
            percent(self.share(timing.total)),
            duration(self.per_run(timing.total)),
            self.times_per_run(timing.count),
            duration(timing.median),
            bytes(step.work.bytes_read),
            bytes(step.work.bytes_written),
            rate(step.bytes_per_second()),
            rate(step.operations_per_second()),
            of_roof,
            limit,
            step.kind.to_owned(),
            name,
        ]
    }

    /// Which part of the speed that the machine permits, and what permits no more.
    fn of_roofline(&self, step: &ProfiledStep) -> (String, String) {
        let none = || ("-".to_owned(), String::new());
        let Some(roofline) = &self.roofline else {
            return none();
        };
        let is_known = step.work.operations.is_some() || step.kind == "copy";
        if !is_known || step.timing.median < SHORTEST || step.work.bytes() == 0 {
            return none();
        }
        let (least, by_memory) = roofline.least_time(step.work);
        let fraction = least.as_secs_f64() / step.timing.median.as_secs_f64();
        let limit = if by_memory { "memory" } else { "arithmetic" };
        (format!("{:.0} %", 100.0 * fraction), limit.to_owned())
    }

    fn sum_row(&self, time: Duration, name: &str) -> Vec<String> {
        let mut row = vec![percent(self.share(time)), duration(self.per_run(time))];
        row.resize(11, String::new());
        row.push(name.to_owned());
        row
    }

    fn loop_rows(&self) -> Vec<Vec<String>> {
        let heading = ["share", "a run", "times", "iterations", "name"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for each in &self.loops {
            rows.push(vec![
                percent(self.share(each.timing.total)),
                duration(self.per_run(each.timing.total)),
                self.times_per_run(each.timing.count),
                self.times_per_run(each.iterations),
                each.name.clone(),
            ]);
        }
        rows
    }

    /// What the steps that take long compute.
    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let long = |step: &&ProfiledStep| self.share(step.timing.total) >= EXPLAINED_SHARE;
        f.write_str("\nWhat they compute:\n")?;
        for step in self.steps.iter().filter(long).take(MAX_ROWS) {
            let mut about = Vec::new();
            if let Some(bits) = step.vector_bits {
                about.push(format!("{bits}-bit vectors"));
            }
            if step.chunks > 1 {
                about.push(format!("{} chunks", step.chunks));
            }
            let about = match about.is_empty() {
                true => String::new(),
                false => format!(" ({})", about.join(", ")),
            };
            writeln!(f, "  {} {}{about}", step.kind, step.name)?;
            let rows: Vec<_> = step.instructions.iter().map(instruction_row).collect();
            let shown = rows.len().min(MAX_INSTRUCTIONS);
            write_table(&rows[..shown], 0, f)?;
            if rows.len() > shown {
                writeln!(f, "    and {} more", rows.len() - shown)?;
            }
        }
        Ok(())
    }

    /// Time by the front end's op, or by instruction where there is no front end.
    fn origin_rows(&self) -> Vec<Vec<String>> {
        let mut origins: Vec<Origin<'_>> = Vec::new();
        let mut unknown = Duration::ZERO;
        for step in &self.steps {
            if step.instructions.is_empty() {
                unknown += step.timing.total;
            }
            for instruction in &step.instructions {
                let time = step.timing.total.mul_f64(instruction.part.clamp(0.0, 1.0));
                match origins.iter_mut().find(|origin| origin.is_of(instruction)) {
                    Some(origin) => origin.time += time,
                    None => origins.push(Origin {
                        time,
                        first: instruction,
                    }),
                }
            }
        }
        // Broadcasts and the like cost nothing.
        origins.retain(|origin| !origin.time.is_zero());
        origins.sort_by_key(|origin| std::cmp::Reverse(origin.time));
        let heading = ["share", "a run", "line", "opcode", "source", "op"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        let shown = origins.len().min(MAX_ROWS);
        for Origin { time, first } in &origins[..shown] {
            let line = first.line.map(|line| line.to_string());
            rows.push(vec![
                percent(self.share(*time)),
                duration(self.per_run(*time)),
                line.unwrap_or_default(),
                first.opcode.to_owned(),
                first.source.clone().unwrap_or_default(),
                first.op_name.clone().unwrap_or_else(|| first.name.clone()),
            ]);
        }
        let mut sum = |time: Duration, name: String| {
            let mut row = vec![percent(self.share(time)), duration(self.per_run(time))];
            row.resize(5, String::new());
            row.push(name);
            rows.push(row);
        };
        if origins.len() > shown {
            let rest = origins[shown..].iter().map(|origin| origin.time).sum();
            sum(rest, format!("{} others", origins.len() - shown));
        }
        if !unknown.is_zero() {
            sum(unknown, "copies".to_owned());
        }
        sum(self.outside, "outside kernels".to_owned());
        rows
    }
}

/// Instructions of one op of the front end.
struct Origin<'a> {
    time: Duration,
    first: &'a ProfiledInstruction,
}

impl Origin<'_> {
    fn is_of(&self, other: &ProfiledInstruction) -> bool {
        match (&self.first.op_name, &other.op_name) {
            (Some(own), Some(other_name)) => {
                own == other_name
                    && self.first.source == other.source
                    && self.first.opcode == other.opcode
            }
            (None, None) => self.first.name == other.name && self.first.line == other.line,
            (_, _) => false,
        }
    }
}

fn instruction_row(instruction: &ProfiledInstruction) -> Vec<String> {
    let line = match instruction.line {
        Some(line) => format!("line {line}"),
        None => String::new(),
    };
    vec![
        "   ".to_owned(),
        format!(
            "{} = {} {}",
            instruction.name, instruction.shape, instruction.opcode
        ),
        line,
        instruction.source.clone().unwrap_or_default(),
        instruction.op_name.clone().unwrap_or_default(),
    ]
}

fn write_roofline(roofline: &Roofline, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let rates = roofline.bandwidths.iter();
    let rates: Vec<String> = rates
        .map(|(size, rate)| format!("{:.1} ({})", rate / 1e9, bytes(*size)))
        .collect();
    writeln!(
        f,
        "roof: {} GB/s, the faster of negating and adding up f32 arrays of that many bytes in all;\n\
         \u{20}     {:.1} GFLOP/s, multiply-adds of f32 vectors in registers (half of it for f64)",
        rates.join(", "),
        roofline.operations_per_second / 1e9
    )
}

/// Rows as columns, two spaces apart; the first `numbers` columns stand to the right.
fn write_table(rows: &[Vec<String>], numbers: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if *width == 0 {
                continue;
            }
            if at < numbers {
                line.push_str(&format!("{cell:>width$}  "));
            } else {
                line.push_str(&format!("{cell:<width$}  "));
            }
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn duration(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    if nanos < 1e3 {
        format!("{nanos:.0} ns")
    } else if nanos < 1e6 {
        format!("{:.2} µs", nanos / 1e3)
    } else if nanos < 1e9 {
        format!("{:.2} ms", nanos / 1e6)
    } else {
        format!("{:.2} s", nanos / 1e9)
    }
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if value.fract() == 0.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{bytes, duration};

    #[test]
    fn numbers_have_units() {
        assert_eq!(duration(Duration::from_nanos(71)), "71 ns");
        assert_eq!(duration(Duration::from_nanos(1500)), "1.50 µs");
        assert_eq!(duration(Duration::from_millis(2500)), "2.50 s");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(64 << 20), "64 MiB");
    }
}

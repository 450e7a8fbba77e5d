//! Runs a program for a profile.

use std::time::{Duration, Instant};

use hloc_runtime::{Event, Recorder, Runner, StepTimes};
use hloc_tensor::Array;

use super::ProfileOptions;
use crate::Error;

/// A program that takes longer is run once.
const LONG: Duration = Duration::from_secs(1);

/// Fewest runs of other programs, beside the first.
const MIN_RUNS: u64 = 3;

/// Runs of which events are kept.
const TRACED_RUNS: u64 = 3;

/// What was seen of the runs.
pub(crate) struct Recorded {
    pub(super) runs: StepTimes,
    pub(super) disturbed_runs: u64,
    pub(super) first_run: Duration,
    pub(super) events: Vec<Event>,
    pub(super) events_left_out: u64,
    steps: Vec<StepTimes>,
}

impl Recorded {
    /// Runs as often as the options say; gives the results too.
    pub(crate) fn of(
        mut runner: Runner<'_>,
        options: &ProfileOptions,
    ) -> Result<(Vec<Array>, Recorded), Error> {
        let mut traced = Recorder::new(options.events);
        runner.run_recorded(&mut traced)?;
        let first_run = traced.runs().total;
        let is_long = first_run > LONG;
        if options.events && !is_long {
            for _ in 1..TRACED_RUNS {
                runner.run_recorded(&mut traced)?;
            }
        }
        let mut warm = Recorder::new(false);
        let begin = Instant::now();
        let mut runs = 0;
        while !is_long
            && runs < options.max_runs.max(1)
            && (runs < MIN_RUNS || begin.elapsed() < options.min_time)
        {
            runner.run_recorded(&mut warm)?;
            runs += 1;
        }
        let counted = if is_long { &mut traced } else { &mut warm };
        let (runs, steps) = (counted.runs().clone(), counted.steps().to_vec());
        let disturbed_runs = counted.disturbed_runs();
        let (events, events_left_out) = traced.events();
        let recorded = Recorded {
            runs,
            disturbed_runs,
            first_run,
            events: events.to_vec(),
            events_left_out,
            steps,
        };
        Ok((runner.outputs().to_vec(), recorded))
    }

    /// What was seen of a step, `None` if it never ran.
    pub(super) fn step(&self, number: usize) -> Option<&StepTimes> {
        self.steps.get(number).filter(|times| times.count > 0)
    }
}

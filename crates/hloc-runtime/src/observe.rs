//! Watching a run: when each step begins and how long it takes.
//!
//! A run is compiled twice: for [`Unobserved`], which does nothing and costs nothing, and for a [`Recorder`].

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Is told what happens while steps run, by the thread that walks them and by those that run chunks.
pub(crate) trait Observer: Sync {
    /// A point in time.
    type Time: Copy;

    fn now(&self) -> Self::Time;
    /// A step, known by its number, is done.
    fn step_done(&self, number: usize, begin: Self::Time);
    /// One chunk of a kernel is done.
    fn chunk_done(&self, number: usize, chunk: usize, begin: Self::Time);
    /// A loop has run its body once more.
    fn iterated(&self, number: usize);
}

/// Sees nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    type Time = ();

    #[inline(always)]
    fn now(&self) {}

    #[inline(always)]
    fn step_done(&self, _number: usize, _begin: ()) {}

    #[inline(always)]
    fn chunk_done(&self, _number: usize, _chunk: usize, _begin: ()) {}

    #[inline(always)]
    fn iterated(&self, _number: usize) {}
}

/// The most durations that are kept of one step. Of steps that run more often, every second one is kept, then
/// every fourth, and so on: enough for a median.
const MAX_SAMPLES: usize = 1 << 14;

/// The most events that are kept.
const MAX_EVENTS: usize = 1 << 18;

/// How often one step ran, and how long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// How often it ran.
    pub count: u64,
    /// All runs together.
    pub total: Duration,
    /// How often a loop ran its body; 0 for other steps.
    pub iterations: u64,
    /// Durations of some of the runs, evenly spread.
    samples: Vec<Duration>,
    /// How many durations were offered as samples.
    offered: u64,
    /// One in so many of them, a power of two, is among the samples; 0 for 1.
    stride: u64,
}

impl StepTimes {
    fn add(&mut self, time: Duration) {
        self.count += 1;
        self.total += time;
        self.offer(time);
    }

    /// Adds the times of another run of the program, and leaves none of them.
    fn take(&mut self, run: &mut StepTimes) {
        self.count += run.count;
        self.total += run.total;
        self.iterations += run.iterations;
        run.samples.drain(..).for_each(|time| self.offer(time));
        run.clear();
    }

    /// Forgets everything, but keeps the memory.
    fn clear(&mut self) {
        let mut samples = std::mem::take(&mut self.samples);
        samples.clear();
        *self = StepTimes {
            samples,
            ..StepTimes::default()
        };
    }

    fn offer(&mut self, time: Duration) {
        if self.offered.is_multiple_of(self.stride.max(1)) {
            self.samples.push(time);
        }
        self.offered += 1;
        if self.samples.len() >= MAX_SAMPLES {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride = self.stride.max(1) * 2;
        }
    }

    /// The middle duration; of an even number, the greater of the two in the middle. Zero without a run.
    pub fn median(&self) -> Duration {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The shortest duration, zero without a run.
    pub fn least(&self) -> Duration {
        self.samples.iter().min().copied().unwrap_or_default()
    }
}

/// Something that took time on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the step; `None` for a whole run.
    pub step: Option<usize>,
    /// Which chunk of a kernel, if it is one of several.
    pub chunk: Option<usize>,
    /// Number of the thread, 0 for the one that called.
    pub thread: usize,
    /// When it began.
    pub begin: Instant,
    /// How long it took.
    pub time: Duration,
}

/// A run that takes so many times as long as another was disturbed: something else had the processor.
const DISTURBED: u32 = 2;

/// Collects how long the steps of an executable take, over any number of its runs. Runs that took more than
/// twice as long as the shortest do not count.
#[derive(Debug)]
pub struct Recorder {
    recorded: Mutex<Recorded>,
    keeps_events: bool,
    run: Instant,
}

#[derive(Debug, Default)]
struct Recorded {
    /// Of all runs that count.
    steps: Vec<StepTimes>,
    /// Of the run that goes on.
    current: Vec<StepTimes>,
    disturbed: u64,
    runs: StepTimes,
    events: Vec<Event>,
    threads: Vec<ThreadId>,
    left_out: u64,
}

impl Recorded {
    /// Number of the calling thread.
    fn thread(&mut self) -> usize {
        let own = std::thread::current().id();
        let known = self.threads.iter().position(|known| *known == own);
        known.unwrap_or_else(|| {
            self.threads.push(own);
            self.threads.len() - 1
        })
    }

    fn push(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
    }

    fn step(&mut self, number: usize) -> &mut StepTimes {
        if self.current.len() <= number {
            self.current.resize_with(number + 1, StepTimes::default);
        }
        &mut self.current[number]
    }

    /// Counts the run that has ended, unless something else had the processor meanwhile.
    fn end_run(&mut self, time: Duration) {
        let least = self.runs.least();
        let has_runs = self.runs.count > 0;
        if has_runs && time > DISTURBED * least {
            self.disturbed += 1;
            self.current.iter_mut().for_each(StepTimes::clear);
            return;
        }
        if has_runs && DISTURBED * time < least {
            self.disturbed += self.runs.count;
            self.runs.clear();
            self.steps.iter_mut().for_each(StepTimes::clear);
        }
        self.runs.add(time);
        if self.steps.len() < self.current.len() {
            self.steps
                .resize_with(self.current.len(), StepTimes::default);
        }
        for (all, run) in self.steps.iter_mut().zip(&mut self.current) {
            all.take(run);
        }
    }
}

impl Recorder {
    /// A recorder that has seen nothing. If it keeps events, it knows when each step and chunk ran; otherwise
    /// only how long.
    pub fn new(keeps_events: bool) -> Recorder {
        Recorder {
            recorded: Mutex::default(),
            keeps_events,
            run: Instant::now(),
        }
    }

    pub(crate) fn begin_run(&mut self) {
        // The first thread is number 0.
        self.get().thread();
        self.run = Instant::now();
    }

    pub(crate) fn end_run(&mut self) {
        let (begin, time) = (self.run, self.run.elapsed());
        let keeps_events = self.keeps_events;
        let recorded = self.get();
        recorded.end_run(time);
        if keeps_events {
            recorded.push(Event {
                step: None,
                chunk: None,
                thread: 0,
                begin,
                time,
            });
        }
    }

    /// Whole runs that count.
    pub fn runs(&mut self) -> &StepTimes {
        &self.get().runs
    }

    /// How many runs do not count.
    pub fn disturbed_runs(&mut self) -> u64 {
        self.get().disturbed
    }

    /// What was seen of each step, by number; steps at the end that never ran are missing.
    pub fn steps(&mut self) -> &[StepTimes] {
        &self.get().steps
    }

    /// All events in the order in which they ended, and how many more there were.
    pub fn events(&mut self) -> (&[Event], u64) {
        let recorded = self.get();
        (&recorded.events, recorded.left_out)
    }

    fn get(&mut self) -> &mut Recorded {
        self.recorded
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    type Time = Instant;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn step_done(&self, number: usize, begin: Instant) {
        let time = begin.elapsed();
        let mut recorded = self.lock();
        recorded.step(number).add(time);
        if self.keeps_events {
            let thread = recorded.thread();
            recorded.push(Event {
                step: Some(number),
                chunk: None,
                thread,
                begin,
                time,
            });
        }
    }

    fn chunk_done(&self, number: usize, chunk: usize, begin: Instant) {
        if !self.keeps_events {
            return;
        }
        let time = begin.elapsed();
        let mut recorded = self.lock();
        let thread = recorded.thread();
        recorded.push(Event {
            step: Some(number),
            chunk: Some(chunk),
            thread,
            begin,
            time,
        });
    }

    fn iterated(&self, number: usize) {
        self.lock().step(number).iterations += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, MAX_SAMPLES, Observer, Recorder, StepTimes};

    #[test]
    fn samples_are_spread_over_all_runs() {
        let mut times = StepTimes::default();
        let count = 5 * MAX_SAMPLES as u64;
        for number in 0..count {
            times.add(Duration::from_nanos(number));
        }
        assert_eq!(times.count, count);
        assert!(times.samples.len() < MAX_SAMPLES);
        assert_eq!(times.least(), Duration::ZERO);
        let median = times.median().as_nanos() as u64;
        assert!(median.abs_diff(count / 2) <= 8, "{median}");
    }

    #[test]
    fn disturbed_runs_do_not_count() {
        let mut recorder = Recorder::new(false);
        for nanos in [900, 300, 100, 900, 120] {
            recorder.step_done(0, recorder.now());
            recorder.get().end_run(Duration::from_nanos(nanos));
        }
        assert_eq!(recorder.disturbed_runs(), 3);
        assert_eq!(recorder.runs().count, 2);
        assert_eq!(recorder.steps()[0].count, 2);
        assert_eq!(recorder.runs().total, Duration::from_nanos(220));
    }
}

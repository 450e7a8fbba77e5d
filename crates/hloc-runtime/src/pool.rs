//! A small pool of worker threads that run the chunks of one task at a time.
//!
//! Each thread begins with chunks of its own, the same in every task of as many chunks: what it has written in one
//! task is in its caches when the next one reads it. When these are done it takes others from the end of another
//! thread's, so which thread runs which chunk still differs from run to run; a task must give the same result
//! whoever runs its chunks. Threads start with the first task, spin for a moment after each task, then sleep; so
//! does a caller who waits for the last chunk.

#![expect(
    unsafe_code,
    reason = "workers borrow the task of a caller that waits for them"
)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// How often a worker looks for the next task, or a caller for the end of one, before it sleeps: 50 to 200 µs.
const SPINS: usize = 4000;

/// A task: called once for each chunk number.
type Task<'a> = dyn Fn(usize) + Sync + 'a;

/// Worker threads. Dropping the pool ends them.
pub struct WorkerPool {
    threads: usize,
    shared: Arc<Shared>,
    workers: OnceLock<Vec<JoinHandle<()>>>,
    /// Held while a task runs: one at a time.
    running: Mutex<()>,
}

/// What the workers look at.
struct Shared {
    state: Mutex<State>,
    /// Signals a new task or the end.
    wake: Condvar,
    /// Signals that the last worker has left the task.
    idle: Condvar,
    /// Number of tasks so far; changes under the lock of `state`, is looked at without.
    generation: AtomicU64,
    /// Workers inside the task; changes under the lock of `state`, is looked at without.
    active: AtomicUsize,
    /// The chunks of each thread, the caller's first.
    shares: Vec<Share>,
}

#[derive(Default)]
struct State {
    task: Option<Posted>,
    panic: Option<Box<dyn std::any::Any + Send>>,
    shutdown: bool,
    /// Workers that wait for `wake`.
    sleeping: usize,
    /// Whether the caller waits for `idle`.
    is_waiting: bool,
}

/// The chunks that a thread still has to run, in a line of memory of its own.
#[derive(Default)]
#[repr(align(64))]
struct Share(AtomicU64);

impl Share {
    fn set(&self, begin: usize, end: usize) {
        self.0.store(packed(begin, end), Ordering::Relaxed);
    }

    /// Takes the first chunk, or the last.
    fn take(&self, first: bool) -> Option<usize> {
        let mut known = self.0.load(Ordering::Relaxed);
        loop {
            let (begin, end) = ((known >> 32) as usize, known as u32 as usize);
            if begin >= end {
                return None;
            }
            let (chunk, rest) = if first {
                (begin, packed(begin + 1, end))
            } else {
                (end - 1, packed(begin, end - 1))
            };
            let taken =
                self.0
                    .compare_exchange_weak(known, rest, Ordering::Relaxed, Ordering::Relaxed);
            match taken {
                Ok(_) => return Some(chunk),
                Err(other) => known = other,
            }
        }
    }
}

/// Two numbers of chunks, of which no task has more than fit in 32 bits.
fn packed(begin: usize, end: usize) -> u64 {
    (begin as u64) << 32 | end as u64
}

/// A task while its caller waits.
#[derive(Clone, Copy)]
struct Posted {
    /// Valid while `State::task` is `Some` or `Shared::active` is above 0: see [`WorkerPool::run`].
    task: *const Task<'static>,
    chunks: usize,
}

// SAFETY: the task behind the pointer is `Sync`, so other threads may call it.
unsafe impl Send for Posted {}

impl WorkerPool {
    /// A pool that runs tasks on `threads` threads, the caller's included; 0 counts as 1.
    pub fn new(threads: usize) -> WorkerPool {
        let threads = threads.max(1);
        WorkerPool {
            threads,
            shared: Arc::new(Shared::new(threads)),
            workers: OnceLock::new(),
            running: Mutex::new(()),
        }
    }

    /// How many threads run a task, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `task` once for each number below `chunks`, and returns when all calls have.
    ///
    /// Runs on the calling thread alone if the pool has one thread or works for another caller. A panic
    /// in the task continues in the caller.
    pub fn run(&self, chunks: usize, task: &Task<'_>) {
        let alone = self.threads == 1 || chunks <= 1 || u32::try_from(chunks).is_err();
        let guard = (!alone).then(|| self.running.try_lock().ok()).flatten();
        let Some(_guard) = guard else {
            (0..chunks).for_each(task);
            return;
        };
        self.start_workers();
        // SAFETY: only the lifetime changes. Workers reach the pointer only while `State::task` holds it,
        // which `leave` ends, or while counted in `Shared::active`, for which `leave` waits; both happen
        // before this function returns or unwinds.
        let erased = unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        self.post(Posted {
            task: erased,
            chunks,
        });
        let own = catch_unwind(AssertUnwindSafe(|| self.shared.claim_all(task, 0)));
        let theirs = self.leave();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    fn start_workers(&self) {
        self.workers.get_or_init(|| {
            (1..self.threads)
                .map_while(|number| {
                    let shared = Arc::clone(&self.shared);
                    std::thread::Builder::new()
                        .name(format!("hloc-worker-{number}"))
                        .spawn(move || shared.work(number))
                        .ok()
                })
                .collect()
        });
    }

    fn post(&self, posted: Posted) {
        let mut state = self.shared.lock();
        self.shared.deal(posted.chunks);
        state.task = Some(posted);
        self.shared.generation.fetch_add(1, Ordering::Release);
        let is_asleep = state.sleeping > 0;
        drop(state);
        if is_asleep {
            self.shared.wake.notify_all();
        }
    }

    /// Takes the task back and waits until no worker is inside it.
    fn leave(&self) -> Option<Box<dyn std::any::Any + Send>> {
        let mut state = self.shared.lock();
        state.task = None;
        if self.shared.active.load(Ordering::Relaxed) > 0 {
            drop(state);
            self.shared
                .spin(|shared| shared.active.load(Ordering::Acquire) == 0);
            state = self.shared.lock();
            while self.shared.active.load(Ordering::Relaxed) > 0 {
                state.is_waiting = true;
                let idle = &self.shared.idle;
                state = idle.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.is_waiting = false;
        }
        state.panic.take()
    }
}

impl Shared {
    fn new(threads: usize) -> Shared {
        Shared {
            state: Mutex::default(),
            wake: Condvar::new(),
            idle: Condvar::new(),
            generation: AtomicU64::new(0),
            active: AtomicUsize::new(0),
            shares: (0..threads).map(|_| Share::default()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for a while whether something holds.
    fn spin(&self, holds: impl Fn(&Shared) -> bool) {
        for _ in 0..SPINS {
            if holds(self) {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Gives each thread its chunks. No worker is inside a task.
    fn deal(&self, chunks: usize) {
        let threads = self.shares.len();
        for (at, share) in self.shares.iter().enumerate() {
            share.set(at * chunks / threads, (at + 1) * chunks / threads);
        }
    }

    /// Runs chunks of thread `own`, then others, until none is left.
    fn claim_all(&self, task: &Task<'_>, own: usize) {
        while let Some(chunk) = self.shares[own].take(true) {
            task(chunk);
        }
        let others = self.shares[own + 1..].iter().chain(&self.shares[..own]);
        for share in others {
            while let Some(chunk) = share.take(false) {
                task(chunk);
            }
        }
    }

    /// What worker thread `number` does until the pool ends.
    fn work(&self, number: usize) {
        let mut seen = 0;
        while let Some((generation, posted)) = self.next_task(seen) {
            seen = generation;
            let Some(posted) = posted else { continue };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                // SAFETY: this worker is counted in `active`, so the caller of `run`, to whom the task
                // belongs, waits.
                let task = unsafe { &*posted.task };
                self.claim_all(task, number);
            }));
            let mut state = self.lock();
            if let Err(panic) = outcome {
                state.panic = Some(panic);
            }
            let is_last = self.active.fetch_sub(1, Ordering::Release) == 1;
            if is_last && state.is_waiting {
                self.idle.notify_all();
            }
        }
    }

    /// Waits for a task newer than `seen` and enters it; `None` at the end of the pool.
    fn next_task(&self, seen: u64) -> Option<(u64, Option<Posted>)> {
        self.spin(|shared| shared.generation.load(Ordering::Acquire) != seen);
        let mut state = self.lock();
        loop {
            if state.shutdown {
                return None;
            }
            let generation = self.generation.load(Ordering::Acquire);
            if generation != seen {
                if state.task.is_some() {
                    self.active.fetch_add(1, Ordering::Relaxed);
                }
                return Some((generation, state.task));
            }
            state.sleeping += 1;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.lock().shutdown = true;
        self.shared.wake.notify_all();
        for worker in self.workers.take().into_iter().flatten() {
            // A worker's panic was passed to the caller of the task.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerPool")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{AssertUnwindSafe, WorkerPool, catch_unwind};

    #[test]
    fn every_chunk_runs_once() {
        for threads in [0, 1, 2, 5] {
            let pool = WorkerPool::new(threads);
            for chunks in [0, 1, 2, 100] {
                let counts: Vec<_> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
                pool.run(chunks, &|chunk| {
                    counts[chunk].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    counts
                        .iter()
                        .all(|count| count.load(Ordering::Relaxed) == 1)
                );
            }
        }
    }

    #[test]
    fn many_short_tasks_follow_each_other() {
        let pool = WorkerPool::new(3);
        let total = AtomicUsize::new(0);
        for _ in 0..2000 {
            pool.run(3, &|chunk| {
                total.fetch_add(chunk, Ordering::Relaxed);
            });
        }
        assert_eq!(total.into_inner(), 6000);
    }

    #[test]
    fn a_task_within_a_task_runs_alone() {
        let pool = WorkerPool::new(2);
        let total = AtomicUsize::new(0);
        pool.run(4, &|_| {
            pool.run(4, &|_| {
                total.fetch_add(1, Ordering::Relaxed);
            })
        });
        assert_eq!(total.into_inner(), 16);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let pool = WorkerPool::new(2);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.run(8, &|chunk| assert!(chunk != 5, "chunk 5"));
        }));
        assert!(outcome.is_err());
        let total = AtomicUsize::new(0);
        pool.run(8, &|_| {
            total.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(total.into_inner(), 8);
    }
}

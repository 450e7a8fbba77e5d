//! A small pool of worker threads that run the chunks of one task at a time.
//!
//! Chunks are claimed from a counter, so which thread runs which chunk differs from run to run; a task
//! must give the same result whoever runs its chunks. Threads start with the first task, spin for a
//! moment after each task, then sleep.

#![expect(
    unsafe_code,
    reason = "workers borrow the task of a caller that waits for them"
)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// How often a worker looks for the next task before it sleeps: about 20 µs.
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
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Signals a new task or the end.
    wake: Condvar,
    /// Signals that the last worker has left the task.
    idle: Condvar,
    /// Number of tasks so far; changes under the lock of `state`, is looked at without.
    generation: AtomicU64,
    /// The next chunk to claim.
    next: AtomicUsize,
}

#[derive(Default)]
struct State {
    task: Option<Posted>,
    /// Workers inside the task.
    active: usize,
    panic: Option<Box<dyn std::any::Any + Send>>,
    shutdown: bool,
}

/// A task while its caller waits.
#[derive(Clone, Copy)]
struct Posted {
    /// Valid while `State::task` is `Some` or `State::active` is above 0: see [`WorkerPool::run`].
    task: *const Task<'static>,
    chunks: usize,
}

// SAFETY: the task behind the pointer is `Sync`, so other threads may call it.
unsafe impl Send for Posted {}

impl WorkerPool {
    /// A pool that runs tasks on `threads` threads, the caller's included; 0 counts as 1.
    pub fn new(threads: usize) -> WorkerPool {
        WorkerPool {
            threads: threads.max(1),
            shared: Arc::default(),
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
        let alone = self.threads == 1 || chunks <= 1;
        let guard = (!alone).then(|| self.running.try_lock().ok()).flatten();
        let Some(_guard) = guard else {
            (0..chunks).for_each(task);
            return;
        };
        self.start_workers();
        // SAFETY: only the lifetime changes. Workers reach the pointer only while `State::task` holds it,
        // which `leave` ends, or while counted in `State::active`, for which `leave` waits; both happen
        // before this function returns or unwinds.
        let erased = unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        self.post(Posted {
            task: erased,
            chunks,
        });
        let own = catch_unwind(AssertUnwindSafe(|| self.shared.claim_all(task, chunks)));
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
                        .spawn(move || shared.work())
                        .ok()
                })
                .collect()
        });
    }

    fn post(&self, posted: Posted) {
        let mut state = self.shared.lock();
        self.shared.next.store(0, Ordering::Relaxed);
        state.task = Some(posted);
        self.shared.generation.fetch_add(1, Ordering::Release);
        drop(state);
        self.shared.wake.notify_all();
    }

    /// Takes the task back and waits until no worker is inside it.
    fn leave(&self) -> Option<Box<dyn std::any::Any + Send>> {
        let mut state = self.shared.lock();
        state.task = None;
        while state.active > 0 {
            state = self
                .shared
                .idle
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.panic.take()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_all(&self, task: &Task<'_>, chunks: usize) {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return;
            }
            task(chunk);
        }
    }

    /// What a worker thread does until the pool ends.
    fn work(&self) {
        let mut seen = 0;
        while let Some((generation, posted)) = self.next_task(seen) {
            seen = generation;
            let Some(posted) = posted else { continue };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                // SAFETY: this worker is counted in `State::active`, so the caller of `run`, to whom the
                // task belongs, waits.
                let task = unsafe { &*posted.task };
                self.claim_all(task, posted.chunks);
            }));
            let mut state = self.lock();
            state.active -= 1;
            if let Err(panic) = outcome {
                state.panic = Some(panic);
            }
            if state.active == 0 {
                self.idle.notify_all();
            }
        }
    }

    /// Waits for a task newer than `seen` and enters it; `None` at the end of the pool.
    fn next_task(&self, seen: u64) -> Option<(u64, Option<Posted>)> {
        for _ in 0..SPINS {
            if self.generation.load(Ordering::Acquire) != seen {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        loop {
            if state.shutdown {
                return None;
            }
            let generation = self.generation.load(Ordering::Acquire);
            if generation != seen {
                if state.task.is_some() {
                    state.active += 1;
                }
                return Some((generation, state.task));
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
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

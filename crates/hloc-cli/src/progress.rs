//! Shows on a terminal what takes long.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is shown before this long.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line changes.
const TICK: Duration = Duration::from_millis(100);

const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// The stage that work is in, shown on stderr if that is a terminal and the work takes longer than a second.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stage: &'static str,
    done: bool,
}

impl Progress {
    /// Begins to watch the work.
    pub(crate) fn start() -> Progress {
        let shared = Arc::new(Shared::default());
        let thread = std::io::stderr().is_terminal().then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.show())
        });
        Progress { shared, thread }
    }

    /// Names what is done from now on: "parsing".
    pub(crate) fn stage(&self, stage: &'static str) {
        self.shared.lock().stage = stage;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.lock().done = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It only writes to stderr; there is nothing to tell if it failed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self) {
        let start = Instant::now();
        let mut wait = DELAY;
        let mut tick = 0;
        loop {
            let waited = self.changed.wait_timeout(self.lock(), wait);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.done {
                break;
            }
            let elapsed = start.elapsed();
            if elapsed < DELAY {
                continue;
            }
            let spinner = SPINNER[tick % SPINNER.len()];
            let line = format!(
                "\r\x1b[K{spinner} {} ({:.0} s)",
                state.stage,
                elapsed.as_secs_f64()
            );
            drop(state);
            let _ = write!(std::io::stderr(), "{line}");
            tick += 1;
            wait = TICK;
        }
        if tick > 0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

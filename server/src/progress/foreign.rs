//! The last look of a server for threads of other programs. Must not know records.

use std::collections::HashSet;
use std::time::Instant;

use superstep::checkpoint::ThreadId;
use tokio::sync::{Mutex, MutexGuard};

/// The time by which the clocks of processes may differ, in milliseconds.
const SKEW: u64 = 2_000;

/// Returns the time from which on a look finds what other processes have changed since `time`, in milliseconds since 1970.
pub(crate) fn with_skew(time: u64) -> u64 {
    time.saturating_sub(SKEW)
}

/// The state of the search for threads of other programs: one look at a time.
#[derive(Default)]
pub(crate) struct ForeignSearch(Mutex<Looked>);

/// Result of the last look.
#[derive(Default)]
pub(crate) struct Looked {
    /// The time at which the last look began, by the clock of the store; `None` before the first one.
    pub since: Option<u64>,
    /// The same, by the clock of this process.
    pub began: Option<Instant>,
    /// The threads that other programs were running.
    pub running: HashSet<ThreadId>,
}

impl ForeignSearch {
    /// Enters a look; `None` if one has begun and ended meanwhile.
    pub(crate) async fn enter(&self) -> Option<MutexGuard<'_, Looked>> {
        let wanted = Instant::now();
        let looked = self.0.lock().await;
        let is_new = looked.began.is_none_or(|began| began < wanted);
        is_new.then_some(looked)
    }
}

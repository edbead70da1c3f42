//! How far a server has looked for threads of other programs. Must not know records.
//!
//! Small because it only notes what the next look begins with.

use std::collections::HashSet;
use std::time::Instant;

use superstep::checkpoint::ThreadId;
use tokio::sync::{Mutex, MutexGuard};

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

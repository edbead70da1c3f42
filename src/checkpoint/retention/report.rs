//! Reports of a removal, for people and machines. Knows numbers and names only.

use std::fmt;

use serde::Serialize;

use crate::checkpoint::ThreadId;

/// Counts of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Checkpoints kept, those of subgraphs included.
    pub kept: usize,
    /// Checkpoints removed, those of subgraphs included.
    pub checkpoints: usize,
    /// Records removed, checkpoints included.
    pub records: usize,
    /// Bytes of the removed records, as the engine counts them.
    pub bytes: u64,
}

/// Result for one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweptThread {
    /// The thread.
    pub thread: ThreadId,
    /// Counts of the removal.
    pub swept: Swept,
    /// Reason why it was skipped, if it was: a run holds it, or it is damaged.
    pub passed_over: Option<String>,
}

/// Result for a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweptStore {
    /// Result for each thread.
    pub threads: Vec<SweptThread>,
}

impl SweptStore {
    /// Returns the sum over all threads.
    pub fn total(&self) -> Swept {
        self.threads.iter().fold(Swept::default(), |sum, thread| Swept {
            kept: sum.kept + thread.swept.kept,
            checkpoints: sum.checkpoints + thread.swept.checkpoints,
            records: sum.records + thread.swept.records,
            bytes: sum.bytes + thread.swept.bytes,
        })
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, checkpoints, records, bytes } = self;
        write!(f, "{checkpoints} checkpoints removed, {kept} kept; {records} records, {bytes} bytes removed")
    }
}

impl fmt::Display for SweptStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed_over = self.threads.iter().filter_map(|thread| Some((&thread.thread, thread.passed_over.as_ref()?)));
        write!(f, "{} threads: {}", self.threads.len(), self.total())?;
        passed_over.into_iter().try_for_each(|(thread, why)| write!(f, "\nthread `{thread}` was passed over: {why}"))
    }
}

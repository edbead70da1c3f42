//! What a removal came to, for people and machines. Knows numbers and names only.

use std::fmt;

use serde::Serialize;

use crate::checkpoint::ThreadId;

/// What was removed of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Checkpoints that were kept, those of subgraphs included.
    pub kept: usize,
    /// Checkpoints that were removed, those of subgraphs included.
    pub checkpoints: usize,
    /// Records that were removed, checkpoints included.
    pub records: usize,
    /// The bytes of the records that were removed, as the engine counts them.
    pub bytes: u64,
}

/// What became of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweptThread {
    /// The thread.
    pub thread: ThreadId,
    /// What was removed of it.
    pub swept: Swept,
    /// Why it was passed over, if it was: a run holds it, or it is damaged.
    pub passed_over: Option<String>,
}

/// What was removed of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweptStore {
    /// What became of each thread.
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

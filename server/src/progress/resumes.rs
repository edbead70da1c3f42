//! The number of times that this server has resumed threads unasked. Must not know how a thread is resumed.
//!
//! Small because it only counts.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use superstep::checkpoint::{CheckpointId, ListedThread, ThreadId};

/// The number of times a thread is resumed without a request at one checkpoint.
const MOST: u32 = 3;

/// Threads that were resumed without a request, each with its place and how often it was resumed there.
#[derive(Default)]
pub(crate) struct Resumes(Mutex<HashMap<ThreadId, (Option<CheckpointId>, u32)>>);

impl Resumes {
    /// Returns whether a thread may be resumed, and notes that it is: one that makes no progress is not resumed for ever.
    pub(crate) fn allow(&self, listed: &ListedThread) -> bool {
        let mut resumes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let resumed = resumes.entry(listed.id.clone()).or_default();
        if resumed.0 != listed.checkpoint {
            *resumed = (listed.checkpoint, 0);
        }
        resumed.1 += 1;
        resumed.1 <= MOST
    }

    /// Returns whether a thread is not resumed any more, as it made no progress.
    pub(crate) fn has_given_up(&self, listed: &ListedThread) -> bool {
        let resumes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        resumes.get(&listed.id).is_some_and(|resumed| resumed.0 == listed.checkpoint && resumed.1 > MOST)
    }
}

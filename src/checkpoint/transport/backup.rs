//! Copies a store through the contract while it is open. Knows the contract only.

use std::fmt;

use serde::Serialize;

use super::copy::{Copied, copy_threads};
use crate::checkpoint::{CheckpointError, Checkpointer, ThreadId};

/// Contents of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// Number of threads copied.
    pub threads: usize,
    /// Number of records copied.
    pub records: usize,
    /// Bytes of these records, as the engine counts them.
    pub bytes: u64,
    /// Threads that could not be read and are not in the backup, with the reason.
    pub failed: Vec<(ThreadId, String)>,
}

impl BackedUp {
    /// Returns whether every thread was copied.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for BackedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, records, bytes, failed } = self;
        write!(f, "{threads} threads copied: {records} records, {bytes} bytes")?;
        failed.iter().try_for_each(|(thread, why)| write!(f, "\nthread `{thread}` is not in the backup: {why}"))
    }
}

/// Copies every thread of a store into an empty one. To use the copy, open it; names, heads and ids of questions are
/// the same.
///
/// Runs may continue meanwhile. Each thread is copied as of one moment, but not all threads as of the same moment; a
/// thread that is created or deleted meanwhile may or may not be in the copy. A thread is held in memory while it is
/// copied. Damaged threads are left out and named in the report.
///
/// Threads of a store that comes from elsewhere and is not [trusted](super::super::trust) are marked as imported in the
/// copy.
///
/// To copy to a directory, see `SledCheckpointer::backup`.
///
/// # Errors
/// [`CheckpointError::ThreadExists`] if the target is not empty; if either store fails.
pub async fn backup(from: &dyn Checkpointer, to: &dyn Checkpointer) -> Result<BackedUp, CheckpointError> {
    if let Some(thread) = to.threads(None, 1).await?.pop() {
        return Err(CheckpointError::ThreadExists { thread });
    }
    let Copied { threads, records, bytes, failed, same: _ } = copy_threads(from, to).await?;
    Ok(BackedUp { threads, records, bytes, failed })
}

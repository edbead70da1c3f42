//! Threads that were deleted, for the other servers of a store: what is gone cannot be seen.

use serde::{Deserialize, Serialize};
use superstep::checkpoint::CheckpointError;

use super::items::{Record, Records, StoredRecord, key_part};

/// The time for which a deletion is kept, in milliseconds.
const KEPT: u64 = 60_000;
/// The number of deletions that are removed at once.
const PAGE: usize = 256;

/// Deletion of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Deletion {
    /// In milliseconds since 1970.
    pub at: u64,
    pub thread: String,
    pub graph: String,
}

impl Record for Deletion {
    const NAMESPACE: &'static str = "superstep.server.deletions";

    fn key(&self) -> String {
        format!("{:015}/{}", self.at, key_part(&self.thread))
    }
}

impl Records {
    /// Returns the oldest deletions from a time on.
    pub(crate) async fn deletions_since(&self, at: u64) -> Result<Vec<Deletion>, CheckpointError> {
        let found = self.page::<Deletion>("", Some(format!("{at:015}")), PAGE).await?;
        Ok(found.into_iter().map(|found| found.record).collect())
    }

    /// Removes deletions that all servers have seen.
    pub(crate) async fn remove_old_deletions(&self, now: u64) -> Result<(), CheckpointError> {
        loop {
            let page = self.page::<Deletion>("", None, PAGE).await?;
            let old: Vec<_> = page.iter().filter(|found| found.record.at.saturating_add(KEPT) <= now).collect();
            match self.write(old.iter().map(|found| StoredRecord::remove(found)).collect()).await {
                Ok(()) if old.len() == PAGE => {}
                Ok(()) | Err(CheckpointError::ItemConflict { .. }) => return Ok(()), // another server removes them
                Err(error) => return Err(error),
            }
        }
    }
}

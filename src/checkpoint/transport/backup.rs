//! Copies a store through the contract while it is open. Knows the contract only.

use std::fmt;

use serde::Serialize;

use crate::checkpoint::threads::foreign::mark;
use crate::checkpoint::threads::insert::insert_thread;
use crate::checkpoint::threads::snapshot::ThreadSnapshot;
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
    let mut report = BackedUp::default();
    let mut last: Option<ThreadId> = None;
    loop {
        let page = from.threads(last.as_ref(), 256).await?;
        let Some(end) = page.last() else { return Ok(report) };
        last = Some(end.clone());
        for thread in page {
            copy(from, to, thread, &mut report).await?;
        }
    }
}

async fn copy(
    from: &dyn Checkpointer,
    to: &dyn Checkpointer,
    thread: ThreadId,
    report: &mut BackedUp,
) -> Result<(), CheckpointError> {
    let mut captured = match ThreadSnapshot::read(from, &thread).await {
        Ok(captured) => captured,
        Err(CheckpointError::UnknownThread { .. }) => return Ok(()), // deleted meanwhile
        Err(error @ (CheckpointError::Damaged { .. } | CheckpointError::Format { .. })) => {
            report.failed.push((thread, error.to_string()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if from.is_foreign() {
        mark(&thread, &mut captured.records)?;
    }
    let (records, bytes) = (captured.records.len(), sum(&captured.records));
    insert_thread(to, &thread, captured.head, captured.records).await?;
    report.threads += 1;
    report.records += records;
    report.bytes += bytes;
    Ok(())
}

fn sum(records: &[(crate::checkpoint::Key, Vec<u8>)]) -> u64 {
    records.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

//! Inserts a whole thread into a store: in commits of bounded size, the last of which makes it visible. Knows the
//! contract only.

use super::foreign::imported;
use crate::checkpoint::{CheckpointError, Checkpointer, Claim, Commit, Head, Lease, Record, ThreadId};

/// Maximum size and number of records of one commit, unless a single record is larger.
const BYTES: usize = 4 << 20;
const RECORDS: usize = 4096;

/// Inserts a thread that the store does not have. Until the last commit it has no checkpoint.
///
/// # Errors
/// [`CheckpointError::ThreadExists`]; if the store cannot be written, and then nothing of the thread remains unless the
/// store has stopped working.
pub(in crate::checkpoint) async fn insert_thread(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    head: Head,
    records: Vec<Record>,
) -> Result<(), CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    if let Some(found) = store.head(thread).await? {
        // A crash may have left part of an import: it has no checkpoint, and is marked as imported.
        let is_rest = found.checkpoint.is_none() && imported(store, thread).await?.is_some();
        if !is_rest {
            return Err(CheckpointError::ThreadExists { thread: thread.clone() });
        }
        store.delete_thread(&lease).await?;
    }
    let written = write(store, &lease, head, records).await;
    if written.is_err() {
        // The partial thread is removed; the caller gets the error of the write.
        let _ = store.delete_thread(&lease).await;
    }
    written
}

async fn write(
    store: &dyn Checkpointer,
    lease: &Lease,
    head: Head,
    records: Vec<Record>,
) -> Result<(), CheckpointError> {
    let mut records = records.into_iter().peekable();
    loop {
        let mut puts = vec![];
        let mut bytes = 0;
        while let Some((key, value)) = records.next_if(|(_, value)| bytes == 0 || bytes + value.len() <= BYTES) {
            bytes += value.len().max(1);
            puts.push((key, value));
            if puts.len() == RECORDS {
                break;
            }
        }
        let ends = records.peek().is_none();
        let checkpoint = if ends { head.checkpoint } else { None };
        let (thread, epoch) = (lease.thread().clone(), lease.epoch());
        let head = Head { checkpoint, ..head };
        store.commit(Commit { thread, epoch, expected: None, head, puts, deletes: vec![] }).await?;
        if ends {
            return Ok(());
        }
    }
}

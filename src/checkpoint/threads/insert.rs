//! Inserts a whole thread into a store: in commits of bounded size, the last of which makes it visible. Knows the
//! contract only.

use super::marks::{mark_records, recorded_origin};
use crate::checkpoint::{CheckpointError, Checkpointer, Claim, Commit, Key, Lease, Record, ThreadHead, ThreadId};

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
    head: ThreadHead,
    records: Vec<Record>,
) -> Result<(), CheckpointError> {
    let lease = claim_new(store, thread).await?;
    let written = write_records(store, &lease, head, records).await;
    delete_on_error(store, &lease, written).await
}

/// Inserts a thread as it is. Until the last commit it has no checkpoint and is marked as imported, so that part of it
/// cannot be taken for the thread.
///
/// # Errors
/// As [`insert_thread`].
pub(in crate::checkpoint) async fn insert_copy(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    head: ThreadHead,
    mut records: Vec<Record>,
) -> Result<(), CheckpointError> {
    if fits_in_one(&records) {
        return insert_thread(store, thread, head, records).await;
    }
    let about = records.iter().find(|(key, _)| *key == Key::About).cloned();
    mark_records(thread, &mut records)?;
    let lease = claim_new(store, thread).await?;
    let mut written = write_records(store, &lease, ThreadHead { checkpoint: None, ..head }, records).await;
    if written.is_ok() {
        written = make_visible(store, &lease, head, about).await;
    }
    delete_on_error(store, &lease, written).await
}

/// Returns whether a thread is the rest of an interrupted import or copy: it has no checkpoint, and is marked as
/// imported.
pub(in crate::checkpoint) async fn is_partial(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    head: ThreadHead,
) -> Result<bool, CheckpointError> {
    Ok(head.checkpoint.is_none() && recorded_origin(store, thread).await?.is_some())
}

/// Claims a thread that the store does not have, or only part of.
async fn claim_new(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Lease, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    if let Some(found) = store.head(thread).await? {
        if !is_partial(store, thread, found).await? {
            return Err(CheckpointError::ThreadExists { thread: thread.clone() });
        }
        store.delete_thread(&lease).await?;
    }
    Ok(lease)
}

/// Removes a thread of which only part could be written. The caller gets the error of the write.
async fn delete_on_error(
    store: &dyn Checkpointer,
    lease: &Lease,
    written: Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    if written.is_err() {
        let _ = store.delete_thread(lease).await;
    }
    written
}

fn fits_in_one(records: &[Record]) -> bool {
    records.len() <= RECORDS && records.iter().map(|(_, value)| value.len()).sum::<usize>() <= BYTES
}

/// Makes a copy visible: sets its head, and restores the record about it.
async fn make_visible(
    store: &dyn Checkpointer,
    lease: &Lease,
    head: ThreadHead,
    about: Option<Record>,
) -> Result<(), CheckpointError> {
    let deletes = if about.is_none() { vec![Key::About] } else { vec![] };
    let moved = Commit::new(lease.thread().clone(), lease.epoch(), None, head).with_records(about);
    store.commit(Commit { deletes, ..moved }).await
}

async fn write_records(
    store: &dyn Checkpointer,
    lease: &Lease,
    head: ThreadHead,
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
        let head = ThreadHead { checkpoint, ..head };
        let moved = Commit::new(lease.thread().clone(), lease.epoch(), None, head);
        store.commit(moved.with_records(puts)).await?;
        if ends {
            return Ok(());
        }
    }
}

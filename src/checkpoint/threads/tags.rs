//! Tags of checkpoints, which protect them from retention. Knows the contract and the records of tags only.

use superstep_base::time::now;

use super::pages::Pages;
use crate::checkpoint::unknown_thread::unknown_thread;
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, TagRecord, ThreadId, decode_record, encode_record,
};

/// Tags a checkpoint, so that retention keeps it. If the tag belonged to another checkpoint, it moves, and that
/// checkpoint is returned.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::UnknownCheckpoint`], [`CheckpointError::ThreadBusy`] while a run
/// holds the thread, [`CheckpointError::InvalidName`] for an empty name, [`CheckpointError::TooLarge`] for one over 4 KiB;
/// if the store fails.
pub async fn tag(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    checkpoint: CheckpointId,
    name: &str,
) -> Result<Option<CheckpointId>, CheckpointError> {
    if name.is_empty() {
        return Err(CheckpointError::InvalidName { what: "a tag".into(), reason: "\"\" is none".into() });
    }
    let key = Key::Tag(name.to_owned());
    let record = encode_record(&TagRecord { checkpoint, at: now() })?;
    let keys = vec![key.clone(), Key::Checkpoint(checkpoint), Key::Nested(checkpoint)];
    let before = change(store, thread, keys, |found| match found {
        [_, None, None] => Err(CheckpointError::UnknownCheckpoint { thread: thread.clone(), checkpoint }),
        _ => Ok((vec![(key.clone(), record)], vec![])),
    })
    .await?;
    before.map(|bytes| decode_record::<TagRecord>(thread, &key, &bytes).map(|tag| tag.checkpoint)).transpose()
}

/// Removes a tag; returns the checkpoint that had it.
///
/// # Errors
/// As [`tag`].
pub async fn untag(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    name: &str,
) -> Result<Option<CheckpointId>, CheckpointError> {
    let key = Key::Tag(name.to_owned());
    let before = change(store, thread, vec![key.clone()], |_| Ok((vec![], vec![key.clone()]))).await?;
    before.map(|bytes| decode_record::<TagRecord>(thread, &key, &bytes).map(|tag| tag.checkpoint)).transpose()
}

/// Returns the tags of a thread, in order.
///
/// # Errors
/// If a record is damaged or the store cannot be read.
pub async fn tags(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Vec<(String, CheckpointId)>, CheckpointError> {
    let mut found = vec![];
    let mut pages = Pages::of(store, thread, Key::Tag(String::new())..=Key::Shape(0));
    while let Some(page) = pages.next().await? {
        for (key, bytes) in page {
            if let Key::Tag(name) = &key {
                let record: TagRecord = decode_record(thread, &key, &bytes)?;
                found.push((name.clone(), record.checkpoint));
            }
        }
    }
    Ok(found)
}

type Change = (Vec<(Key, Vec<u8>)>, Vec<Key>);

/// Reads some records and commits a change that leaves the head unchanged; returns the previous value of the first
/// record.
pub(super) async fn change(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    keys: Vec<Key>,
    decide: impl FnOnce(&[Option<Vec<u8>>]) -> Result<Change, CheckpointError>,
) -> Result<Option<Vec<u8>>, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let found = store.get(thread, keys).await?;
    let (puts, deletes) = decide(&found)?;
    let (epoch, expected) = (lease.epoch(), head.checkpoint);
    store.commit(Commit { thread: thread.clone(), epoch, expected, head, puts, deletes }).await?;
    Ok(found.into_iter().next().flatten())
}

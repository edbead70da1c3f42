//! What people say about a thread: tags of checkpoints, which protect them from retention, and trust in an imported
//! thread. Knows the contract, the records of tags and the record about a thread only.

use superstep_base::time::now;

use super::pages::Pages;
use crate::checkpoint::checkpointer::unknown_thread;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, Checkpointer, Claim, Commit, ForeignRecord, Key, Record, TagRecord,
    ThreadId, decode_record, encode_record,
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
    let before = change(store, thread, AfterCancel::Stays, keys, |found| match found {
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
    let before =
        change(store, thread, AfterCancel::Stays, vec![key.clone()], |_| Ok((vec![], vec![key.clone()]))).await?;
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

/// Meaning of a change for a thread whose run somebody has cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterCancel {
    /// Nothing: nobody resumes it unasked.
    Stays,
    /// It is resumed by whoever finds it.
    MayResume,
}

/// Reads some records and commits a change that leaves the head unchanged; returns the previous value of the first
/// record.
pub(super) async fn change(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    after: AfterCancel,
    keys: Vec<Key>,
    decide: impl FnOnce(&[Option<Vec<u8>>]) -> Result<Change, CheckpointError>,
) -> Result<Option<Vec<u8>>, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let found = store.get(thread, keys).await?;
    let (puts, deletes) = decide(&found)?;
    let unmoved = Commit::new(thread.clone(), lease.epoch(), head.checkpoint, head).with_records(puts);
    let is_left = lease.follows_cancel() && after == AfterCancel::Stays;
    store.commit(Commit { deletes, is_last: !is_left, ..unmoved }).await?;
    if is_left {
        lease.release_unchanged().await?
    } else {
        lease.release().await?
    }
    Ok(found.into_iter().next().flatten())
}

/// Stores the request that a runner resumes a thread, whatever its status is. `at` is in milliseconds since 1970.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::ThreadBusy`]; if the store fails.
pub(crate) async fn request_run(store: &dyn Checkpointer, thread: &ThreadId, at: u64) -> Result<(), CheckpointError> {
    change(store, thread, AfterCancel::MayResume, vec![Key::About], |found| {
        let about = decode_about(thread, found.first().and_then(Option::as_deref))?.unwrap_or_default();
        let about = encode_record(&AboutRecord { requested_at: Some(at), ..about })?;
        Ok((vec![(Key::About, about)], vec![]))
    })
    .await
    .map(drop)
}

/// Trusts an imported thread, so that it may be run, answered, updated and forked. Returns whether it was untrusted
/// before. In a store that comes from elsewhere, this trusts all threads.
///
/// The content was written by others: its state is passed to your nodes, its answers count as given, its recorded
/// effects as done.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::ThreadBusy`]; if the store fails.
pub async fn trust(store: &dyn Checkpointer, thread: &ThreadId) -> Result<bool, CheckpointError> {
    let mut changed = store.is_foreign();
    if changed && store.head(thread).await?.is_some() {
        store.trust()?;
    }
    change(store, thread, AfterCancel::Stays, vec![Key::About], |found| {
        let Some(mut about) = decode_about(thread, found.first().and_then(Option::as_deref))? else {
            return Ok(Default::default());
        };
        let Some(foreign) = about.foreign.as_mut().filter(|foreign| !foreign.trusted) else {
            return Ok(Default::default());
        };
        foreign.trusted = true;
        changed = true;
        Ok((vec![(Key::About, encode_record(&about)?)], vec![]))
    })
    .await?;
    Ok(changed)
}

/// Returns the origin of a thread, if it was imported or its whole store comes from elsewhere.
///
/// # Errors
/// If the record is damaged or the store cannot be read.
pub async fn foreign(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Option<ForeignRecord>, CheckpointError> {
    Ok(effective_origin(store, recorded_origin(store, thread).await?))
}

/// Returns the effective origin of a thread with this record: while the whole store is untrusted, trust in the record
/// does not count.
pub(crate) fn effective_origin(store: &dyn Checkpointer, record: Option<ForeignRecord>) -> Option<ForeignRecord> {
    ForeignRecord::effective(record, store.is_foreign())
}

/// Returns the origin of a thread according to its own record.
pub(in crate::checkpoint) async fn recorded_origin(
    store: &dyn Checkpointer,
    thread: &ThreadId,
) -> Result<Option<ForeignRecord>, CheckpointError> {
    Ok(about_thread(store, thread).await?.and_then(|about| about.foreign))
}

/// Returns the record about a thread; `None` if there is none.
///
/// # Errors
/// If the store fails, or the record cannot be read.
pub async fn about_thread(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Option<AboutRecord>, CheckpointError> {
    let found = store.get(thread, vec![Key::About]).await?;
    decode_about(thread, found.first().and_then(Option::as_deref))
}

/// Marks the records of a thread as imported: a copy of an untrusted store is untrusted too.
pub(in crate::checkpoint) fn mark_records(thread: &ThreadId, records: &mut Vec<Record>) -> Result<(), CheckpointError> {
    let at = records.iter().position(|(key, _)| *key == Key::About);
    let found = at.map(|at| records.remove(at).1);
    let about = decode_about(thread, found.as_deref())?.unwrap_or_default();
    records.insert(0, encode_imported(about)?);
    Ok(())
}

/// Encodes the record about a thread that is imported now: it has to be trusted before it runs.
pub(in crate::checkpoint) fn encode_imported(about: AboutRecord) -> Result<Record, CheckpointError> {
    let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
    Ok((Key::About, encode_record(&AboutRecord { foreign, ..about })?))
}

/// Removes the mark of an imported thread from its records.
pub(in crate::checkpoint) fn unmark_records(thread: &ThreadId, records: &mut [Record]) -> Result<(), CheckpointError> {
    let Some((_, bytes)) = records.iter_mut().find(|(key, _)| *key == Key::About) else { return Ok(()) };
    if let Some(about) = decode_about(thread, Some(bytes))? {
        *bytes = encode_record(&AboutRecord { foreign: None, ..about })?;
    }
    Ok(())
}

fn decode_about(thread: &ThreadId, bytes: Option<&[u8]>) -> Result<Option<AboutRecord>, CheckpointError> {
    bytes.map(|bytes| decode_record(thread, Key::About, bytes)).transpose()
}

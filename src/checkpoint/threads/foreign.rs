//! Threads that were made elsewhere, and the word of a person that they may be run. Knows the contract and the record about
//! a thread only.

use super::tags::change;
use crate::checkpoint::time::now;
use crate::checkpoint::{
    AboutRecord, CheckpointError, Checkpointer, ForeignRecord, Key, Record, ThreadId, decode_record, encode_record,
};

/// Lets a thread that was imported be run, answered, updated and forked. Returns whether it had to be said. In a store that
/// was made elsewhere as a whole, every thread is trusted with it.
///
/// What it holds was written by others: its state goes into your nodes, its answers count as given, its recorded effects
/// as done.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::ThreadBusy`]; if the store fails.
pub async fn trust(store: &dyn Checkpointer, thread: &ThreadId) -> Result<bool, CheckpointError> {
    let mut changed = store.is_foreign();
    if changed && store.head(thread).await?.is_some() {
        store.trust()?;
    }
    change(store, thread, vec![Key::About], |found| {
        let Some(mut about) = about(thread, found.first().and_then(Option::as_deref))? else {
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

/// Returns where a thread came from, if it was imported, or if its whole store was made elsewhere.
///
/// # Errors
/// If the record is damaged or the store cannot be read.
pub async fn foreign(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Option<ForeignRecord>, CheckpointError> {
    Ok(of_store(store, imported(store, thread).await?))
}

/// Returns what is to be thought of a thread with this record: none in it counts while the whole store is not trusted.
pub(crate) fn of_store(store: &dyn Checkpointer, record: Option<ForeignRecord>) -> Option<ForeignRecord> {
    if !store.is_foreign() {
        return record;
    }
    let imported_at = record.map_or(0, |record| record.imported_at);
    Some(ForeignRecord { imported_at, trusted: false })
}

/// Returns where a thread came from, by its own record.
pub(in crate::checkpoint) async fn imported(
    store: &dyn Checkpointer,
    thread: &ThreadId,
) -> Result<Option<ForeignRecord>, CheckpointError> {
    Ok(about_thread(store, thread).await?.and_then(|about| about.foreign))
}

/// Returns what a thread as a whole is; none if nothing of it is stored.
pub(crate) async fn about_thread(
    store: &dyn Checkpointer,
    thread: &ThreadId,
) -> Result<Option<AboutRecord>, CheckpointError> {
    let found = store.get(thread, vec![Key::About]).await?;
    about(thread, found.first().and_then(Option::as_deref))
}

/// Marks the records of a thread as made elsewhere: what a copy of an untrusted store holds is no more to be trusted.
pub(in crate::checkpoint) fn mark(thread: &ThreadId, records: &mut Vec<Record>) -> Result<(), CheckpointError> {
    let at = records.iter().position(|(key, _)| *key == Key::About);
    let found = at.map(|at| records.remove(at).1);
    let about = about(thread, found.as_deref())?.unwrap_or_default();
    let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
    records.insert(0, (Key::About, encode_record(&AboutRecord { foreign, ..about })?));
    Ok(())
}

fn about(thread: &ThreadId, bytes: Option<&[u8]>) -> Result<Option<AboutRecord>, CheckpointError> {
    bytes.map(|bytes| decode_record(thread, Key::About, bytes)).transpose()
}

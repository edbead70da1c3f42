//! Threads that were made elsewhere, and the word of a person that they may be run. Knows the contract and the record about
//! a thread only.

use super::tags::change;
use crate::checkpoint::{
    AboutRecord, CheckpointError, Checkpointer, ForeignRecord, Key, ThreadId, decode_record, encode_record,
};

/// Lets a thread that was imported be run, answered, updated and forked. Returns whether it had to be said.
///
/// What it holds was written by others: its state goes into your nodes, its answers count as given, its recorded effects
/// as done.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::ThreadBusy`]; if the store fails.
pub async fn trust(store: &dyn Checkpointer, thread: &ThreadId) -> Result<bool, CheckpointError> {
    let mut changed = false;
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

/// Returns where a thread came from, if it was imported.
///
/// # Errors
/// If the record is damaged or the store cannot be read.
pub async fn foreign(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Option<ForeignRecord>, CheckpointError> {
    let found = store.get(thread, vec![Key::About]).await?;
    Ok(about(thread, found.first().and_then(Option::as_deref))?.and_then(|about| about.foreign))
}

fn about(thread: &ThreadId, bytes: Option<&[u8]>) -> Result<Option<AboutRecord>, CheckpointError> {
    bytes.map(|bytes| decode_record(thread, Key::About, bytes)).transpose()
}

//! Consistent snapshot of all records of a thread. Knows the contract only.

use super::pages::LAST;
use super::thread_records::ThreadRecords;
use crate::checkpoint::unknown_thread::unknown_thread;
use crate::checkpoint::{CheckpointError, Checkpointer, Head, Key, Order, Record, ThreadId};

/// A thread at one moment.
#[derive(Debug)]
pub(in crate::checkpoint) struct ThreadSnapshot {
    pub(in crate::checkpoint) head: Head,
    /// Records in key order, without the head.
    pub(in crate::checkpoint) records: Vec<Record>,
}

impl ThreadSnapshot {
    /// Reads a thread, also while a run writes it: a scan is consistent, and the newest checkpoint of the root graph in
    /// it is the head at that moment.
    ///
    /// # Errors
    /// [`CheckpointError::UnknownThread`]; if a record is damaged or the store cannot be read.
    pub(in crate::checkpoint) async fn read(
        store: &dyn Checkpointer,
        thread: &ThreadId,
    ) -> Result<Self, CheckpointError> {
        let records = store.scan(thread, Key::About..=LAST, Order::Ascending, usize::MAX).await?;
        let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
        let decoded = ThreadRecords::of(thread, records.iter().map(|(key, bytes)| (key, bytes.as_slice())))?;
        let newest = decoded.roots().next().map(|(id, _)| id);
        Ok(Self { head: Head { checkpoint: newest, ..head }, records })
    }
}

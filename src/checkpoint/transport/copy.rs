//! Copies the threads of a store into another one while it is open: into an empty one as a backup, or into one that
//! holds threads already. Knows the contract only.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;
use superstep_base::time::now;

use crate::checkpoint::checkpointer::unknown_thread;
use crate::checkpoint::threads::insert::{insert_copy, is_partial};
use crate::checkpoint::threads::marks::{mark_records, unmark_records};
use crate::checkpoint::threads::pages::LAST;
use crate::checkpoint::threads::thread_records::ThreadRecords;
use crate::checkpoint::{
    AboutRecord, CheckpointError, Checkpointer, ExpectedItem, Item, ItemScan, ItemWrite, Key, Order, Record,
    ThreadHead, ThreadId, decode_record, encode_record,
};

/// Number of thread names read at once.
const PAGE: usize = 256;

/// Result of copying a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Number of threads copied.
    pub threads: usize,
    /// Number of their records.
    pub records: usize,
    /// Bytes of these records, as the engine counts them.
    pub bytes: u64,
    /// Number of threads that the target had already, with the same records.
    pub same: usize,
    /// Number of items beside threads that the target has now.
    pub items: usize,
    /// Threads that could not be read and were not copied, with the reason.
    pub failed: Vec<(ThreadId, String)>,
}

impl CopyReport {
    /// Returns whether the target has every thread now.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for CopyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, records, bytes, same, items, failed } = self;
        write!(f, "{threads} threads copied: {records} records, {bytes} bytes")?;
        if *same > 0 {
            write!(f, "\n{same} threads were there already, with the same records")?;
        }
        if *items > 0 {
            write!(f, "\n{items} items beside threads copied")?;
        }
        failed.iter().try_for_each(|(thread, why)| write!(f, "\nthread `{thread}` was not copied: {why}"))
    }
}

/// Copies every thread of a store into another one, of any kind: checkpoints, values, effects, events, tags, signals
/// and the record about the thread. Names, heads and ids of questions are the same, so the copy can be run in place of
/// the original; leases are not copied.
///
/// A thread that the target has already is left as it is if its records are the same, so an interrupted copy can be
/// repeated. If they differ, nothing is copied. A thread becomes visible whole: while a large one is written, it has no
/// checkpoint, and is marked as imported. Each thread is copied as of one moment and held in memory meanwhile. Damaged
/// threads are left out and named in the report.
///
/// Threads of a store that comes from elsewhere and is not [trusted](super::super::trust) are marked as imported in the
/// copy; those of other stores are not. Items beside threads are copied too, except from such a store: nothing could be
/// marked in them.
///
/// # Errors
/// [`CheckpointError::ThreadExists`] if the target has another thread of the same name, [`CheckpointError::ItemConflict`]
/// if it has another value of an item; if either store fails.
pub async fn copy_threads(from: &dyn Checkpointer, to: &dyn Checkpointer) -> Result<CopyReport, CheckpointError> {
    let mut copied = CopyReport::default();
    let mut missing = vec![];
    let mut last: Option<ThreadId> = None;
    loop {
        let page = from.threads(last.as_ref(), PAGE).await?;
        let Some(end) = page.last() else { break };
        last = Some(end.clone());
        for thread in page {
            match has_same(from, to, &thread).await? {
                true => copied.same += 1,
                false => missing.push(thread),
            }
        }
    }
    for thread in missing {
        copy(from, to, thread, &mut copied).await?;
    }
    if !from.is_foreign() {
        copied.items = copy_items(from, to).await?;
    }
    Ok(copied)
}

/// Copies all items; returns their number.
async fn copy_items(from: &dyn Checkpointer, to: &dyn Checkpointer) -> Result<usize, CheckpointError> {
    let (mut scan, mut count) = (ItemScan::all().limit(PAGE), 0);
    loop {
        let page = from.scan_items(&scan).await?;
        let Some((last, _)) = page.last() else { return Ok(count) };
        (scan, count) = (scan.after(last.clone()), count + page.len());
        let found = to.get_items(page.iter().map(|(item, _)| item.clone()).collect()).await?;
        let missing = page.into_iter().zip(found).filter(|((_, value), found)| found.as_ref() != Some(value));
        let put = |((item, value), _): (Item, _)| ItemWrite::put(item, value).expecting(ExpectedItem::Absent);
        let missing: Vec<ItemWrite> = missing.map(put).collect();
        if !missing.is_empty() {
            to.write_items(missing).await?;
        }
    }
}

/// Returns whether the target has the thread already.
async fn has_same(from: &dyn Checkpointer, to: &dyn Checkpointer, thread: &ThreadId) -> Result<bool, CheckpointError> {
    let Some(head) = to.head(thread).await? else { return Ok(false) };
    if is_partial(to, thread, head).await? {
        return Ok(false);
    }
    let Ok(mut wanted) = ThreadSnapshot::read(from, thread).await else { return Ok(false) }; // reported when it is copied
    let mut found = ThreadSnapshot::read(to, thread).await?;
    if from.is_foreign() {
        // The marks of two copies differ in their times.
        unmark_records(thread, &mut wanted.records)?;
        unmark_records(thread, &mut found.records)?;
    }
    if wanted.head == found.head && wanted.records == found.records {
        return Ok(true);
    }
    Err(CheckpointError::ThreadExists { thread: thread.clone() })
}

async fn copy(
    from: &dyn Checkpointer,
    to: &dyn Checkpointer,
    thread: ThreadId,
    copied: &mut CopyReport,
) -> Result<(), CheckpointError> {
    let mut snapshot = match ThreadSnapshot::read(from, &thread).await {
        Ok(snapshot) => snapshot,
        Err(CheckpointError::UnknownThread { .. }) => return Ok(()), // deleted meanwhile
        Err(error @ (CheckpointError::Damaged { .. } | CheckpointError::Format { .. })) => {
            copied.failed.push((thread, error.to_string()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if from.is_foreign() {
        mark_records(&thread, &mut snapshot.records)?;
    }
    let bytes: u64 = snapshot.records.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    copied.records += snapshot.records.len();
    insert_copy(to, &thread, snapshot.head, snapshot.records).await?;
    copied.threads += 1;
    copied.bytes += bytes;
    Ok(())
}

/// Copies a thread within a store under a new name, with all of its checkpoints, values, effects, events and tags. Signals that it
/// has not received, its lease and a request that a runner resumes it are not copied.
///
/// The copy gets a birth id of its own, so the ids of its pending questions and the idempotency keys of effects it has yet to run
/// differ from the original's. A run may hold the original meanwhile: it is copied as of one moment, and held in memory.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::ThreadExists`] if the name is taken,
/// [`CheckpointError::Damaged`]; if the store fails.
pub async fn copy_thread(store: &dyn Checkpointer, from: &ThreadId, to: &ThreadId) -> Result<(), CheckpointError> {
    let ThreadSnapshot { head, records } = ThreadSnapshot::read(store, from).await?;
    let kept = records.into_iter().filter(|(key, _)| !matches!(key, Key::Signal { .. }));
    let records = kept.map(|record| renew(from, record)).collect::<Result<_, _>>()?;
    let birth = RandomState::new().hash_one(now()) & 0xffff_ffff;
    insert_copy(store, to, ThreadHead { birth, ..head }, records).await
}

/// Returns a record of a thread as its copy has it.
fn renew(thread: &ThreadId, (key, bytes): Record) -> Result<Record, CheckpointError> {
    if key != Key::About {
        return Ok((key, bytes));
    }
    let about: AboutRecord = decode_record(thread, &key, &bytes)?;
    let about = AboutRecord { created_at: now(), requested_at: None, ..about };
    Ok((key, encode_record(&about)?))
}

/// Contents of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupReport {
    /// Number of threads copied.
    pub threads: usize,
    /// Number of records copied.
    pub records: usize,
    /// Bytes of these records, as the engine counts them.
    pub bytes: u64,
    /// Threads that could not be read and are not in the backup, with the reason.
    pub failed: Vec<(ThreadId, String)>,
}

impl BackupReport {
    /// Returns whether every thread was copied.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for BackupReport {
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
/// Threads of a store that comes from elsewhere and is not [trusted](crate::checkpoint::trust) are marked as imported in the
/// copy.
///
/// To copy to a directory, see `SledCheckpointer::backup`.
///
/// # Errors
/// [`CheckpointError::ThreadExists`] if the target is not empty; if either store fails.
pub async fn backup(from: &dyn Checkpointer, to: &dyn Checkpointer) -> Result<BackupReport, CheckpointError> {
    if let Some(thread) = to.threads(None, 1).await?.pop() {
        return Err(CheckpointError::ThreadExists { thread });
    }
    let CopyReport { threads, records, bytes, failed, .. } = copy_threads(from, to).await?;
    Ok(BackupReport { threads, records, bytes, failed })
}

/// A thread at one moment.
#[derive(Debug)]
struct ThreadSnapshot {
    head: ThreadHead,
    /// Records in key order, without the head.
    records: Vec<Record>,
}

impl ThreadSnapshot {
    /// Reads a thread, also while a run writes it: a scan is consistent, and the newest checkpoint of the root graph in
    /// it is the head at that moment.
    ///
    /// # Errors
    /// [`CheckpointError::UnknownThread`]; if a record is damaged or the store cannot be read.
    async fn read(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Self, CheckpointError> {
        let records = store.scan(thread, Key::About..=LAST, Order::Ascending, usize::MAX).await?;
        let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
        let decoded = ThreadRecords::of(thread, records.iter().map(|(key, bytes)| (key, bytes.as_slice())))?;
        let newest = decoded.roots().next().map(|(id, _)| id);
        Ok(Self { head: ThreadHead { checkpoint: newest, ..head }, records })
    }
}

//! Retention: which checkpoints are kept, and the removal of everything that no kept one reaches. Knows records; must
//! not know states or nodes.
//!
//! A removal marks, then sweeps in commits of bounded size, each of which leaves the thread readable. A crash in between
//! loses nothing that is kept; the next removal continues. Checkpoints are removed first, newest first, so that no
//! remaining one lacks what it needs; then the rest.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use superstep_base::gather;
use superstep_base::time::{millis, now};

use super::checkpointer::unknown_thread;
use super::threads::pages::{LAST, Pages};
use super::threads::reach::Reach;
use super::threads::thread_records::ThreadRecords;
use super::{
    CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit, Key, Lease, Shape, TaskStatus,
    ThreadHead, ThreadId,
};

/// Rules that select which checkpoints of a thread are kept; one rule is enough. LangGraph has no counterpart.
///
/// Always kept: the newest checkpoint, the one before it, and everything a kept one needs to be loaded, replayed and
/// resumed: the checkpoint its channel map builds on, its tasks, journals, events and subgraphs. Without
/// [`keep_last`](Self::keep_last) and [`max_age`](Self::max_age) all checkpoints are kept, and only unreachable records
/// are removed.
///
/// ```
/// # use std::time::Duration;
/// # use superstep::checkpoint::{MemoryCheckpointer, Retention, gc_all};
/// # async fn example(store: MemoryCheckpointer) -> Result<(), superstep::checkpoint::CheckpointError> {
/// let policy = Retention::new().keep_last(20).max_age(Duration::from_secs(30 * 86_400));
/// println!("{}", gc_all(&store, &policy).await?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Retention {
    last: Option<usize>,
    max_age: Option<Duration>,
    unfinished: bool,
    tagged: bool,
    as_of: Option<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self::new()
    }
}

impl Retention {
    /// Returns rules that keep all checkpoints and everything they reach.
    pub fn new() -> Self {
        Self { last: None, max_age: None, unfinished: true, tagged: true, as_of: None }
    }

    /// Keeps the newest `checkpoints` of each thread's root graph, counted over all branches.
    pub fn keep_last(mut self, checkpoints: usize) -> Self {
        self.last = Some(checkpoints);
        self
    }

    /// Keeps checkpoints up to this age. Combined with [`keep_last`](Self::keep_last), a checkpoint is removed only if
    /// neither keeps it.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Sets whether older branches that wait are kept: with pending questions, a time to wait for, or an unfinished
    /// superstep. Default: true.
    pub fn keep_unfinished(mut self, keep: bool) -> Self {
        self.unfinished = keep;
        self
    }

    /// Sets whether checkpoints with a tag are kept; if not, their tags are removed with them. Default: true.
    pub fn keep_tagged(mut self, keep: bool) -> Self {
        self.tagged = keep;
        self
    }

    /// Sets the time from which ages are counted, in milliseconds since 1970. Default: now.
    pub fn as_of(mut self, time: u64) -> Self {
        self.as_of = Some(time);
        self
    }

    /// Returns the checkpoints selected by the rules, without those that they need.
    fn roots(&self, decoded: &ThreadRecords, head: ThreadHead) -> BTreeSet<CheckpointId> {
        let mut kept: BTreeSet<CheckpointId> = gather(head.checkpoint);
        // A breakpoint of a thread is read from the checkpoint before its newest one.
        let newest = head.checkpoint.and_then(|id| decoded.checkpoints.get(&id));
        kept.extend(newest.and_then(|made| made.record.parent));
        let left: HashSet<CheckpointId> = decoded.roots().filter_map(|(_, record)| record.parent).collect();
        for (place, (id, record)) in decoded.roots().enumerate() {
            let waits = || waits(decoded, id, record, left.contains(&id));
            if self.is_recent(place, record) || (self.unfinished && waits()) {
                kept.insert(id);
            }
        }
        if self.tagged {
            kept.extend(decoded.tags.values().map(|tag| tag.checkpoint));
        }
        kept
    }

    fn is_recent(&self, place: usize, record: &CheckpointRecord) -> bool {
        let counts = self.last.is_some_and(|last| place < last);
        let since = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let oldest = |age| self.as_of.unwrap_or_else(now).saturating_sub(since(age));
        let young = self.max_age.is_some_and(|age| record.created_at >= oldest(age));
        counts || young || (self.last.is_none() && self.max_age.is_none())
    }
}

/// Returns whether a task of the checkpoint waits for a person or a time, or its superstep was never finished: no
/// checkpoint follows it.
fn waits(decoded: &ThreadRecords, id: CheckpointId, record: &CheckpointRecord, is_left: bool) -> bool {
    let waiting = |status| matches!(status, TaskStatus::Interrupted | TaskStatus::Waiting);
    if decoded.tasks_of(id).any(|(_, task)| waiting(task.status)) {
        return true;
    }
    !is_left && has_work(record, decoded.shapes.get(&record.shape))
}

fn has_work(record: &CheckpointRecord, shape: Option<&Shape>) -> bool {
    let control = &record.control;
    let complete = |at: u32, arrived: &[u64]| {
        let sources = shape.and_then(|shape| shape.joins.get(at as usize)).map(|(sources, _)| sources.len());
        sources.is_none_or(|sources| arrived.iter().map(|word| word.count_ones() as usize).sum::<usize>() >= sources)
    };
    control.start.is_some()
        || !control.ready.is_empty()
        || !control.deferred.is_empty()
        || !control.sends.is_empty()
        || control.joins.iter().any(|(at, join)| complete(*at, &join.arrived))
}

/// Counts of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GcCounts {
    /// Checkpoints kept, those of subgraphs included.
    pub kept: usize,
    /// Checkpoints removed, those of subgraphs included.
    pub checkpoints: usize,
    /// Records removed, checkpoints included.
    pub records: usize,
    /// Bytes of the removed records, as the engine counts them.
    pub bytes: u64,
}

/// Result for one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadGcReport {
    /// The thread.
    pub thread: ThreadId,
    /// Counts of the removal.
    pub swept: GcCounts,
    /// Reason why it was skipped, if it was: a run holds it, or it is damaged.
    pub passed_over: Option<String>,
}

/// Result for a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreGcReport {
    /// Result for each thread.
    pub threads: Vec<ThreadGcReport>,
}

impl StoreGcReport {
    /// Returns the sum over all threads.
    pub fn total(&self) -> GcCounts {
        self.threads.iter().fold(GcCounts::default(), |sum, thread| GcCounts {
            kept: sum.kept + thread.swept.kept,
            checkpoints: sum.checkpoints + thread.swept.checkpoints,
            records: sum.records + thread.swept.records,
            bytes: sum.bytes + thread.swept.bytes,
        })
    }
}

impl fmt::Display for GcCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, checkpoints, records, bytes } = self;
        write!(f, "{checkpoints} checkpoints removed, {kept} kept; {records} records, {bytes} bytes removed")
    }
}

impl fmt::Display for StoreGcReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed_over = self.threads.iter().filter_map(|thread| Some((&thread.thread, thread.passed_over.as_ref()?)));
        write!(f, "{} threads: {}", self.threads.len(), self.total())?;
        passed_over.into_iter().try_for_each(|(thread, why)| write!(f, "\nthread `{thread}` was skipped: {why}"))
    }
}

/// Removes everything of a thread that the policy does not keep. The thread is locked meanwhile: a run that starts then
/// is refused.
///
/// sled does not return disk space by itself: see `SledCheckpointer::compact`.
///
/// # Errors
/// [`CheckpointError::UnknownThread`]; [`CheckpointError::ThreadBusy`] while a run holds the thread;
/// [`CheckpointError::Damaged`], with nothing removed, if its records cannot be read; if the store fails. Kept
/// checkpoints are whole in every case.
pub async fn gc(store: &dyn Checkpointer, thread: &ThreadId, policy: &Retention) -> Result<GcCounts, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let swept = sweep(store, &lease, head, policy).await?;
    lease.release_unchanged().await?;
    Ok(swept)
}

/// Makes an earlier checkpoint of a thread the newest one: removes those that were made after it, with their tags and with
/// everything that only they need. Results that tasks planned at the checkpoint have stored stay. The numbers of the removed
/// checkpoints are not used again.
///
/// # Errors
/// [`CheckpointError::UnknownThread`]; [`CheckpointError::UnknownCheckpoint`] if it is not one of the root graph;
/// [`CheckpointError::ThreadBusy`] while a run holds the thread; [`CheckpointError::Damaged`] if its records cannot be read;
/// if the store fails. The thread is at one of the two checkpoints in every case.
pub async fn rewind(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    to: CheckpointId,
) -> Result<GcCounts, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    let swept = rewind_claimed(store, &lease, to).await?;
    lease.release().await?;
    Ok(swept)
}

/// As [`rewind`], for a thread that is claimed already.
///
/// # Errors
/// As [`rewind`], except that a run cannot hold the thread.
pub async fn rewind_claimed(
    store: &dyn Checkpointer,
    lease: &Lease,
    to: CheckpointId,
) -> Result<GcCounts, CheckpointError> {
    let thread = lease.thread();
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let decoded = ThreadRecords::read(store, thread).await?;
    if !decoded.roots().any(|(id, _)| id == to) {
        return Err(CheckpointError::UnknownCheckpoint { thread: thread.clone(), checkpoint: to });
    }
    let later = decoded.roots().filter(|(id, _)| *id > to).map(|(id, _)| Key::Checkpoint(id));
    let tags = decoded.tags.iter().filter(|(_, tag)| tag.checkpoint > to).map(|(name, _)| Key::Tag(name.clone()));
    let deletes: Vec<Key> = later.chain(tags).collect();
    let moved = ThreadHead { checkpoint: Some(to), ..head };
    let move_head = Commit::new(thread.clone(), lease.epoch(), head.checkpoint, moved);
    store.commit(Commit { deletes, ..move_head }).await?;
    sweep(store, lease, moved, &Retention::new()).await
}

/// Removes everything of a claimed thread that the policy does not keep.
async fn sweep(
    store: &dyn Checkpointer,
    lease: &Lease,
    head: ThreadHead,
    policy: &Retention,
) -> Result<GcCounts, CheckpointError> {
    let decoded = ThreadRecords::read(store, lease.thread()).await?;
    let as_of = policy.as_of.or_else(|| store.time().map(millis));
    let roots = Retention { as_of, ..policy.clone() }.roots(&decoded, head);
    if let Some(missing) = head.checkpoint.filter(|id| !decoded.checkpoints.contains_key(id)) {
        return Err(CheckpointError::damaged_record(lease.thread(), Key::Checkpoint(missing), "it is missing"));
    }
    let reach = Reach::from(&decoded, roots);
    let mut sweep = Sweep { store, lease, head, gone: vec![], bytes: 0, swept: GcCounts::default() };
    sweep.swept.kept = reach.checkpoints.len();
    sweep.remove_checkpoints(&decoded, &reach).await?;
    sweep.remove_rest(&decoded, &reach).await?;
    Ok(sweep.swept)
}

/// Removes everything that the policy does not keep, in all threads. Threads that a run holds, or that are damaged, are
/// skipped and named in the report.
///
/// # Errors
/// If the store cannot be read or written.
pub async fn gc_all(store: &dyn Checkpointer, policy: &Retention) -> Result<StoreGcReport, CheckpointError> {
    let mut report = StoreGcReport::default();
    loop {
        let last = report.threads.last().map(|swept: &ThreadGcReport| swept.thread.clone());
        let page = store.threads(last.as_ref(), 256).await?;
        if page.is_empty() {
            return Ok(report);
        }
        for thread in page {
            let (swept, passed_over) = match gc(store, &thread, policy).await {
                Ok(swept) => (swept, None),
                Err(error) if is_of_one_thread(&error) => (GcCounts::default(), Some(error.to_string())),
                Err(error) => return Err(error),
            };
            report.threads.push(ThreadGcReport { thread, swept, passed_over });
        }
    }
}

/// Returns whether an error concerns only this thread.
fn is_of_one_thread(error: &CheckpointError) -> bool {
    matches!(
        error,
        CheckpointError::ThreadBusy { .. }
            | CheckpointError::StaleLease { .. }
            | CheckpointError::UnknownThread { .. }
            | CheckpointError::Damaged { .. }
            | CheckpointError::Format { .. }
    )
}

/// A removal from one thread.
struct Sweep<'a> {
    store: &'a dyn Checkpointer,
    lease: &'a Lease,
    head: ThreadHead,
    gone: Vec<Key>,
    bytes: usize,
    swept: GcCounts,
}

impl Sweep<'_> {
    /// Maximum number of keys in one commit, and of bytes of their records.
    const KEYS: usize = 512;
    const BYTES: usize = 4 << 20;

    /// Removes unreached checkpoints: those of the root graph first, each before the ones it builds on.
    async fn remove_checkpoints(&mut self, decoded: &ThreadRecords, reach: &Reach) -> Result<(), CheckpointError> {
        for root in [true, false] {
            let these = decoded.checkpoints.iter().rev().filter(|(_, made)| made.root == root);
            for (id, made) in these.filter(|(id, _)| !reach.checkpoints.contains(**id)) {
                let key = made.key(*id);
                let found = self.store.get(self.lease.thread(), vec![key.clone()]).await?.pop().flatten();
                self.swept.checkpoints += 1;
                self.remove(key, found.map_or(0, |bytes| bytes.len())).await?;
            }
        }
        self.flush().await
    }

    /// Removes all other unreached records.
    async fn remove_rest(&mut self, decoded: &ThreadRecords, reach: &Reach) -> Result<(), CheckpointError> {
        let thread = self.lease.thread().clone();
        let mut pages = Pages::of(self.store, &thread, Key::About..=LAST);
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page {
                if !keeps(decoded, reach, &key) {
                    self.remove(key, bytes.len()).await?;
                }
            }
        }
        self.flush().await
    }

    async fn remove(&mut self, key: Key, bytes: usize) -> Result<(), CheckpointError> {
        self.swept.records += 1;
        self.swept.bytes += bytes as u64;
        self.bytes += bytes;
        self.gone.push(key);
        if self.gone.len() >= Self::KEYS || self.bytes >= Self::BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), CheckpointError> {
        if self.gone.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let (head, deletes) = (self.head, std::mem::take(&mut self.gone));
        let unmoved = Commit::new(self.lease.thread().clone(), self.lease.epoch(), head.checkpoint, head);
        self.store.commit(Commit { deletes, ..unmoved }).await
    }
}

/// Returns whether a record is kept; a tag is kept with its checkpoint.
fn keeps(decoded: &ThreadRecords, reach: &Reach, key: &Key) -> bool {
    match key {
        Key::Tag(name) => decoded.tags.get(name).is_none_or(|tag| reach.checkpoints.contains(tag.checkpoint)),
        key => reach.keeps(key),
    }
}

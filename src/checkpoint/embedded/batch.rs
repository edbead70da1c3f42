//! Combines several commits into one change of the tree. Knows which commit may follow which, and which records cannot
//! exist yet, so that they are not looked up; must not know when the change is written.

use std::collections::{BTreeMap, HashMap, HashSet};

use superstep_base::gather;

use super::engine::{Engine, Rows, Tree};
use super::index::{complete_row, entry_rows, mark_key};
use super::rows::{deletion_rows, item_deletion_rows, item_name, prefix_end, row_key, split_record, thread_name};
use super::view::{RowsBefore, assemble};
use crate::checkpoint::envelope::{Envelope, name_of};
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::index::upkeep::IndexEntry;
use crate::checkpoint::{
    CheckpointError, CheckpointId, Commit, ExpectedItem, ItemWrite, Key, Leases, Order, Record, ThreadHead, ThreadId,
    decode_record, encode_record,
};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Rows changed by a batch: before and after.
pub(super) struct Batch<'a, E: Engine> {
    tree: E::Snapshot<'a>,
    leases: &'a Leases,
    changes: &'a ChangedThreads,
    recent: &'a mut RecentRecords,
    heads: HashMap<ThreadId, ThreadHead>,
    before: RowsBefore<E::Bytes>,
    after: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    newest: Option<RowOfCommit>,
    indexing: Indexing,
}

/// Changes of the index in a batch.
#[derive(Default)]
pub(super) struct Indexing {
    /// Threads that commits of the batch change.
    pub(super) changed: HashSet<ThreadId>,
    /// Threads that the batch writes to the index, with the change as of which it has them.
    pub(super) settled: HashMap<ThreadId, Option<u64>>,
    pub(super) posted: Vec<ThreadId>,
}

/// Number of a commit, and the key of a row that it wrote.
type RowOfCommit = (u64, Vec<u8>);

/// A batch ready to be written.
pub(super) struct Change<B> {
    pub(super) before: RowsBefore<B>,
    pub(super) rows: Rows,
    /// The last commit; none if only the index changes.
    pub(super) newest: Option<RowOfCommit>,
    pub(super) indexing: Indexing,
}

impl<'a, E: Engine> Batch<'a, E> {
    /// Returns an empty batch; everything in the tree must be acknowledged.
    pub(super) fn new(
        engine: &'a E,
        leases: &'a Leases,
        changes: &'a ChangedThreads,
        recent: &'a mut RecentRecords,
    ) -> Self {
        let (tree, heads, before) = (engine.snapshot(), HashMap::new(), RowsBefore::new());
        let indexing = Indexing::default();
        Self { tree, leases, changes, recent, heads, before, after: BTreeMap::new(), newest: None, indexing }
    }

    /// Adds a commit, or refuses it and leaves the batch unchanged.
    pub(super) fn add(&mut self, commit: Commit<Vec<u8>>, number: u64) -> Result<()> {
        self.leases.check_not_superseded(&commit.thread, commit.epoch)?;
        let found = self.head(&commit.thread)?;
        commit.check_head(found.and_then(|head| head.checkpoint))?;
        self.check_items(&commit.items)?;
        let (thread, head) = (commit.thread.clone(), commit.head);
        let mut rows = deletion_notes(&commit, number);
        self.replace_items(&commit.items, number, &mut rows)?;
        let records = record_changes(commit)?;
        for (name, (checkpoint, value)) in &records {
            self.note_absent(&thread, *checkpoint, name);
            self.replace(name, value.as_deref(), number, &mut rows)?;
        }
        // Only now, when nothing can fail any more: a refused commit leaves no rows in the batch.
        self.after.extend(rows);
        if E::SHOWS_UNSYNCED {
            // If all new names of a thread are known, records that cannot exist yet are not looked up.
            let written = records.iter().map(|(name, (checkpoint, _))| (*checkpoint, name.as_slice()));
            self.recent.note(&thread, found.is_none(), written);
        }
        // Every commit writes the head, so the commit marker names the row of the head.
        self.newest = Some((number, row_key(&name_of(&thread, &Key::Head), 0)));
        self.mark_changed(&thread);
        self.heads.insert(thread, head);
        Ok(())
    }

    /// Marks a thread as changed since the index was brought up to date, with the first change: the mark outlives a crash.
    fn mark_changed(&mut self, thread: &ThreadId) {
        if !self.changes.is_tracked() || !self.indexing.changed.insert(thread.clone()) {
            return;
        }
        if self.changes.number(thread).is_none() || self.indexing.settled.contains_key(thread) {
            self.after.insert(mark_key(&thread_name(thread)), Some(vec![]));
        }
    }

    /// Adds threads to the index, without those that have changed since they were read.
    pub(super) fn index(&mut self, entries: Vec<IndexEntry>) -> Result<()> {
        for entry in entries {
            let IndexEntry { thread, change, .. } = &entry;
            let is_new = self.indexing.changed.contains(thread) || self.indexing.settled.contains_key(thread);
            if is_new || self.changes.number(thread) != *change {
                continue;
            }
            self.after.extend(entry_rows(&self.tree, &thread_name(thread), &entry)?);
            self.indexing.settled.insert(entry.thread, entry.change);
        }
        Ok(())
    }

    /// Notes that the index is complete.
    pub(super) fn complete_index(&mut self, epoch: u64) {
        let (key, row) = complete_row(epoch);
        self.after.insert(key, Some(row));
    }

    /// Notes that a thread is deleted.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.recent.forget(thread);
    }

    /// Notes that a record does not exist, if that is known without a look at the disk.
    fn note_absent(&mut self, thread: &ThreadId, checkpoint: Option<CheckpointId>, name: &[u8]) {
        if E::SHOWS_UNSYNCED && self.recent.is_new(thread, checkpoint, name) {
            let key = row_key(name, 0);
            debug_assert!(!matches!(self.tree.get(&key), Ok(Some(_))), "a record that is new exists");
            self.before.entry(key).or_insert(None);
        }
    }

    /// Checks that a thread has none of some records, this batch included.
    pub(super) fn check_absent(&self, thread: &ThreadId, records: &[Record]) -> Result<()> {
        for (key, _) in records {
            if self.current_row(&row_key(&name_of(thread, key), 0))?.is_some() {
                return Err(CheckpointError::RecordExists { thread: thread.clone(), key: key.clone() });
            }
        }
        Ok(())
    }

    /// Adds records of a thread without a lease, or refuses them if the thread does not exist.
    pub(super) fn post(&mut self, thread: &ThreadId, records: Vec<Record>, number: u64) -> Result<()> {
        self.head(thread)?.ok_or_else(|| CheckpointError::unknown_thread(thread))?;
        let Some((last, _)) = records.last() else { return Ok(()) };
        let (mut rows, newest) = (vec![], row_key(&name_of(thread, last), 0));
        for (key, value) in records {
            self.replace(&name_of(thread, &key), Some(&value), number, &mut rows)?;
        }
        self.newest = Some((number, newest));
        self.after.extend(rows);
        self.mark_changed(thread);
        self.indexing.posted.push(thread.clone());
        Ok(())
    }

    /// Adds items without a commit, or refuses them and leaves the batch unchanged.
    pub(super) fn write_items(&mut self, writes: &[ItemWrite], number: u64) -> Result<()> {
        self.check_items(writes)?;
        let mut rows = vec![];
        self.replace_items(writes, number, &mut rows)?;
        if let Some((key, _)) = rows.iter().find(|(_, row)| row.is_some()) {
            self.newest = Some((number, key.clone()));
        }
        self.after.extend(rows);
        Ok(())
    }

    /// Checks that items are as their writes expect, this batch included.
    fn check_items(&self, writes: &[ItemWrite]) -> Result<()> {
        for write in writes.iter().filter(|write| write.expected != ExpectedItem::Any) {
            write.check_found(self.value(&item_name(&write.key))?.as_deref())?;
        }
        Ok(())
    }

    fn replace_items(&mut self, writes: &[ItemWrite], number: u64, rows: &mut Rows) -> Result<()> {
        let mut deleted = vec![];
        for ItemWrite { key, value, .. } in writes {
            let name = item_name(key);
            self.replace(&name, value.as_deref(), number, rows)?;
            if value.is_none() {
                deleted.push(name);
            }
        }
        if !deleted.is_empty() {
            rows.extend(item_deletion_rows(number, deleted).into_iter().map(|(key, row)| (key, Some(row))));
        }
        Ok(())
    }

    /// Returns the value under a name as of this batch.
    fn value(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let first = self.current_row(&row_key(name, 0))?;
        first.map(|first| assemble(name, &first, |key| self.current_row(key))).transpose()
    }

    fn current_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.after.get(key) {
            Some(row) => Ok(row.clone()),
            None => Ok(self.tree.get(key)?.map(|row| row.as_ref().to_vec())),
        }
    }

    /// Returns the change to write; `None` if there is none.
    pub(super) fn finish(self) -> Option<Change<E::Bytes>> {
        if self.newest.is_none() && self.after.is_empty() {
            return None;
        }
        let Self { newest, indexing, .. } = self;
        let before = if E::SHOWS_UNSYNCED { self.before } else { RowsBefore::new() };
        Some(Change { before, rows: self.after.into_iter().collect(), newest, indexing })
    }

    fn head(&mut self, thread: &ThreadId) -> Result<Option<ThreadHead>> {
        if let Some(head) = self.heads.get(thread) {
            return Ok(Some(*head));
        }
        let name = name_of(thread, &Key::Head);
        let Some(row) = self.save_previous(row_key(&name, 0), true)? else { return Ok(None) };
        decode_record(thread, Key::Head, Envelope::open(&name, 0, row.as_ref())?.payload).map(Some)
    }

    fn replace(&mut self, name: &[u8], value: Option<&[u8]>, number: u64, rows: &mut Rows) -> Result<()> {
        if !E::SHOWS_UNSYNCED {
            return self.replace_unread(name, value, number, rows);
        }
        // Readers see the old rows until the sync, so each row that changes is read and saved first.
        let old = self.row_count(name)?;
        let start = rows.len();
        if let Some(value) = value {
            rows.extend(split_record(name, number, value).map(|(key, row)| (key, Some(row))));
        }
        let new = u32::try_from(rows.len() - start).unwrap_or(u32::MAX);
        (1..old.max(new)).try_for_each(|part| self.save_previous(row_key(name, part), part < old).map(drop))?;
        // A shorter value leaves no parts of the longer one.
        rows.extend((new..old).map(|part| (row_key(name, part), None)));
        Ok(())
    }

    /// Replaces a record without reading it, which halves the work of a commit. Later parts of an earlier version that
    /// was larger stay until the record is removed: readers read only as many parts as the first one counts.
    fn replace_unread(&self, name: &[u8], value: Option<&[u8]>, number: u64, rows: &mut Rows) -> Result<()> {
        if let Some(value) = value {
            rows.extend(split_record(name, number, value).map(|(key, row)| (key, Some(row))));
            return Ok(());
        }
        let (lo, hi) = (row_key(name, 0), prefix_end(&row_key(name, 0)));
        for row in self.tree.range(&lo, &hi, Order::Ascending) {
            rows.push((row?.0.as_ref().to_vec(), None));
        }
        // Parts written by this batch are not in the tree yet.
        rows.extend(self.after.range(lo..hi).map(|(key, _)| (key.clone(), None)));
        Ok(())
    }

    /// Returns the current number of rows of the record, this batch included.
    fn row_count(&mut self, name: &[u8]) -> Result<u32> {
        let first = row_key(name, 0);
        if let Some(row) = self.after.get(&first) {
            return row.as_deref().map_or(Ok(0), |row| part_count(name, row));
        }
        match self.save_previous(first, true)? {
            Some(row) => part_count(name, row.as_ref()),
            None => Ok(0),
        }
    }

    /// Stores the previous value of a row; one that does not exist need not be read.
    fn save_previous(&mut self, key: Vec<u8>, exists: bool) -> Result<Option<E::Bytes>> {
        if let Some(row) = self.before.get(&key) {
            return Ok(row.clone());
        }
        let row = if exists { self.tree.get(&key)? } else { None };
        self.before.insert(key, row.clone());
        Ok(row)
    }
}

/// Returns the rows that record the deletions of a commit.
fn deletion_notes(commit: &Commit<Vec<u8>>, number: u64) -> Rows {
    if commit.deletes.is_empty() {
        return Vec::new();
    }
    let put = |key: &&Key| commit.puts.iter().any(|(other, _)| other == *key);
    let keys: Vec<Key> = commit.deletes.iter().filter(|key| !put(key)).cloned().collect();
    if keys.is_empty() {
        return Vec::new(); // an empty list would mean the whole thread
    }
    let rows = deletion_rows(&thread_name(&commit.thread), number, &keys);
    rows.into_iter().map(|(key, row)| (key, Some(row))).collect()
}

/// The checkpoint that a record is stored under, and its new value.
type RecordChange = (Option<CheckpointId>, Option<Vec<u8>>);

/// Returns the change of each record; a put wins over a deletion, a later put over an earlier one.
fn record_changes(commit: Commit<Vec<u8>>) -> Result<BTreeMap<Vec<u8>, RecordChange>> {
    let name = |key: &Key| name_of(&commit.thread, key);
    let change = |key: &Key, value| (name(key), (key.checkpoint(), value));
    let mut records: BTreeMap<_, _> = gather(commit.deletes.iter().map(|key| change(key, None)));
    records.extend(commit.puts.into_iter().map(|(key, value)| change(&key, Some(value))));
    records.extend([change(&Key::Head, Some(encode_record(&commit.head)?))]);
    Ok(records)
}

fn part_count(name: &[u8], row: &[u8]) -> Result<u32> {
    Envelope::open(name, 0, row).map(|row| row.parts)
}

/// The newest records of threads that were not there before this opening; none of a thread once they are too many.
#[derive(Debug, Default)]
pub(super) struct RecentRecords(HashMap<ThreadId, NewestRecords>);

/// The records of the two newest checkpoint numbers of a thread.
#[derive(Debug, Default)]
struct NewestRecords {
    /// No other records are stored under this number or a greater one.
    from: u64,
    greatest: u64,
    names: HashMap<Vec<u8>, u64>,
}

impl RecentRecords {
    /// Maximum number of threads that are remembered.
    const THREADS: usize = 4096;

    fn forget(&mut self, thread: &ThreadId) {
        self.0.remove(thread);
    }

    /// Notes the records that a commit wrote, with their checkpoints. `is_first`: the thread was not there.
    fn note<'a>(
        &mut self,
        thread: &ThreadId,
        is_first: bool,
        written: impl Iterator<Item = (Option<CheckpointId>, &'a [u8])>,
    ) {
        let newest = if is_first { Some(NewestRecords::default()) } else { self.0.remove(thread) };
        let Some(newest) = newest.and_then(|newest| newest.with_records(written)) else { return };
        // Forgetting is always safe: a record that is not known to be new is looked up.
        if self.0.len() >= Self::THREADS {
            self.0.clear();
        }
        self.0.insert(thread.clone(), newest);
    }

    /// Returns true if it is known that no record of this name is stored.
    fn is_new(&self, thread: &ThreadId, checkpoint: Option<CheckpointId>, name: &[u8]) -> bool {
        let Some((newest, checkpoint)) = self.0.get(thread).zip(checkpoint) else { return false };
        checkpoint.0 >= newest.from && !newest.names.contains_key(name)
    }
}

impl NewestRecords {
    /// Maximum number of records that are remembered of a thread.
    const RECORDS: usize = 64;

    fn with_records<'a>(mut self, written: impl Iterator<Item = (Option<CheckpointId>, &'a [u8])>) -> Option<Self> {
        for (checkpoint, name) in written {
            let Some(CheckpointId(number)) = checkpoint else { continue };
            if number > self.greatest {
                (self.from, self.greatest) = (self.greatest, number);
                self.names.retain(|_, of| *of >= self.from);
            }
            if number >= self.from {
                self.names.insert(name.to_vec(), number);
            }
        }
        (self.names.len() <= Self::RECORDS).then_some(self)
    }
}

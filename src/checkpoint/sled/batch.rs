//! Combines several commits into one change of the tree. Knows which commit may follow which; must not know when it is
//! written.

use std::collections::{BTreeMap, HashMap};

use ::sled::IVec;

use super::disk::Disk;
use super::read::thread_name;
use super::rows::{deletion_rows, row_key, split_record};
use super::view::Before;
use crate::checkpoint::envelope::{Envelope, name_of};
use crate::checkpoint::{CheckpointError, Commit, Head, Key, Leases, Record, ThreadId, decode_record, encode_record};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Rows changed by a batch: before and after.
pub(super) struct Batch<'a> {
    disk: &'a Disk,
    leases: &'a Leases,
    heads: HashMap<ThreadId, Head>,
    before: Before,
    after: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    newest: Option<Newest>,
}

/// Number of the last commit of a batch, and the key of a row that it wrote.
pub(super) type Newest = (u64, Vec<u8>);

/// A batch ready to be written.
pub(super) struct Change {
    pub(super) before: Before,
    pub(super) rows: ::sled::Batch,
    pub(super) newest: Newest,
    /// Keys and sizes of the large rows in it.
    pub(super) heavy: Vec<(Vec<u8>, usize)>,
}

impl<'a> Batch<'a> {
    /// Returns an empty batch; everything in the tree must be acknowledged.
    pub(super) fn new(disk: &'a Disk, leases: &'a Leases) -> Self {
        Self { disk, leases, heads: HashMap::new(), before: Before::new(), after: BTreeMap::new(), newest: None }
    }

    /// Adds a commit, or refuses it and leaves the batch unchanged.
    pub(super) fn add(&mut self, commit: Commit, number: u64) -> Result<()> {
        self.leases.check_not_superseded(&commit.thread, commit.epoch)?;
        commit.check_head(self.head(&commit.thread)?.and_then(|head| head.checkpoint))?;
        let (thread, head) = (commit.thread.clone(), commit.head);
        let mut rows = deletion_notes(&commit, number);
        for (name, value) in records(commit)? {
            self.replace(&name, value, number, &mut rows)?;
        }
        self.newest = Some((number, row_key(&name_of(&thread, &Key::Head), 0)));
        self.heads.insert(thread, head);
        self.after.extend(rows);
        Ok(())
    }

    /// Adds records of a thread without a lease, or refuses them if the thread does not exist.
    pub(super) fn post(&mut self, thread: &ThreadId, records: Vec<Record>, number: u64) -> Result<()> {
        self.head(thread)?.ok_or_else(|| CheckpointError::unknown(thread))?;
        let Some((last, _)) = records.last() else { return Ok(()) };
        let (mut rows, newest) = (vec![], row_key(&name_of(thread, last), 0));
        for (key, value) in records {
            self.replace(&name_of(thread, &key), Some(value), number, &mut rows)?;
        }
        self.newest = Some((number, newest));
        self.after.extend(rows);
        Ok(())
    }

    /// Returns the change to write; `None` if there is none.
    pub(super) fn finish(self) -> Option<Change> {
        let newest = self.newest?;
        let (mut rows, mut heavy) = (::sled::Batch::default(), vec![]);
        for (key, row) in self.after {
            match row {
                Some(row) => {
                    if self.disk.is_heavy(row.len()) {
                        heavy.push((key.clone(), row.len()));
                    }
                    rows.insert(key, row);
                }
                None => rows.remove(key),
            }
        }
        Some(Change { before: self.before, rows, newest, heavy })
    }

    fn head(&mut self, thread: &ThreadId) -> Result<Option<Head>> {
        if let Some(head) = self.heads.get(thread) {
            return Ok(Some(*head));
        }
        let name = name_of(thread, &Key::Head);
        let Some(row) = self.disk.get(&row_key(&name, 0))? else { return Ok(None) };
        decode_record(thread, Key::Head, Envelope::open(&name, 0, &row)?.payload).map(Some)
    }

    fn replace(
        &mut self,
        name: &[u8],
        value: Option<Vec<u8>>,
        number: u64,
        rows: &mut Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<()> {
        let old = self.row_count(name)?;
        let start = rows.len();
        if let Some(value) = value {
            rows.extend(split_record(name, number, &value).map(|(key, row)| (key, Some(row))));
        }
        let new = u32::try_from(rows.len() - start).unwrap_or(u32::MAX);
        for part in 1..old.max(new) {
            self.keep(row_key(name, part), part < old)?;
        }
        rows.extend((new..old).map(|part| (row_key(name, part), None)));
        Ok(())
    }

    /// Returns the current number of rows of the record, this batch included.
    fn row_count(&mut self, name: &[u8]) -> Result<u32> {
        let first = row_key(name, 0);
        if let Some(row) = self.after.get(&first) {
            return row.as_deref().map_or(Ok(0), |row| parts(name, row));
        }
        match self.keep(first, true)? {
            Some(row) => parts(name, &row),
            None => Ok(0),
        }
    }

    /// Stores the previous value of a row; one that does not exist need not be read.
    fn keep(&mut self, key: Vec<u8>, exists: bool) -> Result<Option<IVec>> {
        if let Some(row) = self.before.get(&key) {
            return Ok(row.clone());
        }
        let row = if exists { self.disk.get(&key)? } else { None };
        self.before.insert(key, row.clone());
        Ok(row)
    }
}

/// Returns the rows that record the deletions of a commit.
fn deletion_notes(commit: &Commit, number: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
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

/// Returns the change of each record; a put wins over a deletion, a later put over an earlier one.
fn records(commit: Commit) -> Result<BTreeMap<Vec<u8>, Option<Vec<u8>>>> {
    let name = |key: &Key| name_of(&commit.thread, key);
    let mut records: BTreeMap<_, _> = commit.deletes.iter().map(|key| (name(key), None)).collect();
    records.extend(commit.puts.into_iter().map(|(key, value)| (name(&key), Some(value))));
    records.insert(name(&Key::Head), Some(encode_record(&commit.head)?));
    Ok(records)
}

fn parts(name: &[u8], row: &[u8]) -> Result<u32> {
    Envelope::open(name, 0, row).map(|row| row.parts)
}

//! Reads of whole records from one snapshot: joins parts, parses names. Must not know what is being written.

use std::ops::RangeInclusive;

use super::engine::{Row, Source};
use super::rows::{RECORDS, after, in_space, record_key, row_key};
use super::view::Snapshot;
use crate::checkpoint::envelope::{Envelope, damaged};
use crate::checkpoint::key_bytes::{put_thread, take_key, take_thread};
use crate::checkpoint::{CheckpointError, Head, Key, Order, Record, ThreadId, decode_record};

type Result<T> = std::result::Result<T, CheckpointError>;

impl<S: Source> Snapshot<'_, S> {
    pub(in crate::checkpoint) fn head(&self, thread: &ThreadId) -> Result<Option<Head>> {
        if self.is_deleted(thread) {
            return Ok(None);
        }
        let bytes = self.record(&record_key(thread, &Key::Head))?;
        bytes.map(|bytes| decode_record(thread, Key::Head, &bytes)).transpose()
    }

    pub(in crate::checkpoint) fn get(&self, thread: &ThreadId, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>> {
        if self.is_deleted(thread) {
            return Ok(vec![None; keys.len()]);
        }
        keys.iter()
            .map(|key| if *key == Key::Head { Ok(None) } else { self.record(&record_key(thread, key)) })
            .collect()
    }

    pub(in crate::checkpoint) fn scan(
        &self,
        thread: &ThreadId,
        range: &RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>> {
        if range.start() > range.end() || self.is_deleted(thread) {
            return Ok(Vec::new());
        }
        let (lo, hi) = (record_key(thread, range.start()), record_key(thread, range.end()));
        let before = thread_name(thread).len();
        let rows = self.rows(&lo, &hi, order);
        rows.filter_map(|row| self.first_of_record(before, row).transpose()).take(limit).collect()
    }

    /// Returns names of threads after `from`.
    pub(in crate::checkpoint) fn threads(&self, from: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>> {
        let mut found = Vec::new();
        let mut from = from.map_or(vec![RECORDS], |thread| after(&in_space(RECORDS, &thread_name(thread))));
        while found.len() < limit {
            let Some(thread) = self.next_thread(&from)? else { break };
            from = after(&in_space(RECORDS, &thread_name(&thread)));
            if !self.is_deleted(&thread) {
                found.push(thread);
            }
        }
        Ok(found)
    }

    fn next_thread(&self, from: &[u8]) -> Result<Option<ThreadId>> {
        let Some(row) = self.rows(from, &after(&[RECORDS]), Order::Ascending).next() else { return Ok(None) };
        let (key, _) = row?;
        take_thread(&mut &key.as_ref()[1..]).map(Some).ok_or_else(|| damaged(&[], "its key is no name"))
    }

    /// Returns the record that starts with this row; `None` if the row is a later part, or the head. The first `thread`
    /// bytes of its name are the thread's.
    fn first_of_record(&self, thread: usize, row: Result<Row<S::Bytes>>) -> Result<Option<Record>> {
        let (row_key, first) = row?;
        let name = row_key.as_ref().get(1..).unwrap_or_default();
        let mut rest = name.get(thread..).unwrap_or_default();
        let key = take_key(&mut rest).ok_or_else(|| damaged(name, "its key is no name"))?;
        if !rest.is_empty() || key == Key::Head {
            return Ok(None);
        }
        Ok(Some((key, self.assemble(name, first.as_ref())?)))
    }

    fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.row(key)?.map(|first| self.assemble(&key[1..], first.as_ref())).transpose()
    }

    fn is_deleted(&self, thread: &ThreadId) -> bool {
        self.hides_threads() && self.hides_thread(&thread_name(thread))
    }

    fn assemble(&self, name: &[u8], first: &[u8]) -> Result<Vec<u8>> {
        let first = Envelope::open(name, 0, first)?;
        let mut value = first.payload.to_vec();
        for part in 1..first.parts {
            let row = self.row(&row_key(name, part))?.ok_or_else(|| damaged(name, "a part of it is missing"))?;
            let row = Envelope::open(name, part, row.as_ref())?;
            if (row.commit, row.parts) != (first.commit, first.parts) {
                return Err(damaged(name, "its parts are of different commits"));
            }
            value.extend_from_slice(row.payload);
        }
        Ok(value)
    }
}

/// Returns the common prefix of all names of a thread.
pub(in crate::checkpoint) fn thread_name(thread: &ThreadId) -> Vec<u8> {
    let mut name = Vec::with_capacity(thread.as_str().len() + 4);
    put_thread(thread, &mut name);
    name
}

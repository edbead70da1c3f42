//! The records of one thread that a damaged log still holds. Knows records; must not know the log they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use superstep_base::time::now;

use crate::checkpoint::threads::thread_records::ThreadRecords;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, EffectKind, EffectRecord, ForeignRecord, Head, Key, Record, RowId,
    ThreadId, decode_record, encode_record,
};

/// Recovered records of one thread.
#[derive(Debug, Default)]
pub(super) struct RecoveredRecords {
    /// Records, with the commits that wrote them.
    pub(super) records: BTreeMap<Key, (u64, Vec<u8>)>,
    /// Records whose newest version cannot be read.
    pub(super) unreadable: BTreeSet<Key>,
    pub(super) decoded: ThreadRecords,
    pub(super) head: Option<Head>,
}

impl RecoveredRecords {
    pub(super) fn take(&mut self, thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
        if *key == Key::Head {
            self.head = Some(decode_record(thread, key, bytes)?);
            return Ok(());
        }
        self.decoded.add(thread, key, bytes)
    }

    /// Returns the checkpoints of the root graph of which a trace was found, oldest first.
    pub(super) fn roots_seen(&self) -> BTreeSet<CheckpointId> {
        let unreadable = self.unreadable.iter().filter_map(|key| match key {
            Key::Checkpoint(id) => Some(*id),
            _ => None,
        });
        let named = self.head.and_then(|head| head.checkpoint);
        self.decoded.roots().map(|(id, _)| id).chain(unreadable).chain(named).collect()
    }

    /// Returns the checkpoints of the root graph that are the parent of another one and left no trace of their own.
    pub(super) fn followed(&self) -> impl Iterator<Item = CheckpointId> {
        let seen = self.roots_seen();
        let parents: BTreeSet<CheckpointId> = self.decoded.roots().filter_map(|(_, record)| record.parent).collect();
        parents.into_iter().filter(move |id| !seen.contains(id))
    }

    /// Returns a record about the thread if its own is lost. The origin is unknown then, so the thread has to be
    /// trusted before it runs.
    pub(super) fn about(&self) -> Option<Record> {
        if self.decoded.about.is_some() {
            return None;
        }
        let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
        let record = AboutRecord { foreign, created_at: now(), ..AboutRecord::default() };
        encode_record(&record).ok().map(|bytes| (Key::About, bytes))
    }

    /// Returns the names of received signals; copies of them in the files must not be delivered again.
    pub(super) fn received(&self) -> BTreeSet<String> {
        let entries = self.records.iter().filter(|(key, _)| matches!(key, Key::Effect { .. }));
        let entries =
            entries.filter_map(|(key, (_, bytes))| decode_record::<EffectRecord>(&"".into(), key, bytes).ok());
        let signals = entries.filter(|entry| entry.kind == EffectKind::Signal);
        signals.map(|entry| entry.idempotency).collect()
    }

    /// Returns the head at `newest`; its `next` is above every number that may have been used.
    pub(super) fn head_at(&self, newest: CheckpointId) -> Head {
        let seen = self.records.keys().chain(&self.unreadable).filter_map(number).max().unwrap_or(newest.0);
        let next = self.head.map_or(0, |head| head.next).max(seen.saturating_add(1)).max(newest.0 + 1);
        let birth = self.head.map_or_else(|| RandomState::new().hash_one(now()) & 0xffff_ffff, |head| head.birth);
        Head { checkpoint: Some(newest), next, birth }
    }
}

/// Returns the number of the checkpoint that a record belongs to.
pub(super) fn number(key: &Key) -> Option<u64> {
    match key {
        Key::Head | Key::About | Key::Tag(_) | Key::Shape(_) | Key::Signal { .. } => None,
        Key::Checkpoint(id) | Key::Nested(id) => Some(id.0),
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => Some(checkpoint.0),
        Key::Row(RowId { checkpoint, .. }) | Key::Log { row: RowId { checkpoint, .. }, .. } => Some(checkpoint.0),
        Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => Some(checkpoint.0),
    }
}

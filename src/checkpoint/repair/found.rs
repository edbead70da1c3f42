//! The records of one thread that a repair has found.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::time::now;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, EffectKind, EffectRecord, ForeignRecord, Head, Key, Record, RowId,
    ThreadId, decode_record, encode_record,
};

/// The records of one thread, as far as they were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Records, with the commits that wrote them.
    pub(super) records: BTreeMap<Key, (u64, Vec<u8>)>,
    /// Records whose newest version cannot be read.
    pub(super) unreadable: BTreeSet<Key>,
    pub(super) anatomy: Anatomy,
    pub(super) head: Option<Head>,
}

impl Found {
    pub(super) fn take(&mut self, thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
        if *key == Key::Head {
            self.head = Some(decode_record(thread, key, bytes)?);
            return Ok(());
        }
        self.anatomy.add(thread, key, bytes)
    }

    /// Checkpoints of the root graph that left a trace, oldest first.
    pub(super) fn roots_seen(&self) -> BTreeSet<CheckpointId> {
        let unreadable = self.unreadable.iter().filter_map(|key| match key {
            Key::Checkpoint(id) => Some(*id),
            _ => None,
        });
        let named = self.head.and_then(|head| head.checkpoint);
        self.anatomy.roots().map(|(id, _)| id).chain(unreadable).chain(named).collect()
    }

    /// Checkpoints of the root graph that others follow, and that left no trace of their own.
    pub(super) fn followed(&self) -> impl Iterator<Item = CheckpointId> {
        let seen = self.roots_seen();
        let parents: BTreeSet<CheckpointId> = self.anatomy.roots().filter_map(|(_, record)| record.parent).collect();
        parents.into_iter().filter(move |id| !seen.contains(id))
    }

    /// Without the record about a thread, nobody knows whether it came from elsewhere: then it has to be trusted first.
    pub(super) fn about(&self) -> Option<Record> {
        if self.anatomy.about.is_some() {
            return None;
        }
        let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
        let record = AboutRecord { foreign, created_at: now(), ..AboutRecord::default() };
        encode_record(&record).ok().map(|bytes| (Key::About, bytes))
    }

    /// The signals that tasks have received: what is left of them in the files is not delivered again.
    pub(super) fn received(&self) -> BTreeSet<String> {
        let entries = self.records.iter().filter(|(key, _)| matches!(key, Key::Effect { .. }));
        let entries =
            entries.filter_map(|(key, (_, bytes))| decode_record::<EffectRecord>(&"".into(), key, bytes).ok());
        let signals = entries.filter(|entry| entry.kind == EffectKind::Signal);
        signals.map(|entry| entry.idempotency).collect()
    }

    /// No number that may have been given out is given out again.
    pub(super) fn head_at(&self, newest: CheckpointId) -> Head {
        let seen = self.records.keys().chain(&self.unreadable).filter_map(number).max().unwrap_or(newest.0);
        let next = self.head.map_or(0, |head| head.next).max(seen.saturating_add(1)).max(newest.0 + 1);
        let birth = self.head.map_or_else(|| RandomState::new().hash_one(now()) & 0xffff_ffff, |head| head.birth);
        Head { checkpoint: Some(newest), next, birth }
    }
}

/// The number of the checkpoint that a record belongs to.
pub(super) fn number(key: &Key) -> Option<u64> {
    match key {
        Key::Head | Key::About | Key::Tag(_) | Key::Shape(_) | Key::Signal { .. } => None,
        Key::Checkpoint(id) | Key::Nested(id) => Some(id.0),
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => Some(checkpoint.0),
        Key::Row(RowId { checkpoint, .. }) | Key::Log { row: RowId { checkpoint, .. }, .. } => Some(checkpoint.0),
        Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => Some(checkpoint.0),
    }
}

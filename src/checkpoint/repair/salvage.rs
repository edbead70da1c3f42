//! From rows to threads: the records of each, which of its checkpoints are whole, and what goes into the new store. Knows
//! records; which checkpoint is whole is decided in `judge`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::io;

use super::carve::Carved;
use super::judge::Judge;
use super::report::{LostCheckpoint, RepairedThread};
use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::time::now;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, EffectKind, EffectRecord, ForeignRecord, Head, Key, Record, RowId,
    ThreadId, decode_record, encode_record, signal_name,
};

/// What was found of one thread.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Records, with the commits that wrote them.
    pub(super) records: BTreeMap<Key, (u64, Vec<u8>)>,
    /// Records whose newest version cannot be read.
    pub(super) unreadable: BTreeSet<Key>,
    pub(super) anatomy: Anatomy,
    head: Option<Head>,
}

/// A thread that goes into the new store.
#[derive(Debug)]
pub(in crate::checkpoint) struct Saved {
    pub(in crate::checkpoint) head: Head,
    pub(in crate::checkpoint) records: Vec<Record>,
}

impl Carved {
    /// Returns the threads of which anything was found.
    pub(in crate::checkpoint) fn threads(&self) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        threads.sort_unstable();
        threads
    }

    /// Puts together what is whole of a thread, and says what is not.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(in crate::checkpoint) fn thread(&self, thread: &ThreadId) -> io::Result<(RepairedThread, Option<Saved>)> {
        let found = self.found(thread)?;
        let judge = Judge::of(&found);
        let mut report = RepairedThread { thread: thread.clone(), ..RepairedThread::default() };
        report.unreadable = found.unreadable.iter().map(Key::to_string).collect();
        let seen = found.roots_seen();
        report.newest_seen = seen.last().copied();
        for id in seen {
            match judge.missing(id) {
                None => report.whole.push(id),
                Some(missing) => report.lost.push(LostCheckpoint { checkpoint: id, missing }),
            }
        }
        report.gone = found.followed().filter(|id| !self.was_deleted(thread, *id)).collect();
        let Some(newest) = report.whole.last().copied() else { return Ok((report, None)) };
        report.goes_on_from = Some(newest);
        let about = found.about();
        report.origin_unknown = found.anatomy.about.is_none();
        let head = found.head_at(newest);
        report.birth_unknown = found.head.is_none();
        let keeps = keeper(&found, &judge, &report.whole);
        let records = found.records.into_iter().filter(|(key, _)| keeps(key)).map(|(key, (_, bytes))| (key, bytes));
        let records: Vec<Record> = about.into_iter().chain(records).collect();
        report.records = records.len();
        Ok((report, Some(Saved { head, records })))
    }

    fn found(&self, thread: &ThreadId) -> io::Result<Found> {
        let mut found = Found::default();
        for (key, version) in self.threads.get(thread).into_iter().flatten() {
            let record = self.record(version)?;
            let decoded = record.filter(|bytes| found.take(thread, key, bytes).is_ok());
            match decoded {
                Some(bytes) if *key != Key::Head => _ = found.records.insert(key.clone(), (version.commit, bytes)),
                Some(_) => {}
                None => _ = found.unreadable.insert(key.clone()),
            }
        }
        Ok(found)
    }
}

impl Found {
    fn take(&mut self, thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
        if *key == Key::Head {
            self.head = Some(decode_record(thread, key, bytes)?);
            return Ok(());
        }
        self.anatomy.add(thread, key, bytes)
    }

    /// Checkpoints of the root graph that left a trace, oldest first.
    fn roots_seen(&self) -> BTreeSet<CheckpointId> {
        let unreadable = self.unreadable.iter().filter_map(|key| match key {
            Key::Checkpoint(id) => Some(*id),
            _ => None,
        });
        let named = self.head.and_then(|head| head.checkpoint);
        self.anatomy.roots().map(|(id, _)| id).chain(unreadable).chain(named).collect()
    }

    /// Checkpoints of the root graph that others follow, and that left no trace of their own.
    fn followed(&self) -> impl Iterator<Item = CheckpointId> {
        let seen = self.roots_seen();
        let parents: BTreeSet<CheckpointId> = self.anatomy.roots().filter_map(|(_, record)| record.parent).collect();
        parents.into_iter().filter(move |id| !seen.contains(id))
    }

    /// Without the record about a thread, nobody knows whether it came from elsewhere: then it has to be trusted first.
    fn about(&self) -> Option<Record> {
        if self.anatomy.about.is_some() {
            return None;
        }
        let foreign = Some(ForeignRecord { imported_at: now(), trusted: false });
        let record = AboutRecord { foreign, created_at: now(), ..AboutRecord::default() };
        encode_record(&record).ok().map(|bytes| (Key::About, bytes))
    }

    /// The signals that tasks have received: what is left of them in the files is not delivered again.
    fn received(&self) -> BTreeSet<String> {
        let entries = self.records.iter().filter(|(key, _)| matches!(key, Key::Effect { .. }));
        let entries =
            entries.filter_map(|(key, (_, bytes))| decode_record::<EffectRecord>(&"".into(), key, bytes).ok());
        let signals = entries.filter(|entry| entry.kind == EffectKind::Signal);
        signals.map(|entry| entry.idempotency).collect()
    }

    /// No number that may have been given out is given out again.
    fn head_at(&self, newest: CheckpointId) -> Head {
        let seen = self.records.keys().chain(&self.unreadable).filter_map(number).max().unwrap_or(newest.0);
        let next = self.head.map_or(0, |head| head.next).max(seen.saturating_add(1)).max(newest.0 + 1);
        let birth = self.head.map_or_else(|| RandomState::new().hash_one(now()) & 0xffff_ffff, |head| head.birth);
        Head { checkpoint: Some(newest), next, birth }
    }
}

/// What goes into the new store: what whole checkpoints reach, without what is left of others.
fn keeper(found: &Found, judge: &Judge, whole: &[CheckpointId]) -> impl Fn(&Key) -> bool + use<> {
    let tagged = found.anatomy.tags.values().map(|tag| tag.checkpoint);
    let roots = whole.iter().copied().chain(tagged).filter(|id| judge.missing(*id).is_none());
    let reach = Reach::from(&found.anatomy, roots);
    let kept: BTreeSet<CheckpointId> =
        reach.checkpoints.iter().copied().filter(|id| judge.missing(*id).is_none()).collect();
    let tags: BTreeSet<String> = found
        .anatomy
        .tags
        .iter()
        .filter(|(_, tag)| kept.contains(&tag.checkpoint))
        .map(|(name, _)| name.clone())
        .collect();
    let received = found.received();
    move |key| match key {
        Key::Signal { order, id } => !received.contains(&signal_name(*order, *id)),
        Key::Tag(name) => tags.contains(name),
        Key::Checkpoint(id) | Key::Nested(id) => kept.contains(id),
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => kept.contains(checkpoint),
        Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => kept.contains(checkpoint),
        key => reach.keeps(key),
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

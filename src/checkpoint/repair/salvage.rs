//! Restores threads from rows: collects the records of each, finds its whole checkpoints, and selects the records for
//! the new store. Knows records; `integrity` decides which checkpoint is whole.

use std::collections::BTreeSet;
use std::io;

use super::integrity::Integrity;
use super::recovered::RecoveredRecords;
use super::report::{LostCheckpoint, RepairedThread};
use super::scan::Scan;
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::{CheckpointId, Head, Key, Record, ThreadId, is_chunk, signal_name};

/// A thread to write into the new store.
#[derive(Debug)]
pub(in crate::checkpoint) struct RestoredThread {
    pub(in crate::checkpoint) head: Head,
    pub(in crate::checkpoint) records: Vec<Record>,
}

impl Scan {
    pub(in crate::checkpoint) fn threads(&self) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        threads.sort_unstable();
        threads
    }

    /// Collects the whole part of a thread, and reports the rest.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(in crate::checkpoint) fn thread(
        &self,
        thread: &ThreadId,
    ) -> io::Result<(RepairedThread, Option<RestoredThread>)> {
        let recovered = self.recover(thread)?;
        let integrity = Integrity::of(&recovered);
        let mut report = RepairedThread { thread: thread.clone(), ..RepairedThread::default() };
        report.unreadable = recovered.unreadable.iter().map(Key::to_string).collect();
        let seen = recovered.roots_seen();
        report.newest_seen = seen.last().copied();
        for id in seen {
            match integrity.missing(id) {
                None => report.whole.push(id),
                Some(missing) => report.lost.push(LostCheckpoint { checkpoint: id, missing }),
            }
        }
        report.gone = recovered.followed().filter(|id| !self.was_deleted(thread, *id)).collect();
        let Some(newest) = report.whole.last().copied() else { return Ok((report, None)) };
        report.goes_on_from = Some(newest);
        let about = recovered.about();
        report.origin_unknown = recovered.decoded.about.is_none();
        let head = recovered.head_at(newest);
        report.birth_unknown = recovered.head.is_none();
        let keeps = key_filter(&recovered, &integrity, &report.whole);
        let records = recovered.records.into_iter().filter(|(key, _)| keeps(key)).map(|(key, (_, bytes))| (key, bytes));
        let records: Vec<Record> = about.into_iter().chain(records).collect();
        report.records = records.len();
        Ok((report, Some(RestoredThread { head, records })))
    }

    fn recover(&self, thread: &ThreadId) -> io::Result<RecoveredRecords> {
        let mut recovered = RecoveredRecords::default();
        for (key, version) in self.threads.get(thread).into_iter().flatten() {
            let record = self.record(version)?;
            let decoded = record.filter(|bytes| recovered.take(thread, key, bytes).is_ok());
            match decoded {
                Some(bytes) if *key != Key::Head => _ = recovered.records.insert(key.clone(), (version.commit, bytes)),
                Some(_) => {}
                None => _ = recovered.unreadable.insert(key.clone()),
            }
        }
        Ok(recovered)
    }
}

/// Returns a filter for the keys that go into the new store: everything whole checkpoints reach, and no leftovers of
/// others.
fn key_filter(
    recovered: &RecoveredRecords,
    integrity: &Integrity,
    whole: &[CheckpointId],
) -> impl Fn(&Key) -> bool + use<> {
    let tagged = recovered.decoded.tags.values().map(|tag| tag.checkpoint);
    let roots = whole.iter().copied().chain(tagged).filter(|id| integrity.missing(*id).is_none());
    let reach = Reach::from(&recovered.decoded, roots);
    let kept: BTreeSet<CheckpointId> = reach.checkpoints.iter().filter(|id| integrity.missing(*id).is_none()).collect();
    let tags: BTreeSet<String> = recovered
        .decoded
        .tags
        .iter()
        .filter(|(_, tag)| kept.contains(&tag.checkpoint))
        .map(|(name, _)| name.clone())
        .collect();
    let received = recovered.received();
    move |key| match key {
        Key::Signal { order, id } => !received.contains(&signal_name(*order, *id)),
        Key::Tag(name) => tags.contains(name),
        Key::Checkpoint(id) | Key::Nested(id) => kept.contains(id),
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => kept.contains(checkpoint),
        Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => kept.contains(checkpoint),
        // A chunk may be left over from a deleted thread of the same name, whose log had other entries.
        key => !is_chunk(key) && reach.keeps(key),
    }
}

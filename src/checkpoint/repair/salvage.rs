//! From rows to threads: the records of each, which of its checkpoints are whole, and what goes into the new store. Knows
//! records; which checkpoint is whole is decided in `judge`.

use std::collections::BTreeSet;
use std::io;

use super::carve::Carved;
use super::found::Found;
use super::judge::Judge;
use super::report::{LostCheckpoint, RepairedThread};
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::{CheckpointId, Head, Key, Record, ThreadId, signal_name};

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

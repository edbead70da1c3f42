//! Restores threads from rows: collects the records of each, finds its whole checkpoints, and selects the records for
//! the new store. Knows records; must not know the files they come from.
//!
//! A checkpoint is whole if everything it references exists, in versions that belong together. A value is written with
//! or before every record that refers to it: if its row has a later commit, it is a newer value under the same name, and
//! the record that refers to it is an outdated version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;

use superstep_base::gather;
use superstep_base::time::now;

use super::report::{LostCheckpoint, RepairedThread};
use super::scan::Scan;
use crate::checkpoint::threads::marks::encode_imported;
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::threads::thread_records::{Reference, ThreadRecords};
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, EffectKind, EffectRecord, Key, Record, RowId, TaskStatus, ThreadHead,
    ThreadId, decode_record, is_chunk, signal_name,
};

/// A thread to write into the new store.
#[derive(Debug)]
pub(super) struct RestoredThread {
    pub(super) head: ThreadHead,
    pub(super) records: Vec<Record>,
}

impl Scan {
    pub(super) fn threads(&self) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        threads.sort_unstable();
        threads
    }

    /// Collects the whole part of a thread, and reports the rest.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn thread(&self, thread: &ThreadId) -> io::Result<(RepairedThread, Option<RestoredThread>)> {
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
        report.gone = recovered.missing_parents().filter(|id| !self.was_deleted(thread, *id)).collect();
        let Some(newest) = report.whole.last().copied() else { return Ok((report, None)) };
        report.goes_on_from = Some(newest);
        let about = recovered.about();
        report.origin_unknown = recovered.decoded.about.is_none();
        let head = recovered.head_at(newest);
        report.birth_unknown = recovered.head.is_none();
        report.head_outdated = self.is_head_outdated(thread);
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
    let kept: BTreeSet<CheckpointId> = gather(reach.checkpoints.iter().filter(|id| integrity.missing(*id).is_none()));
    let tags: BTreeSet<String> = gather(
        recovered.decoded.tags.iter().filter(|(_, tag)| kept.contains(&tag.checkpoint)).map(|(name, _)| name.clone()),
    );
    let received = recovered.received_signals();
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

/// Recovered records of one thread.
#[derive(Debug, Default)]
struct RecoveredRecords {
    /// Records, with the commits that wrote them.
    records: BTreeMap<Key, (u64, Vec<u8>)>,
    /// Records whose newest version cannot be read.
    unreadable: BTreeSet<Key>,
    decoded: ThreadRecords,
    head: Option<ThreadHead>,
}

impl RecoveredRecords {
    fn take(&mut self, thread: &ThreadId, key: &Key, bytes: &[u8]) -> Result<(), CheckpointError> {
        if *key == Key::Head {
            self.head = Some(decode_record(thread, key, bytes)?);
            return Ok(());
        }
        self.decoded.add(thread, key, bytes)
    }

    /// Returns the checkpoints of the root graph of which a trace was found, oldest first.
    fn roots_seen(&self) -> BTreeSet<CheckpointId> {
        let unreadable = self.unreadable.iter().filter_map(|key| match key {
            Key::Checkpoint(id) => Some(*id),
            _ => None,
        });
        let named = self.head.and_then(|head| head.checkpoint);
        gather(self.decoded.roots().map(|(id, _)| id).chain(unreadable).chain(named))
    }

    /// Returns the checkpoints of the root graph that are the parent of another one and left no trace of their own.
    fn missing_parents(&self) -> impl Iterator<Item = CheckpointId> {
        let seen = self.roots_seen();
        let parents: BTreeSet<CheckpointId> = gather(self.decoded.roots().filter_map(|(_, record)| record.parent));
        parents.into_iter().filter(move |id| !seen.contains(id))
    }

    /// Returns a record about the thread if its own is lost. The origin is unknown then, so the thread has to be
    /// trusted before it runs.
    fn about(&self) -> Option<Record> {
        if self.decoded.about.is_some() {
            return None;
        }
        encode_imported(AboutRecord { created_at: now(), ..AboutRecord::default() }).ok()
    }

    /// Returns the names of received signals; copies of them in the files must not be delivered again.
    fn received_signals(&self) -> BTreeSet<String> {
        let entries = self.records.iter().filter(|(key, _)| matches!(key, Key::Effect { .. }));
        let entries =
            entries.filter_map(|(key, (_, bytes))| decode_record::<EffectRecord>(&"".into(), key, bytes).ok());
        let signals = entries.filter(|entry| entry.kind == EffectKind::Signal);
        gather(signals.map(|entry| entry.idempotency))
    }

    /// Returns the head at `newest`; its `next` is above every number that may have been used.
    fn head_at(&self, newest: CheckpointId) -> ThreadHead {
        let seen = self.records.keys().chain(&self.unreadable).filter_map(Key::checkpoint).max().unwrap_or(newest).0;
        let next = self.head.map_or(0, |head| head.next).max(seen.saturating_add(1)).max(newest.0 + 1);
        let birth = self.head.map_or_else(|| RandomState::new().hash_one(now()) & 0xffff_ffff, |head| head.birth);
        ThreadHead { checkpoint: Some(newest), next, birth }
    }
}

/// Missing items of each checkpoint.
struct Integrity {
    /// Missing items of the checkpoint itself; empty if there are none.
    own: BTreeMap<CheckpointId, Vec<String>>,
    /// Checkpoints that it references.
    leads: BTreeMap<CheckpointId, Vec<CheckpointId>>,
}

impl Integrity {
    /// Maximum number of missing items listed per checkpoint.
    const NAMED: usize = 5;

    fn of(recovered: &RecoveredRecords) -> Self {
        let stored = RecordCommits::of(recovered);
        let mut integrity = Self { own: BTreeMap::new(), leads: BTreeMap::new() };
        let mut damaged: BTreeMap<CheckpointId, Vec<String>> = BTreeMap::new();
        for key in &recovered.unreadable {
            if let Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } | Key::Effect { checkpoint, .. } = key {
                damaged.entry(*checkpoint).or_default().push(format!("{key} cannot be read"));
            }
        }
        for id in recovered.decoded.checkpoints.keys() {
            let mut lacks = damaged.remove(id).unwrap_or_default();
            let mut leads = vec![];
            for (by, reference) in recovered.decoded.references(*id) {
                match reference {
                    Reference::Checkpoint(other) => leads.push(other),
                    reference => lacks.extend(stored.lacks(&by, &reference)),
                }
            }
            lacks.extend(stored.lacks_effects(*id));
            integrity.own.insert(*id, lacks);
            integrity.leads.insert(*id, leads);
        }
        integrity
    }

    /// Returns the missing items of a checkpoint and of all it references; `None` if it is whole.
    fn missing(&self, id: CheckpointId) -> Option<Vec<String>> {
        let (mut open, mut seen, mut missing) = (vec![id], BTreeSet::new(), BTreeSet::new());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            match self.own.get(&at) {
                None => _ = missing.insert(format!("checkpoint {at} is missing")),
                Some(lacks) => missing.extend(lacks.iter().cloned()),
            }
            open.extend(self.leads.get(&at).into_iter().flatten());
        }
        let more = missing.len().saturating_sub(Self::NAMED);
        let mut named: Vec<String> = missing.into_iter().take(Self::NAMED).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        (!named.is_empty()).then_some(named)
    }
}

/// Commits of the recovered records.
struct RecordCommits<'a> {
    recovered: &'a RecoveredRecords,
    logs: HashMap<&'a str, BTreeMap<RowId, u64>>,
}

impl<'a> RecordCommits<'a> {
    fn of(recovered: &'a RecoveredRecords) -> Self {
        let mut logs: HashMap<&str, BTreeMap<RowId, u64>> = HashMap::new();
        for (key, (commit, _)) in &recovered.records {
            if let Key::Log { channel, row } = key {
                logs.entry(channel).or_default().insert(*row, *commit);
            }
        }
        Self { recovered, logs }
    }

    fn commit(&self, key: &Key) -> Option<u64> {
        self.recovered.records.get(key).map(|(commit, _)| *commit)
    }

    fn lacks(&self, by: &Key, reference: &Reference) -> Option<String> {
        let written = self.commit(by).unwrap_or(u64::MAX);
        match reference {
            Reference::Row(row) => Self::lacks_row(*row, self.commit(&Key::Row(*row)), written, by),
            Reference::Written { log, row } => {
                let entry = self.logs.get(log.as_str()).and_then(|entries| entries.get(row)).copied();
                Self::lacks_row(*row, self.commit(&Key::Row(*row)).or(entry), written, by)
            }
            Reference::Entries { log, range } => {
                let entries = self.logs.get(log.as_str());
                let entries = entries.into_iter().flat_map(|entries| entries.range(range.first..=range.last));
                let there = entries.filter(|(_, commit)| **commit <= written).count();
                let name = log.replace('\0', " ");
                (there != range.count as usize)
                    .then(|| format!("{there} of {} entries of log `{name}` are there", range.count))
            }
            Reference::Shape(shape) => {
                let key = Key::Shape(*shape);
                self.commit(&key).is_none().then(|| format!("{key} is missing"))
            }
            Reference::Checkpoint(_) | Reference::Optional(_) => None,
        }
    }

    fn lacks_row(row: RowId, found: Option<u64>, written: u64, by: &Key) -> Option<String> {
        let key = Key::Row(row);
        match found {
            None => Some(format!("{key} is missing")),
            // Questions may be raised again, with the same value.
            Some(commit) if commit > written && row.slot < RowId::QUESTIONS => {
                Some(format!("{by} is older than {key}"))
            }
            Some(_) => None,
        }
    }

    /// Checks the number of journal entries that a finished task records.
    fn lacks_effects(&self, id: CheckpointId) -> Vec<String> {
        let lacks = |task: u32, said: u32| {
            let key = |key: String| Key::Effect { checkpoint: id, task, key };
            let after = Key::Effect { checkpoint: id, task: task.saturating_add(1), key: String::new() };
            let there = self.recovered.records.range(key(String::new())..after).count();
            (there < said as usize).then(|| format!("{there} of {said} effects of task {task} are there"))
        };
        let tasks = self.recovered.decoded.tasks_of(id).filter(|(_, record)| record.status != TaskStatus::Pending);
        tasks.filter_map(|(task, record)| lacks(task, record.effects)).collect()
    }
}

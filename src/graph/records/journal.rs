//! The journal of one task of the root graph: what is in it, what is not on disk yet. Knows no task's body.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use superstep_base::gather;

use super::recorder::{Durability, Puts, Recorder};
use crate::checkpoint::{CheckpointError, CheckpointId, EffectRecord, EffectRun, Key, encode_record};

/// The maximum number of entries in the journal of one task.
pub(crate) const EFFECTS_LIMIT: usize = 10_000;

/// The key of the entry that says under whose name the world outside knows the task: a copy for a fork keeps it.
pub(crate) const ORIGIN: &str = "";

/// Entries of one task and of the tasks in its subgraphs, by place, kind and key.
#[derive(Debug)]
pub(crate) struct Journal {
    checkpoint: CheckpointId,
    task: u32,
    /// The superstep: without a store nothing else tells the tasks of a loop apart.
    step: i64,
    /// Set if the task may have started an effect before this attempt, in this process or another.
    began: AtomicBool,
    /// Set once the checkpoint that planned the task is on disk.
    planned: AtomicBool,
    /// Set if the journal is read again: nothing may be added.
    replays: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: BTreeMap<String, Entry>,
    /// Keys of entries that ride on the next commit.
    riding: Vec<String>,
    /// Effects whose bodies are running, or were dropped: the attempt and when it started.
    running: BTreeMap<String, (u32, u64)>,
    /// In a replay: the keys that were asked for.
    taken: BTreeSet<String>,
}

#[derive(Debug)]
struct Entry {
    record: EffectRecord,
    /// Set once it is on disk.
    safe: bool,
}

/// The journal's result for a key.
pub(crate) enum LookupResult {
    /// Nothing yet.
    New,
    /// It is recorded; `safe`: and on disk.
    Recorded(EffectRecord, bool),
    /// It is not recorded, and nothing may be added.
    Missing,
}

impl Journal {
    pub(crate) fn new(checkpoint: CheckpointId, task: u32, step: i64) -> Self {
        Self {
            checkpoint,
            task,
            step,
            began: AtomicBool::new(false),
            planned: AtomicBool::new(false),
            replays: false,
            inner: Mutex::default(),
        }
    }

    /// Returns the journal of stored records.
    pub(crate) fn from_records(checkpoint: CheckpointId, task: u32, records: Vec<(String, EffectRecord)>) -> Self {
        let entry = |(key, record)| (key, Entry { record, safe: true });
        let inner = Inner { entries: gather(records.into_iter().map(entry)), ..Inner::default() };
        let began = AtomicBool::new(true);
        Self {
            checkpoint,
            task,
            step: 0,
            began,
            planned: AtomicBool::new(true),
            replays: false,
            inner: Mutex::new(inner),
        }
    }

    /// The same, to be read again: nothing may be added.
    pub(crate) fn for_replay(checkpoint: CheckpointId, task: u32, records: Vec<(String, EffectRecord)>) -> Self {
        Self { replays: true, ..Self::from_records(checkpoint, task, records) }
    }

    /// The task runs again: effects without an entry may have started.
    pub(crate) fn begin_again(&self) {
        self.began.store(true, Ordering::Relaxed);
    }

    /// The checkpoint of the root graph that its task was planned at.
    pub(crate) fn checkpoint(&self) -> CheckpointId {
        self.checkpoint
    }

    pub(crate) fn task(&self) -> u32 {
        self.task
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.replays
    }

    pub(crate) fn has_started(&self) -> bool {
        self.began.load(Ordering::Relaxed)
    }

    /// Waits until the checkpoint that planned the task is on disk, which durability async does not: after a crash nobody
    /// would know that an effect may have started.
    pub(crate) async fn plan_kept(&self, recorder: Option<&Recorder>) -> Result<(), CheckpointError> {
        let Some(recorder) = recorder.filter(|recorder| recorder.durability() == Durability::Async) else {
            return Ok(());
        };
        if !self.planned.load(Ordering::Relaxed) {
            recorder.commit_apart(vec![]).await?;
            self.planned.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(crate) fn find(&self, key: &str) -> LookupResult {
        let mut inner = self.lock();
        if self.replays {
            inner.taken.insert(key.to_owned());
        }
        match inner.entries.get(key) {
            Some(entry) => LookupResult::Recorded(entry.record.clone(), entry.safe),
            None if self.replays => LookupResult::Missing,
            None => LookupResult::New,
        }
    }

    /// In a replay: what was asked for under this prefix counts as not asked for, as the body is to run again.
    pub(crate) fn read_anew(&self, prefix: &str) {
        self.lock().taken.retain(|key| !key.starts_with(prefix));
    }

    /// In a replay: the effects under this prefix that were recorded and not asked for: their keys and arguments.
    pub(crate) fn left_out(&self, prefix: &str) -> Vec<(String, String)> {
        let inner = self.lock();
        let left = inner.entries.iter().filter(|(key, _)| key.starts_with(prefix) && !inner.taken.contains(*key));
        left.map(|(key, entry)| (key[prefix.len()..].to_owned(), entry.record.shown.clone())).collect()
    }

    /// Returns true if it was copied for a fork whose tasks continue.
    pub(crate) fn is_copy(&self) -> bool {
        self.lock().entries.contains_key(ORIGIN)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.lock().entries.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// The task under whose name the world outside knows the effects.
    pub(crate) fn origin(&self) -> String {
        let inner = self.lock();
        let origin = inner.entries.get(ORIGIN).map(|entry| entry.record.idempotency.clone());
        origin.unwrap_or_else(|| match self.checkpoint {
            CheckpointId(0) => format!("{}.{}", name(self.checkpoint, self.task), self.step),
            _ => name(self.checkpoint, self.task),
        })
    }

    /// Adds an entry that rides on the next commit of the task. Returns what somebody else has noted there meanwhile.
    pub(crate) fn note(&self, key: String, record: EffectRecord) -> Option<EffectRecord> {
        let mut inner = self.lock();
        let known = inner.entries.get(&key).map(|entry| entry.record.clone());
        if known.is_none() {
            inner.add(key, record);
        }
        known
    }

    /// Notes how an effect failed last, unless somebody else has done it meanwhile.
    pub(crate) fn note_failure(&self, effect: &str, key: String, record: EffectRecord) {
        let mut inner = self.lock();
        if !inner.entries.contains_key(effect) {
            let before = inner.entries.get(&key).map(|entry| entry.record.clone());
            inner.add(key, after(before, record));
        }
    }

    /// Notes that the body of an effect starts.
    pub(crate) fn start(&self, key: &str, attempt: u32, at: u64) {
        self.lock().running.insert(key.to_owned(), (attempt, at));
    }

    /// Notes that the body of an effect is over. Returns the attempt that started it and when, if none has noted that yet.
    pub(crate) fn stop(&self, key: &str) -> Option<(u32, u64)> {
        self.lock().running.remove(key)
    }

    /// Adds an entry and waits until it is on disk, and what rides with it. Returns what somebody else has put there
    /// meanwhile, once that is on disk: an effect may outlive the attempt that began it.
    pub(crate) async fn keep(
        &self,
        recorder: Option<&Recorder>,
        key: String,
        record: EffectRecord,
    ) -> Result<Option<EffectRecord>, CheckpointError> {
        let known = self.note(key.clone(), record);
        if known.is_some() {
            self.secure(recorder, key).await?;
            return Ok(known);
        }
        let puts = self.take_riders()?;
        self.make_safe(recorder, key, puts).await?;
        Ok(None)
    }

    /// Under which name the world outside knows an effect that failed.
    pub(crate) fn failed_as(&self, failure: &str) -> Option<String> {
        self.lock().entries.get(failure).map(|entry| entry.record.idempotency.clone())
    }

    /// Waits until an entry is on disk whose commit somebody began and did not wait for.
    pub(crate) async fn secure(&self, recorder: Option<&Recorder>, key: String) -> Result<(), CheckpointError> {
        let puts = {
            let inner = self.lock();
            let unsafe_yet = inner.entries.get(&key).filter(|entry| !entry.safe);
            let record = unsafe_yet.map(|entry| encode_record(&entry.record)).transpose()?;
            if record.is_none() {
                return Ok(());
            }
            record.into_iter().map(|bytes| (self.key(&key), bytes.into())).collect()
        };
        self.make_safe(recorder, key, puts).await
    }

    async fn make_safe(&self, recorder: Option<&Recorder>, key: String, puts: Puts) -> Result<(), CheckpointError> {
        if let Some(recorder) = recorder {
            recorder.commit_apart(puts).await?;
        }
        if let Some(entry) = self.lock().entries.get_mut(&key) {
            entry.safe = true;
        }
        Ok(())
    }

    /// Takes the records that ride on a commit of the task's.
    pub(crate) fn take_riders(&self) -> Result<Puts, CheckpointError> {
        self.encode_riders(&mut self.lock())
    }

    fn encode_riders(&self, inner: &mut Inner) -> Result<Puts, CheckpointError> {
        let keys = std::mem::take(&mut inner.riding);
        let record = |key: &String| {
            let entry = inner.entries.get(key)?;
            Some(encode_record(&entry.record).map(|bytes| (self.key(key), bytes.into())))
        };
        keys.iter().filter_map(record).collect()
    }

    fn key(&self, key: &str) -> Key {
        Key::Effect { checkpoint: self.checkpoint, task: self.task, key: key.to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn add(&mut self, key: String, mut record: EffectRecord) {
        record.order = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.riding.push(key.clone());
        self.entries.insert(key, Entry { record, safe: false });
    }
}

/// The name of a task for the world outside.
pub(crate) fn name(checkpoint: CheckpointId, task: u32) -> String {
    format!("{checkpoint}-{task:x}")
}

/// The number of failed runs of an effect that are kept.
const RUNS_KEPT: usize = 20;

/// A failure with the runs that failed before it.
pub(super) fn after(before: Option<EffectRecord>, mut failure: EffectRecord) -> EffectRecord {
    if let Some(before) = before {
        let since = failure.at.saturating_sub(before.at);
        let shifted = before.runs.iter().map(|run| EffectRun { before: run.before + since, ..*run });
        let runs: Vec<EffectRun> = shifted.chain(failure.runs).collect();
        failure.runs = runs[runs.len().saturating_sub(RUNS_KEPT)..].to_vec();
    }
    failure
}

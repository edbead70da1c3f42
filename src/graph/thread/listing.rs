//! The status of the threads of a store, read from their records: no state is decoded, and no graph is needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use superstep_base::time::{rfc3339, system_time};

use super::snapshot::is_failed;
use super::status::{ArrivedSignals, StatusKind, is_resting, may_wait};
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, ControlRecord, ForeignRecord, Key,
    LeaseOwner, Order, QuestionRecord, Shape, TaskRecord, TaskStatus, ThreadHead, ThreadId, decode_record,
    effective_origin,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AwaitedSignal, Question, SignalId, Terms};
use crate::graph::json::{Object, metadata, time_text};
use crate::graph::records::{COMMAND_KEY, Tasks, clock};

/// A thread as a list shows it. Its JSON is what `superstep threads --json` prints.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// The name.
    pub id: ThreadId,
    /// The name of its graph; empty if the thread was started and nothing of it stored.
    pub graph: String,
    /// The status. Breakpoints and a needed migration do not show here, because only the graph knows of them.
    pub status: StatusKind,
    /// The process that runs it, if it is [`Running`](StatusKind::Running).
    pub owner: Option<Arc<LeaseOwner>>,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// The last superstep, from -1.
    pub step: i64,
    /// When it was first written, in milliseconds since 1970.
    pub created_at: u64,
    /// When its newest checkpoint was made, in milliseconds since 1970.
    pub updated_at: u64,
    /// The [fingerprint](crate::graph::CompiledGraph::fingerprint) of the graph that stored its newest checkpoint.
    pub fingerprint: u64,
    /// The import time and trust, if it was made elsewhere.
    pub foreign: Option<ForeignRecord>,
    /// The metadata of its newest checkpoint: [`Thread::metadata`](crate::graph::Thread::metadata).
    pub metadata: Vec<(String, String)>,
    /// The pending questions, if it is [`Interrupted`](StatusKind::Interrupted). Their types are not known here:
    /// payloads and answers are JSON.
    pub questions: Vec<Question>,
    /// The earliest time at which a waiting task can resume.
    pub wake: Option<SystemTime>,
    /// The signals that its tasks wait for.
    pub awaits: Vec<AwaitedSignal>,
    /// The reason why it is [`Damaged`](StatusKind::Damaged).
    pub reason: Option<String>,
    /// True if tasks can run although questions are pending.
    pub(crate) ready: bool,
    /// The progress of the tasks of its newest checkpoint.
    pub(crate) progress: Progress,
    /// True if breakpoints are stored with it: [`Thread::remember_stops`](crate::graph::Thread::remember_stops).
    pub has_stops: bool,
}

impl Serialize for ThreadInfo {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let metadata = Some(metadata(&self.metadata)).filter(|pairs| !pairs.is_empty());
        Object::new(out)?
            .put("thread", self.id.as_str())?
            .put("graph", &self.graph)?
            .put("status", self.status)?
            .put_some("owner", self.owner.as_deref())?
            .put("checkpoint", self.checkpoint)?
            .put("step", self.step)?
            .put("created_at", rfc3339(self.created_at))?
            .put("updated_at", rfc3339(self.updated_at))?
            .put_some("metadata", metadata)?
            .put("foreign", self.foreign.is_some())?
            .put_some("trusted", self.foreign.as_ref().map(|foreign| foreign.trusted))?
            .put_some("until", self.wake.map(time_text))?
            .put_list("signals", &self.awaits)?
            .put_some("reason", self.reason.as_ref())?
            .put("questions", &self.questions)?
            .end()
    }
}

impl ThreadInfo {
    /// Returns a thread of which only the status is known.
    fn new(id: &ThreadId, status: StatusKind) -> Self {
        Self {
            id: id.clone(),
            graph: String::new(),
            status,
            owner: None,
            checkpoint: None,
            step: -1,
            created_at: 0,
            updated_at: 0,
            fingerprint: 0,
            foreign: None,
            metadata: vec![],
            questions: vec![],
            wake: None,
            awaits: vec![],
            reason: None,
            ready: false,
            progress: Progress::default(),
            has_stops: false,
        }
    }

    /// Returns true if a task can run now, as far as the records show.
    pub(crate) fn can_resume(&self) -> bool {
        let trusted = self.foreign.as_ref().is_none_or(|foreign| foreign.trusted);
        trusted && (self.status == StatusKind::Pending || self.ready)
    }

    /// Returns one thread; none if the store does not have it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read(store: &dyn Checkpointer, id: &ThreadId) -> Result<Option<Self>, RunError> {
        Self::read_at(store, id, SystemTime::now()).await
    }

    /// Returns one thread as of a time, which decides whether it still waits: for threads with a
    /// [`clock`](crate::graph::Thread::clock) of their own.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read_at(store: &dyn Checkpointer, id: &ThreadId, now: SystemTime) -> Result<Option<Self>, RunError> {
        Listing::new(store, now).info(id).await
    }

    /// Returns all threads of a store, in byte order of length and name. One whose records cannot be read is
    /// [`Damaged`](StatusKind::Damaged) and does not affect the others.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all(store: &dyn Checkpointer) -> Result<Vec<Self>, RunError> {
        Self::all_at(store, SystemTime::now()).await
    }

    /// Returns all threads of a store as of a time, which decides whether they still wait.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all_at(store: &dyn Checkpointer, now: SystemTime) -> Result<Vec<Self>, RunError> {
        let mut listing = Listing::new(store, now);
        let mut all = vec![];
        for id in store.threads(None, usize::MAX).await? {
            all.extend(listing.read(&id).await?);
        }
        Ok(all)
    }
}

/// A reader of many threads that caches the graph shapes they share.
pub(crate) struct Listing<'a> {
    store: &'a dyn Checkpointer,
    /// The number of sources of each join, by the graph's fingerprint.
    joins: HashMap<u64, Vec<(usize, u32)>>,
    /// In milliseconds since 1970.
    now: u64,
}

impl<'a> Listing<'a> {
    pub(super) fn new(store: &'a dyn Checkpointer, now: SystemTime) -> Self {
        Self { store, joins: HashMap::new(), now: clock::millis(now) }
    }

    /// Returns one thread; a [`Damaged`](StatusKind::Damaged) one if its records cannot be read.
    pub(super) async fn read(&mut self, id: &ThreadId) -> Result<Option<ThreadInfo>, RunError> {
        self.info(id).await.or_else(|error| damaged_info(id, error).map(Some))
    }

    async fn info(&mut self, id: &ThreadId) -> Result<Option<ThreadInfo>, RunError> {
        let Some(head) = self.store.head(id).await? else { return Ok(None) };
        let checkpoint = head.checkpoint.unwrap_or_default();
        let keys = vec![Key::About, Key::Task { checkpoint, task: COMMAND_KEY }, Key::Checkpoint(checkpoint)];
        let mut found = self.store.get(id, keys).await?;
        let record: Option<CheckpointRecord> = decode_optional(id, "checkpoint", found.pop().flatten())?;
        let commanded = found.pop().flatten().is_some();
        let about: Option<AboutRecord> = decode_optional(id, "record about the thread", found.pop().flatten())?;
        let about = about.unwrap_or_default();
        let has_stops = !about.stops.is_empty();
        let details = self.details(id, head, record.as_ref(), commanded).await?;
        Ok(Some(ThreadInfo {
            graph: about.graph,
            checkpoint: head.checkpoint,
            step: record.as_ref().map_or(-1, |record| record.step),
            created_at: about.created_at,
            updated_at: record.as_ref().map_or(about.created_at, |record| record.created_at),
            fingerprint: record.as_ref().map_or(0, |record| record.shape),
            foreign: effective_origin(self.store, about.foreign),
            metadata: record.map(|record| record.metadata).unwrap_or_default(),
            has_stops,
            ..details
        }))
    }

    /// Returns the status of a thread, with what its tasks wait for.
    async fn details(
        &mut self,
        id: &ThreadId,
        head: ThreadHead,
        record: Option<&CheckpointRecord>,
        commanded: bool,
    ) -> Result<ThreadInfo, RunError> {
        let known = |standing| Ok(ThreadInfo::new(id, standing));
        if let Some(owner) = self.store.owner(id).await? {
            return Ok(ThreadInfo { owner: Some(owner), ..ThreadInfo::new(id, StatusKind::Running) });
        }
        let (Some(checkpoint), Some(record)) = (head.checkpoint, record) else { return known(StatusKind::New) };
        if !commanded && record.control.plans_nothing() {
            return known(StatusKind::Finished); // most are: their tasks are not looked for
        }
        let mut tasks = self.tasks(id, checkpoint).await?;
        let command = tasks.remove(&COMMAND_KEY).unwrap_or_default();
        let questions = self.questions(id, head.birth, &tasks).await?;
        let failed = tasks.values().any(is_failed);
        if questions.is_empty() && failed {
            return known(StatusKind::Failed);
        }
        let planned = self.planned_count(id, record, &command).await?;
        let done = tasks.values().filter(|task| task.status == TaskStatus::Done).count();
        let arrived = ArrivedSignals::read(self.store, id, checkpoint, &tasks).await?;
        let found = self.waiting(id, &tasks, &arrived);
        let resting = tasks.iter().filter(|(task, record)| is_resting((**task, *record), &arrived, self.now)).count();
        if !questions.is_empty() {
            let asking = tasks.iter().filter(|(task, record)| asks(record) && !arrived.wakes(**task, record, self.now));
            let asking = asking.count();
            let ready = !failed && planned > done + asking + resting;
            return Ok(ThreadInfo { status: StatusKind::Interrupted, questions, ready, ..found });
        }
        let status = match planned {
            0 => StatusKind::Finished,
            // All tasks have ended without a checkpoint following: their results could not be applied.
            planned if done == planned => StatusKind::Failed,
            planned if done + resting == planned && found.awaits.is_empty() => StatusKind::Waiting,
            planned if done + resting == planned => StatusKind::AwaitingSignal,
            _ => StatusKind::Pending,
        };
        Ok(ThreadInfo { status, ..found })
    }

    fn waiting(&self, id: &ThreadId, tasks: &Tasks, arrived: &ArrivedSignals) -> ThreadInfo {
        let waiting = || tasks.values().filter(|task| may_wait(task));
        let wakes = waiting().filter_map(|task| task.wake);
        let signal = arrived.first(waiting());
        let progress = Progress { entries: tasks.values().map(|task| u64::from(task.effects)).sum(), signal };
        ThreadInfo {
            wake: wakes.filter(|&wake| wake > self.now).min().map(system_time),
            awaits: waiting().flat_map(|task| &task.receives).map(AwaitedSignal::from).collect(),
            progress,
            ..ThreadInfo::new(id, StatusKind::Pending)
        }
    }

    /// Returns the pending questions, without their types.
    async fn questions(&self, id: &ThreadId, birth: u64, tasks: &Tasks) -> Result<Vec<Question>, RunError> {
        let asking = tasks.values().filter(|task| task.status != TaskStatus::Done);
        let of = |task| move |asked| (task, asked);
        let open = asking.flat_map(|task: &TaskRecord| task.questions.iter().map(of(task)));
        let open: Vec<(&TaskRecord, &QuestionRecord)> = open.filter(|(_, asked)| !asked.answered).collect();
        let keys: Vec<Key> = open.iter().map(|(_, asked)| Key::Row(asked.payload)).collect();
        let rows = if keys.is_empty() { vec![] } else { self.store.get(id, keys).await? };
        let question = |((task, asked), payload): ((&TaskRecord, &QuestionRecord), Option<Vec<u8>>)| {
            let terms = Terms::of(task, asked);
            Question { terms, ..Question::from_record(asked, birth, payload.unwrap_or_default()) }
        };
        Ok(open.into_iter().zip(rows).map(question).collect())
    }

    async fn tasks(&self, id: &ThreadId, checkpoint: CheckpointId) -> Result<Tasks, RunError> {
        let range = Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: u32::MAX };
        let mut tasks = Tasks::new();
        for (key, bytes) in self.store.scan(id, range, Order::Ascending, usize::MAX).await? {
            if let Key::Task { task, .. } = key {
                tasks.insert(task, decode_record(id, key, &bytes)?);
            }
        }
        Ok(tasks)
    }

    /// Returns the number of tasks that a checkpoint plans, including those of a command.
    async fn planned_count(
        &mut self,
        id: &ThreadId,
        record: &CheckpointRecord,
        command: &TaskRecord,
    ) -> Result<usize, RunError> {
        let control = &record.control;
        let mut nodes = control.triggered_nodes();
        nodes.extend(&command.targets);
        nodes.extend(self.joined_nodes(id, record.shape, control).await?);
        Ok(nodes.len() + control.sends.len() + command.sends.len())
    }

    async fn joined_nodes(&mut self, id: &ThreadId, shape: u64, control: &ControlRecord) -> Result<Vec<u32>, RunError> {
        if !control.has_arrivals() {
            return Ok(vec![]);
        }
        if !self.joins.contains_key(&shape) {
            let found = self.store.get(id, vec![Key::Shape(shape)]).await?.pop().flatten();
            let stored: Shape = decode_optional(id, "shape", found)?.unwrap_or_default();
            let joins = stored.joins.iter().map(|(sources, target)| (sources.len(), *target));
            self.joins.insert(shape, joins.collect());
        }
        let known = self.joins.get(&shape).map(Vec::as_slice).unwrap_or_default();
        Ok(control.complete_joins(|at| known.get(at).copied()))
    }
}

/// Progress of the tasks of a checkpoint; a runner compares it to see whether a thread has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    entries: u64,
    /// The first signal in the mailbox that one of them waits for.
    signal: Option<SignalId>,
}

/// Returns a thread whose records cannot be read as a list entry; passes other errors on.
fn damaged_info(id: &ThreadId, error: RunError) -> Result<ThreadInfo, RunError> {
    match &error {
        RunError::Checkpoint(CheckpointError::Damaged { .. } | CheckpointError::Format { .. }) => {}
        _ => return Err(error),
    }
    Ok(ThreadInfo { reason: Some(error.to_string()), ..ThreadInfo::new(id, StatusKind::Damaged) })
}

fn asks(task: &TaskRecord) -> bool {
    task.status != TaskStatus::Done && task.questions.iter().any(|asked| !asked.answered)
}

fn decode_optional<T: serde::de::DeserializeOwned>(
    id: &ThreadId,
    what: &str,
    bytes: Option<Vec<u8>>,
) -> Result<Option<T>, RunError> {
    Ok(bytes.map(|bytes| decode_record(id, what, &bytes)).transpose()?)
}

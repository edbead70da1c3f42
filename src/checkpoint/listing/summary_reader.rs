//! Reads the summary of a thread from its records: no state is decoded, and no graph is needed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::de::DeserializeOwned;
use superstep_base::Fnv;

use super::reads::ThreadReads;
use super::status_kind::StatusKind;
use super::summary::{ListedThread, Progress};
use super::waits::{ArrivedSignals, TaskRecords, asks, is_failed, is_resting, may_wait};
use crate::checkpoint::checkpoint_record::{CheckpointRecord, ControlRecord, GotoRecord};
use crate::checkpoint::codec::decode_record;
use crate::checkpoint::commit::ThreadHead;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::{CheckpointId, Key, ThreadId};
use crate::checkpoint::task_record::{QuestionRecord, TaskRecord, TaskStatus};
use crate::checkpoint::thread_record::{AboutRecord, Shape};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Key of the task that a command from outside makes.
const COMMAND: u32 = GotoRecord::CALLER;

/// A reader of many threads that caches the graph shapes they share.
pub(crate) struct SummaryReader<'a> {
    reads: &'a dyn ThreadReads,
    /// By the graph's fingerprint.
    shapes: HashMap<u64, KnownShape>,
}

/// The part of a graph's shape that summaries need.
struct KnownShape {
    version: u32,
    /// The number of sources of each join, and its target.
    joins: Vec<(usize, u32)>,
}

impl<'a> SummaryReader<'a> {
    pub(crate) fn new(reads: &'a dyn ThreadReads) -> Self {
        Self { reads, shapes: HashMap::new() }
    }

    /// Returns a thread as of a time in milliseconds since 1970; a [`Damaged`](StatusKind::Damaged) one if its records
    /// cannot be read, and none if the store does not have it.
    pub(crate) async fn read(&mut self, id: &ThreadId, now: u64) -> Result<Option<ListedThread>> {
        self.read_intact(id, now).await.or_else(|error| damaged(id, error).map(Some))
    }

    /// Returns a thread as of a time in milliseconds since 1970.
    ///
    /// # Errors
    /// If its records cannot be read.
    pub(crate) async fn read_intact(&mut self, id: &ThreadId, now: u64) -> Result<Option<ListedThread>> {
        let owner = self.reads.read_owner(id).await?;
        let found = match owner {
            None => self.summary(id, true).await?,
            Some(_) => self.summary(id, false).await?.map(|found| ListedThread { owner, ..found }),
        };
        Ok(found.map(|found| found.at(now, self.reads.is_store_foreign())))
    }

    /// Returns a thread as if nobody ran it and no time had passed: [`ListedThread::at`] adjusts it.
    pub(crate) async fn read_records(&mut self, id: &ThreadId) -> Result<Option<ListedThread>> {
        self.summary(id, true).await.or_else(|error| damaged(id, error).map(Some))
    }

    async fn summary(&mut self, id: &ThreadId, is_free: bool) -> Result<Option<ListedThread>> {
        let Some(head) = self.reads.read_head(id).await? else { return Ok(None) };
        let checkpoint = head.checkpoint.unwrap_or_default();
        let keys = vec![Key::About, Key::Task { checkpoint, task: COMMAND }, Key::Checkpoint(checkpoint)];
        let mut found = self.reads.read_records(id, keys).await?;
        let record: Option<CheckpointRecord> = decode_optional(id, "checkpoint", found.pop().flatten())?;
        let is_commanded = found.pop().flatten().is_some();
        let about: Option<AboutRecord> = decode_optional(id, "record about the thread", found.pop().flatten())?;
        let about = about.unwrap_or_default();
        let mut position = match is_free {
            true => self.position(id, head, record.as_ref(), is_commanded).await?,
            false => ListedThread::new(id, StatusKind::Running),
        };
        if let Some(at) = about.requested_at.filter(|_| is_free) {
            position = position.requested(at);
        }
        let version = match &record {
            Some(record) => self.shape(id, record.shape).await?.version,
            None => 0,
        };
        let updated_at = record.as_ref().map_or(about.created_at, |record| record.created_at);
        Ok(Some(ListedThread {
            graph: about.graph,
            checkpoint: head.checkpoint,
            step: record.as_ref().map_or(-1, |record| record.step),
            created_at: about.created_at,
            updated_at,
            fingerprint: record.as_ref().map_or(0, |record| record.shape),
            foreign: about.foreign,
            metadata: record.map(|record| record.metadata).unwrap_or_default(),
            has_stops: !about.stops.is_empty(),
            place: about.place,
            requested_at: about.requested_at,
            version,
            due: position.due.map(|due| if position.ready { due.max(updated_at) } else { due }),
            ..position
        }))
    }

    /// Returns the status of a thread that nobody runs, and the waits of its tasks.
    async fn position(
        &mut self,
        id: &ThreadId,
        head: ThreadHead,
        record: Option<&CheckpointRecord>,
        is_commanded: bool,
    ) -> Result<ListedThread> {
        let known = |status| Ok(ListedThread::new(id, status));
        let (Some(checkpoint), Some(record)) = (head.checkpoint, record) else { return known(StatusKind::New) };
        if !is_commanded && record.control.plans_nothing() {
            return known(StatusKind::Finished); // most are: their tasks are not looked for
        }
        let mut tasks = self.tasks(id, checkpoint).await?;
        let command = tasks.remove(&COMMAND).unwrap_or_default();
        let (is_asking, has_failed) = (tasks.values().any(asks), tasks.values().any(is_failed));
        if !is_asking && has_failed {
            return known(StatusKind::Failed);
        }
        self.check_questions(id, &tasks).await?;
        let planned = self.planned_count(id, record, &command).await?;
        let arrived = ArrivedSignals::read(self.reads, id, checkpoint, &tasks).await?;
        let step = Step { planned, tasks: &tasks, arrived: &arrived, is_asking, has_failed };
        Ok(step.summary(id))
    }

    /// Reads the payloads of pending questions, which are part of what a list shows of a thread.
    async fn check_questions(&self, id: &ThreadId, tasks: &TaskRecords) -> Result<()> {
        let keys: Vec<Key> = pending_questions(tasks).map(|(_, asked)| Key::Row(asked.payload)).collect();
        if !keys.is_empty() {
            self.reads.read_records(id, keys).await?;
        }
        Ok(())
    }

    async fn tasks(&self, id: &ThreadId, checkpoint: CheckpointId) -> Result<TaskRecords> {
        let range = Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: u32::MAX };
        let mut tasks = TaskRecords::new();
        for (key, bytes) in self.reads.read_range(id, range, usize::MAX).await? {
            if let Key::Task { task, .. } = key {
                tasks.insert(task, decode_record(id, key, &bytes)?);
            }
        }
        Ok(tasks)
    }

    /// Returns the number of tasks that a checkpoint plans, including those of a command.
    async fn planned_count(&mut self, id: &ThreadId, record: &CheckpointRecord, command: &TaskRecord) -> Result<usize> {
        let control = &record.control;
        let mut nodes = control.triggered_nodes();
        nodes.extend(&command.targets);
        nodes.extend(self.joined_nodes(id, record.shape, control).await?);
        Ok(nodes.len() + control.sends.len() + command.sends.len())
    }

    async fn joined_nodes(&mut self, id: &ThreadId, shape: u64, control: &ControlRecord) -> Result<Vec<u32>> {
        if !control.has_arrivals() {
            return Ok(vec![]);
        }
        let joins = &self.shape(id, shape).await?.joins;
        Ok(control.complete_joins(|at| joins.get(at).copied()))
    }

    async fn shape(&mut self, id: &ThreadId, fingerprint: u64) -> Result<&KnownShape> {
        let known = match self.shapes.entry(fingerprint) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(known) => known,
        };
        let found = self.reads.read_records(id, vec![Key::Shape(fingerprint)]).await?.pop().flatten();
        let Shape { joins, version, .. } = decode_optional(id, "shape", found)?.unwrap_or_default();
        let joins = joins.iter().map(|(sources, target)| (sources.len(), *target)).collect();
        Ok(known.insert(KnownShape { version, joins }))
    }
}

/// The tasks of a superstep that has not ended.
struct Step<'a> {
    planned: usize,
    tasks: &'a TaskRecords,
    arrived: &'a ArrivedSignals,
    is_asking: bool,
    has_failed: bool,
}

impl Step<'_> {
    fn summary(&self, id: &ThreadId) -> ListedThread {
        let waiting = || self.tasks.values().filter(|task| may_wait(task));
        let mut wakes: Vec<u64> = waiting().filter_map(|task| task.wake).collect();
        wakes.sort_unstable();
        wakes.dedup();
        let awaits: Vec<_> = waiting().flat_map(|task| task.receives.iter().cloned()).collect();
        let ready = self.can_run(0);
        let due = if ready { Some(self.ready_since()) } else { wakes.iter().copied().find(|wake| self.can_run(*wake)) };
        let status = self.status(!awaits.is_empty());
        ListedThread { due, ready, wakes, awaits, progress: self.progress(), ..ListedThread::new(id, status) }
    }

    fn status(&self, is_awaiting: bool) -> StatusKind {
        match self.planned {
            _ if self.is_asking => StatusKind::Interrupted,
            0 => StatusKind::Finished,
            // All tasks have ended without a checkpoint following: their results could not be applied.
            planned if self.done_count() == planned => StatusKind::Failed,
            _ if self.can_run(0) => StatusKind::Pending,
            _ if is_awaiting => StatusKind::AwaitingSignal,
            _ => StatusKind::Waiting,
        }
    }

    /// Returns true if a task can run at a time.
    fn can_run(&self, now: u64) -> bool {
        let rests = |(task, record): (&u32, &TaskRecord)| is_resting((*task, record), self.arrived, now);
        let asks = |(task, record): (&u32, &TaskRecord)| asks(record) && !self.arrived.wakes(*task, record, now);
        let waiting = self.tasks.iter().filter(|task| rests(*task) || asks(*task)).count();
        !self.has_failed && self.planned > self.done_count() && self.planned > self.done_count() + waiting
    }

    fn done_count(&self) -> usize {
        self.tasks.values().filter(|task| task.status == TaskStatus::Done).count()
    }

    /// Returns the time of the answer or the signal with which a task can run; 0 without one.
    fn ready_since(&self) -> u64 {
        let answers = self.tasks.values().flat_map(|task| task.answers.iter().map(|answer| answer.at)).max();
        let signal = self.arrived.first(self.tasks.values().filter(|task| may_wait(task))).map(|(_, signal)| signal.at);
        answers.max(signal).unwrap_or_default()
    }

    fn progress(&self) -> Progress {
        let waiting = self.tasks.values().filter(|task| may_wait(task));
        let mut hash = Fnv::new();
        for (task, asked) in pending_questions(self.tasks) {
            let place = [asked.checkpoint.0, u64::from(asked.task), u64::from(asked.place), u64::from(task)];
            place.iter().for_each(|number| hash.mix(&number.to_le_bytes()));
        }
        Progress {
            entries: self.tasks.values().map(|task| u64::from(task.effects)).sum(),
            signal: self.arrived.first(waiting).map(|(position, _)| *position),
            questions: hash.finish(),
        }
    }
}

/// Returns the questions without an answer, each with its task.
fn pending_questions(tasks: &TaskRecords) -> impl Iterator<Item = (u32, &QuestionRecord)> {
    let asking = tasks.iter().filter(|(_, task)| task.status != TaskStatus::Done);
    let questions = asking.flat_map(|(task, record)| record.questions.iter().map(|asked| (*task, asked)));
    questions.filter(|(_, asked)| !asked.answered)
}

/// Returns a thread whose records cannot be read as a list entry; passes other errors on.
fn damaged(id: &ThreadId, error: CheckpointError) -> Result<ListedThread> {
    match &error {
        CheckpointError::Damaged { .. } | CheckpointError::Format { .. } => {}
        _ => return Err(error),
    }
    Ok(ListedThread::damaged(id, &error))
}

fn decode_optional<T: DeserializeOwned>(id: &ThreadId, what: &str, bytes: Option<Vec<u8>>) -> Result<Option<T>> {
    bytes.map(|bytes| decode_record(id, what, &bytes)).transpose()
}

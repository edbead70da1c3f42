//! The records of a checkpoint that is run again: its tasks' are dropped when they run again in place, and copied when a
//! fork continues with them. A replay from inside a subgraph forks the checkpoints around it too, each pointing at the
//! fork below (V10).

use std::sync::Arc;

use super::handle::ThreadCore;
use super::scope::TipPointer;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Row, TaskRecord, TaskStatus, WriteRecord, encode_record};
use crate::graph::error::RunError;
use crate::graph::persist::save;
use crate::graph::records::fork::{self, copy_child, copy_children, fork_checkpoint, pointer};
use crate::graph::records::reader::reader;
use crate::graph::records::{
    BY_HANDLER, COMMAND_KEY, Caller, HANDLER, Journal, Mapping, Puts, Reader, Recorder, Stamp, Tasks,
};
use crate::graph::run::Run;
use crate::graph::superstep::task::planned_tasks;

impl ThreadCore {
    /// Returns the metadata and time of copies made for a fork.
    pub(crate) fn stamp(&self) -> Stamp<'_> {
        Stamp { words: &self.settings.metadata, now: self.now() }
    }

    /// Removes the writes, subgraph pointers and results of tasks that run again at their own checkpoint.
    pub(crate) async fn forget(
        &self,
        run: &Run,
        reader: &Reader,
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let Some(recorder) = run.recorder() else { return Ok(()) };
        let pointer = |(task, call, _)| Key::Child { checkpoint: run.pos.meta.id, task, call };
        let mut gone: Vec<Key> = reader.children(run.pos.meta.id).await?.into_iter().map(pointer).collect();
        let mut puts = vec![];
        for (&task, record) in records.iter().filter(|(task, _)| **task != COMMAND_KEY) {
            let key = |write: &WriteRecord| {
                let row = write.row.filter(|row| row.checkpoint == run.pos.meta.id)?; // others are the origin's of a copy
                let channel = mapping.channel(write.channel)? as usize;
                Some(save::row_key(&run.table, "", channel, write.overwrite, row))
            };
            gone.extend(record.writes.iter().filter_map(key));
            let fresh = TaskRecord { attempts: record.attempts, ..TaskRecord::default() };
            puts.push((run.task_key(task), Row::record(fresh)));
        }
        if puts.is_empty() {
            return Ok(());
        }
        Ok(recorder.replace_now(puts, gone).await?)
    }

    /// Copies the records of a checkpoint's tasks, and their subgraphs, for a fork of it. `parts`: the fork starts a
    /// branch beside the current one.
    pub(crate) async fn copy_tasks(
        &self,
        run: &Run,
        reader: &Reader,
        (from, parts): (CheckpointId, bool),
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<Puts, RunError> {
        let mut puts = vec![];
        let Some(recorder) = run.recorder() else { return Ok(puts) };
        for (&key, record) in records.iter().filter(|(key, _)| **key != COMMAND_KEY) {
            puts.push((run.task_key(key), encode_record(record)?.into()));
            let to = (run.pos.meta.id, key);
            copy_children(reader, recorder, self.stamp(), (from, key), to, &mut puts).await?;
        }
        let planned = planned_tasks(&run.table, &run.pos).into_iter().map(|task| task.key);
        let fork = fork::ForkPoint { from, to: run.pos.meta.id, mapping, parts: parts.then_some(records) };
        puts.extend(fork::journals(reader, fork, planned).await?);
        Ok(puts)
    }

    /// Returns true if this handle is at a checkpoint of a subgraph whose task has ended. A subgraph with state of its
    /// own never ends.
    pub(crate) async fn is_over(&self, recorder: &Arc<Recorder>) -> Result<bool, RunError> {
        let reader = reader(recorder);
        let Some(at) = self.at.filter(|_| !self.scope.nodes.is_empty()) else { return Ok(false) };
        let Some(here) = reader.record(at).await?.map(|record| record.namespace) else { return Ok(false) };
        if !here.rsplit('/').next().is_some_and(|last| last.contains(':')) {
            return Ok(false);
        }
        let Some((newest, TipPointer::Task(callers))) = self.newest(&reader, Some(recorder.head())).await? else {
            return Ok(true);
        };
        let is_same = reader.record(newest).await?.is_some_and(|record| record.namespace == here);
        let Some(caller) = callers.last() else { return Ok(!is_same) };
        let record = reader.tasks(caller.checkpoint).await?.remove(&caller.task);
        Ok(!is_same || record.is_some_and(|record| record.status == TaskStatus::Done))
    }
}

/// Attaches stored journals to the planned tasks. `again`: the tasks may have run here before, even without a record.
pub(crate) async fn attach_journals(
    run: &mut Run,
    reader: &Reader,
    mapping: &Mapping,
    again: bool,
) -> Result<(), RunError> {
    let mut journals = reader.journals(run.pos.meta.id, mapping).await?;
    for task in &mut run.step.tasks {
        let empty = || again.then(|| Arc::new(Journal::from_records(run.pos.meta.id, task.key, vec![])));
        task.journal = journals.remove(&task.key).or_else(empty);
    }
    Ok(())
}

/// Forks a checkpoint of a subgraph and every checkpoint around it, and moves the head there.
pub(crate) async fn fork_upwards(
    reader: &Reader,
    recorder: &Recorder,
    stamp: Stamp<'_>,
    id: CheckpointId,
) -> Result<(), RunError> {
    let mut puts = vec![];
    let (mut at, mut below) = (id, None);
    loop {
        let record = reader.known_record(at).await?;
        let caller = if record.namespace.is_empty() { None } else { Some(caller(reader, &record)?) };
        let fork = fork_checkpoint(recorder, stamp, at, record, caller.is_none(), &mut puts)?;
        if let Some((from, to)) = below {
            let by = Caller { checkpoint: fork, ..from };
            puts.push(pointer(by, to));
            let before = reader.tasks(at).await?.remove(&from.task).unwrap_or_default();
            let started = started_record(before, from.call);
            for (.., call, child) in reader.children_of(at, from.task).await? {
                if call < from.call && is_of(call, &started) {
                    copy_child(reader, recorder, stamp, child, Caller { call, ..by }, &mut puts).await?;
                }
            }
            puts.push((Key::Task { checkpoint: fork, task: by.task }, Row::record(started)));
        }
        let Some(caller) = caller else {
            recorder.commit(puts, Some(fork)).await?;
            return Ok(());
        };
        (at, below) = (caller.checkpoint, Some((caller, fork)));
    }
}

/// Returns the record of a task that resumes inside the subgraph of this call: in the attempt that made the call, as
/// far as that is known, or in its error handler.
fn started_record(before: TaskRecord, call: u32) -> TaskRecord {
    let handled = before.handled.filter(|_| call >= BY_HANDLER);
    let error = before.error.filter(|_| handled.is_some());
    TaskRecord { first_call: before.first_call.min(call), handled, error, ..TaskRecord::default() }
}

/// Returns true if the call is one of the body, or of the handler, that a replay continues in.
fn is_of(call: u32, started: &TaskRecord) -> bool {
    call >= started.first_call && (call >= BY_HANDLER) == started.handled.is_some()
}

/// Returns the task that a subgraph's checkpoint belongs to, from the last part of its namespace:
/// `/name:checkpoint.task`.
fn caller(reader: &Reader, record: &CheckpointRecord) -> Result<Caller, RunError> {
    let own = || RunError::InvalidUpdate {
        what: "a subgraph that keeps its own state is replayed from its parent's checkpoint".into(),
    };
    let last = record.namespace.rsplit('/').next().unwrap_or_default();
    let (name, task) = last.rsplit_once(':').ok_or_else(own)?;
    let damaged = || reader.damaged_error("checkpoint of a subgraph", "its namespace cannot be read");
    let (checkpoint, task) = task.split_once('.').ok_or_else(damaged)?;
    let checkpoint = CheckpointId(checkpoint.parse().map_err(|_| damaged())?);
    let task = u32::from_str_radix(task, 16).map_err(|_| damaged())?;
    let call: u32 = name.rsplit_once('#').map_or(Ok(0), |(_, call)| call.parse()).map_err(|_| damaged())?;
    let call = if name.starts_with(HANDLER) { call | BY_HANDLER } else { call };
    Ok(Caller { checkpoint, task, call })
}

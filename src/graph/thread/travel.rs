//! Replay from inside a subgraph: the checkpoints around it are forked, each pointing at the fork below (V10).

use std::sync::Arc;

use super::handle::ThreadCore;
use super::scope::Above;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, TaskRecord, TaskStatus, encode_record};
use crate::graph::error::RunError;
use crate::graph::records::fork::{copy_child, forked, pointer, unknown};
use crate::graph::records::reader::reader;
use crate::graph::records::{BY_HANDLER, Caller, HANDLER, Reader, Recorder, Stamp};

/// Forks a checkpoint of a subgraph and every checkpoint around it, and moves the head there.
pub(crate) async fn inside(
    reader: &Reader,
    recorder: &Recorder,
    stamp: Stamp<'_>,
    id: CheckpointId,
) -> Result<(), RunError> {
    let mut puts = vec![];
    let (mut at, mut below) = (id, None);
    loop {
        let record = reader.record(at).await?.ok_or_else(|| unknown(reader, at))?;
        let caller = if record.namespace.is_empty() { None } else { Some(caller(reader, &record)?) };
        let fork = forked(recorder, stamp, at, record, caller.is_none(), &mut puts)?;
        if let Some((from, to)) = below {
            let by = Caller { checkpoint: fork, ..from };
            puts.push(pointer(by, to)?);
            let before = reader.tasks(at).await?.remove(&from.task).unwrap_or_default();
            let started = started(before, from.call);
            for (.., call, child) in reader.called(at, from.task).await? {
                if call < from.call && is_of(call, &started) {
                    copy_child(reader, recorder, stamp, child, Caller { call, ..by }, &mut puts).await?;
                }
            }
            puts.push((Key::Task { checkpoint: fork, task: by.task }, encode_record(&started)?));
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
fn started(before: TaskRecord, call: u32) -> TaskRecord {
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
    let damaged = || reader.damaged("checkpoint of a subgraph", "its namespace cannot be read");
    let (checkpoint, task) = task.split_once('.').ok_or_else(damaged)?;
    let checkpoint = CheckpointId(checkpoint.parse().map_err(|_| damaged())?);
    let task = u32::from_str_radix(task, 16).map_err(|_| damaged())?;
    let call: u32 = name.rsplit_once('#').map_or(Ok(0), |(_, call)| call.parse()).map_err(|_| damaged())?;
    let call = if name.starts_with(HANDLER) { call | BY_HANDLER } else { call };
    Ok(Caller { checkpoint, task, call })
}

impl ThreadCore {
    /// Returns true if this handle is at a checkpoint of a subgraph whose task has ended. A subgraph with state of its
    /// own never ends.
    pub(crate) async fn is_over(&self, recorder: &Arc<Recorder>) -> Result<bool, RunError> {
        let reader = reader(recorder);
        let Some(at) = self.at.filter(|_| !self.scope.nodes.is_empty()) else { return Ok(false) };
        let Some(here) = reader.record(at).await?.map(|record| record.namespace) else { return Ok(false) };
        if !here.rsplit('/').next().is_some_and(|last| last.contains(':')) {
            return Ok(false);
        }
        let Some((newest, Above::Task(callers))) = self.newest(&reader, Some(recorder.head())).await? else {
            return Ok(true);
        };
        let is_same = reader.record(newest).await?.is_some_and(|record| record.namespace == here);
        let Some(caller) = callers.last() else { return Ok(!is_same) };
        let record = reader.tasks(caller.checkpoint).await?.remove(&caller.task);
        Ok(!is_same || record.is_some_and(|record| record.status == TaskStatus::Done))
    }
}

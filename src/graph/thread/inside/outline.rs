//! Checkpoints with their tasks in outline, of a graph or a subgraph. An outline is read from records: neither states nor journals.

use std::collections::BTreeMap;

use superstep_base::gather;

use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Order, Source, TaskRecord, TaskStatus, decode_record};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::persist::load::PlannedTask;
use crate::graph::records::{CheckpointInfo, ListedCheckpoint, Reader};
use crate::graph::view::event::task_id;
use crate::graph::view::{CheckpointOutline, TaskOutline};

/// The maximum number of later checkpoints among which the one that followed another is looked for.
const LATER: usize = 64;

impl CheckpointOutline {
    /// Reads checkpoints of a graph, in the given order.
    pub(crate) async fn read_all(
        table: &Table,
        reader: &Reader,
        listed: Vec<ListedCheckpoint>,
    ) -> Result<Vec<Self>, RunError> {
        let mut ends = ends_among(&listed);
        let mut outlines = vec![];
        for (id, record) in listed {
            let ended_at = match ends.remove(&id) {
                Some(at) => Some(at),
                None => end_after(reader, id, &record).await?,
            };
            outlines.push(Self::read(table, reader, (id, record), ended_at).await?);
        }
        Ok(outlines)
    }

    async fn read(
        table: &Table,
        reader: &Reader,
        (id, record): ListedCheckpoint,
        ended_at: Option<u64>,
    ) -> Result<Self, RunError> {
        let info = CheckpointInfo::of(id, &record);
        let planned = reader.planned(table, id, record).await?;
        let records = reader.tasks(id).await?;
        let runs_graphs =
            |task: &PlannedTask| table.node_index(&task.name).map(|node| table.children_of(node).len()) > Some(0);
        let called = if planned.iter().any(runs_graphs) { reader.children(id).await? } else { vec![] };
        let started_at = info.created_at;
        let outline = |task: &PlannedTask| {
            let record = records.get(&task.stored);
            let is_around = runs_graphs(task) && called.iter().any(|(caller, ..)| *caller == task.stored);
            TaskOutline { is_around, ..outline((id, task), record, (started_at, ended_at)) }
        };
        let tasks = planned.iter().map(outline).collect();
        Ok(Self { info, next: planned.into_iter().map(|task| task.name).collect(), tasks })
    }

    /// Returns the task of this id.
    pub(super) fn task(&self, id: &str) -> Option<&TaskOutline> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

/// Returns when the supersteps of checkpoints ended whose next checkpoint is among them.
fn ends_among(listed: &[ListedCheckpoint]) -> BTreeMap<CheckpointId, u64> {
    let end = |(_, record): &ListedCheckpoint| Some((ended_by(record)?, record.created_at));
    gather(listed.iter().filter_map(end))
}

/// Returns the checkpoint whose superstep ended with this one.
fn ended_by(record: &CheckpointRecord) -> Option<CheckpointId> {
    record.parent.filter(|_| record.source == Source::Loop)
}

/// Returns when the superstep of a checkpoint ended, if one of the next checkpoints says so.
async fn end_after(reader: &Reader, id: CheckpointId, record: &CheckpointRecord) -> Result<Option<u64>, RunError> {
    let key = |id| if record.namespace.is_empty() { Key::Checkpoint(id) } else { Key::Nested(id) };
    let range = key(CheckpointId(id.0.saturating_add(1)))..=key(CheckpointId(u64::MAX));
    for (_, bytes) in reader.store.scan(&reader.thread, range, Order::Ascending, LATER).await? {
        let later: CheckpointRecord = decode_record(&reader.thread, "checkpoint", &bytes)?;
        if ended_by(&later) == Some(id) {
            return Ok(Some(later.created_at));
        }
    }
    Ok(None)
}

/// Returns a task in outline; `times`: those at which its superstep started and ended.
fn outline(
    (checkpoint, task): (CheckpointId, &PlannedTask),
    record: Option<&TaskRecord>,
    (started_at, ended_at): (u64, Option<u64>),
) -> TaskOutline {
    let none = TaskRecord::default();
    let record = record.unwrap_or(&none);
    let questions = record.questions.iter().filter(|question| !question.answered).count();
    let is_done = ended_at.is_some() || record.status == TaskStatus::Done;
    let status = if is_done { "done" } else { open_status(record, questions) };
    let attempts = record.attempts.max(u32::from(is_done));
    let failed_at = record.failures.last().map(|failure| failure.at);
    // A task that ran beside others has times of its own.
    let (started_at, ended_at) = match record.times[..] {
        [first, end] if is_done => (first, Some(end)),
        [first, ..] => (first, ended_at),
        [] => (started_at, ended_at),
    };
    TaskOutline {
        id: task_id(checkpoint, task.key),
        name: task.name.clone(),
        status,
        attempts,
        error: record.error.clone(),
        started_at: (attempts > 0).then_some(started_at),
        ended_at: if status == "failed" { failed_at } else { ended_at },
        effects: record.effects,
        questions: if is_done { 0 } else { questions },
        is_around: false,
        stored: task.stored,
    }
}

/// Returns the status of a task that has not ended.
fn open_status(record: &TaskRecord, questions: usize) -> &'static str {
    match record.status {
        _ if questions > 0 => "interrupted",
        _ if record.error.is_some() => "failed",
        _ if !record.receives.is_empty() => "awaiting-signal",
        _ if record.wake.is_some() => "waiting",
        TaskStatus::Pending | TaskStatus::Done | TaskStatus::Interrupted | TaskStatus::Waiting | TaskStatus::Failed => {
            "pending"
        }
    }
}

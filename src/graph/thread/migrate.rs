//! Threads that another version of the graph stored: pending questions, subgraphs and tasks that no longer fit. Runs
//! nothing.

use std::sync::Arc;

use super::handle::ThreadCore;
use super::journal::NestedState;
use crate::checkpoint::{CarriedRecord, CheckpointId, QuestionRecord, Slot, TaskRecord};
use crate::graph::build::Table;
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::records::mapping::refuse;
use crate::graph::records::{BY_HANDLER, Mapping, Reader, Tasks};
use crate::graph::run::Run;
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{Position, Task};
use crate::graph::view::event::task_id;
use crate::graph::view::{Activation, AnyChild, Ledger, TaskSnapshot, View};

impl ThreadCore {
    /// Drops pending questions that no node declares any more, since no answer could reach them.
    pub(crate) fn drop_undeclared_questions(&self, records: &mut Tasks) {
        let asks = |asked: &QuestionRecord| asked.answered || self.graph.table.still_asks(0, asked);
        records.values_mut().for_each(|record| record.questions.retain(asks));
    }

    /// Fails if a subgraph that would resume cannot.
    pub(crate) async fn check_inside(
        &self,
        run: &Run,
        reader: &Reader,
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let mut tasks = planned_tasks(&run.table, &run.pos);
        reader.restore(&run.table, "", &mut tasks, records.clone(), mapping).await?;
        let mut misfits = mapping.misfits();
        misfits.extend(inside(&run.table, reader, (&run.pos, mapping), &tasks).await?);
        refuse(reader, misfits)
    }
}

/// Returns the snapshot of a task's subgraph, and why it could not resume, if there is one. It is the present one, even
/// below a checkpoint of the past.
pub(crate) async fn nested(
    table: &Arc<Table>,
    reader: &Reader,
    at: (&Position, &Mapping),
    task: &Task,
) -> Result<Option<(NestedState, Vec<Incompatibility>)>, RunError> {
    let Some(found) = child_of(table, reader, at, task).await? else { return Ok(None) };
    let (snapshot, misfits) = found.child.0.nested(reader, found.id).await?;
    let misfits = if task.is_done() { vec![] } else { found.name_misfits(table, task, misfits) };
    let TaskChild { child, call, before, .. } = found;
    let base = match before.filter(|_| child.0.is_per_thread()) {
        Some(before) => reader.record(before).await?.map_or(0, |record| record.control.version),
        None => 0,
    };
    let activation = call.map(|call| {
        let by_handler = call >= BY_HANDLER;
        let first = if by_handler { BY_HANDLER } else { task.record.first_call };
        Activation { call: call.saturating_sub(first), by_handler, base }
    });
    Ok(Some(((Box::new(snapshot), activation), misfits)))
}

/// Returns the incompatibilities of the subgraphs that would resume.
pub(crate) async fn inside(
    table: &Table,
    reader: &Reader,
    at: (&Position, &Mapping),
    tasks: &[Task],
) -> Result<Vec<Incompatibility>, RunError> {
    let mut misfits = vec![];
    for task in tasks.iter().filter(|task| !task.is_done()) {
        let Some(found) = child_of(table, reader, at, task).await?.filter(|found| found.is_sure) else { continue };
        let inside = found.child.0.misfits(reader, found.id).await?;
        misfits.extend(found.name_misfits(table, task, inside));
    }
    Ok(misfits)
}

struct TaskChild<'a> {
    child: &'a AnyChild,
    id: CheckpointId,
    /// Set if the subgraph is certainly the task's own.
    is_sure: bool,
    /// The call that it belongs to, if a task points at it.
    call: Option<u32>,
    /// Subgraphs with state of their own only: the checkpoint at which the task started.
    before: Option<CheckpointId>,
}

impl TaskChild<'_> {
    /// Returns the incompatibilities with the node in which they are; none if the subgraph may be another's.
    fn name_misfits(&self, table: &Table, task: &Task, misfits: Vec<Incompatibility>) -> Vec<Incompatibility> {
        let node = table.node_name(task.node);
        let named = |misfit| Incompatibility::Inside { node: node.to_string(), misfit: Box::new(misfit) };
        misfits.into_iter().filter(|_| self.is_sure).map(named).collect()
    }
}

/// Returns the subgraph of a task.
async fn child_of<'a>(
    table: &'a Table,
    reader: &Reader,
    (pos, mapping): (&Position, &Mapping),
    task: &Task,
) -> Result<Option<TaskChild<'a>>, RunError> {
    let children = table.children_of(task.node);
    if children.is_empty() {
        return Ok(None);
    }
    let own = pos.children.iter().find(|(known, _)| known[..] == **table.node_name(task.node)).map(|(_, id)| *id);
    let key = mapping.stored_task(task.key);
    let called = reader.children_of(pos.meta.id, key).await?;
    let foremost = reader.active_child(&[(key, task.to_record())].into(), called).await?;
    let call = foremost.map(|(_, call, _)| call);
    let Some(id) = foremost.map(|(.., id)| id).or(own) else { return Ok(None) };
    let shape = reader.record(id).await?.map(|record| record.shape);
    let same = children.iter().find(|child| Some(child.0.fingerprint()) == shape);
    let is_sure = same.is_some() || children.len() == 1;
    Ok(same.or(children.first()).map(|child| TaskChild { child, id, is_sure, call, before: own }))
}

/// A stored task that this version of the graph cannot plan.
pub(crate) struct LostTask {
    pub node: String,
    key: u32,
    record: TaskRecord,
}

impl LostTask {
    pub(crate) fn of(mapping: &Mapping, records: &Tasks) -> Vec<Self> {
        let lost = |(key, node): (u32, String)| {
            let record = records.get(&key).cloned().unwrap_or_default();
            Self { node, key, record }
        };
        mapping.lost_tasks().into_iter().map(lost).collect()
    }

    pub(crate) async fn into_snapshot(
        self,
        table: &Arc<Table>,
        reader: &Reader,
        pos: &Position,
        is_root: bool,
    ) -> Result<TaskSnapshot, RunError> {
        let Self { node, key, record } = self;
        Ok(TaskSnapshot {
            id: task_id(pos.meta.id, key),
            name: node,
            input: View::of_state(pos.state.clone(), table.schema.clone()),
            questions: reader.questions(table, &record).await?,
            error: record.error,
            result: None,
            answers: vec![],
            subgraph: false,
            state: None,
            attempts: record.attempts,
            failures: vec![],
            wake: None,
            awaits: vec![],
            effects: record.effects,
            ledger: Ledger::of_lost_task(reader, (pos.meta.id, key), is_root),
            activation: None,
        })
    }
}

impl Reader {
    /// Logs a warning that values of undeclared channels are carried along.
    pub(crate) fn warn_of_unknown_channels(&self, carried: &[CarriedRecord]) {
        let held = carried.iter().filter(|carried| carried.slot != Slot::Absent);
        let names: Vec<&str> = held.map(|carried| carried.channel.name.as_str()).collect();
        if !names.is_empty() {
            tracing::warn!(thread = %self.thread, channels = ?names, "stored channels that the state does not have are kept");
        }
    }
}

//! Checkpoints with their tasks in outline: of a graph, and of the subgraph that a task ran, whose checkpoints and past states
//! are found here. An outline is read from records: neither states nor journals.

use std::collections::BTreeMap;

use super::super::handle::{Thread, ThreadCore};
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Order, Source, TaskRecord, TaskStatus, decode_record};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::persist::load::PlannedTask;
use crate::graph::records::{BY_HANDLER, CheckpointInfo, ListedCheckpoint, Reader};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, State};
use crate::graph::view::event::task_id;
use crate::graph::view::{
    Activation, AnyChild, CheckpointOutline, Ledger, NestedSnapshot, ReadMode, Snapshot, TaskOutline, TaskSnapshot,
};

const READING: &str = "reading a subgraph of a thread";
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
    pub(crate) fn task(&self, id: &str) -> Option<&TaskOutline> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

/// Returns when the supersteps of checkpoints ended whose next checkpoint is among them.
fn ends_among(listed: &[ListedCheckpoint]) -> BTreeMap<CheckpointId, u64> {
    let end = |(_, record): &ListedCheckpoint| Some((ended_by(record)?, record.created_at));
    listed.iter().filter_map(end).collect()
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

/// A run of a subgraph in a task, as [`Thread::inside`] finds it: its checkpoints, newest first, and their states.
pub struct NestedRun {
    reader: Reader,
    child: AnyChild,
    /// Its newest checkpoint, and the namespace of all.
    tip: CheckpointId,
    namespace: String,
    /// The tasks whose subgraphs it is in, outermost first.
    callers: Vec<CallingTask>,
    root: ThreadCore,
}

/// A task that runs a subgraph.
#[derive(Clone)]
struct CallingTask {
    checkpoint: CheckpointId,
    outline: TaskOutline,
    activation: Activation,
    /// The subgraph that the task is of; none for the thread's own graph.
    graph: Option<AnyChild>,
}

impl std::fmt::Debug for NestedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NestedRun").field("namespace", &self.namespace).field("tip", &self.tip).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the run of a subgraph in a task of a checkpoint, for reading its past; of several runs the active one, else the
    /// first of the last attempt. A list of tasks leads into subgraphs of subgraphs, the task of the thread's own graph first; each
    /// is named by its checkpoint and its id. None if there is no such task, or it ran no subgraph whose state is stored.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn inside(&self, tasks: &[(CheckpointId, String)]) -> Result<Option<NestedRun>, RunError> {
        self.core.inside(tasks).await
    }
}

impl ThreadCore {
    fn inside<'a>(&'a self, tasks: &'a [(CheckpointId, String)]) -> Boxed<'a, Result<Option<NestedRun>, RunError>> {
        Box::pin(catch_panics(READING, async move {
            let Some(((checkpoint, id), rest)) = tasks.split_first() else { return Ok(None) };
            let (reader, _) = self.reader(READING).await?;
            let Some(record) = reader.record(*checkpoint).await?.filter(|record| record.namespace.is_empty()) else {
                return Ok(None);
            };
            let table = &self.graph.table;
            let listed = vec![(*checkpoint, record.clone())];
            let outlines = CheckpointOutline::read_all(table, &reader, listed).await?;
            let Some(task) = outlines.first().and_then(|outline| outline.task(id)) else { return Ok(None) };
            let children = table.node_index(&task.name).map_or(&[][..], |node| table.children_of(node));
            let found = FoundRun::of(&reader, &record, (task, children)).await?;
            let mut run = found.map(|found| found.into_run(self, (task, None), vec![]));
            for (checkpoint, id) in rest {
                let Some(above) = run else { return Ok(None) };
                run = above.inside(*checkpoint, id).await?;
            }
            Ok(run)
        }))
    }
}

/// The run of the subgraph that a task calls.
struct FoundRun {
    reader: Reader,
    child: AnyChild,
    caller: CheckpointId,
    tip: CheckpointId,
    namespace: String,
    activation: Activation,
}

impl FoundRun {
    /// Finds the run of a task of a checkpoint, whose node calls these subgraphs.
    async fn of(
        reader: &Reader,
        record: &CheckpointRecord,
        (task, children): (&TaskOutline, &[AnyChild]),
    ) -> Result<Option<Self>, RunError> {
        let Some(caller) = checkpoint_of(&task.id) else { return Ok(None) };
        let called = reader.children_of(caller, task.stored).await?;
        let stored = reader.task(caller, task.stored).await?.unwrap_or_default();
        let first = stored.first_call;
        let active = reader.active_child(&[(task.stored, stored)].into(), called).await?;
        let Some((_, call, tip)) = active else { return Ok(None) };
        let newest = reader.known_record(tip).await?;
        let same = children.iter().find(|child| child.0.fingerprint() == newest.shape);
        let Some(child) = same.or(children.first()).cloned() else { return Ok(None) };
        let before = record.children.iter().find(|(node, _)| *node == task.name && child.0.is_per_thread());
        let base = match before {
            Some((_, before)) => reader.record(*before).await?.map_or(0, |record| record.control.version),
            None => 0,
        };
        let by_handler = call >= BY_HANDLER;
        let call = call.saturating_sub(if by_handler { BY_HANDLER } else { first });
        let activation = Activation { call, by_handler, base };
        Ok(Some(Self { reader: reader.clone(), child, caller, tip, namespace: newest.namespace, activation }))
    }

    /// Returns the run with the tasks around it: its own in a graph, and those above.
    fn into_run(
        self,
        root: &ThreadCore,
        (task, graph): (&TaskOutline, Option<AnyChild>),
        mut callers: Vec<CallingTask>,
    ) -> NestedRun {
        let Self { reader, child, caller, tip, namespace, activation } = self;
        callers.push(CallingTask { checkpoint: caller, outline: task.clone(), activation, graph });
        NestedRun { reader, child, tip, namespace, callers, root: root.clone() }
    }
}

/// Returns the checkpoint in the id of a task.
fn checkpoint_of(task: &str) -> Option<CheckpointId> {
    task.split_once('-').and_then(|(checkpoint, _)| checkpoint.parse().ok()).map(CheckpointId)
}

impl NestedRun {
    /// Returns the nodes of the tasks whose subgraphs it is in, outermost first.
    pub fn path(&self) -> Vec<String> {
        self.callers.iter().map(|caller| caller.outline.name.clone()).collect()
    }

    /// Returns up to `limit` checkpoints before one of them, or the newest ones, newest first.
    ///
    /// # Errors
    /// [`RunError::UnknownCheckpoint`] if `before` is none of them; if the store cannot be read.
    pub async fn outline(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
    ) -> Result<Vec<CheckpointOutline>, RunError> {
        catch_panics(READING, self.read_outlines(before, limit)).await
    }

    async fn read_outlines(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
    ) -> Result<Vec<CheckpointOutline>, RunError> {
        let tip = match before {
            Some(before) => self.known(before).await?.parent,
            None => Some(self.tip),
        };
        let Some(tip) = tip else { return Ok(vec![]) };
        let (mut listed, mut line) = (vec![], self.reader.ancestors(tip, self.since()));
        while listed.len() < limit
            && let Some((id, Some(record))) = line.next().await?
        {
            listed.push((id, record));
        }
        self.child.0.outlines(&self.reader, listed).await
    }

    /// Returns one of its checkpoints with its tasks; none if it has no such checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn checkpoint(&self, at: CheckpointId) -> Result<Option<CheckpointOutline>, RunError> {
        catch_panics(READING, self.read_checkpoint(at)).await
    }

    async fn read_checkpoint(&self, at: CheckpointId) -> Result<Option<CheckpointOutline>, RunError> {
        let Ok(record) = self.known(at).await else { return Ok(None) };
        Ok(self.child.0.outlines(&self.reader, vec![(at, record)]).await?.pop())
    }

    /// Returns the state of one of its checkpoints as it was, with its tasks; none if it has no such checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn state(&self, at: CheckpointId) -> Result<Option<NestedSnapshot>, RunError> {
        catch_panics(READING, self.read_state(at)).await
    }

    async fn read_state(&self, at: CheckpointId) -> Result<Option<NestedSnapshot>, RunError> {
        if self.known(at).await.is_err() {
            return Ok(None);
        }
        let mut snapshot = self.child.0.read(&self.reader, at, (ReadMode::Past, false)).await?;
        if let Some((ledger, activation)) = self.ledger().await? {
            snapshot.tasks.iter_mut().for_each(|task| task.ledger.place_below(&ledger, activation));
        }
        Ok(Some(snapshot))
    }

    /// Returns the run of the subgraph that a task of one of its checkpoints calls.
    async fn inside(&self, checkpoint: CheckpointId, id: &str) -> Result<Option<Self>, RunError> {
        let (Ok(record), Some(outline)) = (self.known(checkpoint).await, self.checkpoint(checkpoint).await?) else {
            return Ok(None);
        };
        let Some(task) = outline.task(id) else { return Ok(None) };
        let found = FoundRun::of(&self.reader, &record, (task, self.child.0.children(&task.name))).await?;
        let graph = Some(self.child.clone());
        Ok(found.map(|found| found.into_run(&self.root, (task, graph), self.callers.clone())))
    }

    /// Returns the record of one of its checkpoints.
    async fn known(&self, id: CheckpointId) -> Result<CheckpointRecord, RunError> {
        let found = self.reader.record(id).await?;
        let is_own = |record: &CheckpointRecord| record.namespace == self.namespace && id > self.since();
        found.filter(is_own).ok_or_else(|| self.reader.unknown(id))
    }

    /// Returns the checkpoint after which all of its own were made.
    fn since(&self) -> CheckpointId {
        self.callers.last().map_or(CheckpointId(0), |caller| caller.checkpoint)
    }

    /// Returns the ledger of the task that calls it, and the activation.
    async fn ledger(&self) -> Result<Option<(Ledger, Activation)>, RunError> {
        let Some((first, rest)) = self.callers.split_first() else { return Ok(None) };
        let table = &self.root.graph.table;
        let snapshot = Snapshot::<AnyState>::read(table, &self.reader, first.checkpoint, ReadMode::Past, false).await?;
        let (mut found, mut activation) = (ledger_of(snapshot.tasks, first), first.activation);
        for caller in rest {
            let (Some(above), Some(graph)) = (&found, &caller.graph) else { return Ok(None) };
            let snapshot = graph.0.read(&self.reader, caller.checkpoint, (ReadMode::Past, false)).await?;
            let mut ledger = ledger_of(snapshot.tasks, caller);
            ledger.iter_mut().for_each(|ledger| ledger.place_below(above, activation));
            (found, activation) = (ledger, caller.activation);
        }
        Ok(found.map(|ledger| (ledger, activation)))
    }
}

/// Returns the ledger of a task among those of its checkpoint.
fn ledger_of(tasks: Vec<TaskSnapshot>, caller: &CallingTask) -> Option<Ledger> {
    tasks.into_iter().find(|task| task.id == caller.outline.id).map(|task| task.ledger)
}

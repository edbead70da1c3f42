//! Reading a thread: snapshots of checkpoints, of their tasks and of the present; drawings that show it. An unfinished or
//! failed run never makes reading fail (V3).

use std::sync::Arc;

use superstep_base::time::system_time;

use super::handle::{Thread, ThreadCore};
use super::journal::{NestedState, answer_info};
use super::migrate::{LostTask, inside, nested};
use crate::checkpoint::{CheckpointId, CheckpointRecord, FailureRecord, Slot};
use crate::graph::build::{DrawOptions, Table, ascii, dot};
use crate::graph::error::RunError;
use crate::graph::interrupt::AwaitedSignal;
use crate::graph::node::NodeId;
use crate::graph::records::{COMMAND_KEY, Mapping, Reader, Tasks};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::run::input;
use crate::graph::state::{AnyState, Boxed, Mask, State};
use crate::graph::superstep::position::merge_results;
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{Control, FinishedResult, Packet, Position, Task, TaskState};
use crate::graph::view::event::task_id;
use crate::graph::view::untyped::typed_json;
use crate::graph::view::{
    FailureInfo, Ledger, NestedRead, NestedSnapshot, ReadMode, Snapshot, StateSnapshot, TaskSnapshot, View,
};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the present state: with the results of tasks that ended since the newest checkpoint, and the pending
    /// questions. The effect of a command shows here once it has run, and in [`status`](Self::status) at once. None if
    /// the thread has never run. With [`at`](Self::at): that checkpoint as it was.
    ///
    /// # Errors
    /// If there is no store, it cannot be read, or the checkpoint is unknown.
    pub async fn state(&self) -> Result<Option<StateSnapshot<S>>, RunError> {
        Ok(self.core.state().await?.map(Snapshot::typed))
    }

    /// Returns the state with those of subgraphs in [`TaskSnapshot::state`](crate::graph::view::TaskSnapshot). Subgraphs show
    /// their present state, including results since their newest checkpoint, even below a checkpoint of the past.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_deep(&self) -> Result<Option<StateSnapshot<S>>, RunError> {
        Ok(self.core.state_deep().await?.map(Snapshot::typed))
    }

    /// Returns the graph as a mermaid flowchart, with the nodes to run next and the pending questions marked, and
    /// subgraphs expanded up to this depth.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn mermaid(&self, depth: usize) -> Result<String, RunError> {
        self.core.mermaid(depth).await
    }

    /// Returns the [`mermaid`](Self::mermaid) drawing in Graphviz's language.
    ///
    /// # Errors
    /// As [`mermaid`](Self::mermaid).
    pub async fn dot(&self, depth: usize) -> Result<String, RunError> {
        self.core.dot(depth).await
    }

    /// Returns the [`mermaid`](Self::mermaid) drawing as plain text.
    ///
    /// # Errors
    /// As [`mermaid`](Self::mermaid).
    pub async fn ascii(&self, depth: usize) -> Result<String, RunError> {
        self.core.ascii(depth).await
    }
}

impl ThreadCore {
    pub(crate) fn state(&self) -> Boxed<'_, Result<Option<Snapshot<AnyState>>, RunError>> {
        Box::pin(async move { catch_panics("reading a thread", self.snapshot(false)).await })
    }

    pub(crate) fn state_deep(&self) -> Boxed<'_, Result<Option<Snapshot<AnyState>>, RunError>> {
        Box::pin(async move { catch_panics("reading a thread", self.snapshot(true)).await })
    }

    async fn snapshot(&self, deep: bool) -> Result<Option<Snapshot<AnyState>>, RunError> {
        let (reader, head) = self.reader("reading a thread").await?;
        let reader = self.with_end_read(reader, head);
        self.check_at(&reader).await?;
        let newest = self.newest(&reader, head).await?.map(|(id, _)| id);
        let Some(id) = self.at.or(newest) else { return Ok(None) };
        let seen = if self.at.is_none() { ReadMode::Live } else { ReadMode::Past };
        Ok(Some(Snapshot::read(&self.graph.table, &reader, id, seen, deep).await?))
    }

    pub(crate) fn mermaid(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(self.graph.draw(&self.marks(depth).await?)) })
    }

    pub(crate) fn dot(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(dot::dot(&self.graph.drawing(), &self.marks(depth).await?)) })
    }

    pub(crate) fn ascii(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(ascii::ascii(&self.graph.drawing(), &self.marks(depth).await?)) })
    }

    async fn marks(&self, depth: usize) -> Result<DrawOptions, RunError> {
        let mut options = DrawOptions { expand: depth, ..DrawOptions::default() };
        if let Some(snapshot) = self.state_deep().await? {
            mark(&snapshot.next, &snapshot.tasks, "", &mut options);
        }
        Ok(options)
    }
}

/// Marks the nodes to run next and the pending questions, as paths of node names.
fn mark(next: &[String], tasks: &[TaskSnapshot], above: &str, options: &mut DrawOptions) {
    options.position.extend(next.iter().map(|node| format!("{above}{node}")));
    for task in tasks {
        let path = format!("{above}{}", task.name);
        match &task.state {
            Some(inside) => mark(&inside.next, &inside.tasks, &format!("{path}|"), options),
            None => {
                let open = task.questions.iter().filter(|question| !question.is_answered());
                options.asking.extend(open.map(|question| (path.clone(), question.name().to_owned())));
            }
        }
    }
}

impl<S: State> Snapshot<Arc<S>> {
    /// Returns the state as JSON, without secret channels. The schema is the graph's.
    pub fn json(&self, schema: &S::Schema) -> serde_json::Value {
        typed_json(&*self.values, schema)
    }
}

impl Snapshot<AnyState> {
    /// Returns the snapshot with the type of the state.
    pub(crate) fn typed<S: State>(self) -> Snapshot<Arc<S>> {
        self.map(|state| state.into_typed())
    }

    /// Reads a checkpoint.
    pub(crate) async fn read(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
        seen: ReadMode,
        deep: bool,
    ) -> Result<Self, RunError> {
        let (record, records) = load_records(reader, id).await?;
        Self::of(table, reader, id, record, records, seen, deep).await
    }

    /// Reads the present of a subgraph with those below it, and why it could not resume.
    pub(crate) async fn read_nested(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
    ) -> Result<NestedRead, RunError> {
        let (record, records) = load_records(reader, id).await?;
        let is_commanded = records.contains_key(&COMMAND_KEY);
        let snapshot = Self::of(table, reader, id, record, records, ReadMode::Live, true).await?;
        // Only a command changes what runs next, and so what could not resume.
        let misfits = if is_commanded {
            Self::read(table, reader, id, ReadMode::Now, false).await?.misfits
        } else {
            snapshot.misfits.clone()
        };
        Ok((snapshot.into_untyped(table), misfits))
    }

    /// Reads a checkpoint of a subgraph.
    pub(crate) async fn read_untyped(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
        (seen, deep): (ReadMode, bool),
    ) -> Result<NestedSnapshot, RunError> {
        Ok(Self::read(table, reader, id, seen, deep).await?.into_untyped(table))
    }

    pub(crate) async fn of(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
        record: CheckpointRecord,
        mut records: Tasks,
        seen: ReadMode,
        deep: bool,
    ) -> Result<Self, RunError> {
        // A past checkpoint is shown as it was, without the results that tasks have stored since.
        let live = seen != ReadMode::Past;
        let path = record.namespace.clone();
        // Channels that cannot be read are noted as incompatibilities, and the others are shown.
        let (mut pos, mapping) = reader.shown_position(table, id, record).await?;
        let was = (seen != ReadMode::Now).then(|| planned_tasks(table, &pos));
        reader.apply_stored_command(table, &mut pos, &path, &mut records, &mapping).await?;
        let mut tasks = was.unwrap_or_else(|| planned_tasks(table, &pos));
        // Tasks whose nodes this version of the graph no longer has are shown from their records.
        let lost = LostTask::of(&mapping, &records);
        reader.restore(table, &path, &mut tasks, records, &mapping).await?;
        reader.restore_effects(id, &path, &mut tasks, &mapping).await?;
        let done: Vec<&FinishedResult> = tasks.iter().filter_map(Task::result).collect();
        let values = if live && !done.is_empty() { with_results(table, &pos.state, &done) } else { pos.state.clone() };
        let next = tasks.iter().filter(|task| !live || !task.is_done());
        let next = next
            .map(|task| table.node_name(task.node).to_string())
            .chain(lost.iter().map(|lost| lost.node.clone()))
            .collect();
        let (mut shown, mut misfits) = (vec![], mapping.misfits());
        // A deep snapshot reads the subgraphs; otherwise they are only checked for whether they could resume.
        for task in &tasks {
            let found = if deep { nested(table, reader, (&pos, &mapping), task).await? } else { None };
            let (state, inside) = found.map_or((None, vec![]), |(state, inside)| (Some(state), inside));
            misfits.extend(inside.into_iter().filter(|_| live));
            shown.push(task_snapshot(table, reader, (&pos, &mapping), task, live, (state, path.is_empty())));
        }
        for lost in lost {
            shown.push(lost.into_snapshot(table, reader, &pos, path.is_empty()).await?);
        }
        if live && !deep {
            misfits.extend(inside(table, reader, (&pos, &mapping), &tasks).await?);
        }
        // Values of channels that this version does not declare stay with the thread.
        let carried = pos.channels.unknown.iter().filter(|carried| carried.slot != Slot::Absent);
        let carried = carried.map(|carried| carried.channel.name.clone()).collect();
        Ok(Self {
            values,
            id,
            parent: pos.meta.parent,
            source: pos.meta.source,
            step: pos.meta.step,
            created_at: pos.meta.created_at,
            next,
            tasks: shown,
            metadata: pos.meta.metadata,
            carried,
            misfits,
        })
    }

    fn into_untyped(self, table: &Arc<Table>) -> NestedSnapshot {
        self.map(|state| View::of_state(state, table.schema.clone()))
    }
}

/// Returns the record of a checkpoint and those of its tasks.
async fn load_records(reader: &Reader, checkpoint: CheckpointId) -> Result<(CheckpointRecord, Tasks), RunError> {
    Ok((reader.known_record(checkpoint).await?, reader.tasks(checkpoint).await?))
}

impl Reader {
    /// Applies the commands that were stored at a checkpoint since it was made.
    pub(crate) async fn apply_stored_command(
        &self,
        table: &Table,
        pos: &mut Position,
        path: &str,
        records: &mut Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        if let Some(command) = records.remove(&COMMAND_KEY) {
            let command: FinishedResult = self.load_result(table, path, &command, mapping).await?;
            add_command(table, pos, &command);
        }
        Ok(())
    }
}

/// Schedules what a command scheduled that is stored beside the position's checkpoint. It has no writes: a command with some
/// makes a checkpoint.
pub(crate) fn add_command(table: &Table, pos: &mut Position, command: &FinishedResult) {
    let control: &mut Control<Packet> = &mut pos.control;
    let mut applying = control.begin(&table.wiring, &[]);
    command.routing.targets.iter().for_each(|&node| control.trigger(&table.wiring, &mut applying, node));
    control.note_goto(COMMAND_KEY, &command.routing.targets, command.routing.sends.len() as u32);
    control.sends.extend(command.routing.sends.iter().cloned());
    control.end(&table.wiring, &applying, false);
}

/// Returns the state with results that no checkpoint holds yet, as a reader sees it: without values that live for one
/// superstep, with those that become visible at the end of the run. The state itself if they cannot be applied (V3).
pub(crate) fn with_results(table: &Table, state: &AnyState, done: &[&FinishedResult]) -> AnyState {
    let Some((mut merged, _)) = merge_results(table, state, done) else { return state.clone() };
    let mut changed = Mask::default();
    table.schema.end_step(&mut merged, &Mask::default(), &mut changed);
    table.schema.finish(&mut merged, &mut changed);
    merged
}

fn task_snapshot(
    table: &Arc<Table>,
    reader: &Reader,
    (pos, mapping): (&Position, &Mapping),
    task: &Task,
    live: bool,
    (inside, is_root): (Option<NestedState>, bool),
) -> TaskSnapshot {
    let (state, activation) = inside.map_or((None, None), |(state, activation)| (Some(state), activation));
    let writes = |done: &FinishedResult| View::of_writes(done.writes.clone(), table.schema.clone());
    let mut shown = TaskSnapshot {
        id: task_id(pos.meta.id, task.key),
        name: table.node_name(task.node).to_string(),
        input: input(table, &pos.state, task),
        error: task.record.error.clone(),
        result: task.result().filter(|_| task.record.handled.is_none()).map(writes),
        answers: answer_info(table, task),
        questions: if live && task.is_done() { vec![] } else { task.asked.to_vec() },
        subgraph: table.children_of(task.node).iter().any(|child| child.0.is_kept()),
        state,
        attempts: task.starts.all,
        failures: failures(task),
        wake: task.record.wake.or(task.starts.not_before).filter(|_| !task.is_done()).map(system_time),
        awaits: awaited_signals(task),
        effects: task.record.effects,
        ledger: Ledger::of(table, reader, pos, (pos.meta.id, mapping.stored_task(task.key)), task, is_root),
        activation,
    };
    if is_root {
        shown.settle_below();
    }
    shown
}

/// Returns the failures of a task; the number of the attempt is known for the last ones.
fn failures(task: &Task) -> Vec<FailureInfo> {
    let unknown = task.record.failures.len().saturating_sub(task.record.failed.len());
    let attempts = std::iter::repeat_n(None, unknown).chain(task.record.failed.iter().copied().map(Some));
    let info = |(failure, attempt): (&FailureRecord, Option<u32>)| FailureInfo {
        attempt,
        error: failure.error.clone(),
        at: failure.at,
    };
    task.record.failures.iter().zip(attempts).map(info).collect()
}

fn awaited_signals(task: &Task) -> Vec<AwaitedSignal> {
    let waits = matches!(task.state, TaskState::Asked { .. });
    if waits { task.record.receives.iter().map(AwaitedSignal::from).collect() } else { vec![] }
}

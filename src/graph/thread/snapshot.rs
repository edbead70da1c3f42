//! Reading a thread: snapshots of checkpoints and of the present. Never fails because of what a run left (V3).

use std::fmt;
use std::sync::Arc;

use crate::checkpoint::{AnswerRecord, CheckpointId, CheckpointRecord, Slot, Source, TaskRecord, TaskStatus};

use super::history::CheckpointInfo;
use super::moving::{Lost, inside, nested};
use super::task_snapshot::{TaskSnapshot, task_snapshot};
use crate::graph::channels::mask::Mask;
use crate::graph::channels::merge::Merge;
use crate::graph::channels::state::State;
use crate::graph::compile::described::AnyChild;
use crate::graph::compile::table::Table;
use crate::graph::define::interrupt::{AnyQuestion, Question, Shows};
use crate::graph::define::node::NodeId;
use crate::graph::records::mapping::Mapping;
use crate::graph::records::misfit::Misfit;
use crate::graph::records::reader::{Reader, Tasks};
use crate::graph::run::control::{Control, START_NODE};
use crate::graph::run::error::RunError;
use crate::graph::run::position::{Finished, Packet, Position, apply_writes, merged};
use crate::graph::run::task::{COMMAND_KEY, Stand, Task, plan};
use crate::graph::run::view::{Shown, View, state_json};

/// A checkpoint as a reader sees it. LangGraph: `StateSnapshot`.
///
/// Its `Debug` shows a derived state as JSON, without secret channels.
#[derive(Clone)]
pub struct Snapshot<V> {
    /// The state.
    pub values: V,
    /// The checkpoint.
    pub id: CheckpointId,
    /// The checkpoint it followed.
    pub parent: Option<CheckpointId>,
    /// Why it was made.
    pub source: Source,
    /// Counts along the parent chain, from -1.
    pub step: i64,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// What runs next: a name for each task.
    pub next: Vec<String>,
    /// The tasks of the superstep that starts here.
    pub tasks: Vec<TaskSnapshot>,
    /// Words of the user's.
    pub metadata: Vec<(String, String)>,
    /// Stored channels that the state does not have. They are carried along, for the version of the graph that has them, until
    /// the state says that they are `removed`.
    pub carried: Vec<String>,
    /// Why this version of the graph cannot continue from here, if it cannot. A channel that cannot be read is among them
    /// ([`Misfit::Value`]): `values` has its initial value, or the entries of its log before the first unreadable one.
    pub misfits: Vec<Misfit>,
}

/// A snapshot of a graph over `S`.
pub type StateSnapshot<S> = Snapshot<Arc<S>>;
/// A snapshot of a subgraph of any type.
pub type Nested = Snapshot<View>;

impl<S: State> fmt::Debug for StateSnapshot<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(&Shown(&*self.values), f)
    }
}

impl fmt::Debug for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(&self.values, f)
    }
}

impl<V> Snapshot<V> {
    fn show(&self, values: &dyn fmt::Debug, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Snapshot");
        shown.field("values", values).field("id", &self.id).field("parent", &self.parent);
        shown.field("source", &self.source).field("step", &self.step).field("created_at", &self.created_at);
        shown.field("next", &self.next).field("tasks", &self.tasks).field("metadata", &self.metadata);
        if !self.carried.is_empty() {
            shown.field("carried", &self.carried);
        }
        if !self.misfits.is_empty() {
            shown.field("misfits", &self.misfits);
        }
        shown.finish()
    }

    /// Returns the snapshot without its state.
    pub fn info(&self) -> CheckpointInfo {
        let Self { id, parent, source, step, created_at, .. } = *self;
        CheckpointInfo { id, parent, source, step, created_at, metadata: self.metadata.clone() }
    }

    /// Returns the questions of all tasks: the open ones in a live snapshot, the last asked in one of a checkpoint.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.tasks.iter().flat_map(|task| &task.questions)
    }
}

/// An answer that a task has got.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerInfo {
    /// The name of the question's type.
    pub name: String,
    /// The answer as JSON.
    pub value: serde_json::Value,
    /// Who answered.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
    pub note: Option<String>,
}

/// How a checkpoint is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// As it was.
    Past,
    /// With the results of tasks that have ended since, and only what is still open.
    Live,
    /// The same, and with what commands from outside led to since, which LangGraph shows only once it has run.
    Now,
}

impl<S: State> Snapshot<Arc<S>> {
    /// Returns the state as JSON, without secret channels. The schema is the graph's.
    pub fn json(&self, schema: &S::Schema) -> serde_json::Value {
        state_json(&*self.values, schema, None)
    }

    /// Reads a checkpoint.
    pub(crate) async fn read<N: NodeId, C: Send + Sync + 'static>(
        table: &Arc<Table<S, N, C>>,
        reader: &Reader,
        id: CheckpointId,
        seen: Seen,
        deep: bool,
    ) -> Result<Self, RunError> {
        let record = reader.record(id).await?.ok_or_else(|| unknown(reader, id))?;
        let records = reader.tasks(id).await?;
        Self::of(table, reader, id, record, records, seen, deep).await
    }

    pub(crate) async fn of<N: NodeId, C: Send + Sync + 'static>(
        table: &Arc<Table<S, N, C>>,
        reader: &Reader,
        id: CheckpointId,
        record: CheckpointRecord,
        mut records: Tasks,
        seen: Seen,
        deep: bool,
    ) -> Result<Self, RunError> {
        let live = seen != Seen::Past;
        let path = record.namespace.clone();
        let (mut pos, mapping) = reader.shown_position(table, id, record).await?;
        let was = (seen != Seen::Now).then(|| planned(table, &pos));
        reader.commanded(table, &mut pos, &path, &mut records, &mapping).await?;
        let mut tasks = was.unwrap_or_else(|| planned(table, &pos));
        let lost = Lost::of(&mapping, &records);
        reader.restore(table, &path, &mut tasks, records, &mapping).await?;
        reader.restore_effects(id, &path, &mut tasks, &mapping).await?;
        let done: Vec<&Finished<S>> = tasks.iter().filter_map(result).collect();
        let values =
            if live && !done.is_empty() { with_results(table, &pos.state, &done) } else { Arc::clone(&pos.state) };
        let next = tasks.iter().filter(|task| !live || !task.is_done());
        let next = next.map(|task| name(table, task.node)).chain(lost.iter().map(|lost| lost.node.clone())).collect();
        let mut shown = vec![];
        for task in &tasks {
            let state = if deep { nested(table, reader, (&pos, &mapping), task).await? } else { None };
            shown.push(task_snapshot(table, reader, (&pos, &mapping), task, live, (state, path.is_empty())));
        }
        for lost in lost {
            shown.push(lost.shown(table, reader, &pos, path.is_empty()).await?);
        }
        let mut misfits = mapping.misfits();
        if live {
            misfits.extend(inside(table, reader, (&pos, &mapping), &tasks).await?);
        }
        let carried = pos.carried.iter().filter(|carried| carried.slot != Slot::Absent);
        let carried = carried.map(|carried| carried.channel.name.clone()).collect();
        Ok(Self {
            values,
            id,
            parent: pos.parent,
            source: pos.source,
            step: pos.step,
            created_at: pos.created_at,
            next,
            tasks: shown,
            metadata: pos.metadata,
            carried,
            misfits,
        })
    }

    pub(crate) fn erased<N: NodeId, C: Send + Sync + 'static>(self, table: &Arc<Table<S, N, C>>) -> Nested {
        Snapshot {
            values: View::of_state(self.values, Arc::clone(table)),
            id: self.id,
            parent: self.parent,
            source: self.source,
            step: self.step,
            created_at: self.created_at,
            next: self.next,
            tasks: self.tasks,
            metadata: self.metadata,
            carried: self.carried,
            misfits: self.misfits,
        }
    }
}

fn unknown(reader: &Reader, checkpoint: CheckpointId) -> RunError {
    RunError::UnknownCheckpoint { thread: reader.thread.clone(), checkpoint }
}

pub(crate) fn name<S: State, N: NodeId, C>(table: &Table<S, N, C>, node: u32) -> String {
    if node == START_NODE { "__start__".into() } else { table.row(node).name.to_string() }
}

/// The tasks that a position plans.
pub(crate) fn planned<S: State, N: NodeId, C>(table: &Table<S, N, C>, pos: &Position<S>) -> Vec<Task<S>> {
    let mut tasks = vec![];
    plan(table, pos, &mut vec![], &mut tasks);
    tasks
}

impl Reader {
    /// Brings a position to where commands from outside led it since its checkpoint was made.
    pub(crate) async fn commanded<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        pos: &mut Position<S>,
        path: &str,
        records: &mut Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        if let Some(command) = records.remove(&COMMAND_KEY) {
            let command: Finished<S> = self.finished(table, path, &command, mapping).await?;
            add_command(table, pos, &command);
        }
        Ok(())
    }
}

/// What a command from outside did to a checkpoint after it was made.
pub(crate) fn add_command<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    pos: &mut Position<S>,
    command: &Finished<S>,
) {
    let mut state = S::clone(&pos.state);
    if apply_writes(table, &mut state, command.writes.0.iter().cloned(), &mut Merge::default()).is_ok() {
        pos.state = Arc::new(state);
    }
    let control: &mut Control<Packet> = &mut pos.control;
    let mut applying = control.begin(&table.wiring, &[]);
    command.targets.iter().for_each(|&node| control.trigger(&table.wiring, &mut applying, node));
    control.sends.extend(command.sends.iter().cloned());
    control.end(&table.wiring, &applying, false);
}

pub(crate) fn result<S: State>(task: &Task<S>) -> Option<&Finished<S>> {
    match &task.stand {
        Stand::Done(done) => Some(done),
        Stand::Ready | Stand::Asked { .. } | Stand::Failed(_) => None,
    }
}

/// The state with results applied that no checkpoint holds yet, as a reader sees it: what lives for one superstep is not
/// shown, what waits for the end of the run is. As it is, if they cannot be applied (V3).
pub(crate) fn with_results<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    state: &Arc<S>,
    done: &[&Finished<S>],
) -> Arc<S> {
    let Some((mut merged, _)) = merged(table, state, done) else { return Arc::clone(state) };
    let mut changed = Mask::default();
    merged.end_step(&table.schema, &Mask::default(), &mut changed);
    merged.finish(&table.schema, &mut changed);
    Arc::new(merged)
}

pub(crate) fn input<S: State, N: NodeId, C: Send + Sync + 'static>(
    table: &Arc<Table<S, N, C>>,
    pos: &Position<S>,
    task: &Task<S>,
) -> View {
    let reads = (task.node != START_NODE).then(|| table.row(task.node).reads.clone()).flatten();
    match (&task.packet, reads) {
        (Some(packet), _) => View::of_payload(Arc::clone(&packet.payload)),
        (None, Some(only)) => View::of_part(Arc::clone(&pos.state), Arc::clone(table), only),
        (None, None) => View::of_state(Arc::clone(&pos.state), Arc::clone(table)),
    }
}

/// The answers that a task has got, as a reader sees them.
pub(crate) fn answer_info<S: State, N: NodeId, C>(table: &Table<S, N, C>, task: &Task<S>) -> Vec<AnswerInfo> {
    let values = task.answers.iter().flat_map(|known| known.answers.values());
    let shows = |name: &str| table.asks(name).map_or_else(Shows::of::<AnyQuestion>, |asks| asks.shows);
    let info = |(record, bytes): (&AnswerRecord, &Vec<u8>)| AnswerInfo {
        name: record.name.clone(),
        value: (shows(&record.name).answer)(bytes),
        by: record.by.clone(),
        at: record.at,
        note: record.note.clone(),
    };
    task.answered.iter().zip(values).map(info).collect()
}

pub(crate) fn children_of<S: State, N: NodeId, C>(table: &Table<S, N, C>, node: u32) -> &[AnyChild] {
    if node == START_NODE { &[] } else { &table.row(node).children }
}

/// Whether a record says that its task failed.
pub(crate) fn is_failed(record: &TaskRecord) -> bool {
    record.status == TaskStatus::Failed
}

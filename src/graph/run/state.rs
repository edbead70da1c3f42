//! The state of a run, grouped by lifetime: the run, its superstep, its next commit; and notes on a superstep that it leaves
//! interrupted, for the next run of the same graph.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use tracing::Span;

use super::delta::Delta;
use crate::checkpoint::{CheckpointId, CheckpointRecord, TaskRecord};
use crate::graph::build::{StopOverrides, Table};
use crate::graph::context::{Exit, GraphScope, RunShared, StateCell, StateLocations, TaskCtx};
use crate::graph::interrupt::Question;
use crate::graph::node::{Name, Target};
use crate::graph::records::{Caller, Puts, Recorder};
use crate::graph::state::{AnyState, Mask, Merge, UndoLog};
use crate::graph::superstep::writes::apply_writes;
use crate::graph::superstep::{FinishedResult, Position, RouterView, Task, TaskState};

/// A run of a graph or of a subgraph.
pub(crate) struct Run {
    pub table: Arc<Table>,
    pub shared: Arc<RunShared>,
    pub scope: Arc<GraphScope>,
    pub pos: Position,
    pub step: StepState,
    pub stops: StopConditions,
    pub input: FirstInput,
    pub outbox: Outbox,
    pub child: ChildState,
    pub reusable: StepBuffers,
}

#[derive(Default)]
pub(crate) struct StepState {
    pub tasks: Vec<Task>,
    /// Set once the tasks are planned or loaded.
    pub planned: bool,
    /// The number of pending questions, counted from the first task that interrupts.
    pub open_questions: Option<usize>,
    /// Set if an earlier run left the superstep interrupted, and at the end of a run that leaves it.
    pub left: Option<StepNotes>,
    pub has_failed: bool,
    /// Set if a task runs once more because its answers were rematched.
    pub runs_again: bool,
    /// The reason why a subgraph stopped before its end, other than a question.
    pub halted: Option<Exit>,
    /// The state, while a lone task may have it.
    pub moved_state: Option<Arc<StateCell>>,
    /// The nodes of the superstep before, for the stream.
    pub just_ran: Vec<u32>,
    pub span: Option<Span>,
    pub router_view: Mutex<RouterView>,
}

/// The breakpoints and the recursion limit of a run.
pub(crate) struct StopConditions {
    /// The last superstep that the recursion limit allows.
    pub last_step: i64,
    /// Cleared for the superstep that a resumed run starts with.
    pub breakpoints_active: bool,
    pub overrides: StopOverrides,
    /// The number of supersteps so far, START not counted.
    pub supersteps: u64,
}

impl Default for StopConditions {
    fn default() -> Self {
        Self { last_step: 0, breakpoints_active: true, overrides: StopOverrides::default(), supersteps: 0 }
    }
}

/// The input of a run, until START has run.
#[derive(Default)]
pub(crate) struct FirstInput {
    /// The goto of a command that starts the thread, followed besides START's edges.
    pub goto: Vec<Target<Name>>,
    /// The input as JSON, for the routers after START.
    pub raw: Option<Arc<Map<String, Value>>>,
    /// Set if the state is the parent's and has to be stored.
    pub adopted: bool,
    /// Locations of the parent's values in the store.
    pub locations: Option<Arc<StateLocations>>,
}

/// Records for the next commit, and the parent of the next checkpoint.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Records of the input; they are committed with START.
    pub input: Puts,
    /// Records of finished siblings.
    pub finished: Puts,
    /// Set if listeners have seen results that may not be on disk.
    pub unacknowledged: bool,
    /// Changes of `update_state` beside the next checkpoint.
    pub beside: Puts,
    /// The writes of `update_state`.
    pub update: Option<Box<TaskRecord>>,
    /// Durability `exit` only: the parent of the run's one checkpoint.
    pub exit_parent: Option<CheckpointId>,
    /// The checkpoint before the present one.
    pub previous: CheckpointId,
    /// True if the checkpoint that the run started from has a parent.
    pub had_parent: bool,
}

impl Outbox {
    fn after(pos: &Position) -> Self {
        let (exit_parent, had_parent) = (pos.is_stored().then_some(pos.meta.id), pos.meta.parent.is_some());
        Self { exit_parent, had_parent, ..Self::default() }
    }
}

/// The relation of a subgraph to its caller; empty for the root graph.
#[derive(Default)]
pub(crate) struct ChildState {
    pub caller: Option<Caller>,
    /// Set by `update_state` on a subgraph that no task runs: the checkpoint that points at it.
    pub pointer: Option<Box<ParentPointer>>,
    /// The changes of a subgraph over its parent's state.
    pub delta: Option<Delta>,
    /// Set if that state itself was taken, not a copy.
    pub taken_state: Option<ParentState>,
    /// The last state that wrote an output channel, once later supersteps did not; returned to the caller.
    pub last_shown: Option<AnyState>,
    /// Set once a superstep wrote an output channel.
    pub has_shown: bool,
    /// The channels that its nodes have written in this run.
    pub written: Mask,
    /// Set if an earlier run started it.
    pub is_resumed: bool,
    /// Set if the enclosing task ends with it, in the same moment.
    pub is_whole_task: bool,
}

/// The state of the graph around, which a subgraph over it has taken.
pub(crate) struct ParentState {
    pub from: Arc<StateCell>,
    /// The subgraph's writes, to be undone.
    pub undo: UndoLog,
}

/// The checkpoint that holds the pointer to a subgraph with state of its own, and the name of that pointer.
#[derive(Debug)]
pub(crate) struct ParentPointer {
    pub id: CheckpointId,
    pub record: CheckpointRecord,
    pub name: String,
}

/// Buffers that one superstep leaves to the next.
#[derive(Default)]
pub(crate) struct StepBuffers {
    pub merge: Merge,
    pub context: Option<Arc<TaskCtx>>,
    /// The context of a task in a run without a store or listeners, which did nothing but return a result.
    pub plain_context: Option<Arc<TaskCtx>>,
    pub pulls: Vec<u32>,
    /// The result of a lone task, emptied.
    pub result: Option<Box<FinishedResult>>,
}

impl Run {
    pub(crate) fn new(table: Arc<Table>, shared: Arc<RunShared>, scope: Arc<GraphScope>, mut pos: Position) -> Self {
        pos.meta.metadata.clone_from(&shared.metadata);
        Self {
            table,
            shared,
            scope,
            outbox: Outbox::after(&pos),
            pos,
            step: StepState::default(),
            stops: StopConditions::default(),
            input: FirstInput::default(),
            child: ChildState::default(),
            reusable: StepBuffers::default(),
        }
    }

    /// The store, unless this run is inside a subgraph whose state is not kept.
    pub(crate) fn recorder(&self) -> Option<&Arc<Recorder>> {
        if self.scope.unsaved { None } else { self.shared.recorder.as_ref() }
    }

    /// Sets the recursion limit, counted from here.
    pub(crate) fn limit(&mut self) {
        let limit = i64::try_from(self.shared.limits.recursion).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
        self.stops.last_step = (self.pos.meta.step + 1).saturating_add(limit).saturating_add(1);
    }

    /// Keeps a checkpoint that LangGraph does not make (V7) from counting towards the recursion limit.
    pub(crate) fn allow_extra_step(&mut self) {
        self.stops.last_step = self.stops.last_step.saturating_add(1);
    }

    pub(crate) fn is_root(&self) -> bool {
        self.scope.names.is_empty()
    }
}

/// Notes of a run on the superstep that it leaves, so that the next run looks only at the tasks that it changes.
pub(crate) struct StepNotes {
    pub(super) ends: TaskEnds,
    /// The state with the results so far, in the order in which the tasks finished; none without results.
    pub(super) checked: Option<(AnyState, Merge)>,
    /// The earliest time at which a question expires, in milliseconds since 1970.
    pub(super) expires: Option<u64>,
    /// The indexes of the tasks that this run changes; no other task runs.
    pub changed: Vec<usize>,
}

impl StepNotes {
    /// Returns true if a question has expired by this time.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Returns true if there is a copy of the state with results.
    pub(crate) fn has_results(&self) -> bool {
        self.checked.is_some()
    }

    /// Notes the ends of the tasks that the run changed. Returns nothing if results cannot be applied in this order.
    pub(super) fn with_ends(mut self, table: &Table, state: &AnyState, tasks: &[Task]) -> Option<Self> {
        for &at in &self.changed {
            self.ends.set(at, &tasks[at]);
            if let TaskState::Done(done) = &tasks[at].state {
                let (state, merge) = self.checked.get_or_insert_with(|| (state.clone(), Merge::default()));
                apply_writes(table, state, done.writes.0.iter().cloned(), merge).ok()?;
            }
        }
        Some(self)
    }
}

/// A superstep that a run left, with its tasks.
pub(crate) struct StoppedStep {
    pub(super) tasks: Vec<Task>,
    pub(super) open: usize,
    pub left: StepNotes,
}

impl StoppedStep {
    /// Returns the number of its tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}

/// The number of tasks that are copied together.
const CHUNK: usize = 64;

/// The ends of a superstep's tasks, in the order of the tasks.
#[derive(Clone, Default)]
pub(crate) struct TaskEnds(Vec<Arc<Vec<TaskEnd>>>);

/// A task, and its end so far.
#[derive(Clone)]
pub(crate) struct TaskEnd {
    pub node: u32,
    pub is_edge: bool,
    pub end: EndKind,
}

#[derive(Clone)]
pub(crate) enum EndKind {
    /// Its pending questions.
    Asked(Arc<[Question]>),
    /// Its result: writes, and the nodes it leads to.
    Done(Arc<FinishedResult>),
    /// It has no result yet, or failed.
    Open,
}

impl TaskEnds {
    /// Returns the ends of tasks.
    pub(crate) fn of(tasks: &[Task]) -> Self {
        Self(tasks.chunks(CHUNK).map(|chunk| Arc::new(chunk.iter().map(TaskEnd::of).collect())).collect())
    }

    /// Notes the end of the task at this index.
    pub(crate) fn set(&mut self, at: usize, task: &Task) {
        if let Some(end) = self.0.get_mut(at / CHUNK).and_then(|chunk| Arc::make_mut(chunk).get_mut(at % CHUNK)) {
            *end = TaskEnd::of(task);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TaskEnd> {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }
}

impl TaskEnd {
    fn of(task: &Task) -> Self {
        let end = match &task.state {
            TaskState::Asked { questions, .. } => EndKind::Asked(Arc::clone(questions)),
            TaskState::Done(done) => EndKind::Done(Arc::new(done.result())),
            TaskState::Ready | TaskState::Failed(_) => EndKind::Open,
        };
        Self { node: task.node, is_edge: task.is_edge(), end }
    }

    pub(crate) fn result(&self) -> Option<(u32, &FinishedResult)> {
        match &self.end {
            EndKind::Done(done) => Some((self.node, done)),
            EndKind::Asked(_) | EndKind::Open => None,
        }
    }

    pub(crate) fn asks(&self) -> &[Question] {
        match &self.end {
            EndKind::Asked(questions) => questions,
            EndKind::Done(_) | EndKind::Open => &[],
        }
    }
}

//! Starting a subgraph: with new input, with its stored state, or where it stopped.
//!
//! A graph gives its state away while its one task runs, so that the writes of a subgraph over it need no copy. It comes back
//! as it was, however the task ends.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::children::{base_version, last_checkpoint, lasting_path, load_kept, own_name, pointer_number};
use super::delta::Delta;
use super::state::{ParentState, Run};
use crate::checkpoint::{CheckpointId, Slot};
use crate::graph::build::{GraphCore, Persistence};
use crate::graph::context::{GraphScope, JournalScope, QuestionScope, StateCell, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::records::reader::reader;
use crate::graph::records::{Caller, Reader, SENT};
use crate::graph::state::{AnyState, AnyWrites, UndoLog};
use crate::graph::superstep::Position;

/// The state that a child runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateMode {
    Shared,
    /// Its own, as a node.
    Mapped,
    /// Its own, called by the body of a node.
    Own,
}

/// The input of a child.
pub(crate) enum ChildInput {
    /// The parent's state; only changes are returned (V8). It came from there if nobody else has it.
    State(AnyState, Option<Arc<StateCell>>),
    Input(AnyWrites),
}

pub(crate) fn graph_scope(ctx: &Arc<TaskCtx>, persistence: Persistence, call: u32) -> GraphScope {
    let (task, above) = (ctx, &ctx.scope);
    let mut names = above.names.to_vec();
    names.push(task.facts.name.to_string());
    if call > 0 {
        names.push(format!("#{call}"));
    }
    let places = if task.has_listeners() { places(ctx, call) } else { [].into() };
    let own = own_name(ctx, call);
    let path = match persistence {
        // tasks of one worker run concurrently
        Persistence::PerThread if task.at.task >= SENT => {
            format!("{}/{own}~{}.{:x}", lasting_path(&above.path), task.at.checkpoint, task.at.task)
        }
        Persistence::PerThread => format!("{}/{own}", lasting_path(&above.path)),
        _ => format!("{}/{own}:{}.{:x}", above.path, task.at.checkpoint, task.at.task),
    };
    let keeps_own = persistence == Persistence::PerThread;
    let kept = task.shared.recorder.is_some() || task.shared.replay.is_some();
    let unsaved = above.unsaved || persistence == Persistence::Stateless || !kept;
    let (owner, asker) =
        if unsaved { (Some(task.question_owner()), task.asker_inside(call)) } else { (None, String::new()) };
    let beats = above.beats.iter().chain(&task.attempt.beat).cloned().collect();
    let questions = QuestionScope { owner, asker };
    let journal = JournalScope { journal: Some(Arc::clone(task.journal())), path: task.path_below(call), base: 0 };
    GraphScope { names: names.into(), places, path, keeps_own, unsaved, questions, beats, journal }
}

/// Returns the namespace of events that a call of a task emits.
fn places(ctx: &Arc<TaskCtx>, call: u32) -> Arc<[String]> {
    let own = ctx.event_task().path;
    own.iter().cloned().chain((call > 0).then(|| format!("#{call}"))).collect()
}

/// Starts the child, or resumes it where it stopped.
pub(crate) async fn open(
    child: &GraphCore,
    begin: impl FnOnce() -> ChildInput,
    mode: StateMode,
    ctx: &Arc<TaskCtx>,
    call: u32,
) -> Result<ChildRunGuard, RunError> {
    let task = ctx;
    let scope = Arc::new(graph_scope(ctx, child.persistence, call));
    let caller = Caller { checkpoint: task.at.checkpoint, task: task.at.task, call: pointer_number(ctx, call) };
    let recorder = if scope.unsaved { None } else { task.shared.recorder.clone() };
    let Some(recorder) = recorder else {
        return new_child_run(child, (Position::empty(&child.table), false), begin(), ctx, scope, caller);
    };
    let reader = reader(&recorder);
    let paused =
        if task.attempt.again { reader.child(caller.checkpoint, caller.task, caller.call).await? } else { None };
    if let Some(id) = paused {
        let base = base_version(&reader, ctx, child.persistence, call).await?;
        let scope = Arc::new(GraphScope::clone(&scope).since_version(base));
        let mut run = resume(child, &reader, id, ctx, scope, caller).await?;
        if mode == StateMode::Shared {
            let mut delta = Delta::read(&child.table, &reader, id).await?;
            let emptied = (0..run.pos.channels.slots.len()).filter(|&at| run.pos.channels.slots[at] == Slot::Absent);
            emptied.for_each(|channel| delta.forget(channel));
            run.child.delta = Some(delta);
        }
        return Ok(ChildRunGuard(run));
    }
    let Some(id) = last_checkpoint(ctx, child.persistence, call) else {
        let mut pos = Position::empty(&child.table);
        pos.children = child.table.children_now(ctx.kept_below(&own_name(ctx, call)));
        return new_child_run(child, (pos, false), begin(), ctx, scope, caller);
    };
    let (pos, scope, apart) = load_kept(child, &reader, id, scope, task.at.task >= SENT).await?;
    let scope = Arc::new(GraphScope::clone(&scope).since_version(pos.control.version));
    new_child_run(child, (pos, apart), begin(), ctx, scope, caller)
}

/// Resumes the child from its checkpoint.
async fn resume(
    child: &GraphCore,
    reader: &Reader,
    id: CheckpointId,
    ctx: &Arc<TaskCtx>,
    scope: Arc<GraphScope>,
    caller: Caller,
) -> Result<Run, RunError> {
    let record = reader.record(id).await?.ok_or_else(|| reader.missing_subgraph())?;
    // The child of a fork keeps the namespace of its origin, which names its logs.
    let scope = Arc::new(GraphScope { path: record.namespace.clone(), ..GraphScope::clone(&scope) });
    let (pos, mut mapping) = reader.position(&child.table, id, record).await?;
    let mut run = Run::new(Arc::clone(&child.table), Arc::clone(&ctx.shared), scope, pos);
    run.child.caller = Some(caller);
    run.stops.breakpoints_active = false;
    run.limit();
    let mut records = reader.tasks(id).await?;
    if !mapping.is_same() {
        records = run.migrate(reader, records, &mapping).await?;
        mapping = run.own_mapping();
    }
    run.plan();
    let path = run.scope.path.clone();
    reader.restore(&child.table, &path, &mut run.step.tasks, records, &mapping).await?;
    run.wake_due();
    run.wake_signalled().await?;
    mapping.check(reader)?;
    (run.child.has_shown, run.child.is_resumed) = (true, true);
    run.emit_values().await;
    Ok(run)
}

fn new_child_run(
    child: &GraphCore,
    (pos, apart): (Position, bool),
    begin: ChildInput,
    ctx: &Arc<TaskCtx>,
    scope: Arc<GraphScope>,
    caller: Caller,
) -> Result<ChildRunGuard, RunError> {
    let mut run = ChildRunGuard(Run::new(Arc::clone(&child.table), Arc::clone(&ctx.shared), scope, pos));
    run.child.caller = Some(caller);
    run.limit();
    run.input.adopted = run.pos.is_stored() && apart;
    let input = match begin {
        ChildInput::Input(writes) => writes,
        ChildInput::State(state, from) => {
            run.input.locations = ctx.locations.clone().filter(|locations| locations.are_of(&state));
            run.pos.state = state;
            run.child.delta = Some(Delta::default());
            // Only what the subgraph's own channels note can be undone.
            let can_undo = run.table.schema.can_undo();
            if let Some(from) = from.as_ref().filter(|_| !can_undo) {
                from.put(run.pos.state.clone());
            }
            run.child.taken_state =
                from.filter(|_| can_undo).map(|from| ParentState { from, undo: UndoLog::default() });
            run.input.adopted = true;
            AnyWrites::default()
        }
    };
    run.begin_input(input)?;
    Ok(run)
}

impl Run {
    /// Returns true if a task of this node may have the state: it runs alone, and it may run a subgraph over the state.
    pub(super) fn may_move_state(&self, node: u32) -> bool {
        let may_need_it = !self.table.row(node).children.is_empty();
        self.step.tasks.len() == 1 && may_need_it && self.table.schema.can_undo()
    }

    /// Gives the state to the lone task, which has a copy of it.
    pub(super) fn move_state(&mut self, to: Option<Arc<StateCell>>) {
        if let Some(to) = to {
            to.put(std::mem::replace(&mut self.pos.state, AnyState::nothing()));
            self.step.moved_state = Some(to);
        }
    }

    /// Takes the state back from a task that has ended.
    pub(super) fn take_state_back(&mut self) {
        if let Some(state) = self.step.moved_state.take().and_then(|moved| moved.take()) {
            self.pos.state = state;
        }
    }

    /// Returns the state of the graph around as it was.
    pub(crate) fn return_state(&mut self) {
        self.take_state_back();
        let Some(ParentState { from, undo }) = self.child.taken_state.take() else { return };
        let mut state = std::mem::replace(&mut self.pos.state, AnyState::nothing());
        // If the drop of a value panics, the state is gone, and the graph around fails when it looks at it.
        if catch_panic(|| undo.undo(&self.table.schema, &mut state)).is_ok() {
            from.put(state);
        }
    }
}

/// A run of a subgraph, which returns the state that it has taken even if it is dropped.
pub(crate) struct ChildRunGuard(pub Run);

impl Drop for ChildRunGuard {
    fn drop(&mut self) {
        self.0.return_state();
    }
}

impl Deref for ChildRunGuard {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.0
    }
}

impl DerefMut for ChildRunGuard {
    fn deref_mut(&mut self) -> &mut Run {
        &mut self.0
    }
}

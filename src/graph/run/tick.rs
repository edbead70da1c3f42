//! The superstep loop: plan, run, apply, save, again. It holds the clock, the store and the tasks; the rules it follows are
//! pure functions elsewhere. LangGraph: `PregelLoop`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::delta::Delta;
use super::trace;
use crate::checkpoint::{CheckpointId, CheckpointRecord, TaskRecord};
use crate::graph::build::{Stops, Table};
use crate::graph::context::{Budget, Exit, Level, Shared, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::node::{NodeId, Target};
use crate::graph::records::{Caller, Puts, Recorder, START_NODE};
use crate::graph::state::{Mask, Merge, State, Writes};
use crate::graph::superstep::{Position, Task, task::plan};
use crate::graph::view::{EventKind, Mode, View};

/// The checkpoint that says where a subgraph with state of its own ended, and under which name.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub id: CheckpointId,
    pub record: CheckpointRecord,
    pub name: String,
}

pub(crate) struct Run<S: State, N, C> {
    pub table: Arc<Table<S, N, C>>,
    pub shared: Arc<Shared<C>>,
    pub level: Arc<Level>,
    pub pos: Position<S>,
    pub tasks: Vec<Task<S>>,
    pub stop: i64,
    /// Whether breakpoints count: not for the superstep that a resumed run begins with (X2).
    pub armed: bool,
    pub before: Option<Stops<u32>>,
    pub after: Option<Stops<u32>>,
    /// Why a subgraph came to rest before its end, if not by a question.
    pub halted: Option<Exit>,
    pub caller: Option<Caller>,
    /// Of a subgraph that is updated while no task runs it: the checkpoint that says where it stands.
    pub keeper: Option<Box<Keeper>>,
    /// Of an update from outside: what changes beside the next checkpoint.
    pub aside: Puts,
    /// What it wrote.
    pub by_hand: Option<TaskRecord>,
    /// Kept by subgraphs over the state of their parent.
    pub delta: Option<Delta<S>>,
    /// Where a command that began the thread goes besides START's edges.
    pub first_goto: Vec<Target<N>>,
    /// The input as it was given, for the routers after START.
    pub given: Option<Arc<Map<String, Value>>>,
    /// Whether the state was taken over from the parent and has to be stored whole.
    pub adopted: bool,
    /// Records of the input, which ride on START's commit.
    pub carry: Puts,
    /// Records of siblings that finished and are not queued yet.
    pub settled: Puts,
    /// Whether a listener was told of ends that may not be on disk.
    pub ahead: bool,
    pub merge: Merge,
    pub spare: Option<Arc<TaskCtx<C>>>,
    pub pulls: Vec<u32>,
    /// The nodes of the last superstep, kept for the stream.
    pub just_ran: Vec<u32>,
    /// How many questions of this superstep are open, once a task has asked.
    pub open: Option<usize>,
    /// Whether a task of this superstep has failed.
    pub has_failed: bool,
    /// Whether a task of this superstep runs once more: its answers were matched anew.
    pub runs_again: bool,
    pub ran: u64,
    /// With durability `exit`: what the one checkpoint of this run follows.
    pub exit_parent: Option<CheckpointId>,
    /// Of a subgraph: the state before supersteps that do not show. It hands this up, as its caller saw it last.
    pub left: Option<Arc<S>>,
    /// Of a subgraph: whether its caller has seen any state.
    pub shown: bool,
    /// Whether the checkpoint that this run began with has a parent.
    pub had_parent: bool,
    /// The checkpoint before the present one.
    pub came_from: CheckpointId,
    /// Whether the tasks were loaded, so that planning must not replace them.
    pub planned: bool,
    /// The superstep that a log is told of now.
    pub span: Option<Span>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    pub(crate) fn new(
        table: Arc<Table<S, N, C>>,
        shared: Arc<Shared<C>>,
        level: Arc<Level>,
        mut pos: Position<S>,
    ) -> Self {
        pos.metadata.clone_from(&shared.metadata);
        let (exit_parent, had_parent) = (pos.is_stored().then_some(pos.id), pos.parent.is_some());
        Self {
            table,
            shared,
            level,
            pos,
            tasks: vec![],
            stop: 0,
            armed: true,
            before: None,
            after: None,
            halted: None,
            caller: None,
            keeper: None,
            aside: vec![],
            by_hand: None,
            delta: None,
            first_goto: vec![],
            given: None,
            adopted: false,
            carry: vec![],
            settled: vec![],
            ahead: false,
            merge: Merge::default(),
            spare: None,
            pulls: vec![],
            just_ran: vec![],
            open: None,
            has_failed: false,
            runs_again: false,
            ran: 0,
            exit_parent,
            left: None,
            shown: false,
            had_parent,
            came_from: CheckpointId(0),
            planned: false,
            span: None,
        }
    }

    /// The store, unless this run is inside a subgraph whose state is not kept.
    pub(crate) fn recorder(&self) -> Option<&Arc<Recorder>> {
        if self.level.unsaved { None } else { self.shared.recorder.as_ref() }
    }

    /// Sets the recursion limit, counted from here. L1, L12.
    pub(crate) fn limit(&mut self) {
        let limit = i64::try_from(self.shared.limits.recursion).unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
        self.stop = (self.pos.step + 1).saturating_add(limit).saturating_add(1);
    }

    /// Keeps a checkpoint that LangGraph does not make (V7) from counting towards the recursion limit.
    pub(crate) fn does_not_count(&mut self) {
        self.stop = self.stop.saturating_add(1);
    }

    /// Runs supersteps until there is a reason to stop.
    pub(crate) async fn drive(&mut self) -> Result<Exit, RunError> {
        loop {
            let ticked = if self.shared.traced { self.traced_tick().await } else { self.tick().await };
            if let Some(exit) = ticked? {
                return Ok(exit);
            }
        }
    }

    async fn traced_tick(&mut self) -> Result<Option<Exit>, RunError> {
        self.plan();
        if self.tasks.is_empty() {
            return self.tick().await;
        }
        let span =
            trace::superstep_span(self.pos.step + 1, self.pos.is_stored().then_some(self.pos.id), self.tasks.len());
        self.span = Some(span.clone());
        Box::pin(self.tick()).instrument(span).await
    }

    async fn tick(&mut self) -> Result<Option<Exit>, RunError> {
        self.plan();
        let over = self.pos.step + 1 > self.stop;
        if self.shared.sink.is_some() {
            self.keep_carried().await?;
            self.emit_checkpoint().await;
        }
        if over {
            return Err(RunError::RecursionLimit { limit: self.shared.limits.recursion });
        }
        if self.tasks.is_empty() {
            return Ok(Some(Exit::Finished));
        }
        if let Some(exit) = self.must_stop().await {
            return Ok(Some(exit));
        }
        if self.shared.sink.is_some() {
            self.emit_starts().await;
        }
        loop {
            if !self.execute().await? {
                self.keep_attempts().await?;
                return Ok(Some(Exit::Cancelled));
            }
            let Some(exit) = self.unfinished()? else { break };
            if !exit.may_receive() || !self.wake_signalled().await? {
                return Ok(Some(exit));
            }
        }
        let (after, starting) = (self.stops_after(), self.pos.start.is_some());
        self.advance().await?;
        (self.armed, self.planned) = (true, false);
        self.ran += u64::from(!starting);
        if !starting && self.shared.budgets.supersteps.is_some() {
            self.shared.spent.fetch_add(1, Ordering::Relaxed);
        }
        if after {
            self.plan();
            self.emit_checkpoint().await;
            self.emit_breakpoint().await;
            return Ok(Some(Exit::Stopped));
        }
        if self.ran & 63 == 0 {
            tokio::task::consume_budget().await;
        }
        Ok(None)
    }

    /// Plans the next superstep.
    pub(crate) fn plan(&mut self) {
        if self.planned {
            return;
        }
        self.planned = true;
        plan(&self.table, &self.pos, &mut self.pulls, &mut self.tasks);
    }

    async fn must_stop(&self) -> Option<Exit> {
        if self.only_starts() {
            return None;
        }
        let before = self.before.as_ref().unwrap_or(&self.table.before);
        if self.armed && Table::<S, N, C>::stops_at(before, self.tasks.iter().map(|task| task.node)) {
            self.emit_breakpoint().await;
            return Some(Exit::Stopped);
        }
        if self.shared.cancel.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Some(Exit::Cancelled);
        }
        if self.shared.drain.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Some(Exit::Drained);
        }
        self.over_budget()
    }

    fn over_budget(&self) -> Option<Exit> {
        let budgets = &self.shared.budgets;
        if let Some(limit) = budgets.supersteps.filter(|&limit| self.shared.spent.load(Ordering::Relaxed) >= limit) {
            return Some(Exit::Budget(Budget::Supersteps(limit)));
        }
        let (until, limit) = budgets.until?;
        (Instant::now() >= until).then_some(Exit::Budget(Budget::WallTime(limit)))
    }

    fn only_starts(&self) -> bool {
        self.pos.start.is_some() && self.tasks.len() == 1
    }

    fn stops_after(&self) -> bool {
        let after = self.after.as_ref().unwrap_or(&self.table.after);
        !self.only_starts() && Table::<S, N, C>::stops_at(after, self.tasks.iter().map(|task| task.node))
    }

    /// The node's name, for errors and events.
    pub(crate) fn node_name(&self, node: u32) -> Arc<str> {
        if node == START_NODE { "__start__".into() } else { Arc::clone(&self.table.row(node).name) }
    }

    pub(crate) fn wants(&self, mode: Mode) -> bool {
        self.shared.sink.as_ref().is_some_and(|sink| sink.wants(mode, self.is_root()))
    }

    pub(crate) async fn emit(&self, step: i64, kind: EventKind) {
        if let Some(sink) = &self.shared.sink {
            sink.send(&self.level.places, step, kind).await;
        }
    }

    pub(crate) fn view(&self) -> View {
        self.shown(Arc::clone(&self.pos.state))
    }

    /// A graph may show only some channels.
    pub(crate) fn shown(&self, state: Arc<S>) -> View {
        let table = Arc::clone(&self.table);
        match self.output() {
            Some(only) => View::of_part(state, table, only.clone()),
            None => View::of_state(state, table),
        }
    }

    pub(crate) fn output(&self) -> Option<&Mask> {
        let whole = self.level.names.is_empty() && !self.shared.limits.only_output;
        if whole { None } else { self.table.output.as_ref() }
    }

    /// The writes that a stream shows.
    pub(crate) fn shown_writes(&self, writes: &Writes<S>) -> Writes<S> {
        let mut writes = writes.clone();
        if let Some(only) = self.output() {
            writes.0.retain(|write| only.contains(S::channel_of(write)));
        }
        writes
    }
}

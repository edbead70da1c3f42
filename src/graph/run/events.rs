//! Events of a graph's supersteps: their form, the same for a live run and a replay (`Emitter`), and when a run emits them.

use std::sync::Arc;

use super::apply::{all_channels, shows_output};
use super::finish::{Ending, HandledFailure};
use super::state::Run;
use crate::graph::build::Table;
use crate::graph::interrupt::Question;
use crate::graph::records::{Durability, Recorder, START_NODE};
use crate::graph::state::{AnyState, AnyWrites, Mask};
use crate::graph::superstep::{Position, Task, TaskState};
use crate::graph::view::{CheckpointView, EventKind, EventTask, Mode, Sink, TaskView, View};

/// Sends the events of one graph to a listener.
pub(crate) struct Emitter<'a> {
    pub table: &'a Arc<Table>,
    pub sink: &'a Sink,
    /// Nodes and tasks from the root graph down to this one.
    pub namespace: &'a Arc<[String]>,
    /// The output channels, if not all.
    pub output: Option<&'a Mask>,
}

/// The task that an event is about; made only for an event that a listener wants.
pub(crate) struct EventOrigin {
    pub step: i64,
    pub task: EventTask,
}

impl EventOrigin {
    /// Returns the origin with another node: the error handler of the task's own.
    pub(crate) fn with_node(self, node: Arc<str>) -> Self {
        Self { task: EventTask { node, ..self.task }, ..self }
    }
}

/// Returns the input of a task: its payload, or what its node reads of the state.
pub(crate) fn input(table: &Table, state: &AnyState, task: &Task) -> View {
    let (state, schema) = (state.clone(), table.schema.clone());
    let reads = (task.node != START_NODE).then(|| table.row(task.node).reads.clone()).flatten();
    match (&task.packet, reads) {
        (Some(packet), _) => View::of_payload(Arc::clone(&packet.payload)),
        (None, Some(only)) => View::of_part(state, schema, only),
        (None, None) => View::of_state(state, schema),
    }
}

impl Emitter<'_> {
    pub(crate) fn wants(&self, mode: Mode) -> bool {
        self.sink.wants(mode, self.namespace.is_empty())
    }

    /// Sends an event of the graph itself.
    async fn send(&self, step: i64, kind: EventKind) {
        self.sink.send(self.namespace, step, None, kind).await;
    }

    /// Sends an event of a task.
    pub(crate) async fn send_of(&self, origin: EventOrigin, kind: EventKind) {
        self.sink.send(self.namespace, origin.step, Some(origin.task), kind).await;
    }

    /// Emits a checkpoint, with the names of the nodes whose superstep made it.
    pub(crate) async fn checkpoint(&self, pos: &Position, tasks: Vec<TaskView>, ran: Vec<String>, has_parent: bool) {
        let view = CheckpointView {
            id: pos.is_stored().then_some(pos.meta.id),
            values: View::of_state(pos.state.clone(), self.table.schema.clone()),
            next: tasks.iter().map(|task| task.name.clone()).collect(),
            tasks,
            step: pos.meta.step,
            source: pos.meta.source,
            has_parent,
            parent: pos.meta.parent,
            ran,
        };
        self.send(pos.meta.step, EventKind::Checkpoint(Box::new(view))).await;
    }

    /// Returns the output channels of a state.
    pub(crate) fn output_view(&self, state: AnyState) -> View {
        match self.output {
            Some(only) => View::of_part(state, self.table.schema.clone(), only.clone()),
            None => View::of_state(state, self.table.schema.clone()),
        }
    }

    /// Returns the writes to output channels.
    fn shown_writes(&self, writes: &AnyWrites) -> AnyWrites {
        let mut writes = writes.clone();
        if let Some(only) = self.output {
            writes.0.retain(|write| only.contains(write.channel()));
        }
        writes
    }

    /// Returns the same for an event.
    pub(crate) fn writes_view(&self, writes: &AnyWrites) -> View {
        View::of_writes(self.shown_writes(writes), self.table.schema.clone())
    }

    pub(crate) async fn emit_start(
        &self,
        origin: impl FnOnce() -> EventOrigin,
        task: &Task,
        state: &AnyState,
        remaining_steps: i64,
    ) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let (input, sent) = (input(self.table, state, task), task.packet.is_some());
        self.send_of(origin(), EventKind::TaskStart { input, sent, remaining_steps }).await;
    }

    pub(crate) async fn update(&self, origin: impl FnOnce() -> EventOrigin, writes: &AnyWrites, cached: bool) {
        if !self.wants(Mode::Updates) {
            return;
        }
        self.send_of(origin(), EventKind::Update { writes: self.writes_view(writes), cached }).await;
    }

    /// Emits the end of a task with a result. A cached result shows as an update alone.
    pub(crate) async fn emit_done(&self, origin: impl Fn() -> EventOrigin, writes: &AnyWrites, cached: bool) {
        self.update(&origin, writes, cached).await;
        if !cached {
            self.emit_end(&origin, None, writes, vec![]).await;
        }
    }

    pub(crate) async fn failed(&self, origin: impl FnOnce() -> EventOrigin, error: Option<String>) {
        self.emit_end(origin, error, &AnyWrites::default(), vec![]).await;
    }

    /// Emits the end of a task that handed a command to the graph around its own.
    async fn handed_up(&self, origin: impl FnOnce() -> EventOrigin, dropped: Vec<String>) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let writes = View::of_writes(AnyWrites::default(), self.table.schema.clone());
        self.send_of(origin(), EventKind::TaskEnd { error: None, writes, questions: vec![], dropped }).await;
    }

    /// Emits the questions of a task, the state they were asked in, and the task's end.
    pub(crate) async fn emit_interrupt(
        &self,
        step: i64,
        origin: impl FnOnce() -> EventOrigin,
        questions: Vec<Question>,
        state: &AnyState,
    ) {
        if questions.is_empty() {
            return;
        }
        self.send(step, EventKind::Interrupt { questions: questions.clone() }).await;
        self.values(step, || state.clone(), questions.clone()).await;
        self.emit_end(origin, None, &AnyWrites::default(), questions).await;
    }

    async fn emit_end(
        &self,
        origin: impl FnOnce() -> EventOrigin,
        error: Option<String>,
        writes: &AnyWrites,
        questions: Vec<Question>,
    ) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let writes = View::of_writes(writes.clone(), self.table.schema.clone());
        self.send_of(origin(), EventKind::TaskEnd { error, writes, questions, dropped: vec![] }).await;
    }

    /// Emits a state; `state` is called only if a listener wants it.
    pub(crate) async fn values(&self, step: i64, state: impl FnOnce() -> AnyState, questions: Vec<Question>) {
        if self.wants(Mode::Values) {
            self.send(step, EventKind::Values { values: self.output_view(state()), questions }).await;
        }
    }
}

impl Run {
    /// Returns the node's name, for errors and events.
    pub(crate) fn node_name(&self, node: u32) -> Arc<str> {
        Arc::clone(self.table.node_name(node))
    }

    pub(crate) fn has_listeners(&self) -> bool {
        self.shared.events.sink.is_some()
    }

    /// Returns the emitter of the run's events; none without a listener.
    fn emitter(&self) -> Option<Emitter<'_>> {
        let (table, namespace, output) = (&self.table, &self.scope.places, self.output());
        self.shared.events.sink.as_ref().map(|sink| Emitter { table, sink, namespace, output })
    }

    pub(crate) fn wants(&self, mode: Mode) -> bool {
        self.emitter().is_some_and(|emitter| emitter.wants(mode))
    }

    async fn emit(&self, step: i64, kind: EventKind) {
        if let Some(emitter) = self.emitter() {
            emitter.send(step, kind).await;
        }
    }

    /// Returns the channels that a listener sees, if not all.
    pub(crate) fn output(&self) -> Option<&Mask> {
        let whole = self.scope.names.is_empty() && !self.shared.limits.only_output;
        if whole { None } else { self.table.channels.output.as_ref() }
    }

    /// Emits the checkpoint that the next superstep starts from.
    pub(crate) async fn emit_checkpoint(&self) {
        let Some(emitter) = self.emitter().filter(|emitter| emitter.wants(Mode::Checkpoints)) else { return };
        if self.recorder().is_some() {
            let tasks = self.step.tasks.iter().map(|task| self.task_view(task)).collect();
            let ran = self.step.just_ran.iter().map(|&node| self.node_name(node).to_string()).collect();
            emitter.checkpoint(&self.pos, tasks, ran, self.has_parent()).await;
        }
    }

    /// Returns true if the checkpoint has a parent. With durability `exit` nothing is stored yet: that is the parent of
    /// the checkpoint the run started from.
    fn has_parent(&self) -> bool {
        let exits = self.recorder().is_some_and(|recorder| recorder.durability() == Durability::Exit);
        if exits { self.outbox.had_parent } else { self.pos.meta.parent.is_some() }
    }

    /// Returns a task as a listener sees it. A failed one shows its error only.
    fn task_view(&self, task: &Task) -> TaskView {
        let result = match (&task.state, self.emitter()) {
            (TaskState::Done(done), Some(emitter)) if done.saved && task.record.error.is_none() => {
                Some(emitter.writes_view(&done.writes))
            }
            _ => None,
        };
        TaskView {
            id: self.scope.task_id(self.pos.meta.id, self.pos.meta.step + 1, task.key),
            name: self.node_name(task.node).to_string(),
            error: task.record.error.clone(),
            result,
            questions: if task.record.error.is_none() { task.asked.to_vec() } else { vec![] },
            subgraph: task.node != START_NODE && !self.table.row(task.node).children.is_empty(),
        }
    }

    /// Emits the starts of tasks, then the results of those that ended in an earlier run.
    pub(crate) async fn emit_starts(&self) {
        let Some(emitter) = self.emitter() else { return };
        let shown = || self.step.tasks.iter().enumerate().filter(|(_, task)| task.node != START_NODE);
        for (at, task) in shown() {
            let remaining = self.stops.last_step - (self.pos.meta.step + 1);
            emitter.emit_start(|| self.origin(at), task, &self.pos.state, remaining).await;
        }
        for (at, _) in shown() {
            self.emit_result(at, &self.node_name(self.step.tasks[at].node), true).await;
        }
    }

    /// Lets the reader take its events, if they share the state: applying results to a shared state copies it.
    pub(crate) async fn let_listener_read(&self) {
        if self.has_listeners() && self.pos.state.is_shared() {
            tokio::task::yield_now().await;
        }
    }

    fn origin(&self, at: usize) -> EventOrigin {
        let (step, task) = (self.pos.meta.step + 1, &self.step.tasks[at]);
        let (node, id) = (self.node_name(task.node), self.scope.task_id(self.pos.meta.id, step, task.key));
        EventOrigin { step, task: EventTask::below(&self.scope.places, node, id) }
    }

    /// Emits a breakpoint: an interrupt without questions.
    pub(crate) async fn emit_breakpoint(&self) {
        if self.is_root() {
            self.emit(self.pos.meta.step + 1, EventKind::Interrupt { questions: vec![] }).await;
        }
    }

    pub(crate) async fn emit_values(&self) {
        if let Some(emitter) = self.emitter() {
            emitter.values(self.pos.meta.step, || self.pos.state.clone(), vec![]).await;
        }
    }

    /// Emits the state after a superstep, if a listener sees a channel that was written: at the start of a subgraph over the state of the
    /// graph around it, all of them.
    pub(crate) async fn emit_shown_values(&self, starts: bool) {
        let all = (starts && self.child.delta.is_some()).then(|| all_channels(&self.table));
        let written = all.as_ref().unwrap_or_else(|| self.reusable.merge.written());
        if shows_output(&self.table, self.output(), written, &self.pos.state) {
            self.emit_values().await;
        }
    }

    /// Emits the state at the end of an interrupted run, with the results of finished siblings.
    pub(crate) async fn emit_interrupted(&self) {
        let Some(emitter) = self.emitter() else { return };
        let mut done = self.step.tasks.iter().filter_map(Task::result);
        if done.any(|done| !emitter.shown_writes(&done.writes).is_empty()) {
            emitter.values(self.pos.meta.step, || self.live_state(), vec![]).await;
        }
    }

    /// Returns true if a listener waits for results to be on disk, which it can only with durability `sync`.
    pub(crate) fn listener_awaits_commit(&self) -> bool {
        let waits = |recorder: &Arc<Recorder>| recorder.durability() == Durability::Sync;
        self.wants(Mode::Stored) && self.recorder().is_none_or(waits)
    }

    /// Emits that the results emitted so far are on disk.
    pub(crate) async fn emit_stored(&mut self, step: i64) {
        if std::mem::take(&mut self.outbox.unacknowledged) {
            self.emit(step, EventKind::Stored).await;
        }
    }

    pub(crate) async fn emit_end(&self, at: usize, ending: Ending) {
        let node = self.node_name(self.step.tasks[at].node);
        match ending {
            Ending::Cached => self.emit_result(at, &node, true).await,
            Ending::RunsAgain => {}
            Ending::HandedUp => {
                if let Some(emitter) = self.emitter() {
                    emitter.handed_up(|| self.origin(at), self.dropped_channels().await).await;
                }
            }
            Ending::Done { handled_failure, by_handler } => {
                self.emit_handled_failure(at, handled_failure).await;
                let node = if by_handler { self.handler_name(at) } else { node };
                self.emit_result(at, &node, false).await;
            }
            Ending::Asked { handled_failure } => {
                self.emit_handled_failure(at, handled_failure).await;
                if let Some(emitter) = self.emitter() {
                    let questions = self.step.tasks[at].asked.to_vec();
                    let step = self.pos.meta.step + 1;
                    emitter.emit_interrupt(step, || self.origin(at), questions, &self.pos.state).await;
                }
            }
            Ending::Failed { handled_failure, answered } => {
                let node = if handled_failure.is_some() { self.handler_name(at) } else { node };
                self.emit_handled_failure(at, handled_failure).await;
                if let Some(error) = self.step.tasks[at].record.error.clone() {
                    self.emit_failure(|| self.origin(at).with_node(node.clone()), error, answered).await;
                }
            }
        }
    }

    fn handler_name(&self, at: usize) -> Arc<str> {
        Arc::clone(&self.table.row(self.step.tasks[at].node).handler.name)
    }

    /// Emits the failure whose error handler ran. The start of the handler is not emitted.
    async fn emit_handled_failure(&self, at: usize, handled_failure: Option<HandledFailure>) {
        let Some(HandledFailure { error, answered }) = handled_failure else { return };
        self.emit_failure(|| self.origin(at), error, answered).await;
    }

    /// Emits a failure; a task that used answers emits an empty update first.
    async fn emit_failure(&self, origin: impl Fn() -> EventOrigin, error: String, answered: bool) {
        let Some(emitter) = self.emitter() else { return };
        if answered {
            emitter.update(&origin, &AnyWrites::default(), false).await;
        }
        emitter.failed(origin, Some(error)).await;
    }

    async fn emit_result(&self, at: usize, node: &Arc<str>, cached: bool) {
        let Some(emitter) = self.emitter() else { return };
        if let TaskState::Done(done) = &self.step.tasks[at].state {
            emitter.emit_done(|| self.origin(at).with_node(Arc::clone(node)), &done.writes, cached).await;
        }
    }
}

//! Emitting the events of a run: checkpoints, starts and ends of tasks, states. Their form is in `emitter`.

use std::sync::Arc;

use super::emitter::{Emitter, EventOrigin};
use super::finish::{Ending, HandledFailure};
use super::state::Run;
use crate::graph::records::{Durability, Recorder, START_NODE};
use crate::graph::state::{AnyWrites, Mask};
use crate::graph::superstep::{Task, TaskState};
use crate::graph::view::{CheckpointView, EventKind, EventTask, Mode, TaskView, View};

impl Run {
    /// Returns the node's name, for errors and events.
    pub(crate) fn node_name(&self, node: u32) -> Arc<str> {
        self.table.node_name(node)
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
        if self.recorder().is_none() || !self.wants(Mode::Checkpoints) {
            return;
        }
        let view = CheckpointView {
            id: self.pos.is_stored().then_some(self.pos.meta.id),
            values: View::of_state(self.pos.state.clone(), self.table.schema.clone()),
            next: self.step.tasks.iter().map(|task| self.node_name(task.node).to_string()).collect(),
            tasks: self.step.tasks.iter().map(|task| self.task_view(task)).collect(),
            step: self.pos.meta.step,
            source: self.pos.meta.source,
            has_parent: self.has_parent(),
            ran: self.step.just_ran.iter().map(|&node| self.node_name(node).to_string()).collect(),
        };
        self.emit(self.pos.meta.step, EventKind::Checkpoint(Box::new(view))).await;
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
                Some(View::of_writes(emitter.shown_writes(&done.writes), self.table.schema.clone()))
            }
            _ => None,
        };
        TaskView {
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
            emitter.started(|| self.origin(at), task, &self.pos.state, remaining).await;
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
        let task = EventTask::below(&self.scope.places, &node, id);
        EventOrigin { step, node, task }
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

    /// Emits the state at the end of an interrupted run, with the results of finished siblings.
    pub(crate) async fn emit_interrupted(&self) {
        let Some(emitter) = self.emitter() else { return };
        let mut done = self.step.tasks.iter().filter_map(|task| match &task.state {
            TaskState::Done(done) => Some(&done.writes),
            TaskState::Ready | TaskState::Asked { .. } | TaskState::Failed(_) => None,
        });
        if done.any(|writes: &AnyWrites| !emitter.shown_writes(writes).is_empty()) {
            emitter.values(self.pos.meta.step, || self.live(), vec![]).await;
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
                    emitter.interrupted(step, || self.origin(at), questions, &self.pos.state).await;
                }
            }
            Ending::Failed { handled_failure, answered } => {
                let node = if handled_failure.is_some() { self.handler_name(at) } else { node };
                self.emit_handled_failure(at, handled_failure).await;
                if let Some(error) = self.step.tasks[at].record.error.clone() {
                    self.emit_failure(|| EventOrigin { node: node.clone(), ..self.origin(at) }, error, answered).await;
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
            let origin = || EventOrigin { node: Arc::clone(node), ..self.origin(at) };
            emitter.done(origin, &done.writes, cached).await;
        }
    }
}

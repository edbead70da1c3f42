//! What a run tells the stream besides the ends of tasks: checkpoints, starts, stops, the state it begins with.

use std::sync::Arc;

use super::finish::{Ending, TookOver};
use super::state::Run;
use crate::graph::interrupt::Question;
use crate::graph::node::NodeId;
use crate::graph::records::{Durability, Recorder, START_NODE};
use crate::graph::state::{Mask, State, Writes};
use crate::graph::superstep::{Stand, Task};
use crate::graph::view::{CheckpointView, EventKind, EventTask, Mode, TaskView, View};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// The node's name, for errors and events.
    pub(crate) fn node_name(&self, node: u32) -> Arc<str> {
        if node == START_NODE { "__start__".into() } else { Arc::clone(&self.table.row(node).name) }
    }

    pub(crate) fn has_listeners(&self) -> bool {
        self.shared.events.sink.is_some()
    }

    pub(crate) fn wants(&self, mode: Mode) -> bool {
        self.shared.events.sink.as_ref().is_some_and(|sink| sink.wants(mode, self.is_root()))
    }

    pub(crate) async fn emit(&self, step: i64, kind: EventKind) {
        if let Some(sink) = &self.shared.events.sink {
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
        if whole { None } else { self.table.channels.output.as_ref() }
    }

    /// The writes that a stream shows.
    pub(crate) fn shown_writes(&self, writes: &Writes<S>) -> Writes<S> {
        let mut writes = writes.clone();
        if let Some(only) = self.output() {
            writes.0.retain(|write| only.contains(S::channel_of(write)));
        }
        writes
    }

    /// The checkpoint that the next superstep starts from.
    pub(crate) async fn emit_checkpoint(&self) {
        if self.recorder().is_none() || !self.wants(Mode::Checkpoints) {
            return;
        }
        let view = CheckpointView {
            id: self.pos.is_stored().then_some(self.pos.meta.id),
            values: View::of_state(Arc::clone(&self.pos.state), Arc::clone(&self.table)),
            next: self.step.tasks.iter().map(|task| self.node_name(task.node).to_string()).collect(),
            tasks: self.step.tasks.iter().map(|task| self.task_view(task)).collect(),
            step: self.pos.meta.step,
            source: self.pos.meta.source,
            has_parent: self.has_parent(),
            ran: self.step.just_ran.iter().map(|&node| self.node_name(node).to_string()).collect(),
        };
        self.emit(self.pos.meta.step, EventKind::Checkpoint(Box::new(view))).await;
    }

    /// With durability `exit` nothing is stored yet: the parent is that of the checkpoint the run began with.
    fn has_parent(&self) -> bool {
        let exits = self.recorder().is_some_and(|recorder| recorder.durability() == Durability::Exit);
        if exits { self.outbox.had_parent } else { self.pos.meta.parent.is_some() }
    }

    /// A task that failed shows nothing else.
    fn task_view(&self, task: &Task<S>) -> TaskView {
        let result = match &task.stand {
            _ if task.record.error.is_some() => None,
            Stand::Done(done) if done.saved => {
                Some(View::of_writes(self.shown_writes(&done.writes), Arc::clone(&self.table)))
            }
            _ => None,
        };
        TaskView {
            name: self.node_name(task.node).to_string(),
            error: task.record.error.clone(),
            result,
            questions: if task.record.error.is_none() { task.asked.clone() } else { vec![] },
            subgraph: task.node != START_NODE && !self.table.row(task.node).children.is_empty(),
        }
    }

    /// The tasks that start, then the results of those that ended in an earlier run.
    pub(crate) async fn emit_starts(&self) {
        let shown = |task: &Task<S>| task.node != START_NODE;
        if self.wants(Mode::Tasks) {
            for at in (0..self.step.tasks.len()).filter(|&at| shown(&self.step.tasks[at])) {
                let node = self.node_name(self.step.tasks[at].node);
                self.tell_start(at, node).await;
            }
        }
        for at in (0..self.step.tasks.len()).filter(|&at| shown(&self.step.tasks[at])) {
            self.tell_result(at, &self.node_name(self.step.tasks[at].node), true).await;
        }
    }

    async fn tell_start(&self, at: usize, node: Arc<str>) {
        let step = self.pos.meta.step + 1;
        let (input, sent) = (self.input(at), self.step.tasks[at].packet.is_some());
        let (task, remaining_steps) = (self.event_task(at), self.stops.last_step - step);
        self.emit(step, EventKind::TaskStart { node, task, input, sent, remaining_steps }).await;
    }

    /// A task as events name it.
    fn event_task(&self, at: usize) -> EventTask {
        let task = &self.step.tasks[at];
        let id = self.level.task_id(self.pos.meta.id, self.pos.meta.step + 1, task.key);
        EventTask::below(&self.level.places, &self.node_name(task.node), id)
    }

    pub(crate) fn input(&self, at: usize) -> View {
        match &self.step.tasks[at].packet {
            Some(packet) => View::of_payload(Arc::clone(&packet.payload)),
            None => self.read(self.step.tasks[at].node),
        }
    }

    /// What a node reads of the state.
    fn read(&self, node: u32) -> View {
        let (state, table) = (Arc::clone(&self.pos.state), Arc::clone(&self.table));
        match &self.table.row(node).reads {
            Some(only) => View::of_part(state, table, only.clone()),
            None => View::of_state(state, table),
        }
    }

    /// A breakpoint shows as an interrupt without questions.
    pub(crate) async fn emit_breakpoint(&self) {
        if self.is_root() {
            self.emit(self.pos.meta.step + 1, EventKind::Interrupt { questions: vec![] }).await;
        }
    }

    /// The state that a continued run begins with.
    pub(crate) async fn tell_loaded(&self) {
        if self.wants(Mode::Values) {
            let values = self.view();
            self.emit(self.pos.meta.step, EventKind::Values { values, questions: vec![] }).await;
        }
    }

    /// At the end of an interrupted run: the state with the results of finished siblings.
    pub(crate) async fn tell_interrupted(&self) {
        let mut done = self.step.tasks.iter().filter_map(|task| match &task.stand {
            Stand::Done(done) => Some(&done.writes),
            Stand::Ready | Stand::Asked { .. } | Stand::Failed(_) => None,
        });
        if done.any(|writes: &Writes<S>| !self.shown_writes(writes).is_empty()) && self.wants(Mode::Values) {
            let values = self.shown(self.live());
            self.emit(self.pos.meta.step, EventKind::Values { values, questions: vec![] }).await;
        }
    }

    /// Whether somebody is told when results are on disk. With other durabilities nobody waits for that.
    pub(crate) fn tells_stored(&self) -> bool {
        let waits = |recorder: &Arc<Recorder>| recorder.durability() == Durability::Sync;
        self.wants(Mode::Stored) && self.recorder().is_none_or(waits)
    }

    /// The ends that were told are on disk.
    pub(crate) async fn tell_stored(&mut self, step: i64) {
        if std::mem::take(&mut self.outbox.unacknowledged) {
            self.emit(step, EventKind::Stored).await;
        }
    }

    /// How a task ended.
    pub(crate) async fn tell(&self, at: usize, ending: Ending) {
        let node = self.node_name(self.step.tasks[at].node);
        match ending {
            Ending::Cached => self.tell_result(at, &node, true).await,
            Ending::RunsAgain => {}
            Ending::Done { took_over, by_handler } => {
                self.tell_took_over(at, &node, took_over).await;
                let node = if by_handler { self.handler_name(at) } else { node };
                self.tell_result(at, &node, false).await;
            }
            Ending::Asked { took_over } => {
                self.tell_took_over(at, &node, took_over).await;
                self.tell_questions(at, &node).await;
            }
            Ending::Failed { took_over, answered } => {
                let by_handler = took_over.is_some();
                self.tell_took_over(at, &node, took_over).await;
                let node = if by_handler { self.handler_name(at) } else { node };
                if let Some(error) = self.step.tasks[at].record.error.clone() {
                    self.tell_failed(at, &node, error, answered).await;
                }
            }
        }
    }

    fn handler_name(&self, at: usize) -> Arc<str> {
        Arc::clone(&self.table.row(self.step.tasks[at].node).handler.name)
    }

    /// The failure that an error handler took over; that the handler starts is not told.
    async fn tell_took_over(&self, at: usize, node: &Arc<str>, took_over: Option<TookOver>) {
        let Some(TookOver { error, answered }) = took_over else { return };
        self.tell_failed(at, node, error, answered).await;
    }

    /// A task that used answers shows that it ended, before it shows that it failed.
    async fn tell_failed(&self, at: usize, node: &Arc<str>, error: String, answered: bool) {
        if answered {
            self.tell_update(at, node, &Writes::default(), false).await;
        }
        self.tell_end(at, node, Some(error), Writes::default(), vec![]).await;
    }

    async fn tell_result(&self, at: usize, node: &Arc<str>, cached: bool) {
        if let Stand::Done(done) = &self.step.tasks[at].stand {
            self.tell_done(at, node, &done.writes, cached).await;
        }
    }

    async fn tell_questions(&self, at: usize, node: &Arc<str>) {
        let questions = self.step.tasks[at].asked.clone();
        if questions.is_empty() {
            return;
        }
        let step = self.pos.meta.step + 1;
        self.emit(step, EventKind::Interrupt { questions: questions.clone() }).await;
        if self.wants(Mode::Values) {
            let values = self.view();
            self.emit(step, EventKind::Values { values, questions: questions.clone() }).await;
        }
        self.tell_end(at, node, None, Writes::default(), questions).await;
    }

    async fn tell_done(&self, at: usize, node: &Arc<str>, writes: &Writes<S>, cached: bool) {
        self.tell_update(at, node, writes, cached).await;
        if !cached {
            self.tell_end(at, node, None, writes.clone(), vec![]).await;
        }
    }

    async fn tell_update(&self, at: usize, node: &Arc<str>, writes: &Writes<S>, cached: bool) {
        if self.wants(Mode::Updates) {
            let writes = View::of_writes(self.shown_writes(writes), Arc::clone(&self.table));
            let (node, task) = (Arc::clone(node), self.event_task(at));
            self.emit(self.pos.meta.step + 1, EventKind::Update { node, task, writes, cached }).await;
        }
    }

    async fn tell_end(
        &self,
        at: usize,
        node: &Arc<str>,
        error: Option<String>,
        writes: Writes<S>,
        questions: Vec<Question>,
    ) {
        if self.wants(Mode::Tasks) {
            let writes = View::of_writes(writes, Arc::clone(&self.table));
            let (node, task) = (Arc::clone(node), self.event_task(at));
            let kind = EventKind::TaskEnd { node, task, error, writes, questions };
            self.emit(self.pos.meta.step + 1, kind).await;
        }
    }
}

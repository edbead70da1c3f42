//! Events of a graph's supersteps, the same for a live run and a replay. Knows no run and no store.

use std::sync::Arc;

use crate::graph::build::Table;
use crate::graph::interrupt::Question;
use crate::graph::state::{AnyState, AnyWrites, Mask};
use crate::graph::superstep::Task;
use crate::graph::view::{EventKind, EventTask, Mode, Sink, View};

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
    pub node: Arc<str>,
    pub task: EventTask,
}

impl Emitter<'_> {
    pub(crate) fn wants(&self, mode: Mode) -> bool {
        self.sink.wants(mode, self.namespace.is_empty())
    }

    pub(crate) async fn send(&self, step: i64, kind: EventKind) {
        self.sink.send(self.namespace, step, kind).await;
    }

    /// Returns the output channels of a state.
    pub(crate) fn shown(&self, state: AnyState) -> View {
        match self.output {
            Some(only) => View::of_part(state, self.table.schema.clone(), only.clone()),
            None => View::of_state(state, self.table.schema.clone()),
        }
    }

    /// Returns the writes to output channels.
    pub(crate) fn shown_writes(&self, writes: &AnyWrites) -> AnyWrites {
        let mut writes = writes.clone();
        if let Some(only) = self.output {
            writes.0.retain(|write| only.contains(write.channel()));
        }
        writes
    }

    /// Returns the input of a task: its payload, or what its node reads of the state.
    pub(crate) fn input(&self, task: &Task, state: &AnyState) -> View {
        let (state, table) = (state.clone(), self.table.schema.clone());
        match (&task.packet, &self.table.row(task.node).reads) {
            (Some(packet), _) => View::of_payload(Arc::clone(&packet.payload)),
            (None, Some(only)) => View::of_part(state, table, only.clone()),
            (None, None) => View::of_state(state, table),
        }
    }

    pub(crate) async fn started(
        &self,
        origin: impl FnOnce() -> EventOrigin,
        task: &Task,
        state: &AnyState,
        remaining_steps: i64,
    ) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let EventOrigin { step, node, task: named } = origin();
        let (input, sent) = (self.input(task, state), task.packet.is_some());
        self.send(step, EventKind::TaskStart { node, task: named, input, sent, remaining_steps }).await;
    }

    pub(crate) async fn update(&self, origin: impl FnOnce() -> EventOrigin, writes: &AnyWrites, cached: bool) {
        if !self.wants(Mode::Updates) {
            return;
        }
        let EventOrigin { step, node, task } = origin();
        let writes = View::of_writes(self.shown_writes(writes), self.table.schema.clone());
        self.send(step, EventKind::Update { node, task, writes, cached }).await;
    }

    /// Emits the end of a task with a result. A cached result shows as an update alone.
    pub(crate) async fn done(&self, origin: impl Fn() -> EventOrigin, writes: &AnyWrites, cached: bool) {
        self.update(&origin, writes, cached).await;
        if !cached {
            self.ended(&origin, None, writes, vec![]).await;
        }
    }

    pub(crate) async fn failed(&self, origin: impl FnOnce() -> EventOrigin, error: Option<String>) {
        self.ended(origin, error, &AnyWrites::default(), vec![]).await;
    }

    /// Emits the end of a task that handed a command to the graph around its own.
    pub(crate) async fn handed_up(&self, origin: impl FnOnce() -> EventOrigin, dropped: Vec<String>) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let EventOrigin { step, node, task } = origin();
        let writes = View::of_writes(AnyWrites::default(), self.table.schema.clone());
        let end = EventKind::TaskEnd { node, task, error: None, writes, questions: vec![], dropped };
        self.send(step, end).await;
    }

    /// Emits the questions of a task, the state they were asked in, and the task's end.
    pub(crate) async fn interrupted(
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
        self.ended(origin, None, &AnyWrites::default(), questions).await;
    }

    async fn ended(
        &self,
        origin: impl FnOnce() -> EventOrigin,
        error: Option<String>,
        writes: &AnyWrites,
        questions: Vec<Question>,
    ) {
        if !self.wants(Mode::Tasks) {
            return;
        }
        let EventOrigin { step, node, task } = origin();
        let writes = View::of_writes(writes.clone(), self.table.schema.clone());
        self.send(step, EventKind::TaskEnd { node, task, error, writes, questions, dropped: vec![] }).await;
    }

    /// Emits a state; `state` is called only if a listener wants it.
    pub(crate) async fn values(&self, step: i64, state: impl FnOnce() -> AnyState, questions: Vec<Question>) {
        if self.wants(Mode::Values) {
            self.send(step, EventKind::Values { values: self.shown(state()), questions }).await;
        }
    }
}

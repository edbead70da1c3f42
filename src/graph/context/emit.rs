//! What nodes emit: to the stream of the run, and into the store where events are recorded.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::ctx::Ctx;
use super::task::TaskCtx;
use crate::checkpoint::{EventRecord, EventRecordKind};
use crate::graph::records::Recorder;
use crate::graph::view::{EventKind, EventTask, MessageMetadata};

impl<C> Ctx<C> {
    /// Emits a value to the stream ([`Mode::Custom`](crate::graph::Mode)); waits while the reader is behind. It is stored only
    /// with [`record_events`](crate::graph::Thread::record_events). LangGraph: `get_stream_writer`.
    pub async fn emit(&self, value: impl Serialize) {
        self.send(EventRecordKind::Custom, value, false).await;
    }

    /// Emits a piece of a message to the stream ([`Mode::Messages`](crate::graph::Mode)); waits while the reader is behind. It is
    /// stored only with [`record_events`](crate::graph::Thread::record_events).
    pub async fn emit_message(&self, piece: impl Serialize) {
        self.send(EventRecordKind::Message, piece, false).await;
    }

    /// Emits a piece of a message that belongs to the journal of the task: it is stored in any case, and whole.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only agents' turns are kept so"))]
    pub(crate) async fn keep_message(&self, piece: impl Serialize) {
        self.send(EventRecordKind::Message, piece, true).await;
    }

    /// Emits a value that belongs to the journal of the task: it is stored in any case, and whole.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep events"))]
    pub(crate) async fn keep_event(&self, value: impl Serialize) {
        self.send(EventRecordKind::Custom, value, true).await;
    }

    async fn send(&self, kind: EventRecordKind, value: impl Serialize, is_kept: bool) {
        self.heartbeat();
        let shared = &self.0.shared;
        let records = shared.recorder.as_ref().filter(|_| is_kept || shared.events.recorded);
        if shared.events.sink.is_none() && records.is_none() {
            return;
        }
        let value = serde_json::to_value(value).unwrap_or_default();
        if let Some(recorder) = records {
            self.0.record_event(recorder, kind, &value, is_kept).await;
        }
        if let Some(sink) = &shared.events.sink {
            let (node, task) = (Arc::clone(&self.0.facts.name), self.0.event_task());
            let kind = match kind {
                EventRecordKind::Custom => EventKind::Custom { node, task, value },
                EventRecordKind::Message => EventKind::Message { metadata: self.0.metadata(), node, task, value },
            };
            sink.send(&self.0.scope.places, self.0.at.step, kind).await;
        }
    }
}

impl TaskCtx {
    /// Returns true if events are sent or stored.
    pub(crate) fn has_listeners(&self) -> bool {
        self.shared.events.sink.is_some() || self.shared.events.recorded
    }

    /// The task as events name it.
    pub(crate) fn event_task(&self) -> EventTask {
        EventTask::below(&self.scope.places, &self.facts.name, self.id())
    }

    fn metadata(&self) -> MessageMetadata {
        let (node, tags) = (Arc::clone(&self.facts.name), Arc::clone(&self.facts.tags));
        MessageMetadata { node, step: self.at.step, tags }
    }

    /// A store that fails now fails the run at its next commit, which tells why.
    async fn record_event(&self, recorder: &Recorder, kind: EventRecordKind, value: &Value, is_kept: bool) {
        let (checkpoint, task) = match &self.scope.questions.owner {
            Some(owner) => (owner.checkpoint, owner.task),
            None => (self.at.checkpoint, self.at.task),
        };
        let event = EventRecord {
            kind,
            checkpoint,
            task,
            step: self.at.step,
            node: self.facts.name.to_string(),
            value: value.to_string(),
            path: self.recorded_path(),
            tags: self.facts.tags.to_vec(),
            at: self.shared.now(),
            within: self.effect_scope().map(|scope| scope.keys()).unwrap_or_default(),
        };
        let root = self.scope.journal.journal.as_ref().map_or(self.at.checkpoint, |journal| journal.checkpoint());
        let _ = recorder.note(root, &event, is_kept).await;
    }

    /// The tasks on the way down; nodes alone where nobody listens to the events of the run.
    fn recorded_path(&self) -> Vec<String> {
        let own = self.event_task().path;
        let nodes = if self.scope.places.is_empty() { &self.scope.names[..] } else { &[] };
        nodes.iter().chain(own.iter()).cloned().collect()
    }
}

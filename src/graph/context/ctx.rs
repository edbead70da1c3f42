//! What a node is handed besides its input: the run's context, the task's identity, signs of life; events, for the stream of
//! the run and the store; and what the run keeps until it ends, never stored, such as locks and connections.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::task::TaskCtx;
use crate::checkpoint::{Checkpointer, EventRecord, EventRecordKind, ThreadId};
use crate::graph::records::Recorder;
use crate::graph::view::{EventKind, EventTask};

/// The run's context and the task's identity; two pointers wide.
pub struct Ctx<C = ()>(pub(crate) Arc<TaskCtx>, Arc<C>);

impl<C> Clone for Ctx<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), Arc::clone(&self.1))
    }
}

impl<C> std::fmt::Debug for Ctx<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ctx({} in superstep {})", self.0.facts.name, self.0.at.step)
    }
}

/// A context that a run may be given without being asked for one: any type with a default.
#[diagnostic::on_unimplemented(
    message = "a graph with the context `{Self}` is run with one, as it has no default",
    note = "give it: `graph.thread_with(id, context)`, `graph.invoke_with(input, context)`; or derive `Default` for `{Self}`"
)]
pub trait DefaultContext {
    /// Makes the context.
    fn default_context() -> Self;
}

#[diagnostic::do_not_recommend]
impl<C: Default> DefaultContext for C {
    fn default_context() -> Self {
        C::default()
    }
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Returns the context of a task; `None` if its run has a context of another type.
    pub(crate) fn of(task: Arc<TaskCtx>) -> Option<Self> {
        let context = Arc::clone(&task.shared.context).downcast().ok()?;
        Some(Self(task, context))
    }
}

impl<C> Ctx<C> {
    /// Returns the run's context: dependencies and settings that are never stored.
    pub fn context(&self) -> &C {
        &self.1
    }

    /// Returns the number of the superstep.
    pub fn step(&self) -> i64 {
        self.0.at.step
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.0.facts.name
    }

    /// Returns the nodes whose subgraphs this task is in, outermost first; empty in the root graph. A second call of a
    /// subgraph by one task adds `#1`, and so on.
    pub fn namespace(&self) -> &[String] {
        &self.0.scope.names
    }

    /// Returns the thread; none for a run without one. A replay of a copied or imported thread gives the name of the copy.
    pub fn thread(&self) -> Option<&ThreadId> {
        if let Some(comparison) = &self.0.shared.replay {
            comparison.note_thread_read();
        }
        self.0.shared.thread.as_ref()
    }

    /// Returns which attempt of this run this is, from 1; a replay gives the number that was recorded.
    pub fn attempt(&self) -> u32 {
        self.0.attempt.number
    }

    /// Returns a name of this task that stays the same over retries, resumes and processes, and is unique within its thread:
    /// with the thread's name, a key by which to make side effects repeatable.
    pub fn task_id(&self) -> String {
        self.0.id()
    }

    /// Returns how many supersteps are left before the recursion limit. LangGraph: `RemainingSteps`.
    ///
    /// Not recorded: a replay counts as if a run began with this superstep. A body that is to be replayed notes it:
    /// `ctx.record("left", ctx.remaining_steps())`.
    pub fn remaining_steps(&self) -> i64 {
        self.note_unrecorded_steps();
        self.0.at.last_step - self.0.at.step
    }

    fn note_unrecorded_steps(&self) {
        if let Some(comparison) = &self.0.shared.replay {
            comparison.note_doubt("it read how many supersteps were left, which is not recorded");
        }
    }

    /// Returns whether this is the last superstep that can still end well. LangGraph: `IsLastStep`. A replay may say otherwise,
    /// as with [`remaining_steps`](Self::remaining_steps).
    pub fn is_last_step(&self) -> bool {
        self.note_unrecorded_steps();
        self.0.at.step == self.0.at.last_step - 1
    }

    /// Returns whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.shared.is_cancelled()
    }

    /// Returns when the run is cancelled, and never if it cannot be: to clean up before the task is dropped. What the node
    /// returns after that counts as ever (an update is kept, an error fails the run), so end with
    /// `std::future::pending().await` to leave the thread cancelled.
    pub async fn cancelled(&self) {
        self.0.shared.wait_for_cancel().await;
    }

    /// Tells an idle timeout that the node is alive; with it are the nodes whose subgraphs it is in.
    pub fn heartbeat(&self) {
        self.0.scope.beat();
        if let Some(beat) = &self.0.attempt.beat {
            beat.notify_one();
        }
    }
}

impl<C> Ctx<C> {
    /// Emits a value to the stream ([`Mode::Custom`](crate::graph::Mode)); waits while the reader is behind. It is stored only
    /// with [`record_events`](crate::graph::Thread::record_events). LangGraph: `get_stream_writer`.
    pub async fn emit(&self, value: impl Serialize) {
        self.send(EventRecordKind::Custom, value, false).await;
    }

    /// Emits a piece of a message to the stream ([`Mode::Messages`](crate::graph::Mode)); waits while the reader is behind. It is
    /// stored only with [`record_events`](crate::graph::Thread::record_events). A piece with `usage_metadata` is an
    /// [expense](Self::spend).
    pub async fn emit_message(&self, piece: impl Serialize) {
        self.send(EventRecordKind::Message, piece, false).await;
    }

    /// Emits a piece of a message that belongs to the journal of the task: it is stored in any case, and whole.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only agents' turns are kept so"))]
    pub(crate) async fn keep_message(&self, piece: impl Serialize) {
        self.send(EventRecordKind::Message, piece, true).await;
    }

    /// Emits a value as [`emit`](Self::emit) does, and stores it in the journal of the task in any case, and whole.
    pub async fn keep_event(&self, value: impl Serialize) {
        self.send(EventRecordKind::Custom, value, true).await;
    }

    async fn send(&self, kind: EventRecordKind, value: impl Serialize, is_kept: bool) {
        self.heartbeat();
        let shared = &self.0.shared;
        let records = shared.recorder.as_ref().filter(|_| is_kept || shared.events.recorded);
        let is_reported = kind == EventRecordKind::Message && self.0.is_reported();
        if shared.events.sink.is_none() && records.is_none() && !is_reported {
            return;
        }
        let value = serde_json::to_value(value).unwrap_or_default();
        if is_reported {
            self.0.report_usage(&value).await;
        }
        if let Some(recorder) = records {
            self.0.record_event(recorder, kind, &value, is_kept).await;
        }
        if let Some(sink) = &shared.events.sink {
            let kind = match kind {
                EventRecordKind::Custom => EventKind::Custom { value },
                EventRecordKind::Message => EventKind::Message { value, tags: Arc::clone(&self.0.facts.tags) },
            };
            sink.send(&self.0.scope.places, self.0.at.step, Some(self.0.event_task()), kind).await;
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
        EventTask::below(&self.scope.places, Arc::clone(&self.facts.name), self.id())
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

impl<C> Ctx<C> {
    /// Returns the store of the run and its thread; none in a replay, and for a run without a store.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep objects"))]
    pub(crate) fn thread_store(&self) -> Option<(&Arc<dyn Checkpointer>, &ThreadId)> {
        let shared = &self.0.shared;
        let recorder = shared.recorder.as_ref().filter(|_| shared.replay.is_none())?;
        Some((recorder.store(), shared.thread.as_ref()?))
    }

    /// Has the run keep something under a name until it ends, in whatever way; made if nothing is kept there yet. Subgraphs
    /// share it. It is not kept for the next run of the thread, and a replay keeps nothing unless its bodies ask.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub(crate) async fn keep<T: Send + 'static, E>(
        &self,
        name: &str,
        make: impl Future<Output = Result<T, E>>,
    ) -> Result<(), E> {
        let mut kept = self.0.shared.environment.keeps.0.lock().await;
        if !kept.contains_key(name) {
            let thing = make.await?;
            kept.insert(name.to_owned(), Box::new(thing));
        }
        Ok(())
    }

    /// Returns what the run keeps under a name until it ends; made if nothing is kept there yet. Subgraphs share it. None if
    /// something of another type is kept there.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub(crate) async fn keep_for_run<T: Clone + Send + 'static>(
        &self,
        name: &str,
        make: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut kept = self.0.shared.environment.keeps.0.lock().await;
        let thing = kept.entry(name.to_owned()).or_insert_with(|| Box::new(make()));
        thing.downcast_ref::<T>().cloned()
    }
}

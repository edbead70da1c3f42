//! A checkpoint and its tasks, as a reader sees them.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use super::ledger::{Activation, Ledger};
use super::untyped::{DebugState, StateJson, View, write_state};
use crate::checkpoint::{CheckpointId, Source};
use crate::graph::error::Incompatibility;
use crate::graph::interrupt::{AnswerInfo, AwaitedSignal, Question};
use crate::graph::json::{Object, time_text, write_metadata, write_source, write_texts, write_time};
use crate::graph::records::CheckpointInfo;
use crate::graph::state::State;

/// A checkpoint as a reader sees it. LangGraph: `StateSnapshot`.
///
/// Its `Debug` shows a derived state as JSON, without secret channels.
#[derive(Clone, Serialize)]
#[serde(bound = "V: StateJson")]
#[non_exhaustive]
pub struct Snapshot<V> {
    /// The checkpoint.
    #[serde(rename = "checkpoint")]
    pub id: CheckpointId,
    /// The checkpoint it followed.
    pub parent: Option<CheckpointId>,
    /// Counts along the parent chain, from -1.
    pub step: i64,
    /// The cause of the checkpoint.
    #[serde(serialize_with = "write_source")]
    pub source: Source,
    /// When it was made, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub created_at: u64,
    /// Words of the user's.
    #[serde(serialize_with = "write_metadata", skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
    /// The state.
    #[serde(rename = "state", serialize_with = "write_state")]
    pub values: V,
    /// The tasks of the superstep that starts here.
    pub tasks: Vec<TaskSnapshot>,
    /// Stored channels that the state does not have. They are carried along, for the version of the graph that has them, until
    /// the state says that they are `removed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    /// Reasons why this version of the graph cannot continue from here. A channel that cannot be read is among them
    /// ([`Incompatibility::Value`]): `values` has its initial value, or the entries of its log before the first unreadable one.
    #[serde(serialize_with = "write_texts", skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<Incompatibility>,
}

/// A snapshot of a graph over `S`.
pub type StateSnapshot<S> = Snapshot<Arc<S>>;

/// A snapshot of a subgraph of any type.
pub type NestedSnapshot = Snapshot<View>;

impl<V> Snapshot<V> {
    /// Returns the snapshot with other values.
    pub(crate) fn map<T>(self, map: impl FnOnce(V) -> T) -> Snapshot<T> {
        let Self { values, id, parent, source, step, created_at, next, tasks, metadata, carried, misfits } = self;
        let values = map(values);
        Snapshot { values, id, parent, source, step, created_at, next, tasks, metadata, carried, misfits }
    }

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

impl<S: State> fmt::Debug for StateSnapshot<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(&DebugState(&*self.values), f)
    }
}

impl fmt::Debug for NestedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(&self.values, f)
    }
}

/// The mode in which a checkpoint is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// As it was.
    Past,
    /// With the results of tasks that have ended since, and only what is still open.
    Live,
    /// The same, and with what commands from outside led to since, which LangGraph shows only once it has run.
    Now,
}

/// A task of a snapshot.
#[derive(Clone, Debug)]
pub struct TaskSnapshot {
    /// Its id within its thread: [`Ctx::task_id`](crate::graph::Ctx::task_id).
    pub id: String,
    /// The node.
    pub name: String,
    /// Its input: what its node reads of the state, or its payload.
    pub input: View,
    /// The error, if it failed.
    pub error: Option<String>,
    /// Its writes, once it has ended.
    pub result: Option<View>,
    /// Its questions.
    pub questions: Vec<Question>,
    /// The answers it has got, in the order of its questions.
    pub answers: Vec<AnswerInfo>,
    /// True if it runs a subgraph.
    pub subgraph: bool,
    /// The subgraph's state, if asked for and there is one.
    pub state: Option<Box<NestedSnapshot>>,
    /// The number of attempts.
    pub attempts: u32,
    /// Its failed attempts, oldest first: at most the last 100.
    pub failures: Vec<FailureInfo>,
    /// When it can be resumed, if it waits for a time.
    pub wake: Option<SystemTime>,
    /// The signals that it, or a task of its subgraphs, waits for.
    pub awaits: Vec<AwaitedSignal>,
    /// The number of entries in its journal.
    pub effects: u32,
    pub(crate) ledger: Ledger,
    /// The activation of the subgraph that `state` is of.
    pub(crate) activation: Option<Activation>,
}

impl TaskSnapshot {
    /// Returns the number of the send that it is of, among those of its superstep; `None` if an edge led to it.
    pub fn send_number(&self) -> Option<u32> {
        self.ledger.task.sent
    }
}

impl TaskSnapshot {
    /// Returns the status of the task in one word.
    fn status(&self) -> &'static str {
        let is_open = self.questions.iter().any(|question| !question.is_answered());
        match (&self.result, &self.error) {
            (Some(_), _) => "done",
            (None, _) if is_open => "interrupted",
            (None, Some(_)) => "failed",
            (None, None) if !self.awaits.is_empty() => "awaiting-signal",
            (None, None) if self.wake.is_some() => "waiting",
            (None, None) => "pending",
        }
    }
}

impl Serialize for TaskSnapshot {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        Object::new(out)?
            .put("id", &self.id)?
            .put("node", &self.name)?
            .put("status", self.status())?
            .put("attempts", self.attempts)?
            .put("error", &self.error)?
            .put("failures", &self.failures)?
            .put_some("until", self.wake.map(time_text))?
            .put_list("signals", &self.awaits)?
            .put("effects", self.effects)?
            .put("writes", &self.result)?
            .put("questions", &self.questions)?
            .put("answers", &self.answers)?
            .put("input", &self.input)?
            .put_some("inside", self.state.as_ref())?
            .end()
    }
}

/// A failed attempt of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailureInfo {
    /// The number of the attempt, from 1; unknown for a failure that an earlier release recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The error.
    pub error: String,
    /// When, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub at: u64,
}

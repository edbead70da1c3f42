//! A checkpoint as JSON: without its state, and with it.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use superstep_base::time::rfc3339;

use super::fields::{metadata, serialize_as, state, time};
use super::question::{AnswerShape, QuestionShape};
use super::signal::AwaitedShape;
use crate::graph::interrupt::Question;
use crate::graph::records::CheckpointInfo;
use crate::graph::state::State;
use crate::graph::view::{FailureInfo, Nested, Snapshot, StateSnapshot, TaskSnapshot};

/// A checkpoint without its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointShape {
    pub checkpoint: u64,
    pub parent: Option<u64>,
    pub step: i64,
    /// `input`, `loop`, `update` or `fork`.
    pub source: String,
    pub created_at: String,
    #[serde(with = "metadata", default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
}

impl From<&CheckpointInfo> for CheckpointShape {
    fn from(info: &CheckpointInfo) -> Self {
        Self {
            checkpoint: info.id.0,
            parent: info.parent.map(|parent| parent.0),
            step: info.step,
            source: info.source.as_str().into(),
            created_at: rfc3339(info.created_at),
            metadata: info.metadata.clone(),
        }
    }
}

/// A checkpoint with its state and tasks, with questions as `Q`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotShape<Q = QuestionShape> {
    #[serde(flatten)]
    pub info: CheckpointShape,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
    pub state: Value,
    pub tasks: Vec<TaskShape<Q>>,
    /// Stored channels that the state does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    /// The reasons why this version of the graph cannot resume from here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<String>,
}

impl<Q> SnapshotShape<Q> {
    /// Returns the shape of a snapshot over a state, its questions made by `question`.
    pub(crate) fn of<V>(snapshot: &Snapshot<V>, state: Value, question: &dyn Fn(&Question) -> Q) -> Self {
        Self {
            info: (&snapshot.info()).into(),
            next: snapshot.next.clone(),
            state,
            tasks: snapshot.tasks.iter().map(|task| TaskShape::of(task, question)).collect(),
            carried: snapshot.carried.clone(),
            misfits: snapshot.misfits.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<S: State> Serialize for StateSnapshot<S> {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let shape: SnapshotShape = SnapshotShape::of(self, state(&*self.values), &|question| question.into());
        shape.serialize(out)
    }
}

fn nested(snapshot: &Nested) -> SnapshotShape {
    SnapshotShape::of(snapshot, snapshot.values.json(), &|question| question.into())
}

serialize_as!(Nested => nested);
serialize_as!(CheckpointInfo => CheckpointShape::from);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskShape<Q = QuestionShape> {
    pub id: String,
    pub node: String,
    /// `done`, `interrupted`, `failed`, `waiting` or `pending`.
    pub status: String,
    pub attempts: u32,
    pub error: Option<String>,
    /// Its failed attempts.
    pub failures: Vec<FailureShape>,
    /// The time until which it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The signals that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<AwaitedShape>,
    /// The number of entries in its journal.
    pub effects: u32,
    /// Its writes: a list of `{channel: value}`.
    pub writes: Option<Value>,
    pub questions: Vec<Q>,
    pub answers: Vec<AnswerShape>,
    /// Its input. The command line prints it for a single task only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Its journal. Only the command line fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Value>,
    /// The snapshot of its subgraph.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub inside: Option<Box<SnapshotShape<Q>>>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FailureShape {
    /// The number of the attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub error: String,
    pub at: String,
}

impl From<&FailureInfo> for FailureShape {
    fn from(failure: &FailureInfo) -> Self {
        Self { attempt: failure.attempt, error: failure.error.clone(), at: rfc3339(failure.at) }
    }
}

impl<Q> TaskShape<Q> {
    /// Returns the shape of a task, its questions made by `question`.
    pub(crate) fn of(task: &TaskSnapshot, question: &dyn Fn(&Question) -> Q) -> Self {
        Self {
            id: task.id.clone(),
            node: task.name.clone(),
            status: status(task).into(),
            attempts: task.attempts,
            error: task.error.clone(),
            failures: task.failures.iter().map(FailureShape::from).collect(),
            until: task.wake.map(time),
            signals: task.awaits.iter().map(AwaitedShape::from).collect(),
            effects: task.effects,
            writes: task.result.as_ref().map(|result| result.json()),
            questions: task.questions.iter().map(question).collect(),
            answers: task.answers.iter().map(AnswerShape::from).collect(),
            input: Some(task.input.json()),
            journal: None,
            inside: task
                .state
                .as_ref()
                .map(|nested| Box::new(SnapshotShape::of(nested, nested.values.json(), question))),
        }
    }
}

fn status(task: &TaskSnapshot) -> &'static str {
    let open = task.questions.iter().any(|question| !question.is_answered());
    match (&task.result, &task.error) {
        (Some(_), _) => "done",
        (None, _) if open => "interrupted",
        (None, Some(_)) => "failed",
        (None, None) if !task.awaits.is_empty() => "awaiting-signal",
        (None, None) if task.wake.is_some() => "waiting",
        (None, None) => "pending",
    }
}

fn shape(task: &TaskSnapshot) -> TaskShape {
    TaskShape::of(task, &|question| question.into())
}

serialize_as!(TaskSnapshot => shape);

serialize_as!(FailureInfo => FailureShape::from);

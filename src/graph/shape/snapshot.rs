//! A checkpoint as JSON: without its state, and with it.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::question::QuestionShape;
use super::task::TaskShape;
use super::{metadata, serialize_as, source};
use crate::checkpoint::time::rfc3339;
use crate::graph::channels::state::State;
use crate::graph::define::interrupt::Question;
use crate::graph::thread::history::CheckpointInfo;
use crate::graph::thread::snapshot::{Nested, Snapshot, StateSnapshot};

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
            source: source(info.source).into(),
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
    /// Why this version of the graph cannot resume from here.
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
        let shape: SnapshotShape = SnapshotShape::of(self, super::state(&*self.values), &|question| question.into());
        shape.serialize(out)
    }
}

fn nested(snapshot: &Nested) -> SnapshotShape {
    SnapshotShape::of(snapshot, snapshot.values.json(), &|question| question.into())
}

serialize_as!(Nested => nested);
serialize_as!(CheckpointInfo => CheckpointShape::from);

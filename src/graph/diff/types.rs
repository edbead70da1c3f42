//! The difference between two checkpoints, as data.

use serde::Serialize;
use serde_json::Value;

use super::edits::Edit;
use super::serialize::{number, text, word};
use crate::checkpoint::{CheckpointId, Source, ThreadId};
use crate::graph::interrupt::Question;
use crate::graph::view::JournalEntry;

/// What differs between two checkpoints. Its `Display` is for people; as JSON it is for tools: `from` and `to`, the channels
/// with their edits, the questions, and, of a deep one, the subgraphs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The checkpoint it leads from.
    pub from: Side,
    /// The checkpoint it leads to.
    pub to: Side,
    /// The channels that differ, in the order of `to`'s; those that only `from` has come last.
    pub channels: Vec<ChannelDiff>,
    /// Questions that only `to`'s tasks asked.
    pub asked: Vec<Asked>,
    /// Questions that only `from`'s tasks asked.
    pub gone: Vec<Asked>,
    /// What tasks did in the world outside and recorded on the way to `to`, and not on the way to `from`: of two checkpoints
    /// of one thread. Left out of the JSON if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedEntry>,
    /// The same the other way round: what only led to `from`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<RecordedEntry>,
    /// The subgraphs that differ. Of a deep one.
    pub subgraphs: Vec<SubgraphDiff>,
}

/// An entry of the journal of a task between two checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RecordedEntry {
    /// The checkpoint that planned the task.
    #[serde(serialize_with = "number")]
    pub checkpoint: CheckpointId,
    /// The task's id.
    pub task: String,
    /// The node.
    pub node: String,
    /// What it did or recorded.
    pub entry: JournalEntry,
}

/// One of the two checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// Its thread.
    #[serde(serialize_with = "text")]
    pub thread: ThreadId,
    /// Its number.
    #[serde(serialize_with = "number")]
    pub checkpoint: CheckpointId,
    /// Counts along the parent chain, from -1.
    pub step: i64,
    /// Why it was made; `input`, `loop`, `update` or `fork` as JSON.
    #[serde(serialize_with = "word")]
    pub source: Source,
    /// What runs next: a name for each task.
    pub next: Vec<String>,
}

/// A channel that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelDiff {
    /// Its name.
    pub channel: String,
    /// How it differs.
    pub change: Change,
    /// What leads from one value to the other, in order, as a JSON Patch of the state; nothing of a secret.
    pub patch: Vec<Edit>,
}

/// How a channel differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only `to` has a value.
    Added,
    /// Only `from` has a value.
    Removed,
    /// The values differ.
    Changed,
    /// They differ and are not told.
    Secret,
}

/// A question that one of the two checkpoints has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Asked {
    /// What names it in an answer.
    pub id: String,
    /// The name of its type.
    pub name: String,
    /// The node that asked.
    pub node: String,
    /// The nodes whose subgraphs the asking node is in, outermost first.
    pub namespace: Vec<String>,
    /// What is asked.
    pub payload: Value,
}

/// A subgraph that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SubgraphDiff {
    /// The node that runs it; with ` (2)` and so on if several tasks of one node do.
    pub node: String,
    /// What differs in it.
    #[serde(flatten)]
    pub inside: Inside,
}

/// What differs in a subgraph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Inside {
    /// Only `to` has it: its checkpoint there.
    Began(Side),
    /// Only `from` has it: its checkpoint there.
    Ended(Side),
    /// Both have it.
    Diff(Box<Diff>),
}

impl Diff {
    /// Returns whether nothing differs but which checkpoints they are, and what was recorded on the way to them.
    pub fn is_empty(&self) -> bool {
        let told = self.channels.is_empty() && self.asked.is_empty() && self.gone.is_empty();
        told && self.subgraphs.is_empty() && self.from.next == self.to.next
    }

    /// Returns all edits of the state as one JSON Patch (RFC 6902), which makes the state of `from` that of `to`, secrets
    /// aside. What went is told in `old` beside each operation.
    pub fn patch(&self) -> Vec<Edit> {
        self.channels.iter().flat_map(|channel| channel.patch.iter().cloned()).collect()
    }
}

impl From<&Question> for Asked {
    fn from(question: &Question) -> Self {
        Self {
            id: question.id().to_string(),
            name: question.name().to_owned(),
            node: question.node().to_owned(),
            namespace: question.namespace().to_vec(),
            payload: question.json(),
        }
    }
}

impl Asked {
    /// Whether two checkpoints ask the same: forks ask again under an id of their own.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.name == other.name
            && self.node == other.node
            && self.namespace == other.namespace
            && self.payload == other.payload
    }
}

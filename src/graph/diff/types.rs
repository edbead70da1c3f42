//! The difference between two checkpoints, as data.

use serde::Serialize;
use serde_json::Value;

use super::edits::Edit;
use super::serialize::{number, text, word};
use crate::checkpoint::{CheckpointId, Source, ThreadId};
use crate::graph::interrupt::Question;
use crate::graph::view::JournalEntry;

/// The difference between two checkpoints. `Display` is for people; the JSON is for tools: `from` and `to`, the channels
/// with their edits, the questions, and the subgraphs of a deep comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The old checkpoint.
    pub from: Side,
    /// The new checkpoint.
    pub to: Side,
    /// The channels that differ, in the order of `to`; those that only `from` has come last.
    pub channels: Vec<ChannelDiff>,
    /// Questions that only tasks of `to` ask.
    pub asked: Vec<Asked>,
    /// Questions that only tasks of `from` ask.
    pub gone: Vec<Asked>,
    /// Journal entries recorded on the path to `to` only, if both are of one thread. Left out of the JSON if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedEntry>,
    /// Journal entries recorded on the path to `from` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<RecordedEntry>,
    /// The subgraphs that differ, in a deep comparison.
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
    /// The entry.
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
    /// The superstep, counted along the parents from -1.
    pub step: i64,
    /// The reason it was written; `input`, `loop`, `update` or `fork` in JSON.
    #[serde(serialize_with = "word")]
    pub source: Source,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
}

/// A channel that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelDiff {
    /// Its name.
    pub channel: String,
    /// The kind of difference.
    pub change: Change,
    /// The edits from one value to the other, in order, as a JSON Patch of the state; empty for a secret.
    pub patch: Vec<Edit>,
}

/// The kind of difference of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only `to` has a value.
    Added,
    /// Only `from` has a value.
    Removed,
    /// The values differ.
    Changed,
    /// The values differ and are secret.
    Secret,
}

/// A question that one of the two checkpoints has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Asked {
    /// The id that an answer names.
    pub id: String,
    /// The name of its type.
    pub name: String,
    /// The node that interrupted.
    pub node: String,
    /// The nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// The payload of the interrupt.
    pub payload: Value,
}

/// A subgraph that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SubgraphDiff {
    /// The node that runs it; with ` (2)` and so on if several tasks of one node do.
    pub node: String,
    /// The difference in it.
    #[serde(flatten)]
    pub inside: Inside,
}

/// The difference of a subgraph.
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
    /// Returns true if only the checkpoints' ids, and entries recorded on the paths to them, differ.
    pub fn is_empty(&self) -> bool {
        let same = self.channels.is_empty() && self.asked.is_empty() && self.gone.is_empty();
        same && self.subgraphs.is_empty() && self.from.next == self.to.next
    }

    /// Returns all edits of the state as one JSON Patch (RFC 6902), which turns the state of `from` into that of `to`,
    /// secrets aside. Each operation also has the removed value, `old`.
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
    /// True if the questions are the same except for their ids: forks ask again under new ids.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.name == other.name
            && self.node == other.node
            && self.namespace == other.namespace
            && self.payload == other.payload
    }
}

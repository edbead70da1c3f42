//! What the command line tells, as data: the JSON that programs read, and what text is made from. Knows no graph's types.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::ForeignRecord;

/// Where a thread comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// Whether it was imported.
    #[serde(default)]
    pub foreign: bool,
    /// Whether an imported one may be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

impl From<Option<ForeignRecord>> for Origin {
    fn from(foreign: Option<ForeignRecord>) -> Self {
        Self { foreign: foreign.is_some(), trusted: foreign.map(|foreign| foreign.trusted) }
    }
}

impl Origin {
    /// Whether it may be looked at only.
    pub(crate) fn is_untrusted(self) -> bool {
        self.trusted == Some(false)
    }
}

/// A thread as it stands: what `status` and everything that runs prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stand {
    pub thread: String,
    pub graph: String,
    pub status: String,
    pub step: i64,
    pub next: Vec<String>,
    pub questions: Vec<Asked>,
    pub state: Value,
    /// The state in the program's own words, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub checkpoint: Option<u64>,
    #[serde(flatten)]
    pub origin: Origin,
    /// Why it failed, or needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The ways out, if it needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Until when it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An open question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub id: String,
    pub name: String,
    pub node: String,
    pub payload: Value,
    /// What its answer looks like.
    pub takes: String,
    /// The plain words that can answer it.
    pub words: Vec<String>,
    /// What each of them comes to here: the name of the answer.
    #[serde(default)]
    pub means: Vec<String>,
    /// The commands that answer it.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// A checkpoint in a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub checkpoint: u64,
    pub parent: Option<u64>,
    pub step: i64,
    pub source: String,
    pub next: Vec<String>,
    pub created_at: String,
    /// Words of the user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
    /// The value of the channel that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A thread in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadLine {
    pub thread: String,
    pub graph: String,
    pub status: String,
    pub step: i64,
    pub updated_at: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// What cannot be read of it, or does not fit its graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its open questions, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Vec<Asked>>,
}

/// A checkpoint with all that is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub thread: String,
    pub graph: String,
    #[serde(flatten)]
    pub origin: Origin,
    #[serde(flatten)]
    pub step: Step,
    pub state: Value,
    pub tasks: Vec<ShownTask>,
}

/// A task of a superstep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ShownTask {
    pub id: String,
    pub node: String,
    pub status: String,
    pub attempts: u32,
    pub error: Option<String>,
    /// Its failed attempts.
    pub failures: Vec<Attempt>,
    /// Until when it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many effects and values are in its journal.
    pub effects: u32,
    /// What it wrote: a list of `{channel: value}`.
    pub writes: Option<Value>,
    pub questions: Vec<Asked>,
    pub answers: Vec<Answered>,
    /// What it was started with, where one task was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The state of its subgraph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Value>,
}

/// A failed attempt of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub error: String,
    pub at: String,
}

/// An answer that a task has got.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answered {
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub at: String,
    pub note: Option<String>,
}

/// A registered graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphLine {
    pub graph: String,
    pub about: Option<String>,
    pub nodes: Vec<String>,
    pub channels: Vec<ChannelLine>,
    pub questions: Vec<String>,
    pub fingerprint: String,
}

/// A channel of a graph's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChannelLine {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

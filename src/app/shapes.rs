//! The JSON of the command line, which text is made from too: the library's shapes (`graph::shape`), with what only a program
//! with its graphs can add. Knows no graph's types.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::checkpoint::StopRecord;
pub(crate) use crate::graph::shape::question::{AnswerShape, QuestionShape};
use crate::graph::shape::signal::SentShape;
use crate::graph::shape::snapshot::TaskShape;
use crate::graph::shape::snapshot::{CheckpointShape, SnapshotShape};
use crate::graph::shape::status::StatusShape;
pub(crate) use crate::graph::shape::thread::Origin;
use crate::graph::shape::thread::ThreadShape;

/// A task with the words that answer its questions.
pub(crate) type ShownTask = TaskShape<Asked>;
/// A thread in a list, with the commands that answer its questions.
pub(crate) type ThreadLine = ThreadShape<Asked>;

/// A thread: what `status` and everything that runs prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stand {
    pub thread: String,
    pub graph: String,
    #[serde(flatten)]
    pub position: StatusShape<Asked>,
    pub step: i64,
    pub state: Value,
    /// The state in the program's own words, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The lines of a live view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub board: Vec<String>,
    /// The tasks that run, while a process runs the thread and is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningShape>,
    pub checkpoint: Option<u64>,
    #[serde(flatten)]
    pub origin: Origin,
    /// Nodes that block the thread they run on, while a run of the thread is under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<BlockingNode>,
    /// The stop points that are stored with the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<StopShape>,
    /// The signals that were sent and that no task has received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mailbox: Vec<SentShape>,
}

/// A task that runs, and what its agent does, if it has one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunningShape {
    /// The node, with those whose subgraphs it is in.
    pub node: String,
    /// The task of the plan, or the label that the program gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The time at which it started.
    pub started_at: String,
    /// The last action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    pub tokens: u64,
    /// In millionths of a dollar.
    pub cost: u64,
}

/// A place where the runs of a thread stop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StopShape {
    /// The node; none: every node.
    pub node: Option<String>,
    /// True if they stop after it, not before.
    pub after: bool,
}

impl From<StopRecord> for StopShape {
    fn from(StopRecord { node, after }: StopRecord) -> Self {
        Self { node, after }
    }
}

/// A signal that was sent, and the thread afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// The signal's id.
    pub signal: String,
    #[serde(flatten)]
    pub stand: Stand,
}

/// A node that blocked the thread it ran on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BlockingNode {
    pub node: String,
    /// The longest time without an await, in milliseconds.
    pub millis: u64,
}

impl From<(String, Duration)> for BlockingNode {
    fn from((node, longest): (String, Duration)) -> Self {
        Self { node, millis: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl Deref for Stand {
    type Target = StatusShape<Asked>;

    fn deref(&self) -> &Self::Target {
        &self.position
    }
}

impl DerefMut for Stand {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.position
    }
}

/// A pending question with the ways to answer it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    #[serde(flatten)]
    pub question: QuestionShape,
    /// The plain words that can answer it.
    #[serde(default)]
    pub words: Vec<String>,
    /// The answers that these words give here.
    #[serde(default)]
    pub means: Vec<String>,
    /// The commands that answer it.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The question in the program's own words, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// True if `edit` answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub editable: bool,
}

/// The text that a person edits to answer a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// The question's id.
    pub id: String,
    pub text: String,
}

impl Deref for Asked {
    type Target = QuestionShape;

    fn deref(&self) -> &QuestionShape {
        &self.question
    }
}

/// A checkpoint in a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    #[serde(flatten)]
    pub info: CheckpointShape,
    pub next: Vec<String>,
    /// The value of the channel that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Its tasks, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<ShownTask>>,
}

impl Deref for Step {
    type Target = CheckpointShape;

    fn deref(&self) -> &CheckpointShape {
        &self.info
    }
}

/// A checkpoint with all that is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub thread: String,
    pub graph: String,
    #[serde(flatten)]
    pub origin: Origin,
    #[serde(flatten)]
    pub snapshot: SnapshotShape<Asked>,
}

impl Deref for Shown {
    type Target = SnapshotShape<Asked>;

    fn deref(&self) -> &Self::Target {
        &self.snapshot
    }
}

impl DerefMut for Shown {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.snapshot
    }
}

/// A registered graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphLine {
    pub graph: String,
    pub about: Option<String>,
    pub nodes: Vec<String>,
    pub channels: Vec<ChannelLine>,
    pub questions: Vec<String>,
    /// The names of the signals that its nodes receive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    pub fingerprint: String,
}

/// A channel of a graph's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChannelLine {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

//! JSON of the command line, from which text is made too: that of the library's types, of which each shape names what is read
//! or changed here, with the commands and texts of a program. Where a repository was moved, stored paths in it become present
//! ones. Must not know a graph's types.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_base::moved;

use superstep::checkpoint::{ForeignRecord, StopRecord};

/// Fields that only programs read.
type Others = Map<String, Value>;

/// The origin of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// True if it was imported.
    #[serde(default)]
    pub foreign: bool,
    /// True if an imported one may be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

impl From<Option<ForeignRecord>> for Origin {
    fn from(foreign: Option<ForeignRecord>) -> Self {
        Self { foreign: foreign.is_some(), trusted: foreign.map(|foreign| foreign.trusted) }
    }
}

impl Origin {
    /// Returns true if the thread may be read but not run.
    pub(crate) fn is_untrusted(self) -> bool {
        self.trusted == Some(false)
    }
}

/// A thread in a list, with the commands that answer its questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadLine {
    pub thread: String,
    pub graph: String,
    pub status: String,
    pub step: i64,
    pub updated_at: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// The reason why it cannot be read, or does not fit its graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub questions: Vec<OpenQuestion>,
    #[serde(flatten)]
    pub others: Others,
}

/// A thread's status and its details.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StatusShape {
    pub status: String,
    pub next: Vec<String>,
    pub questions: Vec<OpenQuestion>,
    /// The reason why it failed, or needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The suggested fix if it needs migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<AwaitedShape>,
    /// The process that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Value>,
}

/// A signal that a thread waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AwaitedShape {
    pub name: String,
    pub node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The shape of its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
}

/// A signal that no task has received.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SentShape {
    pub id: String,
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub at: String,
    #[serde(flatten)]
    pub others: Others,
}

/// A thread, as `status` and all commands that run print it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadReport {
    pub thread: String,
    pub graph: String,
    #[serde(flatten)]
    pub position: StatusShape,
    pub step: i64,
    pub state: Value,
    /// The state in the program's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Lines for a live view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub board: Vec<String>,
    /// Running tasks, as far as the process that runs the thread reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningShape>,
    pub checkpoint: Option<u64>,
    /// True if it failed because its finished tasks wrote what cannot be stored: only `retry` can help.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// The next steps, with their commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<NextStep>,
    #[serde(flatten)]
    pub origin: Origin,
    /// Nodes that block their executor thread, during a run and at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<BlockingNode>,
    /// Stop points that are stored with the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<StopRecord>,
    /// Signals that no task has received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mailbox: Vec<SentShape>,
}

/// A command to type next, after the words that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NextStep {
    /// The purpose: `once the cause is fixed, resume it with`.
    pub text: String,
    /// The command about the thread: `proceed`, and in full where it is printed.
    pub command: String,
}

impl NextStep {
    pub(crate) fn new(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self { text: text.into(), command: command.into() }
    }
}

/// A value of the state that an input replaces; without values if the channel is secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReplacedValue {
    pub channel: String,
    pub was: Option<Value>,
    pub now: Option<Value>,
}

/// A running task, with the last action of its agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunningShape {
    /// The node, with those whose subgraphs it is in.
    pub node: String,
    /// The task of the plan, or the label that the program gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    pub tokens: u64,
    /// In millionths of a dollar.
    pub cost: u64,
}

/// A sent signal, and the thread afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SignalReport {
    pub signal: String,
    #[serde(flatten)]
    pub report: ThreadReport,
}

/// A node that blocked its executor thread.
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

impl Deref for ThreadReport {
    type Target = StatusShape;

    fn deref(&self) -> &Self::Target {
        &self.position
    }
}

impl DerefMut for ThreadReport {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.position
    }
}

/// A pending question with the ways to answer it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    pub id: String,
    pub name: String,
    pub node: String,
    pub payload: Value,
    /// A description of the answer's JSON.
    pub takes: String,
    #[serde(flatten)]
    pub terms: TermsShape,
    /// Commands of `approve`, `reject` and `revise` that can answer it.
    #[serde(default)]
    pub words: Vec<String>,
    /// The answers that these words give here.
    #[serde(default)]
    pub means: Vec<String>,
    /// Full commands that answer it.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The question in the program's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Commands of the program that answer it, until they are completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested: Vec<String>,
    /// True if `edit` answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub editable: bool,
    #[serde(flatten)]
    pub others: Others,
}

/// The terms of a question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TermsShape {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The answer on expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The answers so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<AnswerShape>,
}

/// An answer to a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AnswerShape {
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub at: String,
    pub note: Option<String>,
}

/// The text that a person edits to answer a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub id: String,
    pub text: String,
}

/// A checkpoint without its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointShape {
    pub checkpoint: u64,
    pub parent: Option<u64>,
    pub step: i64,
    pub source: String,
    pub created_at: String,
}

/// A checkpoint in a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HistoryStep {
    #[serde(flatten)]
    pub info: CheckpointShape,
    #[serde(default)]
    pub next: Vec<String>,
    /// The value of the requested channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Its tasks, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskReport>>,
    #[serde(flatten)]
    pub others: Others,
}

/// A checkpoint with its state and tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotShape {
    #[serde(flatten)]
    pub info: CheckpointShape,
    pub next: Vec<String>,
    pub state: Value,
    pub tasks: Vec<TaskReport>,
    #[serde(flatten)]
    pub others: Others,
}

/// A task with the commands that answer its questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskReport {
    pub id: String,
    pub node: String,
    pub status: String,
    pub attempts: u32,
    pub error: Option<String>,
    pub failures: Vec<FailedAttempt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub writes: Option<Value>,
    pub questions: Vec<OpenQuestion>,
    pub answers: Vec<AnswerShape>,
    /// Its input, of a task that is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Value>,
    /// The snapshot of its subgraph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Box<SnapshotShape>>,
    #[serde(flatten)]
    pub others: Others,
}

/// A failed attempt of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FailedAttempt {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub error: String,
    pub at: String,
}

/// A checkpoint with its thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointReport {
    pub thread: String,
    pub graph: String,
    #[serde(flatten)]
    pub origin: Origin,
    #[serde(flatten)]
    pub snapshot: SnapshotShape,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GraphLine {
    pub graph: String,
    pub about: Option<String>,
    pub nodes: Vec<String>,
    pub channels: Vec<ChannelLine>,
    pub questions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    pub fingerprint: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChannelLine {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

/// Replaces stored paths by present ones in all texts. Copies nothing if no repository was moved.
pub(crate) fn with_present_paths(json: &Value) -> Cow<'_, Value> {
    if moved::is_any() { Cow::Owned(present(json.clone())) } else { Cow::Borrowed(json) }
}

/// The same for JSON that nobody else needs.
pub(crate) fn present(mut json: Value) -> Value {
    if moved::is_any() {
        replace(&mut json);
    }
    json
}

fn replace(json: &mut Value) {
    match json {
        Value::String(text) => {
            if let Cow::Owned(replaced) = moved::text(text) {
                *text = replaced;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(replace),
        Value::Object(values) => values.values_mut().for_each(replace),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

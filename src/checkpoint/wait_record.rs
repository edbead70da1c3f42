//! Stored form of waiting tasks: for signals, and for resume values with terms; and of the signals themselves.

use serde::{Deserialize, Serialize};

use super::id::CheckpointId;

/// Terms of a question, which is identified by checkpoint, task and place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsRecord {
    /// Checkpoint of the task that raised the question.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Index of the question.
    pub place: u32,
    /// Expiry, in milliseconds since 1970.
    pub expires: Option<u64>,
    /// Answer that applies after expiry, encoded like user values.
    pub default: Option<Vec<u8>>,
    /// Number of equal answers required.
    pub approvals: u32,
    /// Names of the people who may answer; empty: anybody.
    pub approvers: Vec<String>,
}

/// One of several answers that a question requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRecord {
    /// Checkpoint of the task that raised the question.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Index of the question.
    pub place: u32,
    /// Name of the person who answered.
    pub by: String,
    /// Time of the answer, in milliseconds since 1970.
    pub at: u64,
    /// Note of that person.
    pub note: Option<String>,
    /// Answer, encoded like user values.
    pub value: Vec<u8>,
}

/// A signal that a task waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveRecord {
    /// Name of the signal's type.
    pub name: String,
    /// The node that waits.
    pub node: String,
    /// Nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// Time at which it stops waiting, in milliseconds since 1970.
    pub until: Option<u64>,
    /// Key of the journal entry of the root graph's task that will hold the signal.
    pub entry: String,
}

/// A signal that was sent to a thread and that no task has received yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// Name of its type.
    pub name: String,
    /// Value, encoded like user values.
    pub value: Vec<u8>,
    /// Name of the sender.
    pub by: Option<String>,
    /// Time of sending, in milliseconds since 1970.
    pub at: u64,
    /// Note of the sender.
    pub note: Option<String>,
}

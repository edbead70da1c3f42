//! What is stored of tasks that wait: for signals, and for answers on terms; and the signals themselves.

use serde::{Deserialize, Serialize};

use super::id::CheckpointId;

/// The terms of a question, which its checkpoint, task and place name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsRecord {
    /// The checkpoint of the task that asked.
    pub checkpoint: CheckpointId,
    /// The task that asked.
    pub task: u32,
    /// The place of the question.
    pub place: u32,
    /// When it expires, in milliseconds since 1970.
    pub expires: Option<u64>,
    /// The answer that counts then, as user values are stored.
    pub default: Option<Vec<u8>>,
    /// How many equal answers it needs.
    pub approvals: u32,
    /// Who may answer; empty: anybody.
    pub approvers: Vec<String>,
}

/// One of several answers that a question needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRecord {
    /// The checkpoint of the task that asked.
    pub checkpoint: CheckpointId,
    /// The task that asked.
    pub task: u32,
    /// The place of the question.
    pub place: u32,
    /// Who answered.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
    pub note: Option<String>,
    /// The answer, as user values are stored.
    pub value: Vec<u8>,
}

/// A signal that a task waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveRecord {
    /// The name of the signal's type.
    pub name: String,
    /// The node that waits.
    pub node: String,
    /// The nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// When it stops waiting, in milliseconds since 1970.
    pub until: Option<u64>,
    /// The key of the entry in the journal of the root graph's task that will hold the signal.
    pub entry: String,
}

/// A signal that was sent to a thread and that no task has received yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// The name of its type.
    pub name: String,
    /// What it says, as user values are stored.
    pub value: Vec<u8>,
    /// Who sent it.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
    pub note: Option<String>,
}

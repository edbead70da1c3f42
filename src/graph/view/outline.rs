//! Checkpoints with their tasks in outline, as lists show them. Data only: knows no state, no journal and no store.

use serde::{Serialize, Serializer};
use superstep_base::time::rfc3339;

use crate::checkpoint::CheckpointId;
use crate::graph::records::CheckpointInfo;

/// A checkpoint with its tasks, without its state and their journals.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckpointOutline {
    /// The checkpoint.
    #[serde(flatten)]
    pub info: CheckpointInfo,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
    /// The tasks of the superstep that starts here.
    pub tasks: Vec<TaskOutline>,
}

impl CheckpointOutline {
    /// Returns the checkpoint's number.
    pub fn id(&self) -> CheckpointId {
        self.info.id
    }
}

/// A task of a [`CheckpointOutline`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskOutline {
    /// Its id within its thread: [`Ctx::task_id`](crate::graph::Ctx::task_id).
    pub id: String,
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// Its status, in the words of a [`TaskSnapshot`](super::TaskSnapshot).
    pub status: &'static str,
    /// The number of attempts.
    pub attempts: u32,
    /// The error of its last attempt, if that failed.
    pub error: Option<String>,
    /// When it was started, or its superstep if it ran alone, in milliseconds since 1970; none before its first attempt.
    #[serde(serialize_with = "write_time_if_known")]
    pub started_at: Option<u64>,
    /// When it ended, or its superstep if it ran alone, or its last attempt failed, in milliseconds since 1970; none before.
    #[serde(serialize_with = "write_time_if_known")]
    pub ended_at: Option<u64>,
    /// The number of entries in its journal.
    pub effects: u32,
    /// The number of its pending questions.
    pub questions: usize,
    /// True if it ran a subgraph whose checkpoints are stored.
    #[serde(rename = "has_inside")]
    pub is_around: bool,
    /// The key of its record.
    #[serde(skip)]
    pub(crate) stored: u32,
}

pub(super) fn write_time_if_known<W: Serializer>(millis: &Option<u64>, out: W) -> Result<W::Ok, W::Error> {
    millis.map(rfc3339).serialize(out)
}

//! The outcome of a task.

use serde::{Deserialize, Serialize};

/// The outcome of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// The task is done.
    Done,
    /// The task was given up.
    GaveUp,
    /// A person decided that it failed.
    Failed,
    /// A person ended the run.
    Cancelled,
}

//! A developer agent's report on a task. Plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A developer's report on a task: what they hand over with `submit_work`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkReport {
    /// How the work stands.
    pub status: WorkStatus,
    /// What was done, in a few sentences.
    #[serde(default)]
    pub summary: String,
    /// The files that were changed.
    #[serde(default)]
    pub files: Vec<String>,
    /// What has to be answered before the work can go on; needed unless it is done.
    #[serde(default)]
    pub question: Option<String>,
}

/// How work on a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// It is ready for review.
    Done,
    /// Something stands in the way that only a person can move.
    Blocked,
    /// Something has to be known that only a person can tell.
    NeedsInfo,
}

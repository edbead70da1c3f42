//! Key of salvaged work: task, attempt and phase.

use serde::{Deserialize, Serialize};

/// Key of salvaged work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalvageKey {
    /// Thread of the run.
    pub thread: String,
    /// Id of the task in the plan.
    pub task: String,
    /// Attempt, from 1: of the phase, if there is one.
    pub attempt: u32,
    /// Phase; `None` if the work has no phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<SalvagePhase>,
}

/// Position of salvaged work in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SalvagePhase {
    /// Phase, from 1.
    pub phase: u32,
    /// Piece of work on the task within the attempt, from 1: a task that conflicts with others is worked on twice.
    pub nth: u32,
}

//! The name of salvaged work: its task, its attempt and its phase.

use serde::{Deserialize, Serialize};

/// Whose work is salvaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalvageKey {
    /// The thread.
    pub thread: String,
    /// The task's id in the plan.
    pub task: String,
    /// The attempt, from 1: of the phase, if there is one.
    pub attempt: u32,
    /// The phase it is part of; none if the work has no phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<SalvagePhase>,
}

/// The part of a phase that work was salvaged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SalvagePhase {
    /// The phase, from 1.
    pub phase: u32,
    /// The piece of work on the task within the attempt, from 1: a task that collides with others is worked on twice.
    pub nth: u32,
}

//! Graphs built from nodes and routers, and the [`Profile`] that configures their agents. They know no command line.
//!
//! | file | what it knows |
//! |---|---|
//! | `profile`, `agent` | the configuration of agents; the agent of a role, for nodes |
//! | `attempt`, `phases` | an attempt at a task, the same for all workflows; the phases of a plan as data |
//! | `start` | what every start of a run needs |
//! | `routes` | routers that only these workflows need |
//! | `task_based`, `phased`, `code_task` | the workflows: a plan task by task, or phase by phase; one task |
//! | `fork`, `texts` | the place of a fork; text that the workflows share |
//! | `demo` | small graphs without models |
//!
//! Small because it only lists the folder.

pub(crate) mod agent;
mod attempt;
pub mod code_task;
pub mod demo;
mod fork;
pub mod phased;
mod phases;
mod profile;
mod routes;
mod start;
pub mod task_based;
pub(crate) mod texts;

pub use attempt::AttemptOutcome;
pub use fork::ForkPlace;
pub use profile::{
    AgentProfile, AgentSettings, Api, CommitTemplate, Endpoint, OnExhausted, OnSubtaskFailure, Overrides,
    PhasedSettings, PlanContext, Profile, ProfileError, ProfileProblem, RetrySession, Role, Tools, Tracker, TurnLimits,
    WorktreeSettings,
};
pub(crate) use profile::{CommitSlots, of_lone_task};

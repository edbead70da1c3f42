//! Graphs built from nodes and routers, and the [`Profile`] that configures their agents. They know no command line.

pub(crate) mod agent;
mod budget;
pub mod code_task;
pub mod demo;
mod fork;
pub(crate) mod made;
pub mod phased;
mod profile;
pub mod task_based;

pub use budget::{budget_commands, describe_budget, task_budget_commands};
pub use fork::ForkPlace;
pub use profile::{
    AgentProfile, AgentSettings, Api, CommitTemplate, Endpoint, OnExhausted, OnSubtaskFailure, Overrides, Phased,
    PlanContext, Profile, ProfileError, ProfileProblem, RetrySession, Role, Tools, Tracker, TurnLimits,
    WorktreeSettings,
};
pub(crate) use profile::{CommitSlots, of_lone_task};

//! Graphs built from nodes and routers, and the [`Profile`] that configures their agents. They know no command line.

pub(crate) mod agent;
pub mod code_task;
pub mod demo;
pub mod phased;
mod profile;
pub mod task_based;

pub use profile::{
    AgentProfile, AgentSettings, Api, Endpoint, OnExhausted, OnSubtaskFailure, Overrides, Phased, PlanContext, Profile,
    ProfileError, ProfileProblem, RetrySession, Role, Tools, Tracker, TurnLimits, WorktreeSettings,
};

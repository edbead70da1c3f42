//! Graphs wired from nodes and routers, and the [`Profile`] by which their agents are run. They know no command line.

pub mod demo;
mod profile;
pub mod task_based;

pub use profile::{
    AgentProfile, AgentSettings, Api, Endpoint, OnExhausted, Overrides, PlanContext, Profile, ProfileError,
    ProfileProblem, RetrySession, Role, Tools, Tracker, TurnLimits,
};

//! Profiles: the configuration of workflows with coding agents, such as drivers, models, limits, and retries. A profile
//! is read from a TOML file and stored in the state of a run, so it never holds a key.
//!
//! This module knows the names of drivers and the file; it knows no graph, no node and no environment variable's value.

mod api;
mod choices;
mod commit_template;
mod error;
mod overrides;
mod phased;
mod read;
mod settings;
mod table;

pub use api::{Api, Endpoint};
pub use choices::{OnExhausted, OnSubtaskFailure, PlanContext, RetrySession, Role, Tracker};
pub use commit_template::CommitTemplate;
pub(crate) use commit_template::{CommitSlots, of_lone_task};
pub use error::{ProfileError, ProfileProblem};
pub use overrides::Overrides;
pub use phased::{Phased, WorktreeSettings};
pub use settings::{AgentProfile, AgentSettings, Profile, Tools, TurnLimits};

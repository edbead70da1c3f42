//! Profiles: the configuration of workflows with coding agents, such as drivers, models, limits, and retries. A profile
//! is read from a TOML file and stored in the state of a run, so it never holds a key.
//!
//! This module knows the names of drivers and the file; it knows no graph, no node and no environment variable's value.
//!
//! | file | what it knows |
//! |---|---|
//! | `settings`, `choices`, `commit_template` | a profile and its parts |
//! | `read` | a profile from TOML and from flags |
//! | `table` | TOML and problems, without any setting |
//!
//! Small because it only lists the folder.

mod choices;
mod commit_template;
mod read;
mod settings;
mod table;

pub use choices::{OnExhausted, OnSubtaskFailure, PlanContext, RetrySession, Role, Tracker};
pub use commit_template::CommitTemplate;
pub(crate) use commit_template::{CommitSlots, of_lone_task};
pub use read::Overrides;
pub use settings::{
    AgentProfile, AgentSettings, Api, Endpoint, PhasedSettings, Profile, Tools, TurnLimits, WorktreeSettings,
};
pub use table::{ProfileError, ProfileProblem};

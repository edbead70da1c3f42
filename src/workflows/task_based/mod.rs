//! The workflow that executes a plan task by task: plan, approval by a person, a new agent session for each task,
//! checks, review, and a commit for each task that passes.
//!
//! ```text
//! START -> architect -> plan_validator -> human_approval -> prepare_workspace -> developer -> verify -> reviewer
//!            (unless there is a plan)                          ^                                          |
//!                                                              +---------- next_task_node <---------------+
//! ```
//!
//! A task that exhausts its attempts, or depends on a skipped one, goes to `halt`, where a person decides; the last one
//! to `finalize`. `jobs` makes each node's job from the state, `done` an update from its result; both are pure.

mod blocked;
pub(crate) mod concerns;
mod decided;
mod describe;
pub(crate) mod done;
mod dry_run;
mod fork;
pub(crate) mod graph;
pub(crate) mod jobs;
mod start;
mod state;
mod step;
mod summary;
mod tasks;
mod unfinished;
mod view;

pub(crate) use done::open as open_comments;
pub(crate) use tasks::{add_up, later};

pub use describe::{describe_approval, describe_change, describe_halt, plan_to_edit};
pub use dry_run::DryPlan;
pub use fork::fork;
pub use graph::graph;
pub use start::{Start, StartError, ensure_programs};
pub(crate) use start::{blocking, has_models, new_branch, origin, ready, with_scenarios};
pub use state::{AgenticStatus, DeveloperSession, ExecutionState, ExecutionStateUpdate, RunOutcome, Standing};
pub use step::Step;
pub use summary::summary;
pub use tasks::{LastReview, Mark, TaskLine, Unfinished};

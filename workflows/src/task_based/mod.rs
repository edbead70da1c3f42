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
//! to `finalize`.
//!
//! | file | what it knows |
//! |---|---|
//! | `state`, `tasks`, `view` | the state, the progress of its tasks; queries on it |
//! | `start`, `concerns`, `fork` | the start of a run; what a person should know of the repository; a fork |
//! | `graph` | nodes, edges, routers |
//! | `jobs`; `done`, `decided` | each node's job from the state; an update from its result, or from a person's decision; pure |
//! | `summary` | text for people |

mod concerns;
pub(crate) mod decided;
pub(crate) mod done;
mod fork;
pub(crate) mod graph;
pub(crate) mod jobs;
mod start;
mod state;
mod summary;
mod tasks;
mod view;

pub use super::start::StartError;
#[doc(hidden)]
pub use super::start::ensure_programs;
pub use fork::fork;
pub use graph::{Step, crew_graph, graph};
pub use start::RunStart;
pub use state::{AgenticStatus, ExecutionState, ExecutionStateUpdate, RunOutcome, RunResult};
#[doc(hidden)]
pub use summary::summary;
pub use tasks::{LastReview, Mark, TaskLine, Unfinished};

//! The workflow that executes a plan phase by phase: subtasks that depend only on earlier phases run in parallel, each
//! in its own worktree; a phase is integrated, checked and reviewed as a whole before it enters the run's branch.
//!
//! ```text
//! START -> architect -> plan_validator -> human_approval -> prepare_workspace -> plan_phases -> begin_phase
//!            (unless there is a plan)                                               +-------------^  |
//!   run_subtask (one for each subtask) <--------------------------------------------+----------------+
//!     -> integrate_phase -> review_phase -> begin_phase | retry_phase | halt | finalize
//! ```
//!
//! A plan without dependencies and phase headings is executed by the graph of [`task_based`](super::task_based).
//!
//! | file | what it knows |
//! |---|---|
//! | `view` | queries on the phases and the work on them |
//! | `graph`, `parts` | nodes, edges, routers; parts of the workflow for custom graphs |
//! | `jobs`; `done`, `decided` | each node's job from the state; an update from its result, or from a person's decision; pure |
//! | `run_subtask`, `subtask_jobs`, `subtask_done` | the worker of a subtask and its graph; its jobs and updates; pure |
//! | `progress` | a phase in progress, for people |
//!
//! Small because it only lists the folder.

mod decided;
mod done;
mod graph;
mod jobs;
mod parts;
mod progress;
mod run_subtask;
mod subtask_done;
mod subtask_jobs;
mod view;

pub use super::phases::{Omission, PhaseState, PhaseStatus, Progress, Subtask, SubtaskRun, SubtaskState};
pub use graph::{PhaseStep, crew_graph, graph};
pub use parts::{
    PhaseAttemptStep, PhaseRetryStep, PhasedPlanStep, execute_phased_plan, run_phase, run_phase_with_retry,
};
#[doc(hidden)]
pub use progress::{board, label, progress};
pub use run_subtask::{SubtaskStep, run_subtask};

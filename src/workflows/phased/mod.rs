//! The workflow that executes a plan phase by phase: subtasks that depend only on earlier phases run side by side, each by a fresh
//! agent in a worktree of its own; a phase is put together, checked and reviewed as a whole before it goes onto the run's branch.
//!
//! ```text
//! START -> architect -> plan_validator -> human_approval -> prepare_workspace -> plan_phases -> begin_phase
//!            (unless there is a plan)                                               +-------------^  |
//!   run_subtask (one for each subtask) <--------------------------------------------+----------------+
//!     -> integrate_phase -> review_phase -> begin_phase | retry_phase | halt | finalize
//! ```
//!
//! A plan without dependencies and phase headings is executed by the graph of [`task_based`](super::task_based). What a node is
//! to do is read from the state in `jobs`, its result changes the state in `done` and `decided`; all are pure.

mod decided;
mod done;
mod ended;
mod graph;
mod jobs;
mod parts;
mod plan;
mod progress;
mod review_job;
mod run_subtask;
mod state;
mod step;
mod subtask;
mod subtask_done;
mod subtask_graph;
mod subtask_jobs;
mod tree;
mod view;
mod work;

pub use graph::graph;
pub use parts::{
    PhaseAttemptStep, PhaseRetryStep, PhasedPlanStep, execute_phased_plan, run_phase, run_phase_with_retry,
};
pub use progress::{board, label, progress};
pub use run_subtask::run_subtask;
pub use state::{Omission, PhaseChange, PhaseReview, PhaseState, PhaseStatus, SubtaskState};
pub use step::{AfterPhasesApproval, PhaseStep};
pub use subtask::{Progress, Subtask, SubtaskRun, SubtaskStanding};
pub use subtask_graph::SubtaskStep;
pub use work::{HaltCause, PhaseStanding, PhaseWork, PlanFileStanding, SubtaskFailure, SubtaskWork, WorkChange};

pub(crate) use ended::ended_phase;
pub(crate) use state::change as change_phases;
pub(crate) use tree::tree as phase_tree;
pub(crate) use work::change as change_works;

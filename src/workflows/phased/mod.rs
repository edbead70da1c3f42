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
//! A plan without dependencies and phase headings is executed by the graph of [`task_based`](super::task_based). `jobs`
//! builds each node's job from the state, `done` and `decided` turn results into updates; all are pure.

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

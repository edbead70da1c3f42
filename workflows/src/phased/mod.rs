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
//! | `state`, `work`, `view` | the phases as people see them; the work on them; queries on both |
//! | `graph`, `parts` | nodes, edges, routers; parts of the workflow for custom graphs |
//! | `jobs`; `done`, `decided` | each node's job from the state; an update from its result, or from a person's decision; pure |
//! | `run_subtask`, `subtask_jobs`, `subtask_done` | the worker of a subtask and its graph; its jobs and updates; pure |
//! | `progress` | a phase in progress, as a tree for people |

mod decided;
mod done;
mod graph;
mod jobs;
mod parts;
mod progress;
mod run_subtask;
mod state;
mod subtask_done;
mod subtask_jobs;
mod view;
mod work;

pub use graph::{AfterPhasesApproval, PhaseStep, graph};
pub use parts::{
    PhaseAttemptStep, PhaseRetryStep, PhasedPlanStep, execute_phased_plan, run_phase, run_phase_with_retry,
};
pub(crate) use progress::tree as phase_tree;
pub use progress::{board, label, progress};
pub use run_subtask::{SubtaskStep, run_subtask};
pub(crate) use state::change as change_phases;
pub use state::{Omission, PhaseChange, PhaseReview, PhaseState, PhaseStatus, SubtaskState};
pub(crate) use view::ended_phase;
pub(crate) use work::change as change_works;
pub use work::{
    HaltCause, PhaseStanding, PhaseWork, PlanFileStanding, Progress, Subtask, SubtaskFailure, SubtaskRun, SubtaskWork,
    WorkChange,
};

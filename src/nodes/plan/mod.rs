//! The way from a plan, or a task, to its commits. Knows agents, checks, questions and the work tree; no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `draft` | a plan until it is approved, and its file |
//! | `prepare`, `worktree` | the repository, or a worktree, before the work |
//! | `phase` | phases and the whole plan: start, repetition, end |
//! | `subtask`, `integrate` | a subtask in its worktree, and its work put together with that of others |
//! | `split` | the children of a task |
//! | `halt` | questions about what did not pass |
//!
//! Small because it only lists the folder.

mod draft;
mod halt;
mod integrate;
mod phase;
mod prepare;
mod split;
mod subtask;
mod worktree;

pub use draft::{
    AdoptedPlan, ApprovalJob, ApprovalResult, ArchitectJob, ArchitectResult, PlanFile, PlanReviewed, architect,
    human_approval, plan_validator,
};
pub use halt::{AskJob, AskReason, HaltJob, HaltPhaseJob, HaltedPhase, Halting, QuestionReply, halt};
pub use integrate::{IntegrateJob, IntegrationResult};
pub use phase::{
    BeginPhaseJob, BegunPhase, EndPhasesJob, FinalizeJob, FinalizeResult, PlanPhasesJob, PlannedPhases, RetryPhaseJob,
    ReviewPhaseJob, finalize,
};
pub use prepare::{BeginTaskJob, BegunTask, PrepareJob, PreparedRepository, prepare_workspace};
pub use split::{ChildWork, ChildrenJob, JoinedChildren, SplitJob, SplitTask};
pub use subtask::{Collision, EndSubtask, EndedSubtask, KeptPart, Lane, Part};
pub use worktree::{Worktree, WorktreeJob, WorktreeProblem, restore_worktree};

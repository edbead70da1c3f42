//! Ready-made nodes for graphs that execute plans, over any state: two closures read the node's job from the state and
//! create its update. They know plans, agents behind the `Driver` trait, git behind `workspace`, and the engine; no
//! graph and no command line. All side effects go through the task's journal.
//!
//! | folder or file | what it knows |
//! |---|---|
//! | `job`, `step` | jobs and the constructor of nodes, nodes that need neither git nor agents |
//! | `siblings`, `events` | groups of parallel tasks, events of nodes at work |
//! | `prompts` | the texts for agents |
//! | `ask` | questions to people, as data |
//! | `git` | the work tree of a run |
//! | `agent` | agents, their turns, and the nodes in which agents work and review |
//! | `verify` | commands and verifiers that check work |
//! | `plan` | plans, phases and tasks from the first draft to the last commit |
//!
//! | node | action | questions to people |
//! |---|---|---|
//! | [`architect`] | lets an agent write a plan | |
//! | [`plan_validator`] | reads a plan and reports its problems | |
//! | [`human_approval`] | | [`ApprovePlan`], [`PlanChanged`] |
//! | [`prepare_workspace`] | prepares the repository | |
//! | [`developer`] | lets an agent work on a task | [`AgentQuestion`] |
//! | [`verify`] | runs the plan's commands | |
//! | [`reviewer`] | lets an agent review the work | [`ReviewUnavailable`] |
//! | [`commit_task`] | commits a task | |
//! | [`finalize`] | commits the last task and lets an agent review all work | |
//! | [`halt`] | saves work that did not pass | [`Halted`], [`PlanChanged`] |
//! | [`next_task_node`], [`run_command`] | advance to the next task; run a command | |
//!
//! All of them are a [`node()`] over a [`Job`], and so are custom nodes. [`Turn`] is the building block for custom agent
//! nodes.
//!
//! ```
//! use superstep::nodes::next_task_node;
//! use superstep::plan::TaskProgress;
//! use superstep::prelude::*;
//!
//! #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
//! struct Job {
//!     progress: TaskProgress,
//! }
//! # #[derive(NodeId)] enum Step { NextTask }
//! let graph = StateGraph::<Job, Step>::new()
//!     .add_node(Step::NextTask, next_task_node(|job: &Job| job.progress, |next| Job::update().progress(next)))
//!     .add_edge(START, Step::NextTask)
//!     .compile()?;
//! # Ok::<(), CompileError>(())
//! ```

mod agent;
mod ask;
mod events;
mod git;
mod job;
mod plan;
mod prompts;
mod siblings;
mod step;
mod verify;

pub use agent::{
    AgentAnswer, AgentCall, AgentSpec, AgentTurn, AgentTurnRequest, Agents, BudgetShare, Crew, CutOff, CutReason,
    DevelopResult, DeveloperJob, ReviewResult, ReviewVerdict, ReviewerJob, Submit, Turn, TurnResult, TurnTask,
    developer, reviewer,
};
pub use ask::{
    AfterBudget, AfterGivingUp, AfterHalt, AfterMissingReview, AfterMove, AfterRefusal, AgentQuestion, AgentReply,
    ApprovePlan, BranchMoved, BudgetReached, DecideTask, Halted, HaltedPhasePlace, PlanChanged, PlanChoice,
    RaisedLimits, ReviewUnavailable, Salvage, SessionRefused, TaskGivenUp, TaskToApprove, WrittenOverride,
};
pub use events::{EventPlace, Notes};
pub use git::{Base, CommitJob, CommittedWork, Folder, KeptAttempt, Traces, commit_task};
pub use job::{Context, Job, MakeUpdate, ReadJob, node};
pub use plan::{
    AdoptedPlan, ApprovalJob, ApprovalResult, ArchitectJob, ArchitectResult, FinalizeJob, FinalizeResult, HaltJob,
    Halting, PlanFile, PlanReviewed, PrepareJob, PreparedRepository, architect, finalize, halt, human_approval,
    plan_validator, prepare_workspace,
};
pub use prompts::{
    Brief, BriefPhase, BriefTask, Content, ContentError, Contents, Feedback, Prompt, PromptDiff, ReviewedWork, Section,
};
pub use siblings::Siblings;
pub use step::{CommandError, CommandOutput, ShellCommand, next_task_node, run_command};
pub use verify::{Check, RunVerifier, VerifierHost, VerifierRun, VerifyJob, VerifyResult, run_verifier, verify};

/// Items that only the workflows and the command line of superstep need. No version promises them.
#[doc(hidden)]
pub mod __private {
    pub use super::agent::{GivenUp, resolve_texts};

    pub use super::events::PhaseEvent;
    pub use super::git::{
        Advance, CommitTarget, FinishJob, FinishedTask, KeptFiles, LeftFiles, RecordJob, RecordResult, SnapshotJob,
        TakenSnapshot, keep_objects, release_objects, sweep_objects, tampering_message,
    };
    pub use super::plan::{
        AskJob, AskReason, BeginPhaseJob, BeginTaskJob, BegunPhase, BegunTask, ChildWork, ChildrenJob, Collision,
        EndPhasesJob, EndSubtask, EndedSubtask, HaltPhaseJob, HaltedPhase, IntegrateJob, IntegrationResult,
        JoinedChildren, KeptPart, Lane, Part, PlanPhasesJob, PlannedPhases, QuestionReply, RetryPhaseJob,
        ReviewPhaseJob, SplitJob, SplitTask, Worktree, WorktreeJob, WorktreeProblem, restore_worktree,
    };
    pub use super::prompts::SplitInput;
    pub use super::verify::{PlannedVerifier, plan_verifier};
}

//! Ready-made nodes for graphs that execute plans, over any state: two closures read the node's job from the state and
//! create its update. They know plans, agents behind the `Driver` trait, git behind `workspace`, and the engine; no
//! graph and no command line. All side effects go through the task's journal.
//!
//! | node | what it does | what it asks people |
//! |---|---|---|
//! | [`architect`] | has a plan written | |
//! | [`plan_validator`] | reads a plan, says what is wrong | |
//! | [`human_approval`] | | [`ApprovePlan`], [`PlanChanged`] |
//! | [`prepare_workspace`] | makes the repository ready | |
//! | [`developer`] | has a task worked on | [`AgentQuestion`] |
//! | [`verify`] | runs the plan's commands | |
//! | [`reviewer`] | has the work judged | [`ReviewUnavailable`] |
//! | [`commit_task`] | commits it | |
//! | [`finalize`] | commits the last one, has all of it judged | |
//! | [`halt`] | keeps work that did not pass | [`Halted`], [`PlanChanged`] |
//! | [`next_task_node`], [`run_command`] | count on, run a command | |
//!
//! [`Turn`] is the building block for agent nodes of your own.
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

mod activity;
mod advance;
mod agent_turn;
mod agents;
mod architect;
mod arrival;
mod attempt;
mod budget;
mod changes;
mod check_command;
mod checks;
mod collision;
mod commit;
mod contents;
mod crew;
mod developer;
mod finalize;
mod folder;
mod halt;
mod halt_phase;
mod human_approval;
mod integrate;
mod kept_objects;
#[cfg(unix)]
mod message;
mod next_task;
mod notice;
mod on_top;
mod outage;
mod part;
mod phase;
mod phase_event;
mod plan_file;
mod plan_validator;
mod prepare_workspace;
mod prompts;
mod questions;
mod record_copy;
mod recorded;
mod request;
mod reviewer;
mod run_command;
mod safely;
mod shell;
mod siblings;
mod step;
mod stored_files;
mod submit;
mod subtask;
mod transcript;
mod turn;
mod turn_texts;
mod verifier;
mod verify;
mod whole_file;
mod worktree;

pub use advance::Advance;
pub use agent_turn::{AgentCall, AgentTurn, AskedOfAgent};
pub use agents::{AgentSpec, Agents, Purse};
pub use architect::{ArchitectJob, Architected, architect};
pub use arrival::Notes;
pub use attempt::{
    AfterGivingUp, AskJob, Asking, BeginTaskJob, BegunTask, ChildWork, ChildrenJob, DecideTask, FinishJob,
    FinishedTask, GaveUp, JoinedChildren, Keep, KeptFiles, LeftFiles, RecordJob, Recorded, Reply, SnapshotJob,
    SplitCheck, SplitJob, SplitPrompt, SplitTask, TakenSnapshot, WrittenOverride, ask, begin_task, finish_task,
    join_children, record, snapshot, split,
};
pub use changes::DIFF_LIMIT;
pub use checks::Check;
pub use collision::Collision;
pub use commit::{CommitJob, Moved, commit_task};
pub use contents::{Content, ContentError, Contents};
pub use crew::Crew;
pub use developer::{Developed, DeveloperJob, GivenUp, developer};
pub use finalize::{FinalizeJob, Finalized, finalize};
pub use folder::{After, Base, Folder, Kept};
pub use halt::{HaltJob, Halting, halt};
pub use halt_phase::{HaltPhaseJob, HaltedPhase, halt_phase};
pub use human_approval::{ApprovalJob, ApprovePlan, Approved, TaskToApprove, human_approval};
pub use integrate::{Commit, IntegrateJob, Integrated, integrate};
pub use next_task::next_task_node;
pub use part::Part;
pub use phase::{
    BeginPhaseJob, BegunPhase, EndPhasesJob, KeptPart, PlanPhasesJob, PlannedPhases, RetryPhaseJob, ReviewPhaseJob,
    begin_phase, end_phases, plan_phases, retry_phase, review_phase,
};
pub use phase_event::{PhaseEvent, Place};
pub use plan_file::{Adopted, PlanFile};
pub use plan_validator::{PlanReviewed, plan_validator};
pub use prepare_workspace::{PrepareJob, Prepared, prepare_workspace};
pub use prompts::{Brief, BriefPhase, BriefTask, Diff, Feedback, Prompt, Section, ToSplit, Work};
pub use questions::{
    AfterBudget, AfterHalt, AfterMove, AfterRefusal, AgentQuestion, AgentReply, BranchMoved, BudgetReached, Halted,
    HaltedPhasePlace, PlanChanged, Raise, ReviewUnavailable, Salvage, SessionRefused, WhichPlan, WithoutReview,
};
pub use reviewer::{Reviewed, ReviewerJob, Verdict, reviewer};
pub use run_command::run_command;
pub use shell::{CommandError, CommandOutput, ShellCommand};
pub use siblings::Siblings;
pub use submit::{Submit, submitted};
pub use subtask::{EndSubtask, EndedSubtask, Lane, Turnstile};
pub use turn::{Answer, Cut, CutOff, Turn, TurnTask, Turned};
pub use verifier::{PlannedVerifier, RanVerifier, RunVerifier, VerifierHost, planned_verifier, run_verifier};
pub use verify::{Verified, VerifyJob, verify};
pub use worktree::{Unready, Worktree, WorktreeJob, worktree};

pub(crate) use folder::tampering_message;
#[cfg(feature = "app")]
pub(crate) use kept_objects::{keep_nothing, keep_records_of, keep_remaining};
#[cfg(feature = "app")]
pub(crate) use turn_texts::read_texts;
pub(crate) use worktree::restored;

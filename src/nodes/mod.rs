//! Ready-made nodes for graphs that execute plans, over any state: each is told by two closures what it reads from the
//! state and what it writes there. They know plans, agents behind the `Driver` trait, git behind `workspace`, and the engine; no
//! graph and no command line. Whatever they do outside goes through the task's journal.
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
//! [`Turn`] is what agents' nodes of your own are made of.
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
mod agent_turn;
mod agents;
mod architect;
mod asking;
mod changes;
mod commit;
mod contents;
mod crew;
mod developer;
mod finalize;
mod folder;
mod halt;
mod human_approval;
mod next_task;
mod outage;
mod plan_file;
mod plan_validator;
mod prepare_workspace;
mod prompts;
mod purse;
mod questions;
mod recorded;
mod reviewer;
mod run_command;
mod shell;
mod step;
mod submit;
mod turn;
mod turn_texts;
mod verify;

pub use agent_turn::{AgentCall, AgentTurn, AskedOfAgent};
pub use agents::{AgentSpec, Agents, Purse};
pub use architect::{ArchitectJob, Architected, architect};
pub use changes::DIFF_LIMIT;
pub use commit::{CommitJob, Moved, commit_task};
pub use contents::{Content, ContentError, Contents};
pub use crew::Crew;
pub use developer::{Developed, DeveloperJob, GivenUp, developer};
pub use finalize::{FinalizeJob, Finalized, finalize};
pub(crate) use folder::told_tampering;
pub use folder::{After, Base, Folder, Kept};
pub use halt::{HaltJob, Halting, halt};
pub use human_approval::{ApprovalJob, ApprovePlan, Approved, TaskToApprove, human_approval};
pub use next_task::next_task_node;
pub use plan_file::{Adopted, PlanFile};
pub use plan_validator::{PlanReviewed, plan_validator};
pub use prepare_workspace::{PrepareJob, Prepared, prepare_workspace};
pub use prompts::{Brief, Diff, Feedback, Prompt, Section, Work};
pub use questions::{
    AfterBudget, AfterHalt, AfterRefusal, AgentQuestion, AgentReply, BudgetReached, Halted, PlanChanged, Raise,
    ReviewUnavailable, SessionRefused, WhichPlan, WithoutReview,
};
pub use reviewer::{Reviewed, ReviewerJob, Verdict, reviewer};
pub use run_command::run_command;
pub use shell::{CommandError, CommandOutput, ShellCommand};
pub use submit::{Submit, submitted};
pub use turn::{Answer, Turn, Turned};
#[cfg(feature = "app")]
pub(crate) use turn_texts::read_texts;
pub use verify::{Check, Verified, VerifyJob, verify};

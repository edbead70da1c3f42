//! The state of the workflow's graph. Plain data; all of it is stored, so it holds no key and no transcript.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::tasks::{LastReview, TaskLine, Unfinished};
use crate::agent::{add_up, later};
use crate::attempt::AttemptOutcome as Standing; // the name under which values of it are stored
use crate::phases::{PhaseChange, PhaseState, PhaseWork, SubtaskWork, WorkChange, change_phases, change_works};
use crate::{Profile, Role};
use superstep::drivers::{NewLimits, SessionRef, Usage};
use superstep::graph::{Channels, State};
use superstep::nodes::{Base, Check};
use superstep::plan::{Comment, FinalReview, Issue, TaskProgress};
use superstep::workspace::{Head, TreeId};

/// Request of a run.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanRequest {
    /// The name of the profile.
    pub profile_id: String,
    /// The profile. Holds no keys.
    pub profile: Profile,
    /// The issue; `None` if only a plan was given.
    pub issue: Option<Issue>,
    /// The repository's folder, as an absolute path.
    pub working_dir: PathBuf,
    /// Set to allow uncommitted changes of the user; they are never committed.
    pub allow_dirty: bool,
    /// The requested branch; `None`: one named after the issue or the thread.
    pub wanted_branch: Option<String>,
}

/// The plan of a run, and its file.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct SourcePlan {
    /// The goal of the plan.
    pub goal: Option<String>,
    /// The plan. It only changes by a person's decision.
    pub plan_markdown: Option<String>,
    /// The plan's file, as read or written.
    pub plan_path: Option<PathBuf>,
    /// The hash of that file's text when it was last read.
    pub plan_hash: Option<String>,
    /// The files that the plan names.
    pub key_files: Vec<String>,
}

/// Origin of a plan: the architect's work on it, and a person's decision.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Planning {
    /// The architect's proposal as JSON; empty if it was unreadable, `None` without an architect.
    pub raw_architect_output: Option<String>,
    /// The architect's session.
    pub architect_session: Option<SessionRef>,
    /// The problems of the plan.
    pub plan_problems: Vec<String>,
    /// The number of times it was sent back for them.
    pub plan_revisions: u32,
    /// A person's request for the next plan, or the reason of a rejection.
    pub plan_feedback: Option<String>,
    /// Set if a person ended the run while the plan was written; there is then no approval.
    pub plan_ended: bool,
    /// True if a person approved the plan; `None` before the decision.
    pub human_approved: Option<bool>,
}

/// The start of a run, its tasks, and the current one.
#[derive(Channels, Clone, Debug, Serialize, Deserialize)]
pub struct RunPosition {
    /// The commit and files before the work; `None` until the repository is prepared.
    pub start: Option<Base>,
    /// The position of HEAD before the work; `None`: unknown.
    pub came_from: Option<Head>,
    /// The number of tasks; `None` until the plan is read. A plan without task headings is one task.
    pub total_tasks: Option<u32>,
    /// The tasks and their progress.
    #[channel(messages)]
    pub tasks: Vec<TaskLine>,
    /// The index of the current task, from 0.
    pub current_task_index: u32,
    /// The number of attempts at it that were reviewed or failed their checks.
    pub task_review_iteration: u32,
    /// The number of reviews in the whole run.
    pub review_iteration: u32,
    /// The maximum number of attempts at a task, from the profile. Default: 5.
    #[channel(default = TaskProgress::MAX_TASK_REVIEW_ITERATIONS)]
    pub max_task_review_iterations: u32,
    /// The maximum number of attempts at the current task, including those that a person added.
    pub attempts_allowed: u32,
}

/// The last attempt at the current task: its files, its session, its findings.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskAttempt {
    /// The commit and files before the current task.
    pub task_base: Option<Base>,
    /// The files after the last attempt.
    pub task_tree: Option<TreeId>,
    /// The files at the last review.
    pub last_reviewed_tree: Option<TreeId>,
    /// The developer's session, and its task.
    pub developer_session: Option<DeveloperSession>,
    /// The id of that session.
    pub driver_session_id: Option<String>,
    /// The number of consecutive attempts at the task without changes.
    pub empty_attempts: u32,
    /// The results of its last checks.
    pub checks: Vec<Check>,
    /// The reviewers' open comments on it.
    pub open_comments: Vec<Comment>,
    /// The other problems with the last attempt.
    pub failures: Vec<String>,
    /// The changes of the last attempt that no commit will contain, with the reason.
    pub left_out: Vec<String>,
}

/// Result of the last attempt, and what is kept of earlier ones.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskJudgement {
    /// A person's note to the developer.
    pub note: String,
    /// The last review.
    pub last_review: Option<LastReview>,
    /// The outcome of the last attempt.
    pub standing: Standing,
    /// The git reference that holds the last attempt's work.
    pub salvage: Option<String>,
    /// The git reference of the current task's earlier work, if it was removed from the files for other tasks.
    pub taken_out: Option<String>,
    /// The tasks that were started and wait because another plan put others before them.
    pub unfinished: Vec<Unfinished>,
    /// The models that a person chose for the current task after a server rejected a session.
    pub models: BTreeMap<Role, String>,
    /// The number of times the work was halted for a person.
    pub halts: u32,
}

/// The phases of a plan, and the work on the current one.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhasesWork {
    /// The index of the current phase, from 0.
    pub phase_index: u32,
    /// The phases of the plan; empty for execution task by task.
    #[channel(reduce = change_phases, write = PhaseChange, delta)]
    pub phases: Vec<PhaseState>,
    /// The current phase.
    pub phase: PhaseWork,
    /// The work of subtasks that is not on the branch yet, by subtask id.
    #[channel(reduce = change_works, write = WorkChange)]
    pub works: BTreeMap<String, SubtaskWork>,
}

/// The status of a run, its usage and its outcome.
#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunResult {
    /// The status of the agents.
    pub agentic_status: AgenticStatus,
    /// The total usage of agents.
    #[channel(add)]
    pub usage: Usage,
    /// The usage by role.
    #[channel(reduce = add_up)]
    pub used: BTreeMap<Role, Usage>,
    /// The limits that people set instead of the profile's.
    #[channel(reduce = later)]
    pub raised: NewLimits,
    /// The review of all the work.
    pub final_review: Option<FinalReview>,
    /// The outcome of the run; `None` while it runs.
    pub outcome: Option<RunOutcome>,
    /// Notices for a person: files left out, commits undone.
    #[channel(append)]
    pub notices: Vec<String>,
}

/// The state of a run: the request, the plan, and the progress of each task. The fields of its groups are its channels.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExecutionState {
    /// The request.
    #[channel(group)]
    #[serde(flatten)]
    pub request: PlanRequest,
    /// The plan and its file.
    #[channel(group)]
    #[serde(flatten)]
    pub source: SourcePlan,
    /// The work on the plan.
    #[channel(group)]
    #[serde(flatten)]
    pub planning: Planning,
    /// The tasks, and the current one.
    #[channel(group)]
    #[serde(flatten)]
    pub run: RunPosition,
    /// The last attempt at the current task.
    #[channel(group)]
    #[serde(flatten)]
    pub attempt: TaskAttempt,
    /// Result of that attempt.
    #[channel(group)]
    #[serde(flatten)]
    pub judgement: TaskJudgement,
    /// The phases.
    #[channel(group)]
    #[serde(flatten)]
    pub phased: PhasesWork,
    /// Status, usage and outcome.
    #[channel(group)]
    #[serde(flatten)]
    pub result: RunResult,
}

/// A developer's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeveloperSession {
    /// The index of its task; it is never resumed for another one.
    pub task_index: u32,
    /// The session.
    pub session: SessionRef,
}

/// The status of the agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgenticStatus {
    /// Not started.
    #[default]
    Pending,
    /// Working.
    Running,
    /// Waiting for a person.
    Waiting,
    /// Finished.
    Completed,
    /// Given up.
    Failed,
    /// Stopped by a person.
    Cancelled,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// All tasks are done or skipped.
    Completed,
    /// A task exhausted its attempts; a person decides.
    Halted,
    /// A person rejected the plan.
    Rejected,
    /// A person ended the run.
    Cancelled,
    /// The run gave up.
    Failed,
}

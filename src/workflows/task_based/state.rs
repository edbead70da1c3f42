//! What a run of the workflow knows: the state of its graph. Plain data; everything in it is stored, so no key and no
//! transcript is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::tasks::{LastReview, TaskLine, Unfinished, add_up, later};
use crate::drivers::{NewLimits, SessionRef, Usage};
use crate::graph::State;
use crate::nodes::{Base, Check};
use crate::plan::{Comment, FinalReview, Issue, TaskProgress};
use crate::workflows::phased::{
    PhaseChange, PhaseState, PhaseWork, SubtaskWork, WorkChange, change_phases, change_works,
};
use crate::workflows::{Profile, Role};
use crate::workspace::TreeId;

/// The state of a run: what is asked for, the plan, where each task stands.
#[derive(State, Clone, Debug, Serialize, Deserialize)]
pub struct ExecutionState {
    /// The name of the profile.
    pub profile_id: String,
    /// How the work is done, and by whom. Holds no keys.
    pub profile: Profile,
    /// What the work is for; none if a plan was given without one.
    pub issue: Option<Issue>,
    /// The repository's folder, as an absolute path.
    pub working_dir: PathBuf,
    /// Whether changes of the user's own may be in the files; they are in no commit.
    pub allow_dirty: bool,
    /// The branch that was asked for; none: one named after the issue or the thread.
    pub wanted_branch: Option<String>,

    /// What the plan is to reach.
    pub goal: Option<String>,
    /// The plan. It never changes during the work but by a person's decision.
    pub plan_markdown: Option<String>,
    /// The file it came from, or was written to.
    pub plan_path: Option<PathBuf>,
    /// The hash of that file's text when it was last read.
    pub plan_hash: Option<String>,
    /// The files that the plan names.
    pub key_files: Vec<String>,
    /// The plan as the architect handed it over, as JSON; empty if nothing was that can be read. None: no architect was asked.
    pub raw_architect_output: Option<String>,
    /// The architect's session.
    pub architect_session: Option<SessionRef>,
    /// What is wrong with the plan.
    pub plan_problems: Vec<String>,
    /// How often it was sent back because of that.
    pub plan_revisions: u32,
    /// What a person wants of the next plan, or why they rejected this one.
    pub plan_feedback: Option<String>,
    /// Whether a person ended the run while the plan was written; nobody is asked about it then.
    pub plan_ended: bool,
    /// Whether a person approved the plan; none before they decided.
    pub human_approved: Option<bool>,

    /// Where the work began; none before the repository is prepared.
    pub start: Option<Base>,
    /// How many tasks there are; none before the plan is read. A plan without task headings is one.
    pub total_tasks: Option<u32>,
    /// The tasks, and where each stands.
    #[channel(messages)]
    pub tasks: Vec<TaskLine>,
    /// The task worked on, from 0.
    pub current_task_index: u32,
    /// How many attempts at it were judged.
    pub task_review_iteration: u32,
    /// How many attempts were judged in all.
    pub review_iteration: u32,
    /// How many attempts a task gets; 5 unless the profile says otherwise, whose number wins.
    pub max_task_review_iterations: u32,
    /// How many attempts the current task gets, with those that a person added.
    pub attempts_allowed: u32,

    /// Where the current task began.
    pub task_base: Option<Base>,
    /// The files as the last attempt left them.
    pub task_tree: Option<TreeId>,
    /// The files at the last review.
    pub last_reviewed_tree: Option<TreeId>,
    /// The developer's session, and the task it is about.
    pub developer_session: Option<DeveloperSession>,
    /// The same session's id.
    pub driver_session_id: Option<String>,
    /// How many attempts at the task changed nothing.
    pub empty_attempts: u32,
    /// How its checks ended last.
    pub checks: Vec<Check>,
    /// What reviewers still hold against it.
    pub open_comments: Vec<Comment>,
    /// What else kept the last attempt from being accepted.
    pub failures: Vec<String>,
    /// What a person said to the developer.
    pub note: String,
    /// The last review.
    pub last_review: Option<LastReview>,
    /// What the last attempt came to.
    pub standing: Standing,
    /// Where the work of the attempt before is kept in git.
    pub salvage: Option<String>,
    /// Where the current task's earlier work is kept, if it was taken out of the files before the task is continued.
    pub taken_out: Option<String>,
    /// The tasks that were worked on and wait, because another plan puts others before them.
    pub unfinished: Vec<Unfinished>,
    /// The models that a person chose for the current task because a server refused a session.
    pub models: BTreeMap<Role, String>,
    /// How often the work was stopped for a person.
    pub halts: u32,

    /// The index of the phase in work, from 0.
    pub phase_index: u32,
    /// The phases of the plan; empty: it is executed task by task.
    #[channel(reduce = change_phases, write = PhaseChange, delta)]
    pub phases: Vec<PhaseState>,
    /// The phase in work.
    pub phase: PhaseWork,
    /// The work of subtasks that is not on the branch yet, by their ids.
    #[channel(reduce = change_works, write = WorkChange)]
    pub works: BTreeMap<String, SubtaskWork>,

    /// What agents are doing.
    pub agentic_status: AgenticStatus,
    /// What agents have used.
    #[channel(add)]
    pub usage: Usage,
    /// What each role has used.
    #[channel(reduce = add_up)]
    pub used: BTreeMap<Role, Usage>,
    /// The limits that people set in place of those of the profile.
    #[channel(reduce = later)]
    pub raised: NewLimits,
    /// What a reviewer says of all the work.
    pub final_review: Option<FinalReview>,
    /// What became of the run; none while it goes on.
    pub outcome: Option<RunOutcome>,
    /// What a person should know: files left out, commits taken back.
    #[channel(append)]
    pub notices: Vec<String>,
}

/// Nothing is known; a task gets as many attempts as it does by default.
impl Default for ExecutionState {
    fn default() -> Self {
        Self {
            profile_id: Default::default(),
            profile: Default::default(),
            issue: Default::default(),
            working_dir: Default::default(),
            allow_dirty: Default::default(),
            wanted_branch: Default::default(),
            goal: Default::default(),
            plan_markdown: Default::default(),
            plan_path: Default::default(),
            plan_hash: Default::default(),
            key_files: Default::default(),
            raw_architect_output: Default::default(),
            architect_session: Default::default(),
            plan_problems: Default::default(),
            plan_revisions: Default::default(),
            plan_feedback: Default::default(),
            plan_ended: Default::default(),
            human_approved: Default::default(),
            start: Default::default(),
            total_tasks: Default::default(),
            tasks: Default::default(),
            current_task_index: Default::default(),
            task_review_iteration: Default::default(),
            review_iteration: Default::default(),
            max_task_review_iterations: TaskProgress::MAX_TASK_REVIEW_ITERATIONS,
            attempts_allowed: Default::default(),
            task_base: Default::default(),
            task_tree: Default::default(),
            last_reviewed_tree: Default::default(),
            developer_session: Default::default(),
            driver_session_id: Default::default(),
            empty_attempts: Default::default(),
            checks: Default::default(),
            open_comments: Default::default(),
            failures: Default::default(),
            note: Default::default(),
            last_review: Default::default(),
            standing: Default::default(),
            salvage: Default::default(),
            taken_out: Default::default(),
            unfinished: Default::default(),
            models: Default::default(),
            halts: Default::default(),
            phase_index: Default::default(),
            phases: Default::default(),
            phase: Default::default(),
            works: Default::default(),
            agentic_status: Default::default(),
            usage: Default::default(),
            used: Default::default(),
            raised: Default::default(),
            final_review: Default::default(),
            outcome: Default::default(),
            notices: Default::default(),
        }
    }
}

/// A developer's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeveloperSession {
    /// The index of the task it is about: it is never gone on with for another.
    pub task_index: u32,
    /// The session.
    pub session: SessionRef,
}

/// What the last attempt at a task came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nobody has judged it.
    #[default]
    Unjudged,
    /// Its checks succeeded: it goes to review.
    Verified,
    /// It was not accepted.
    Failed,
    /// It was accepted.
    Approved,
    /// Trying again is no use.
    Halted(String),
    /// What git runs was changed, by an agent or a check: nothing is done before a person has looked.
    Tampered(String),
    /// A person put it aside.
    Skipped,
    /// A person ended the run.
    Aborted,
}

/// What agents are doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgenticStatus {
    /// Nothing yet.
    #[default]
    Pending,
    /// They work.
    Running,
    /// They wait for a person.
    Waiting,
    /// They are done.
    Completed,
    /// They gave up.
    Failed,
    /// A person stopped them.
    Cancelled,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// All tasks are done, or were skipped by a person.
    Completed,
    /// A task did not pass as often as it may; a person decides.
    Halted,
    /// A person rejected the plan.
    Rejected,
    /// A person ended it.
    Cancelled,
    /// It gave up.
    Failed,
}

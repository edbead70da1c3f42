//! What agent workflows ask people besides whether a plan is approved, and the answers. Plain data.

use serde::{Deserialize, Serialize};

use crate::graph::Interrupt;
use crate::plan::Comment;

/// The question what becomes of a task that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halted {
    /// The task's number.
    pub task: String,
    /// What it is.
    pub title: String,
    /// Why it did not pass.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// What a reviewer still holds against it.
    pub comments: Vec<Comment>,
    /// What its attempts changed: a line for each file, `+3 -1 src/tides.rs`. Empty if they changed nothing, or if nobody may
    /// look yet, because what git runs was changed.
    pub changes: String,
    /// What it has cost, in millionths of a dollar.
    pub cost: u64,
    /// Where its work is kept in git.
    pub salvage: Option<String>,
    /// Why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

/// What becomes of a task that did not pass. As JSON: `{"retry": {"attempts": 1, "note": ".."}}`, `"accept"`, `"skip"`,
/// `{"edit_plan": {"markdown": ".."}}` or `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AfterHalt {
    /// It is tried again.
    Retry {
        /// So many times from now on; 1.
        #[serde(default = "one")]
        attempts: u32,
        /// With this in mind.
        #[serde(default)]
        note: String,
    },
    /// Its work is committed as it stands.
    Accept,
    /// Its work is put aside, and the next task begins.
    Skip,
    /// It is tried again with another plan; tasks that are done stay done.
    EditPlan {
        /// The plan's text.
        markdown: String,
    },
    /// The run ends.
    Abort,
}

fn one() -> u32 {
    1
}

impl Interrupt for Halted {
    type Resume = AfterHalt;
    const NAME: &'static str = "halted";
}

/// The question what holds: the plan as it was approved, or the file that has changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChanged {
    /// The file.
    pub path: String,
    /// How it differs from the plan, if that was asked for.
    pub diff: Option<String>,
    /// Why the file cannot be adopted.
    pub problem: Option<String>,
    /// The commands that are run in a shell if it is adopted, each after its task's number.
    #[serde(default)]
    pub verify: Vec<String>,
}

/// Which plan holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhichPlan {
    /// The one that was approved.
    Keep,
    /// The one in the file; tasks that are done stay done.
    Adopt,
    /// Ask again, and show how they differ.
    Diff,
}

impl Interrupt for PlanChanged {
    type Resume = WhichPlan;
    const NAME: &'static str = "plan_changed";
}

/// A question of a developer who cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentQuestion {
    /// The task's number.
    pub task: String,
    /// What it is.
    pub title: String,
    /// The question.
    pub question: String,
    /// What was done until then.
    pub summary: String,
}

/// What a developer is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentReply {
    /// The answer.
    Reply {
        /// In words.
        text: String,
    },
}

impl Interrupt for AgentQuestion {
    type Resume = AgentReply;
    const NAME: &'static str = "question";
}

/// The question what becomes of work that no reviewer has judged: each time the answer could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewUnavailable {
    /// The task's number.
    pub task: String,
    /// What it is.
    pub title: String,
    /// Why the last answer could not be read.
    pub reason: String,
    /// How often a review was asked for.
    pub tries: u32,
}

/// What becomes of work that nobody has judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithoutReview {
    /// A reviewer is asked again.
    Retry,
    /// It counts as approved.
    Accept,
    /// The run ends.
    Abort,
}

impl Interrupt for ReviewUnavailable {
    type Resume = WithoutReview;
    const NAME: &'static str = "review_unavailable";
}

/// The question what becomes of a session that the server refuses, however often it is asked: it is too long, a filter stops it, or
/// the server takes its requests for broken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRefused {
    /// Whose session it is: `developer`.
    pub role: String,
    /// The task's number; empty if the session belongs to none.
    pub task: String,
    /// What the task is.
    pub title: String,
    /// The driver.
    pub driver: String,
    /// The model; none: the driver's own choice.
    pub model: Option<String>,
    /// What the server says.
    pub reason: String,
    /// How often it refused.
    pub tries: u32,
    /// Why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

/// What becomes of a session that the server refuses. As JSON: `"fresh"`, `{"model": "NAME"}`, `"retry"`, `"skip"` or `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    /// The work goes on in a new session, which is given the task, what was found so far, and the changes so far.
    Fresh,
    /// The same session goes on with another model, for the rest of the task.
    Model(String),
    /// The same request is sent again.
    Retry,
    /// The task is put aside, and the next begins.
    Skip,
    /// The run ends.
    Abort,
}

impl Interrupt for SessionRefused {
    type Resume = AfterRefusal;
    const NAME: &'static str = "session_refused";
}

//! Questions to people about a plan and the work on it, and their answers: its approval, a changed file or branch, a task
//! that did not pass or was given up. Plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graph::__private::question_schemas;
use crate::graph::interrupt::ReplyKind;
use crate::graph::{HumanQuestion, Interrupt, QuestionSchemas, Reply};
use crate::plan::{Comment, Decision, Plan};
use crate::workspace::{BranchMove, CommitId};

/// Asks for the approval of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovePlan {
    /// The plan's title.
    pub title: Option<String>,
    /// Its goal.
    #[schemars(extend("format" = "markdown"))]
    pub goal: Option<String>,
    /// Its tasks in order.
    pub tasks: Vec<TaskToApprove>,
    /// The ids of the tasks of each phase; empty if the plan is not phased.
    #[serde(default)]
    pub phases: Vec<Vec<String>>,
    /// Warnings: things that its author probably did not mean.
    #[schemars(extend("format" = "findings"))]
    pub warnings: Vec<String>,
    /// Problems of the plan, or of the answer before: it cannot be executed as it is.
    #[serde(default)]
    #[schemars(extend("format" = "findings"))]
    pub problems: Vec<String>,
    /// The file of the plan.
    #[serde(default)]
    pub path: Option<String>,
}

/// The decision that a reply makes about a plan: approved, rejected or to be revised, for the reason that the reply gives.
impl From<&Reply> for Decision {
    fn from(reply: &Reply) -> Self {
        let feedback = reply.feedback.clone().unwrap_or_default();
        match reply.kind {
            ReplyKind::Approve => Self::approve(),
            ReplyKind::Reject => Self::reject(feedback),
            ReplyKind::Revise => Self::revise(feedback),
        }
    }
}

/// A task of a plan to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskToApprove {
    /// Its number.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Shell commands that run after it: an approval allows them.
    pub verify: Vec<String>,
}

#[diagnostic::do_not_recommend]
impl Interrupt for ApprovePlan {
    type Resume = Decision;
    const NAME: &'static str = "approval";

    fn answer_shape() -> String {
        Decision::SHAPE.into()
    }

    fn schemas() -> QuestionSchemas {
        question_schemas::<Self, Decision>()
    }
}

impl ApprovePlan {
    /// Returns the question about a plan.
    pub fn of(plan: &Plan) -> Self {
        let task = |task: crate::plan::Task<'_>| TaskToApprove {
            id: task.id.to_string(),
            title: task.title.to_owned(),
            verify: task.verify.iter().map(ToString::to_string).collect(),
        };
        let phases = plan.phases();
        Self {
            title: plan.title().map(str::to_owned),
            goal: plan.goal().map(str::to_owned),
            tasks: plan.tasks().map(task).collect(),
            warnings: plan.warnings().iter().chain(&phases.warnings).map(ToString::to_string).collect(),
            phases: phases.phases.iter().map(|phase| phase.iter().map(ToString::to_string).collect()).collect(),
            problems: vec![],
            path: None,
        }
    }

    /// Returns the reason why a decision cannot be followed: a plan that cannot be read, a task that the plan does not
    /// have.
    #[must_use]
    pub fn refuses(&self, decision: &Decision) -> Option<String> {
        match decision {
            Decision::EditPlan { markdown } => Plan::parse(markdown.as_str()).err().map(|error| error.to_string()),
            Decision::Approve { tasks: Some(ids) } if ids.is_empty() => Some("no task was approved".into()),
            Decision::Approve { tasks: Some(ids) } => {
                let unknown = ids.iter().find(|id| self.tasks.iter().all(|task| task.id != id.as_str()))?;
                Some(format!("the plan has no task `{unknown}`"))
            }
            Decision::Approve { tasks: None } if !self.problems.is_empty() && self.tasks.is_empty() => {
                Some("this plan cannot be executed".into())
            }
            Decision::Approve { .. } | Decision::Reject { .. } | Decision::Revise { .. } => None,
        }
    }

    /// Returns the warnings about the plan of a decision that has another one.
    #[must_use]
    pub fn remarks_on(&self, decision: &Decision) -> Vec<String> {
        match decision {
            Decision::EditPlan { markdown } => warnings(markdown),
            Decision::Approve { .. } | Decision::Reject { .. } | Decision::Revise { .. } => vec![],
        }
    }
}

/// Returns the warnings about a plan; none if it cannot be read.
fn warnings(markdown: &str) -> Vec<String> {
    let Ok(plan) = Plan::parse(markdown) else { return vec![] };
    plan.warnings().iter().chain(&plan.phases().warnings).map(ToString::to_string).collect()
}

/// Asks how to continue with a task that did not pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterHalt, name = "halted", schema)]
pub struct Halted {
    /// The task's number.
    pub task: String,
    /// Its title.
    pub title: String,
    /// The reason why it did not pass.
    pub reason: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The open comments of a reviewer.
    #[schemars(extend("format" = "findings"))]
    pub comments: Vec<Comment>,
    /// The changes of its attempts: a line for each file, `+3 -1 src/tides.rs`. Empty if there are none, or if nobody
    /// may look yet, because what git runs was changed.
    pub changes: String,
    /// Its cost, in millionths of a dollar.
    pub cost: u64,
    /// The place in git at which its work is kept.
    pub salvage: Salvage,
    /// The reason why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
    /// Phase and subtask, in a run of phases.
    #[serde(flatten)]
    pub phase: Option<HaltedPhasePlace>,
}

/// The phase that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HaltedPhasePlace {
    /// The number of the phase, from 1.
    pub phase: u32,
    /// Id of the subtask that failed; none: the review rejected the phase.
    pub subtask: Option<String>,
}

/// The git references that keep work which did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Salvage {
    /// Those of a phase.
    All(Vec<String>),
    /// That of a task; none: it has none.
    One(Option<String>),
}

impl Salvage {
    /// Returns the references.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        let (all, one) = match self {
            Self::All(all) => (all.as_slice(), None),
            Self::One(one) => ([].as_slice(), one.as_deref()),
        };
        all.iter().map(String::as_str).chain(one)
    }
}

impl Default for Salvage {
    fn default() -> Self {
        Self::One(None)
    }
}

/// The next action for a task that did not pass. As JSON: `{"retry": {"attempts": 1, "note": ".."}}`, `"accept"`,
/// `"skip"`, `{"edit_plan": {"markdown": ".."}}` or `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AfterHalt {
    /// Retry.
    Retry {
        /// Number of further attempts; 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1))]
        attempts: u32,
        /// Note for the agent.
        #[serde(default)]
        #[schemars(extend("format" = "markdown"))]
        note: String,
    },
    /// Commit its work as it is.
    Accept,
    /// Set its work aside, and start the next task.
    Skip,
    /// Retry with another plan; finished tasks stay finished.
    EditPlan {
        /// The plan's text.
        #[schemars(extend("format" = "plan"))]
        markdown: String,
    },
    /// End the run.
    Abort,
}

impl AfterHalt {
    /// Returns the name of the answer: `edit_plan`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Accept => "accept",
            Self::Skip => "skip",
            Self::EditPlan { .. } => "edit_plan",
            Self::Abort => "abort",
        }
    }

    /// Returns why the answer is invalid, without looking at the work; none if it is valid.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Retry { attempts: 0, .. } => Some("`attempts` must be at least 1".to_owned()),
            Self::EditPlan { markdown } => Plan::parse(markdown.as_str()).err().map(|error| error.to_string()),
            Self::Retry { .. } | Self::Accept | Self::Skip | Self::Abort => None,
        }
    }

    /// Returns the warnings about the plan of an answer that has another one.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        match self {
            Self::EditPlan { markdown } => warnings(markdown),
            Self::Retry { .. } | Self::Accept | Self::Skip | Self::Abort => vec![],
        }
    }
}

/// Asks which plan to use: the approved one, or the file that was changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = PlanChoice, name = "plan_changed", schema)]
pub struct PlanChanged {
    /// The file.
    pub path: String,
    /// Its differences from the plan, if a person wanted them.
    #[schemars(extend("format" = "diff"))]
    pub diff: Option<String>,
    /// The reason why the file cannot be adopted.
    pub problem: Option<String>,
    /// Shell commands that run if it is adopted, each after its task's number.
    #[serde(default)]
    pub verify: Vec<String>,
}

/// The plan to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanChoice {
    /// The approved one.
    Keep,
    /// The one in the file; finished tasks stay finished.
    Adopt,
    /// Ask again, and show the difference.
    Diff,
}

/// Asks how to continue after somebody else moved the branch that the run works on or integrates into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterMove, name = "branch_moved", schema)]
pub struct BranchMoved {
    /// The branch.
    pub branch: String,
    /// Its commit where the run left it; none: it had none.
    pub old: Option<CommitId>,
    /// Its commit now; none: it is deleted.
    pub new: Option<CommitId>,
    /// The reason why the answer before could not be followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The decision on a branch that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterMove {
    /// Continue on top of its new commits; a deleted branch is made again where the run left it.
    Keep,
    /// End the run, and leave the branch as it is.
    Abort,
}

impl From<BranchMove> for BranchMoved {
    fn from(BranchMove { branch, old, new, .. }: BranchMove) -> Self {
        Self { branch, old, new, problem: None }
    }
}

impl<S> HumanQuestion<S> for BranchMoved {
    fn decide(&self, reply: &Reply) -> Option<AfterMove> {
        match reply.kind {
            ReplyKind::Approve => Some(AfterMove::Keep),
            ReplyKind::Reject => Some(AfterMove::Abort),
            ReplyKind::Revise => None,
        }
    }

    fn describe(&self, _: &S) -> Option<String> {
        let Self { branch, old, new, problem } = self;
        let moved = BranchMove { branch: branch.clone(), old: old.clone(), new: new.clone() };
        let mut lines = vec![format!("{moved}, but not by this run")];
        lines.extend(problem.iter().map(|problem| format!("the previous answer could not be applied: {problem}")));
        lines.push(match new {
            Some(_) => "`keep` continues on top of its commits, `abort` ends the run; neither moves it back".into(),
            None => "`keep` creates it again where the run left it, `abort` ends the run".into(),
        });
        Some(lines.join("\n"))
    }
}

/// Asks how to continue with a task that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterGivingUp, name = "gave_up", schema)]
pub struct TaskGivenUp {
    /// The task's id.
    pub task: String,
    /// Its title.
    pub title: String,
    /// The decision: `GIVE_UP` or `FAIL`.
    pub decision: String,
    /// The rule that made it.
    pub rule: String,
    /// The reason as text.
    pub reason: String,
    /// The number of the last attempt.
    pub attempt: u32,
    /// The errors and warnings of the last attempt, a line each.
    #[schemars(extend("format" = "findings"))]
    pub findings: Vec<String>,
    /// The reference that keeps the files of the last attempt.
    pub salvage: Option<String>,
    /// True if `split` can be answered.
    pub may_split: bool,
    /// The cost in millionths of a dollar.
    pub cost: u64,
    /// The reason why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

/// Asks a person to decide on an attempt, which a verifier leaves to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt, JsonSchema)]
#[interrupt(resume = AfterGivingUp, name = "decide", schema)]
pub struct DecideTask {
    /// The same as for a task that failed for good.
    #[serde(flatten)]
    pub about: TaskGivenUp,
}

/// The next action for a task. As JSON: `{"retry": {"attempts": 1, "note": ".."}}`, `"split"`, `{"override":
/// {"decision": "DONE", "why": ".."}}` or `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AfterGivingUp {
    /// Retry.
    Retry {
        /// The number of further turns of the agent; 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1))]
        attempts: u32,
        /// A note to the agent.
        #[serde(default)]
        #[schemars(extend("format" = "markdown"))]
        note: String,
    },
    /// Split it into children.
    Split,
    /// Decide in place of the rules.
    Override(WrittenOverride),
    /// End the run.
    Abort,
}

/// A decision of a person in place of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenOverride {
    /// `DONE`, `RETRY`, `SPLIT` or `FAIL`.
    #[schemars(extend("enum" = DECISIONS))]
    pub decision: String,
    /// The reason.
    #[schemars(extend("format" = "markdown"))]
    pub why: String,
    /// The name of the person.
    #[serde(default)]
    pub by: Option<String>,
}

/// The decisions that a person can make in place of the rules.
const DECISIONS: [&str; 4] = ["DONE", "RETRY", "SPLIT", "FAIL"];

impl AfterGivingUp {
    /// Returns the answer that a reply gives. Approving accepts the work as it is, which needs a reason: the feedback.
    pub fn of(reply: &Reply) -> Option<Self> {
        match (reply.kind, reply.feedback.clone()) {
            (ReplyKind::Approve, why) => {
                Some(Self::Override(WrittenOverride { decision: "DONE".into(), why: why?, by: reply.by.clone() }))
            }
            (ReplyKind::Reject, _) => Some(Self::Abort),
            (ReplyKind::Revise, note) => Some(Self::Retry { attempts: 1, note: note? }),
        }
    }
}

impl TaskGivenUp {
    /// Returns why an answer is invalid; none if it is valid.
    #[must_use]
    pub fn problem_of(&self, answer: &AfterGivingUp) -> Option<String> {
        match answer {
            AfterGivingUp::Retry { attempts: 0, .. } => Some("`attempts` must be at least 1".into()),
            AfterGivingUp::Split => self.unsplittable(),
            AfterGivingUp::Override(given) => self.problem_of_override(given),
            AfterGivingUp::Retry { .. } | AfterGivingUp::Abort => None,
        }
    }

    pub(in crate::nodes) fn problem_of_override(&self, given: &WrittenOverride) -> Option<String> {
        match given.decision.as_str() {
            _ if given.why.trim().is_empty() => Some("an override needs a reason: set `why`".into()),
            "SPLIT" => self.unsplittable(),
            decision if !DECISIONS.contains(&decision) => {
                Some(format!("`{decision}` is not a decision; use one of {}", DECISIONS.join(", ")))
            }
            _ => None,
        }
    }

    fn unsplittable(&self) -> Option<String> {
        let message =
            || format!("task {} cannot be split: it is at its maximum depth, or was already split", self.task);
        (!self.may_split).then(message)
    }
}

fn one() -> u32 {
    1
}

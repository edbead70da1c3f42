//! The node that asks a person about a plan. Must not know how they are reached or what follows from the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::phase::forgotten;
use super::plan_file::{Adopted, FileChange, PlanFile};
use super::questions::PlanChanged;
use super::step::step;
use crate::graph::{Ctx, Interrupt, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::{Decision, Plan};

/// Asks for the approval of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovePlan {
    /// The plan's title.
    pub title: Option<String>,
    /// Its goal.
    pub goal: Option<String>,
    /// Its tasks in order.
    pub tasks: Vec<TaskToApprove>,
    /// The ids of the tasks of each phase; empty if the plan is not phased.
    #[serde(default)]
    pub phases: Vec<Vec<String>>,
    /// Warnings: things that its author probably did not mean.
    pub warnings: Vec<String>,
    /// Problems of the plan, or of the answer before: it cannot be executed as it is.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The file of the plan.
    #[serde(default)]
    pub path: Option<String>,
}

/// A task of a plan to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    fn refuses(&self, decision: &Decision) -> Option<String> {
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
}

/// A plan to approve.
#[derive(Clone, Debug)]
pub struct ApprovalJob {
    /// The question.
    pub question: ApprovePlan,
    /// The file of the plan, if it has one: a person may have changed it meanwhile.
    pub file: Option<PlanFile>,
    /// The folder below which the file is written first, so that a person can read and edit the plan there; none: it
    /// exists.
    pub draft: Option<PathBuf>,
    /// Decision without asking a person.
    pub decided: Option<Decision>,
    /// Private reference that earlier versions used for the integration, which is removed with today's if the plan is
    /// rejected, and the work tree of the run.
    pub reference: Option<(String, Folder)>,
}

/// A person's decision on a plan.
#[derive(Clone, Debug)]
pub struct Approved {
    /// The decision.
    pub decision: Decision,
    /// The plan in the file at the last question, if it differs.
    pub adopted: Option<Adopted>,
}

impl From<ApprovePlan> for ApprovalJob {
    fn from(question: ApprovePlan) -> Self {
        Self { question, file: None, draft: None, decided: None, reference: None }
    }
}

/// Returns a node that interrupts the run with a question about a plan, and resumes with the [`Decision`] that answers
/// it: `ask` creates the question from the state, `decided` the update from the answer. An invalid decision becomes a
/// problem of the question, which is asked again; so is a changed plan file that is adopted. Answer it with
/// `thread.resume::<ApprovePlan>(Decision::approve())`.
///
/// The node fails if `ask` fails.
pub fn human_approval<S, N, C, A, J, D, E, W>(ask: A, decided: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    J: Into<ApprovalJob>,
    A: Fn(&S) -> Result<J, E> + Send + Sync + 'static,
    D: Fn(&S, Approved) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(move |state: &S| ask(state).map(Into::into), approve, decided).asks::<ApprovePlan>().asks::<PlanChanged>()
}

async fn approve<C: Send + Sync + 'static>(mut job: ApprovalJob, ctx: Ctx<C>) -> Result<Approved, NodeError> {
    let reference = job.reference.take();
    let approved = approved(job, &ctx).await?;
    if let (Decision::Reject { .. }, Some((reference, repository))) = (&approved.decision, &reference) {
        forgotten(reference, repository, &ctx).await?;
    }
    Ok(approved)
}

async fn approved<C: Send + Sync + 'static>(job: ApprovalJob, ctx: &Ctx<C>) -> Result<Approved, NodeError> {
    let ApprovalJob { mut question, mut file, draft, decided, .. } = job;
    if let Some(decision) = decided {
        return Ok(Approved { decision, adopted: None });
    }
    if let Some((file, root)) = file.as_ref().zip(draft) {
        file.write(ctx, &root).await?;
    }
    let mut adopted = None;
    let of_plan =
        file.as_ref().and_then(|file| Plan::parse(file.plan.as_str()).ok()).map(|plan| ApprovePlan::of(&plan));
    let of_plan = of_plan.map(|question| question.warnings).unwrap_or_default();
    let others: Vec<String> = question.warnings.iter().filter(|warning| !of_plan.contains(warning)).cloned().collect();
    for round in 0.. {
        let decision = decide(ctx, &question)?;
        let asked = file.as_mut().filter(|_| matches!(decision, Decision::Approve { .. }));
        let Some(file) = asked else { return Ok(Approved { decision, adopted }) };
        let changed = file.changed(ctx, &format!("plan file/{round}")).await?;
        let Some(FileChange { hash, adopted: plan }) = changed else { return Ok(Approved { decision, adopted }) };
        file.hash = hash;
        let kept = plan.is_none();
        if let Some(plan) = plan {
            question = ApprovePlan { path: question.path, ..ApprovePlan::of(&plan) };
            question.warnings.extend(others.iter().cloned());
            file.plan = plan.markdown().to_owned();
        }
        adopted = Some(Adopted { hash: file.hash.clone(), plan: file.plan.clone() });
        if kept {
            return Ok(Approved { decision, adopted });
        }
    }
    Err(NodeError::permanent("the plan's file changes without end"))
}

/// Asks until the decision is valid.
fn decide<C>(ctx: &Ctx<C>, question: &ApprovePlan) -> Result<Decision, NodeError> {
    let mut asked = question.clone();
    loop {
        let decision = ctx.interrupt(asked)?;
        let Some(problem) = question.refuses(&decision) else { return Ok(decision) };
        asked = question.clone();
        asked.problems.push(problem);
    }
}

//! The node that asks a person about a phase that did not pass, or about a run whose budget is used up. Knows the
//! questions, must not know their cause.

use std::path::PathBuf;

use super::agents::{AgentSpec, Agents};
use super::budget::{self, Spent};
use super::folder::Folder;
use super::halt::{adopt, decide};
use super::phase::{KeptPart, forgotten, keep, swept};
use super::plan_file::{Adopted, PlanFile};
use super::questions::{AfterHalt, BudgetReached, Halted, PlanChanged, Salvage};
use super::step::step;
use crate::drivers::NewLimits;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::workspace::{Head, TreeId};

/// A phase that did not pass.
#[derive(Clone, Debug)]
pub struct HaltPhaseJob {
    /// The question; none: the budget of the run is used up.
    pub question: Option<Halted>,
    /// The agent whose turn the budget stopped.
    pub agent: AgentSpec,
    /// The work tree of the run.
    pub repository: Folder,
    /// Work of subtasks, which is kept in git before the question.
    pub kept: Vec<KeptPart>,
    /// References of work that is already kept.
    pub salvage: Vec<String>,
    /// The folder of the worktrees.
    pub sweep: PathBuf,
    /// Private reference that earlier versions used for the integration; both are removed if the run ends.
    pub reference: String,
    /// The plan's file, if it has one.
    pub file: Option<PlanFile>,
    /// The work that is accepted: the files before and after.
    pub accepted: Option<[TreeId; 2]>,
    /// The reason why that work cannot be accepted; none: it can.
    pub unfit: Option<String>,
    /// Answer without asking a person.
    pub unattended: Option<AfterHalt>,
    /// The branch of the run, and the position to which the checkout goes back if the run ends; none: it stays.
    pub back: Option<(String, Head)>,
}

/// The decision on a phase.
#[derive(Clone, Debug)]
pub struct HaltedPhase {
    /// The decision; none: the budget was raised.
    pub decision: Option<AfterHalt>,
    /// True if a person made it.
    pub was_asked: bool,
    /// The plan to use from now on, if its file was changed.
    pub adopted: Option<Adopted>,
    /// References that keep the work.
    pub salvage: Vec<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

/// Returns a node that asks about a phase: `job` reads the question from the state, `done` creates the update from the
/// answer. The work is kept in git and the worktrees are removed before a person is asked.
pub fn halt_phase<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<HaltPhaseJob, E> + Send + Sync + 'static,
    D: Fn(&S, HaltedPhase) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<Halted>().asks::<PlanChanged>().asks::<BudgetReached>()
}

async fn perform<C: Agents>(job: HaltPhaseJob, ctx: Ctx<C>) -> Result<HaltedPhase, NodeError> {
    let Some(question) = &job.question else { return budget(&job, &ctx).await };
    let mut salvage = job.salvage.clone();
    salvage.extend(keep(&job.kept, &job.repository, &ctx).await?);
    salvage.sort();
    salvage.dedup();
    swept(Some(&job.sweep), &job.repository, &ctx).await?;
    let question = Halted { salvage: Salvage::All(salvage.clone()), ..question.clone() };
    let decision = match &job.unattended {
        Some(decision) => decision.clone(),
        None => decide(&question, |nth| leak(&job, &ctx, nth), &ctx).await?,
    };
    let adopted = match &job.file {
        Some(file) if decision != AfterHalt::Abort => adopt(file, &ctx).await?,
        _ => None,
    };
    let mut stays = None;
    if decision == AfterHalt::Abort {
        stays = leave(&job, &ctx).await?;
    }
    let (was_asked, raised) = (job.unattended.is_none(), NewLimits::default());
    Ok(HaltedPhase { decision: Some(decision), was_asked, adopted, salvage, raised, stays })
}

/// Ends the run: nothing refers to the integration any more, and the checkout goes back to where it was before.
async fn leave<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>) -> Result<Option<String>, NodeError> {
    forgotten(&job.reference, &job.repository, ctx).await?;
    match &job.back {
        Some((own, back)) => job.repository.go_back(ctx, own, back).await,
        None => Ok(None),
    }
}

/// Returns why accepted work cannot be committed: it contains keys of this process, or there is none.
async fn leak<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>, nth: u32) -> Result<Option<String>, NodeError> {
    let Some([from, to]) = &job.accepted else {
        return Ok(Some("there is no work that could be accepted; answer `retry`, `skip` or `abort`".into()));
    };
    if let Some(unfit) = &job.unfit {
        return Ok(Some(format!(
            "{unfit}; it cannot be taken as it is: answer `retry`, `edit_plan`, `skip` or `abort`"
        )));
    }
    let look = |_| async { job.repository.leaked(from, to).await };
    let leaked = ctx.effect(format!("accept/{nth}"), &[from, to], look).await?;
    let message = format!("{}; this work is never committed: answer `retry` or `skip`", leaked.join(", "));
    Ok((!leaked.is_empty()).then_some(message))
}

/// Asks for a larger budget.
async fn budget<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>) -> Result<HaltedPhase, NodeError> {
    let account = budget::account(ctx, "account", &job.agent).await?;
    let spent = Spent { agent: &job.agent, task: "", key: "budget", account };
    let raised = budget::raised(ctx, spent).await?;
    let (mut salvage, mut stays) = (vec![], None);
    if raised.is_none() {
        salvage = keep(&job.kept, &job.repository, ctx).await?;
        swept(Some(&job.sweep), &job.repository, ctx).await?;
        stays = leave(job, ctx).await?;
    }
    let decision = if raised.is_none() { Some(AfterHalt::Abort) } else { None };
    Ok(HaltedPhase { decision, was_asked: true, adopted: None, salvage, raised: raised.unwrap_or_default(), stays })
}

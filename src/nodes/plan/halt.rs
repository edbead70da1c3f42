//! The nodes that ask a person about a task or a phase that did not pass, or about a run whose budget is used up. They know
//! the questions, must not know their cause.

use std::path::PathBuf;

use super::draft::{AdoptedPlan, FileChange, PlanFile};
use super::phase::{forget_integration, sweep_worktrees};
use super::subtask::{KeptPart, keep};
use crate::drivers::NewLimits;
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::agent::{AgentSpec, Agents, BlockedTurn, BudgetAnswer, budget};
use crate::nodes::ask::{
    AfterGivingUp, AfterHalt, BranchMoved, BudgetReached, DecideTask, Halted, PlanChanged, Salvage, TaskGivenUp,
    WrittenOverride,
};
use crate::nodes::git::{Base, Folder, KeptAttempt, Traces, list_changes, tree_now};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::plan::Plan;
use crate::workspace::{Head, TreeId};

job! {
    /// A task that did not pass.
    #[derive(Clone, Debug)]
    pub struct HaltJob {
        /// The question.
        question: Halted,
        /// The folder of the work.
        folder: Folder,
        /// The base of the task.
        base: Base,
        ..
        /// Its work, which is kept in git before the question; none: there is none to keep.
        kept: Option<KeptAttempt>,
        /// The plan's file, if it has one.
        file: Option<PlanFile>,
        /// The tasks that are finished or skipped.
        closed: Vec<String>,
        /// The decision where nobody is asked.
        unattended: Option<AfterHalt>,
        /// The position to which the checkout goes back if the run ends; none: it stays, with the files of the task.
        back: Option<Head>,
    }
}

/// The decision on a task.
#[derive(Clone, Debug)]
pub struct Halting {
    /// The decision.
    pub decision: AfterHalt,
    /// True if a person made it.
    pub was_asked: bool,
    /// The plan to use from now on, if its file was changed.
    pub adopted: Option<AdoptedPlan>,
    /// The commit that keeps the work.
    pub salvaged: Option<String>,
    /// The files now; none if the run ends.
    pub tree: Option<TreeId>,
    /// Notices for a person.
    pub notices: Vec<String>,
    /// The base of the task, if people made commits meanwhile: it is on top of them.
    pub base: Option<Base>,
}

/// Returns a node that asks about a task that did not pass: `job` reads the question from the state, `done` creates the
/// update from the answer. The work is kept in git before. The files are reset with `skip`, and if another task is next
/// in the plan; changes that a person made meanwhile are kept too.
pub fn halt<S: State, N: NodeId, C: Context>(
    job: impl ReadJob<S, HaltJob>,
    done: impl MakeUpdate<S, Halting>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Context> Job<C> for HaltJob {
    type Output = Halting;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<Halting, NodeError> {
        let salvaged = match &self.kept {
            Some(kept) => Some(self.folder.keep(ctx, "keep", kept).await?),
            None => None,
        };
        let decision = match &self.unattended {
            Some(decision) => decision.clone(),
            None => {
                self.question.salvage = Salvage::One(salvaged.clone());
                if let Some(kept) = &self.kept {
                    self.question.changes =
                        list_changes(ctx, "changes", &self.folder, [&self.base.tree, &kept.tree]).await?;
                }
                decide(&self.question, |nth| leak(&self, ctx, nth), ctx).await?
            }
        };
        let adopted = match &self.file {
            Some(file) if decision != AfterHalt::Abort => adopt(file, ctx).await?,
            _ => None,
        };
        let was_asked = self.unattended.is_none();
        let mut halting = Halting { decision, was_asked, adopted, salvaged, tree: None, notices: vec![], base: None };
        match (&halting.decision, &self.back) {
            (AfterHalt::Abort, None) => {}
            (AfterHalt::Abort, Some(back)) => leave(&self, back, &mut halting, ctx).await?,
            _ => prepare_files(&self, &mut halting, ctx).await?,
        }
        Ok(halting)
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<Halted>().asks::<PlanChanged>().asks::<BranchMoved>()
    }
}

/// Ends the run: the files of the task, which git keeps, are reset, and the checkout goes back to where it was before. It
/// stays where somebody moved the branch or changed the files since.
async fn leave<C: Context>(job: &HaltJob, back: &Head, halting: &mut Halting, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Traces { tree, notices, at, moved, .. } = job.folder.snapshot_after_decision(ctx, &job.base).await?;
    halting.notices = notices;
    let (None, Some(tree), Some(own)) = (moved, tree, &job.base.at.branch) else { return Ok(()) };
    let at = at.unwrap_or_else(|| job.base.at.clone());
    let Some(arrival) = job.folder.arrive_at(ctx, "settle", &job.base, None, at).await? else { return Ok(()) };
    let kept = match &job.kept {
        Some(kept) => Some(arrival.carry(ctx, "settle/kept", &job.folder, &kept.tree).await?),
        None => None,
    };
    if tree != arrival.base.tree && kept != Some(tree) {
        halting.notices.push(format!("the checkout stays on `{own}`: it has changes that are stored nowhere else"));
        return Ok(());
    }
    job.folder.reset(ctx, &arrival.base.at, &arrival.base.tree).await?;
    halting.notices.extend(job.folder.go_back(ctx, own, back).await?);
    Ok(())
}

/// Prepares the files for what comes next.
async fn prepare_files<C: Context>(job: &HaltJob, halting: &mut Halting, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Traces { tree, notices, at, moved, .. } = job.folder.snapshot_after_decision(ctx, &job.base).await?;
    let (at, was_moved) = (at.unwrap_or_else(|| job.base.at.clone()), moved.is_some());
    let Some(arrival) = job.folder.arrive_at(ctx, "settle", &job.base, moved, at).await? else {
        (halting.decision, halting.was_asked) = (AfterHalt::Abort, true);
        return Ok(());
    };
    (halting.base, halting.notices) = (arrival.new_base(), notices);
    halting.tree = if was_moved { Some(tree_now(ctx, "settle/files", &job.folder).await?) } else { tree };
    let Some(tree) = halting.tree.clone().filter(|_| job.is_put_aside(halting)) else { return Ok(()) };
    let Base { at, tree: base } = &arrival.base;
    if tree != *base && job.kept.as_ref().is_none_or(|kept| kept.tree != tree) {
        let (task, attempt) = (job.question.task.clone(), job.question.attempts);
        let kept = KeptAttempt { task, attempt, commit: at.commit.clone(), tree };
        halting.salvaged = Some(job.folder.keep(ctx, "keep/settled", &kept).await?);
    }
    job.folder.reset(ctx, at, base).await?;
    halting.tree = Some(base.clone());
    Ok(())
}

impl HaltJob {
    /// Returns true if another task comes next, which must not find this one's work.
    fn is_put_aside(&self, halting: &Halting) -> bool {
        let plan = match (&halting.decision, &halting.adopted) {
            (AfterHalt::Skip, _) => return true,
            (AfterHalt::EditPlan { markdown }, _) => markdown,
            (AfterHalt::Retry { .. }, Some(adopted)) => &adopted.plan,
            (AfterHalt::Accept | AfterHalt::Abort | AfterHalt::Retry { .. }, _) => return false,
        };
        let Ok(plan) = Plan::parse(plan.as_str()) else { return false };
        let order = plan.execution_order();
        let next = order.iter().find(|task| !self.closed.iter().any(|closed| closed == task.id.as_str()));
        next.is_none_or(|task| task.id.as_str() != self.question.task)
    }
}

async fn adopt<C: Context>(file: &PlanFile, ctx: &Ctx<C>) -> Result<Option<AdoptedPlan>, NodeError> {
    let Some(FileChange { hash, adopted }) = file.ask_if_changed(ctx, "plan file").await? else { return Ok(None) };
    let plan = adopted.map_or_else(|| file.plan.clone(), |plan| plan.markdown().to_owned());
    Ok(Some(AdoptedPlan { hash, plan }))
}

/// Asks until the answer is valid; `refuses` returns why the work cannot be accepted, for the `nth` answer.
async fn decide<C, F, Fut>(question: &Halted, refuses: F, ctx: &Ctx<C>) -> Result<AfterHalt, NodeError>
where
    C: Context,
    F: Fn(u32) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Option<String>, NodeError>> + Send,
{
    let (mut asked, mut nth) = (question.clone(), 0_u32);
    loop {
        let decision = ctx.interrupt(asked)?;
        let problem = match decision.problem() {
            None if decision == AfterHalt::Accept => refuses(nth).await?,
            problem => problem,
        };
        if problem.is_none() {
            return Ok(decision);
        }
        nth += 1;
        asked = Halted { problem, ..question.clone() };
    }
}

/// Returns the keys of this process that the files contain: such work is not committed.
async fn leak<C: Context>(job: &HaltJob, ctx: &Ctx<C>, nth: u32) -> Result<Option<String>, NodeError> {
    let look = |_| async { job.folder.leaks_now(&job.base.tree).await };
    let leaked = ctx.effect(format!("accept/{nth}"), &job.base.tree, look).await?;
    let message = format!("{}; remove the key from the file, then accept again", leaked.join(", "));
    Ok((!leaked.is_empty()).then_some(message))
}

job! {
    /// A phase that did not pass: its work is kept in git and the worktrees are removed before a person is asked.
    #[derive(Clone, Debug)]
    pub struct HaltPhaseJob {
        /// The agent whose turn the budget stopped.
        agent: AgentSpec,
        /// The work tree of the run.
        repository: Folder,
        /// The folder of the worktrees.
        sweep: PathBuf,
        /// Private reference that earlier versions used for the integration; both are removed if the run ends.
        reference: String,
        ..
        /// The question; none: the budget of the run is used up.
        question: Option<Halted>,
        /// Work of subtasks, which is kept in git before the question.
        kept: Vec<KeptPart>,
        /// References of work that is already kept.
        salvage: Vec<String>,
        /// The plan's file, if it has one.
        file: Option<PlanFile>,
        /// The work that is accepted: the files before and after.
        accepted: Option<[TreeId; 2]>,
        /// The reason why that work cannot be accepted; none: it can.
        unfit: Option<String>,
        /// Answer without asking a person.
        unattended: Option<AfterHalt>,
        /// The branch of the run, and the position to which the checkout goes back if the run ends; none: it stays.
        back: Option<(String, Head)>,
    }
}

/// The decision on a phase.
#[derive(Clone, Debug)]
pub struct HaltedPhase {
    /// The decision; none: the budget was raised.
    pub decision: Option<AfterHalt>,
    /// True if a person made it.
    pub was_asked: bool,
    /// The plan to use from now on, if its file was changed.
    pub adopted: Option<AdoptedPlan>,
    /// References that keep the work.
    pub salvage: Vec<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

impl<C: Agents> Job<C> for HaltPhaseJob {
    type Output = HaltedPhase;

    async fn perform(self, ctx: &Ctx<C>) -> Result<HaltedPhase, NodeError> {
        let Some(question) = &self.question else { return raise_budget(&self, ctx).await };
        let mut salvage = self.salvage.clone();
        salvage.extend(keep(&self.kept, &self.repository, ctx).await?);
        salvage.sort();
        salvage.dedup();
        sweep_worktrees(Some(&self.sweep), &self.repository, ctx).await?;
        let question = Halted { salvage: Salvage::All(salvage.clone()), ..question.clone() };
        let decision = match &self.unattended {
            Some(decision) => decision.clone(),
            None => decide(&question, |nth| phase_leak(&self, ctx, nth), ctx).await?,
        };
        let adopted = match &self.file {
            Some(file) if decision != AfterHalt::Abort => adopt(file, ctx).await?,
            _ => None,
        };
        let mut stays = None;
        if decision == AfterHalt::Abort {
            stays = leave_phase(&self, ctx).await?;
        }
        let (was_asked, raised) = (self.unattended.is_none(), NewLimits::default());
        Ok(HaltedPhase { decision: Some(decision), was_asked, adopted, salvage, raised, stays })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<Halted>().asks::<PlanChanged>().asks::<BudgetReached>()
    }
}

/// Ends the run: nothing refers to the integration any more, and the checkout goes back to where it was before.
async fn leave_phase<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>) -> Result<Option<String>, NodeError> {
    forget_integration(&job.reference, &job.repository, ctx).await?;
    match &job.back {
        Some((own, back)) => job.repository.go_back(ctx, own, back).await,
        None => Ok(None),
    }
}

/// Returns why accepted work cannot be committed: it contains keys of this process, or there is none.
async fn phase_leak<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>, nth: u32) -> Result<Option<String>, NodeError> {
    let Some([from, to]) = &job.accepted else {
        return Ok(Some("there is no work to accept; answer `retry`, `skip` or `abort`".into()));
    };
    if let Some(unfit) = &job.unfit {
        return Ok(Some(format!(
            "{unfit}; it cannot be accepted as it is: answer `retry`, `edit_plan`, `skip` or `abort`"
        )));
    }
    let look = |_| async { job.repository.leaked_keys(from, to).await };
    let leaked = ctx.effect(format!("accept/{nth}"), &[from, to], look).await?;
    let message = format!("{}; this work is never committed: answer `retry` or `skip`", leaked.join(", "));
    Ok((!leaked.is_empty()).then_some(message))
}

/// Asks for a larger budget.
async fn raise_budget<C: Agents>(job: &HaltPhaseJob, ctx: &Ctx<C>) -> Result<HaltedPhase, NodeError> {
    let account = budget::account(ctx, "account", &job.agent).await?;
    let spent = BlockedTurn { agent: &job.agent, task: "", key: "budget", account };
    let raised = budget::ask_to_raise(ctx, spent).await?;
    let (mut salvage, mut stays) = (vec![], None);
    if raised.is_none() {
        salvage = keep(&job.kept, &job.repository, ctx).await?;
        sweep_worktrees(Some(&job.sweep), &job.repository, ctx).await?;
        stays = leave_phase(job, ctx).await?;
    }
    let decision = if raised.is_none() { Some(AfterHalt::Abort) } else { None };
    Ok(HaltedPhase { decision, was_asked: true, adopted: None, salvage, raised: raised.unwrap_or_default(), stays })
}

job! {
    /// A question to ask. An invalid answer is asked for again, with the reason.
    #[derive(Clone, Debug)]
    pub struct AskJob {
        /// The question.
        question: TaskGivenUp,
        /// The reason for it.
        asking: AskReason,
    }
}

/// The reason for which a person is asked.
#[derive(Clone, Debug)]
pub enum AskReason {
    /// The task was given up.
    GaveUp,
    /// A verifier leaves the decision to a person.
    Decide,
    /// The budget of the run, of which this agent has a share, is used up.
    Budget(Box<AgentSpec>),
}

/// An answer of a person.
#[derive(Clone, Debug)]
pub enum QuestionReply {
    /// An answer about the task.
    Task(AfterGivingUp),
    /// New limits of the run.
    Raised(NewLimits),
}

impl<C: Agents> Job<C> for AskJob {
    type Output = QuestionReply;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<QuestionReply, NodeError> {
        if let AskReason::Budget(agent) = &self.asking {
            let account = budget::account(ctx, "budget/account", agent).await?;
            let spent = BlockedTurn { agent, task: &self.question.task, key: "budget", account };
            let problem_of = |given: &WrittenOverride| self.question.problem_of_override(given);
            return Ok(match budget::ask_about_budget(ctx, spent, problem_of).await? {
                BudgetAnswer::Raised(limits) => QuestionReply::Raised(limits),
                BudgetAnswer::Aborted => QuestionReply::Task(AfterGivingUp::Abort),
                BudgetAnswer::Overridden(given) => QuestionReply::Task(AfterGivingUp::Override(given)),
            });
        }
        loop {
            let reply = match self.asking {
                AskReason::Decide => ctx.interrupt(DecideTask { about: self.question.clone() })?,
                AskReason::GaveUp | AskReason::Budget(_) => ctx.interrupt(self.question.clone())?,
            };
            match self.question.problem_of(&reply) {
                None => return Ok(QuestionReply::Task(reply)),
                problem => self.question.problem = problem,
            }
        }
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<TaskGivenUp>().asks::<DecideTask>().asks::<BudgetReached>()
    }
}

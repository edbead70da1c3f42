//! The nodes that start, repeat and end a phase, and all the work on a plan. They know branches, worktrees and salvage, and
//! must not know the content of a phase.

use std::path::PathBuf;

use super::subtask::{KeptPart, keep};
use super::worktree::{reopened, sweep};
use crate::drivers::Usage;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::nodes::agent::{AgentSpec, Agents, Answer, Reviewed, ReviewerJob, Turn, review_work};
use crate::nodes::ask::{BranchMoved, BudgetReached, ReviewUnavailable, SessionRefused};
use crate::nodes::events::PhaseEvent;
use crate::nodes::git::{
    Advance, Advanced, Base, CommitJob, Folder, Moved, advanced, commit, diff, failed, tampering_message, thread,
};
use crate::nodes::prompts::{Content, Contents, Prompt};
use crate::nodes::step::step;
use crate::plan::FinalReview;
use crate::workspace::{CommitId, Head, Standing, TreeId, reference_name};

/// Phases to plan.
#[derive(Clone, Debug)]
pub struct PlanPhasesJob {
    /// The work tree of the run.
    pub repository: Folder,
    /// A move of the branch to work that a person accepted before the plan was replaced, and the branch before it.
    pub advance: Option<(Advance, Standing)>,
    /// Folder of worktrees that may be left from an earlier run.
    pub sweep: PathBuf,
}

/// Result of planning phases.
#[derive(Clone, Debug)]
pub struct PlannedPhases {
    /// Commit and files of the moved branch; none if it was not moved.
    pub base: Option<Base>,
    /// True if a person ended the run, because its branch was moved: nothing was planned.
    pub is_aborted: bool,
}

/// Returns a node that prepares for phases: `job` reads the folder from the state, `done` creates the update with the
/// phases.
///
/// The node fails as [`begin_phase`] does.
pub fn plan_phases<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<PlanPhasesJob, E> + Send + Sync + 'static,
    D: Fn(&S, PlannedPhases) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let perform = |job: PlanPhasesJob, ctx: Ctx<C>| async move {
        let advance = job.advance.as_ref().map(|(advance, _)| advance);
        let Advanced::To(to) = advanced(advance, &job.repository, &ctx).await? else {
            return Ok(PlannedPhases { base: None, is_aborted: true });
        };
        swept(Some(&job.sweep), &job.repository, &ctx).await?;
        let Some((to, (_, at))) = to.zip(job.advance) else {
            return Ok(PlannedPhases { base: None, is_aborted: false });
        };
        let look = |_| async { job.repository.open().await?.tree_of(&to).await.map_err(failed) };
        let tree = ctx.effect("files", &to, look).await?;
        let at = Standing { commit: Some(to.clone()), ..at };
        Ok(PlannedPhases { base: Some(Base { at, tree }), is_aborted: false })
    };
    step(job, perform, done).asks::<BranchMoved>()
}

/// A phase to start or continue.
#[derive(Clone, Debug)]
pub struct BeginPhaseJob {
    /// The work tree of the run.
    pub repository: Folder,
    /// The move of the branch that ends the previous phase.
    pub advance: Option<Advance>,
    /// Folder of unused worktrees; none: they are still used.
    pub sweep: Option<PathBuf>,
    /// Branch and position without an advance.
    pub at: Standing,
    /// The files at that position.
    pub tree: TreeId,
    /// The home of agents, in which prompts find the plan, and the plan.
    pub plan: (PathBuf, String),
    /// The event to emit at the start.
    pub event: Option<PhaseEvent>,
}

/// A started phase.
#[derive(Clone, Debug)]
pub struct BegunPhase {
    /// Commit and files at the start, with the branch.
    pub base: Base,
    /// The plan, as prompts refer to it.
    pub plan: Content,
    /// True if a person ended the run, because its branch was moved: the phase did not start.
    pub is_aborted: bool,
}

/// Returns a node that starts a phase: moves the run's branch to the approved work, and updates the files of the work
/// tree. `job` reads the phase from the state, `done` creates the update.
///
/// The node fails, and moves nothing, if somebody else changed files that it has to update.
pub fn begin_phase<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<BeginPhaseJob, E> + Send + Sync + 'static,
    D: Fn(&S, BegunPhase) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let start = |job: BeginPhaseJob, ctx: Ctx<C>| async move { start_phase(job, &ctx).await };
    step(job, start, done).asks::<BranchMoved>()
}

async fn start_phase<C: Send + Sync + 'static>(job: BeginPhaseJob, ctx: &Ctx<C>) -> Result<BegunPhase, NodeError> {
    let Advanced::To(to) = advanced(job.advance.as_ref(), &job.repository, ctx).await? else {
        let base = Base { at: job.at, tree: job.tree };
        return Ok(BegunPhase { base, plan: Content::default(), is_aborted: true });
    };
    swept(job.sweep.as_ref(), &job.repository, ctx).await?;
    let (home, text) = &job.plan;
    let hash = crate::plan::hash(text);
    let put = |_| async { Contents::at(home).put(text).map_err(NodeError::permanent) };
    let plan = ctx.effect("plan", &hash, put).await?;
    let commit = to.or_else(|| job.at.commit.clone());
    let Some(commit) = commit else {
        let message = "a phase needs a commit to begin at, and this repository has none";
        return Err(NodeError::permanent(format!("{message} (help: commit once, then `retry`)")));
    };
    let begin = |_| async {
        let tree = job.repository.open().await?.tree_of(&commit).await.map_err(failed)?;
        if let Some(event) = job.event.clone() {
            event.emit(ctx).await;
        }
        Ok::<_, NodeError>(tree)
    };
    let tree = ctx.effect("begin", &commit, begin).await?;
    Ok(BegunPhase { base: Base { at: Standing { commit: Some(commit), ..job.at }, tree }, plan, is_aborted: false })
}

/// Removes unused worktrees.
pub(super) async fn swept<C>(folder: Option<&PathBuf>, repository: &Folder, ctx: &Ctx<C>) -> Result<(), NodeError>
where
    C: Send + Sync + 'static,
{
    let Some(folder) = folder else { return Ok(()) };
    ctx.effect("sweep", folder, |_| sweep(repository, folder, ctx)).await
}

/// Keeps the commits of a last phase that do not enter the branch, and removes what only the work on it needs. It is no
/// effect: records of earlier versions have none, and repeating it does no harm.
async fn set_aside<C>(job: &EndPhasesJob, ctx: &Ctx<C>) -> Result<(), NodeError>
where
    C: Send + Sync + 'static,
{
    if ctx.store().is_none() {
        return Ok(());
    }
    let workspace = job.all.folder.hold(ctx).await?;
    if let Some(advance) = &job.advance {
        let kept = workspace.keep_commits(&thread(ctx), &advance.to).await.map_err(failed)?;
        let note = format!("the commits of the last phase are not on `{}`; `{kept}` keeps them", advance.branch);
        ctx.keep_event(&serde_json::json!({ "note": note })).await;
    }
    sweep(&job.all.folder, &job.sweep, ctx).await?;
    forget(&job.reference, &job.all.folder, ctx).await
}

/// Returns the private reference that follows the integration of a thread's phase; it goes with the thread.
pub(super) fn integration_of<C>(ctx: &Ctx<C>) -> String {
    reference_name(&thread(ctx), &["integrated", "phase"])
}

/// Removes the private reference of the integration, and that of earlier versions.
pub(super) async fn forgotten<C>(earlier: &str, repository: &Folder, ctx: &Ctx<C>) -> Result<(), NodeError>
where
    C: Send + Sync + 'static,
{
    ctx.effect("reference", earlier, |_| forget(earlier, repository, ctx)).await
}

async fn forget<C>(earlier: &str, repository: &Folder, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let workspace = repository.open().await?;
    for reference in [earlier, &integration_of(ctx)] {
        workspace.remove_reference(reference).await.map_err(failed)?;
    }
    Ok(())
}

/// A phase to repeat.
#[derive(Clone, Debug)]
pub struct RetryPhaseJob {
    /// The work tree of the run.
    pub repository: Folder,
    /// The work of its subtasks.
    pub kept: Vec<KeptPart>,
    /// The folder of their worktrees.
    pub sweep: PathBuf,
}

/// Returns a node that sets the work of a rejected phase aside: keeps it in git, and removes its worktrees. `job` reads
/// the phase from the state, `done` creates the update from the references.
pub fn retry_phase<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<RetryPhaseJob, E> + Send + Sync + 'static,
    D: Fn(&S, Vec<String>) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let perform = |job: RetryPhaseJob, ctx: Ctx<C>| async move {
        let kept = keep(&job.kept, &job.repository, &ctx).await?;
        swept(Some(&job.sweep), &job.repository, &ctx).await?;
        Ok(kept)
    };
    step(job, perform, done)
}

/// A phase to review.
#[derive(Clone, Debug)]
pub struct ReviewPhaseJob {
    /// The work tree of the run.
    pub repository: Folder,
    /// The commit to review; the reviewer reads it in a separate worktree.
    pub at: CommitId,
    /// The review.
    pub review: ReviewerJob,
}

/// Returns a node that has a phase reviewed as a whole: `job` reads the phase from the state, `done` creates the update
/// from the review.
pub fn review_phase<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<ReviewPhaseJob, E> + Send + Sync + 'static,
    D: Fn(&S, Reviewed) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let perform = |job: ReviewPhaseJob, ctx: Ctx<C>| async move {
        let open = |_| async {
            reopened(&job.repository, &job.review.folder.directory, &job.at).await?;
            Ok::<_, NodeError>(())
        };
        ctx.effect("worktree", &job.at, open).await?;
        review_work(job.review, ctx).await
    };
    step(job, perform, done).asks::<ReviewUnavailable>().asks::<SessionRefused>().asks::<BudgetReached>()
}

/// Phases to end.
#[derive(Clone, Debug)]
pub struct EndPhasesJob {
    /// The move of the branch that ends the last phase.
    pub advance: Option<Advance>,
    /// The folder of all worktrees of the run.
    pub sweep: PathBuf,
    /// The private reference that earlier versions used for the integration.
    pub reference: String,
    /// The review of all the work.
    pub all: FinalizeJob,
}

/// Returns a node that ends the work on a plan in phases: moves the branch to the last phase, removes worktrees, and
/// has all the work reviewed. `job` reads the phases from the state, `done` creates the update.
///
/// The node fails as [`begin_phase`] does.
pub fn end_phases<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<EndPhasesJob, E> + Send + Sync + 'static,
    D: Fn(&S, Finalized) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let perform = |mut job: EndPhasesJob, ctx: Ctx<C>| async move {
        let repository = job.all.folder.clone();
        match advanced(job.advance.as_ref(), &repository, &ctx).await? {
            Advanced::To(Some(to)) => job.all.commit.base.at.commit = Some(to),
            Advanced::To(None) => {}
            Advanced::Aborted => {
                set_aside(&job, &ctx).await?;
                return Ok(Finalized::aborted(job.all.commit.base));
            }
        }
        swept(Some(&job.sweep), &repository, &ctx).await?;
        forgotten(&job.reference, &repository, &ctx).await?;
        finalize_work(job.all, ctx).await
    };
    step(job, perform, done).asks::<BranchMoved>()
}

/// Work to end.
#[derive(Clone, Debug)]
pub struct FinalizeJob {
    /// The last commit.
    pub commit: CommitJob,
    /// The agent that reviews all of it; none: nobody does.
    pub reviewer: Option<AgentSpec>,
    /// The folder of the work.
    pub folder: Folder,
    /// The files at the start of the work.
    pub from: TreeId,
    /// The goal of the plan.
    pub goal: String,
    /// The tasks, a line each.
    pub outline: String,
    /// The folder for diffs that are too long for a prompt.
    pub long_diffs: PathBuf,
    /// The position to which the checkout goes back at the end; none: it stays.
    pub back: Option<Head>,
}

/// Ended work.
#[derive(Clone, Debug)]
pub struct Finalized {
    /// The last commit.
    pub moved: Moved,
    /// The review of all of it; or the reason why it cannot be read.
    pub review: Option<Result<FinalReview, String>>,
    /// The usage of the review.
    pub usage: Usage,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

impl Finalized {
    /// Returns the result if a person ended the run, because its branch was moved.
    pub(in crate::nodes) fn aborted(base: Base) -> Self {
        let moved = Moved { made: None, base, moved: None, is_aborted: true };
        Self { moved, review: None, usage: Usage::default(), stays: None }
    }
}

/// Returns a node that commits the last task and has all the work reviewed. The review is for people: nothing depends
/// on it, and the node does not fail without it.
pub fn finalize<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<FinalizeJob, E> + Send + Sync + 'static,
    D: Fn(&S, Finalized) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, finalize_work, done).asks::<BranchMoved>()
}

async fn finalize_work<C: Agents>(job: FinalizeJob, ctx: Ctx<C>) -> Result<Finalized, NodeError> {
    let mut ended = reviewed(&job, &ctx).await?;
    let own = ended.moved.base.at.branch.clone();
    if let (Some(back), Some(own), false) = (&job.back, own, ended.moved.is_aborted) {
        ended.stays = job.folder.go_back(&ctx, &own, back).await?;
    }
    job.folder.worktrees_unneeded(&ctx).await?;
    Ok(ended)
}

/// Commits the last task, and has all of the work reviewed.
async fn reviewed<C: Agents>(job: &FinalizeJob, ctx: &Ctx<C>) -> Result<Finalized, NodeError> {
    let moved = commit(&job.commit, ctx).await?;
    let nothing = || Finalized { moved: moved.clone(), review: None, usage: Usage::default(), stays: None };
    let reviewer = job.reviewer.clone().filter(|_| job.from != moved.base.tree && !moved.is_aborted);
    let Some(agent) = reviewer else { return Ok(nothing()) };
    let changes = diff(ctx, "diff", &job.folder, &job.long_diffs, [&job.from, &moved.base.tree]).await?;
    let prompt = Prompt::final_review(&job.goal, &job.outline, &changes);
    let files = changes.file().into_iter().collect();
    let turn = Turn::new::<FinalReview>("final review", agent, prompt, &job.folder);
    let turn = Turn { is_optional: true, files, ..turn };
    let turned = turn.take::<FinalReview, C>(ctx).await?;
    let review = match turned.answer {
        _ if !turned.tampered.is_empty() => Err(tampering_message("the reviewer", &turned.tampered)),
        Answer::Given(review) => Ok(review),
        Answer::Unusable(why) => Err(why),
        Answer::SessionLost => Err("its session was lost".into()),
    };
    Ok(Finalized { moved, review: Some(review), usage: turned.usage, stays: None })
}

//! The nodes that start, repeat and end a phase, and all the work on a plan. They know branches, worktrees and salvage, and
//! must not know the content of a phase.

use std::path::PathBuf;

use super::subtask::{KeptPart, keep};
use super::worktree::{reopen_worktree, sweep};
use crate::drivers::Usage;
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::agent::{AgentAnswer, AgentSpec, Agents, ReviewResult, ReviewerJob, Turn};
use crate::nodes::ask::{BranchMoved, BudgetReached, ReviewUnavailable, SessionRefused};
use crate::nodes::events::PhaseEvent;
use crate::nodes::git::{
    Advance, AdvanceResult, Base, CommitJob, CommittedWork, Folder, advance_branch, commit, diff, failed,
    tampering_message, thread,
};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::nodes::prompts::{Content, Contents, Prompt};
use crate::plan::FinalReview;
use crate::workspace::{BranchPositions, CommitId, Head, TreeId, reference_name};

job! {
    /// Phases to plan: the work tree is prepared for them.
    ///
    /// Its node fails as that of [`BeginPhaseJob`] does.
    #[derive(Clone, Debug)]
    pub struct PlanPhasesJob {
        /// The work tree of the run.
        repository: Folder,
        /// Folder of worktrees that may be left from an earlier run.
        sweep: PathBuf,
        ..
        /// A move of the branch to work that a person accepted before the plan was replaced, and the branch before it.
        advance: Option<(Advance, BranchPositions)>,
    }
}

/// Result of planning phases.
#[derive(Clone, Debug)]
pub struct PlannedPhases {
    /// Commit and files of the moved branch; none if it was not moved.
    pub base: Option<Base>,
    /// True if a person ended the run, because its branch was moved: nothing was planned.
    pub is_aborted: bool,
}

impl<C: Context> Job<C> for PlanPhasesJob {
    type Output = PlannedPhases;

    async fn perform(self, ctx: &Ctx<C>) -> Result<PlannedPhases, NodeError> {
        let advance = self.advance.as_ref().map(|(advance, _)| advance);
        let AdvanceResult::To(to) = advance_branch(advance, &self.repository, ctx).await? else {
            return Ok(PlannedPhases { base: None, is_aborted: true });
        };
        sweep_worktrees(Some(&self.sweep), &self.repository, ctx).await?;
        let Some((to, (_, at))) = to.zip(self.advance) else {
            return Ok(PlannedPhases { base: None, is_aborted: false });
        };
        let look = |_| async { self.repository.open().await?.tree_of(&to).await.map_err(failed) };
        let tree = ctx.effect("files", &to, look).await?;
        let at = BranchPositions { commit: Some(to.clone()), ..at };
        Ok(PlannedPhases { base: Some(Base { at, tree }), is_aborted: false })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

job! {
    /// A phase to start or continue: the run's branch moves to the approved work, and the files of the work tree are updated.
    ///
    /// Its node fails, and moves nothing, if somebody else changed files that it has to update.
    #[derive(Clone, Debug)]
    pub struct BeginPhaseJob {
        /// The work tree of the run.
        repository: Folder,
        /// Branch and position without an advance.
        at: BranchPositions,
        /// The files at that position.
        tree: TreeId,
        /// The home of agents, in which prompts find the plan, and the plan.
        plan: (PathBuf, String),
        ..
        /// The move of the branch that ends the previous phase.
        advance: Option<Advance>,
        /// Folder of unused worktrees; none: they are still used.
        sweep: Option<PathBuf>,
        /// The event to emit at the start.
        event: Option<PhaseEvent>,
    }
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

impl<C: Context> Job<C> for BeginPhaseJob {
    type Output = BegunPhase;

    async fn perform(self, ctx: &Ctx<C>) -> Result<BegunPhase, NodeError> {
        let AdvanceResult::To(to) = advance_branch(self.advance.as_ref(), &self.repository, ctx).await? else {
            let base = Base { at: self.at, tree: self.tree };
            return Ok(BegunPhase { base, plan: Content::default(), is_aborted: true });
        };
        sweep_worktrees(self.sweep.as_ref(), &self.repository, ctx).await?;
        let (home, text) = &self.plan;
        let hash = crate::plan::hash(text);
        let put = |_| async { Contents::at(home).put(text).map_err(NodeError::permanent) };
        let plan = ctx.effect("plan", &hash, put).await?;
        let commit = to.or_else(|| self.at.commit.clone());
        let Some(commit) = commit else {
            let message = "a phase needs a commit to start from, and this repository has none";
            return Err(NodeError::permanent(format!("{message} (help: commit once, then `retry`)")));
        };
        let begin = |_| async {
            let tree = self.repository.open().await?.tree_of(&commit).await.map_err(failed)?;
            if let Some(event) = self.event.clone() {
                event.emit(ctx).await;
            }
            Ok::<_, NodeError>(tree)
        };
        let tree = ctx.effect("begin", &commit, begin).await?;
        Ok(BegunPhase {
            base: Base { at: BranchPositions { commit: Some(commit), ..self.at }, tree },
            plan,
            is_aborted: false,
        })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

/// Removes unused worktrees.
pub(super) async fn sweep_worktrees<C: Context>(
    folder: Option<&PathBuf>,
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<(), NodeError> {
    let Some(folder) = folder else { return Ok(()) };
    ctx.effect("sweep", folder, |_| sweep(repository, folder, ctx)).await
}

/// Keeps the commits of a last phase that do not enter the branch, and removes what only the work on it needs. It is no
/// effect: records of earlier versions have none, and repeating it does no harm.
async fn set_aside<C: Context>(job: &EndPhasesJob, ctx: &Ctx<C>) -> Result<(), NodeError> {
    if ctx.thread_store().is_none() {
        return Ok(());
    }
    let workspace = job.all.folder.hold(ctx).await?;
    if let Some(advance) = &job.advance {
        let kept = workspace.keep_commits(&thread(ctx), &advance.to).await.map_err(failed)?;
        let note = format!("the commits of the last phase are not on `{}`; they are kept as `{kept}`", advance.branch);
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
pub(super) async fn forget_integration<C: Context>(
    earlier: &str,
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<(), NodeError> {
    ctx.effect("reference", earlier, |_| forget(earlier, repository, ctx)).await
}

async fn forget<C>(earlier: &str, repository: &Folder, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let workspace = repository.open().await?;
    for reference in [earlier, &integration_of(ctx)] {
        workspace.remove_reference(reference).await.map_err(failed)?;
    }
    Ok(())
}

job! {
    /// A rejected phase to repeat: its work is set aside, kept in git, and its worktrees are removed. The result is the
    /// references.
    #[derive(Clone, Debug)]
    pub struct RetryPhaseJob {
        /// The work tree of the run.
        repository: Folder,
        /// The folder of their worktrees.
        sweep: PathBuf,
        ..
        /// The work of its subtasks.
        kept: Vec<KeptPart>,
    }
}

impl<C: Context> Job<C> for RetryPhaseJob {
    type Output = Vec<String>;

    async fn perform(self, ctx: &Ctx<C>) -> Result<Vec<String>, NodeError> {
        let kept = keep(&self.kept, &self.repository, ctx).await?;
        sweep_worktrees(Some(&self.sweep), &self.repository, ctx).await?;
        Ok(kept)
    }
}

job! {
    /// A phase to review as a whole.
    #[derive(Clone, Debug)]
    pub struct ReviewPhaseJob {
        /// The work tree of the run.
        repository: Folder,
        /// The commit to review; the reviewer reads it in a separate worktree.
        at: CommitId,
        /// The review.
        review: ReviewerJob,
    }
}

impl<C: Agents> Job<C> for ReviewPhaseJob {
    type Output = ReviewResult;

    async fn perform(self, ctx: &Ctx<C>) -> Result<ReviewResult, NodeError> {
        let open = |_| async {
            reopen_worktree(&self.repository, &self.review.folder.directory, &self.at).await?;
            Ok::<_, NodeError>(())
        };
        ctx.effect("worktree", &self.at, open).await?;
        self.review.perform(ctx).await
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<ReviewUnavailable>().asks::<SessionRefused>().asks::<BudgetReached>()
    }
}

job! {
    /// Phases to end: the branch moves to the last phase, worktrees are removed, and all the work is reviewed.
    ///
    /// Its node fails as that of [`BeginPhaseJob`] does.
    #[derive(Clone, Debug)]
    pub struct EndPhasesJob {
        /// The folder of all worktrees of the run.
        sweep: PathBuf,
        /// The private reference that earlier versions used for the integration.
        reference: String,
        /// The review of all the work.
        all: FinalizeJob,
        ..
        /// The move of the branch that ends the last phase.
        advance: Option<Advance>,
    }
}

impl<C: Agents> Job<C> for EndPhasesJob {
    type Output = FinalizeResult;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<FinalizeResult, NodeError> {
        let repository = self.all.folder.clone();
        match advance_branch(self.advance.as_ref(), &repository, ctx).await? {
            AdvanceResult::To(Some(to)) => self.all.commit.base.at.commit = Some(to),
            AdvanceResult::To(None) => {}
            AdvanceResult::Aborted => {
                set_aside(&self, ctx).await?;
                return Ok(FinalizeResult::aborted_run(self.all.commit.base));
            }
        }
        sweep_worktrees(Some(&self.sweep), &repository, ctx).await?;
        forget_integration(&self.reference, &repository, ctx).await?;
        self.all.perform(ctx).await
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

job! {
    /// Work to end.
    #[derive(Clone, Debug)]
    pub struct FinalizeJob {
        /// The last commit.
        commit: CommitJob,
        /// The folder of the work.
        folder: Folder,
        /// The files at the start of the work.
        from: TreeId,
        ..
        /// The agent that reviews all of it; none: nobody does.
        reviewer: Option<AgentSpec>,
        /// The goal of the plan.
        goal: String,
        /// The tasks, a line each.
        outline: String,
        /// The position to which the checkout goes back at the end; none: it stays.
        back: Option<Head>,
    }
}

/// Ended work.
#[derive(Clone, Debug)]
pub struct FinalizeResult {
    /// The last commit.
    pub moved: CommittedWork,
    /// The review of all of it; or the reason why it cannot be read.
    pub review: Option<Result<FinalReview, String>>,
    /// The usage of the review.
    pub usage: Usage,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

impl FinalizeResult {
    /// Returns the result if a person ended the run, because its branch was moved.
    pub(in crate::nodes) fn aborted_run(base: Base) -> Self {
        let moved = CommittedWork { made: None, base, moved: None, is_aborted: true };
        Self { moved, review: None, usage: Usage::default(), stays: None }
    }
}

/// Returns a node that commits the last task and has all the work reviewed. The review is for people: nothing depends
/// on it, and the node does not fail without it.
pub fn finalize<S: State, N: NodeId, C: Agents>(
    job: impl ReadJob<S, FinalizeJob>,
    done: impl MakeUpdate<S, FinalizeResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Agents> Job<C> for FinalizeJob {
    type Output = FinalizeResult;

    async fn perform(self, ctx: &Ctx<C>) -> Result<FinalizeResult, NodeError> {
        let mut ended = commit_and_review(&self, ctx).await?;
        let own = ended.moved.base.at.branch.clone();
        if let (Some(back), Some(own), false) = (&self.back, own, ended.moved.is_aborted) {
            ended.stays = self.folder.go_back(ctx, &own, back).await?;
        }
        self.folder.worktrees_unneeded(ctx).await?;
        Ok(ended)
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

/// Commits the last task, and has all of the work reviewed.
async fn commit_and_review<C: Agents>(job: &FinalizeJob, ctx: &Ctx<C>) -> Result<FinalizeResult, NodeError> {
    let moved = commit(&job.commit, ctx).await?;
    let nothing = || FinalizeResult { moved: moved.clone(), review: None, usage: Usage::default(), stays: None };
    let reviewer = job.reviewer.clone().filter(|_| job.from != moved.base.tree && !moved.is_aborted);
    let Some(agent) = reviewer else { return Ok(nothing()) };
    let changes = diff(ctx, "diff", &job.folder, &agent.long_diffs(), [&job.from, &moved.base.tree]).await?;
    let prompt = Prompt::final_review(&job.goal, &job.outline, &changes);
    let files = changes.file().into_iter().collect();
    let turn = Turn::new::<FinalReview>("final review", agent, prompt, &job.folder);
    let turn = Turn { is_optional: true, files, ..turn };
    let turned = turn.take::<FinalReview, C>(ctx).await?;
    let review = match turned.answer {
        _ if !turned.tampered.is_empty() => Err(tampering_message("the reviewer", &turned.tampered)),
        AgentAnswer::Given(review) => Ok(review),
        AgentAnswer::Unusable(why) => Err(why),
        AgentAnswer::SessionLost => Err("the reviewer's session was lost".into()),
    };
    Ok(FinalizeResult { moved, review: Some(review), usage: turned.usage, stays: None })
}

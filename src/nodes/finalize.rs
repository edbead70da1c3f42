//! The node that ends the work on a plan: the last commit, and a review of everything. Knows no task.

use std::path::PathBuf;

use super::agents::{AgentSpec, Agents};
use super::changes::diff;
use super::commit::{CommitJob, Moved, commit};
use super::folder::{Base, Folder, tampering_message};
use super::prompts::Prompt;
use super::questions::BranchMoved;
use super::step::step;
use super::turn::{Answer, Turn};
use crate::drivers::Usage;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::FinalReview;
use crate::workspace::{Head, TreeId};

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
    pub(super) fn aborted(base: Base) -> Self {
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
    step(job, perform, done).asks::<BranchMoved>()
}

pub(super) async fn perform<C: Agents>(job: FinalizeJob, ctx: Ctx<C>) -> Result<Finalized, NodeError> {
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

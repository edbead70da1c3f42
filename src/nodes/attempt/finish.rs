//! The node that ends a task: commits its files, or records those of an unfinished turn. Knows git and files.

use serde::{Deserialize, Serialize};

use super::record::keep_tree;
use super::snapshot::{SnapshotJob, TakenSnapshot, taken};
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::nodes::commit::{CommitJob, Moved, commit};
use crate::nodes::folder::tampering;
use crate::nodes::questions::BranchMoved;
use crate::nodes::step::step;
use crate::workspace::{CommitId, Head, KeptTree};

/// A task to end.
#[derive(Clone, Debug)]
pub struct FinishJob {
    /// The commit on the branch.
    pub commit: CommitJob,
    /// Files of a turn that did not finish; none: they are recorded already.
    pub left: Option<LeftFiles>,
    /// The position to which the checkout goes back once the work is committed; none: it stays.
    pub back: Option<Head>,
}

/// Files that are not recorded yet.
#[derive(Clone, Debug)]
pub struct LeftFiles {
    /// Folder and files at the start of the task: if nothing differs, nothing is kept.
    pub snapshot: SnapshotJob,
    /// The commit that keeps them; its tree is replaced by the files found.
    pub kept: KeptTree,
}

/// An ended task.
#[derive(Clone, Debug)]
pub struct FinishedTask {
    /// The commit, if there is one.
    pub moved: Moved,
    /// Files that were recorded at the end.
    pub left: Option<KeptFiles>,
    /// A notice for people if the checkout could not go back.
    pub stays: Option<String>,
}

/// Files that were recorded at the end of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFiles {
    /// The files; none if git's hooks or configuration were changed, so that git was not run.
    pub files: Option<TakenSnapshot>,
    /// The commit that keeps them; none: nothing was changed, or they contain a key.
    pub commit: Option<CommitId>,
}

/// Returns a node that ends a task: `job` reads the task from the state, `done` creates the update.
///
/// The node fails if a hook refuses the commit; run again, it commits again.
pub fn finish_task<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<FinishJob, E> + Send + Sync + 'static,
    D: Fn(&S, FinishedTask) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<BranchMoved>()
}

async fn perform<C: Send + Sync + 'static>(job: FinishJob, ctx: Ctx<C>) -> Result<FinishedTask, NodeError> {
    let finished = finished(&job, &ctx).await?;
    if ctx.namespace().is_empty() {
        job.commit.folder.worktrees_unneeded(&ctx).await?;
    }
    Ok(finished)
}

async fn finished<C: Send + Sync + 'static>(job: &FinishJob, ctx: &Ctx<C>) -> Result<FinishedTask, NodeError> {
    match &job.left {
        None => {
            let back = job.back.as_ref().filter(|_| job.commit.tree.is_some()); // what is in no commit stays in the files
            if back.is_some() {
                // The checkout has gone back before, if this decision follows one that ended the task.
                job.commit.folder.arrive_without_asking(ctx, "own head", &job.commit.base).await?;
            }
            let moved = commit(&job.commit, ctx).await?;
            let stays = match (back, &moved.base.at.branch) {
                (Some(back), Some(own)) => job.commit.folder.go_back(ctx, own, back).await?,
                _ => None,
            };
            Ok(FinishedTask { moved, left: None, stays })
        }
        Some(left) => {
            let kept = left.keep(ctx).await?;
            let base = job.commit.base.clone();
            let moved = Moved { made: None, base, moved: None, is_aborted: false };
            Ok(FinishedTask { moved, left: Some(kept), stays: None })
        }
    }
}

impl LeftFiles {
    async fn keep<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<KeptFiles, NodeError> {
        let files = match taken(&self.snapshot, ctx).await {
            Ok(files) => files,
            Err(error) if tampering(&error).is_some() => return Ok(KeptFiles { files: None, commit: None }),
            Err(error) => return Err(error),
        };
        if files.tree == self.snapshot.base.tree || !files.leaked.is_empty() {
            return Ok(KeptFiles { files: Some(files), commit: None });
        }
        let kept = KeptTree { tree: files.tree.clone(), ..self.kept.clone() };
        let commit = keep_tree(&self.snapshot.folder, &kept, ctx).await?;
        Ok(KeptFiles { files: Some(files), commit: Some(commit) })
    }
}

//! The node that commits the work on a task. Knows the commit, must not know what follows it.

use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::folder::{Base, Folder, failed, lost_race, thread};
use super::questions::BranchMoved;
use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::workspace::{BranchMove, CommitId, CommitKey, CommitRequest, MadeCommit, Standing, TreeId, Workspace};

/// The number of times that a commit is tried while people commit at the same moment.
const TRIES: u32 = 5;

/// Work to commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommitJob {
    /// The repository and its folder.
    #[serde(skip)]
    pub folder: Folder,
    /// The base of the task.
    pub base: Base,
    /// The reviewed files; none: nothing is committed.
    pub tree: Option<TreeId>,
    /// The message, subject first.
    pub message: String,
    /// The task's number.
    pub task: String,
    /// The attempt, from 1.
    pub attempt: u32,
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The commit; none if there was nothing to commit.
    pub made: Option<CommitId>,
    /// The base of the next task.
    pub base: Base,
    /// Set if nothing was committed, because somebody else moved the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moved: Option<BranchMove>,
    /// True if a person ended the run for that reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_aborted: bool,
}

/// Returns a node that commits exactly the reviewed files, once: `job` reads the work from the state, `done` creates
/// the update from the commit. The user's earlier changes are never committed, and commits that people made meanwhile
/// stay beneath it.
///
/// The node fails if a hook refuses the commit; run again, it commits again.
pub fn commit_task<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<CommitJob, E> + Send + Sync + 'static,
    D: Fn(&S, Moved) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, |job: CommitJob, ctx: Ctx<C>| async move { commit(&job, &ctx).await }, done).asks::<BranchMoved>()
}

/// Commits, unless the commit exists. If the branch was moved, a person is asked first.
pub(super) async fn commit<C: Send + Sync + 'static>(job: &CommitJob, ctx: &Ctx<C>) -> Result<Moved, NodeError> {
    let mut job = job.clone();
    let mut moved = commit_once(&job, "commit", ctx).await?;
    for nth in 1.. {
        let Some(away) = moved.moved.take() else { break };
        let key = format!("commit/{nth}");
        let at = job.base.at.clone();
        match job.folder.arrive_at(ctx, &key, &job.base, Some(away), at).await? {
            // The reviewed files are compared with those at the start of the task: neither has the new commits.
            Some(arrival) => job.base.at = arrival.base.at,
            None => return Ok(Moved { is_aborted: true, ..moved }),
        }
        moved = commit_once(&job, &key, ctx).await?;
    }
    Ok(moved)
}

/// Commits work whose base gets the files of `start` with all commits that were made since.
pub(super) async fn commit_since<C: Send + Sync + 'static>(
    start: Option<&Base>,
    job: &CommitJob,
    ctx: &Ctx<C>,
) -> Result<Moved, NodeError> {
    let Some((start, now)) = start.zip(job.base.at.commit.clone()) else { return commit(job, ctx).await };
    let mut job = job.clone();
    let commits = (start.at.commit.clone(), now);
    job.base.tree = job.folder.with_commits(ctx, "commit/base", &start.tree, &commits).await?;
    commit(&job, ctx).await
}

async fn commit_once<C>(job: &CommitJob, key: &str, ctx: &Ctx<C>) -> Result<Moved, NodeError>
where
    C: Send + Sync + 'static,
{
    let commit = CommitKey { thread: thread(ctx), task: job.task.clone(), phase: None, attempt: job.attempt };
    let probe = |_| async {
        let workspace = job.folder.hold(ctx).await?;
        match found(&workspace, job, &commit).await? {
            Some(_) => make(job, &commit, ctx).await.map(Some),
            None => Ok::<_, NodeError>(None),
        }
    };
    ctx.effect(key, job, |_| make(job, &commit, ctx)).probe(probe).await
}

async fn found(workspace: &Workspace, job: &CommitJob, key: &CommitKey) -> Result<Option<MadeCommit>, NodeError> {
    workspace.find_commit(key, job.base.at.commit.as_ref()).await.map_err(failed)
}

/// Creates the commit, or finishes one that was interrupted by a kill. A person may commit at the same moment: then it
/// comes after theirs.
async fn make<C: Send + Sync + 'static>(job: &CommitJob, key: &CommitKey, ctx: &Ctx<C>) -> Result<Moved, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    for _ in 1..TRIES {
        let at = workspace.head().await.map_err(failed)?;
        match make_once(&workspace, job, key, ctx).await {
            Err(error) if lost_race(&error) && workspace.head().await.map_err(failed)? != at => {
                tracing::debug!(%error, "somebody else has committed at the same time");
            }
            made => return made,
        }
    }
    make_once(&workspace, job, key, ctx).await
}

async fn make_once<C: Send + Sync + 'static>(
    workspace: &Workspace,
    job: &CommitJob,
    key: &CommitKey,
    ctx: &Ctx<C>,
) -> Result<Moved, NodeError> {
    let made = found(workspace, job, key).await?;
    let at = match position(workspace, job, key, made.is_some()).await? {
        Ok(at) => at,
        Err(away) => {
            return Ok(Moved { made: None, base: job.base.clone(), moved: Some(away), is_aborted: false });
        }
    };
    let Some(tree) = &job.tree else { return next_base(workspace, at, None).await };
    let tree = match made {
        Some(made) => made.tree,
        None => {
            let leaked = job.folder.leaked(&job.base.tree, tree).await?;
            if !leaked.is_empty() {
                let message = format!("not committed: {}", leaked.join(", "));
                let help = "these files are never committed; go back to a checkpoint before they were accepted, and take the \
                            value out of the file there";
                return Err(NodeError::permanent(format!("{message} (help: {help})")));
            }
            workspace.onto_head(&job.base.tree, tree).await.map_err(failed)?
        }
    };
    let (branch, parent, message, key) = (at.branch.clone(), at.commit.clone(), job.message.clone(), key.clone());
    let request = CommitRequest { branch, parent, tree, message, key };
    let (committed, output) = workspace.commit_with_output(&request).await.map_err(failed)?;
    let made = committed.commit().map(|made| made.commit.clone());
    if let Some(made) = &made {
        let (id, task) = (made.to_string(), job.task.as_str());
        Activity::Commit { id, message: &job.message, task, attempt: job.attempt, output }.emit(ctx).await;
    }
    next_base(workspace, at, made).await
}

/// Returns the position to commit at: that of the task, or after commits that people made meanwhile. Otherwise returns
/// how somebody else moved the branch.
async fn position(
    workspace: &Workspace,
    job: &CommitJob,
    key: &CommitKey,
    is_made: bool,
) -> Result<Result<Standing, BranchMove>, NodeError> {
    let at = &job.base.at;
    if is_made || at.branch.is_none() {
        let started = workspace.started_commit(key).await.map_err(failed)?;
        return Ok(Ok(Standing { commit: started.unwrap_or_else(|| at.commit.clone()), ..at.clone() }));
    }
    if let Some(away) = workspace.foreign_move(at).await.map_err(failed)? {
        return Ok(Err(away));
    }
    let head = workspace.own_head(at).await.map_err(failed)?;
    // A person may have committed since one was started: then it has not been made, and is made on top.
    let started = workspace.started_commit(key).await.map_err(failed)?;
    let commit = started.unwrap_or_else(|| head.commit().cloned());
    Ok(Ok(Standing { commit, ..at.clone() }))
}

/// Returns the base of the next task: the commit, with the files as they are now.
async fn next_base(workspace: &Workspace, at: Standing, made: Option<CommitId>) -> Result<Moved, NodeError> {
    let tree = workspace.snapshot().await.map_err(failed)?.tree;
    let commit = made.clone().or(at.commit.clone());
    Ok(Moved { made, base: Base { at: Standing { commit, ..at }, tree }, moved: None, is_aborted: false })
}

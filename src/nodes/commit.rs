//! The node that commits the work on a task. Knows the commit, must not know what follows it.

use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::folder::{Base, Folder, failed, thread};
use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::workspace::{CommitId, CommitKey, CommitRequest, MadeCommit, Standing, TreeId, Workspace};

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
}

/// Returns a node that commits exactly the reviewed files, once: `job` reads the work from the state, `done` creates
/// the update from the commit. The user's earlier changes are never committed.
///
/// The node fails if a hook refuses the commit; run again, it commits again.
pub fn commit_task<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<CommitJob, E> + Send + Sync + 'static,
    D: Fn(&S, Moved) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, |job: CommitJob, ctx: Ctx<C>| async move { commit(&job, &ctx).await }, done)
}

/// Commits, unless the commit exists.
pub(super) async fn commit<C: Send + Sync + 'static>(job: &CommitJob, ctx: &Ctx<C>) -> Result<Moved, NodeError> {
    let key = CommitKey { thread: thread(ctx), task: job.task.clone(), phase: None, attempt: job.attempt };
    let probe = |_| async {
        let workspace = job.folder.hold(ctx).await?;
        match found(&workspace, job, &key).await? {
            Some(_) => make(job, &key, ctx).await.map(Some),
            None => Ok::<_, NodeError>(None),
        }
    };
    ctx.effect("commit", job, |_| make(job, &key, ctx)).probe(probe).await
}

async fn found(workspace: &Workspace, job: &CommitJob, key: &CommitKey) -> Result<Option<MadeCommit>, NodeError> {
    workspace.find_commit(key, job.base.at.commit.as_ref()).await.map_err(failed)
}

/// Creates the commit, or finishes one that was interrupted by a kill.
async fn make<C: Send + Sync + 'static>(job: &CommitJob, key: &CommitKey, ctx: &Ctx<C>) -> Result<Moved, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    let Some(tree) = &job.tree else { return moved(&workspace, job, None).await };
    let tree = match found(&workspace, job, key).await? {
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
    let (branch, message, key) = (job.base.at.branch.clone(), job.message.clone(), key.clone());
    let request = CommitRequest { branch, parent: job.base.at.commit.clone(), tree, message, key };
    let (committed, output) = workspace.commit_with_output(&request).await.map_err(failed)?;
    let made = committed.commit().map(|made| made.commit.clone());
    if let Some(made) = &made {
        let (id, task) = (made.to_string(), job.task.as_str());
        Activity::Commit { id, message: &job.message, task, attempt: job.attempt, output }.emit(ctx).await;
    }
    moved(&workspace, job, made).await
}

/// Returns the base of the next task: the commit, with the files as they are now.
async fn moved(workspace: &Workspace, job: &CommitJob, made: Option<CommitId>) -> Result<Moved, NodeError> {
    let tree = workspace.snapshot().await.map_err(failed)?.tree;
    let commit = made.clone().or_else(|| job.base.at.commit.clone());
    Ok(Moved { made, base: Base { at: Standing { commit, ..job.base.at.clone() }, tree } })
}

//! The node that puts the results of children together, in order. Knows git, not what the children did.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::folder::{Folder, failed};
use crate::nodes::step::step;
use crate::nodes::worktree::sweep;
use crate::workspace::{TreeId, WorkspaceError};

/// Children to be put together.
#[derive(Clone, Debug)]
pub struct ChildrenJob {
    /// The work tree that gets the result.
    pub folder: Folder,
    /// Its files.
    pub tree: TreeId,
    /// The results, in order.
    pub works: Vec<ChildWork>,
    /// The folder of the children's worktrees, which goes; none: they worked in the work tree itself.
    pub worktrees: Option<PathBuf>,
}

/// The result of a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildWork {
    /// Its id.
    pub id: String,
    /// The files with which it began.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
}

/// Children that were put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedChildren {
    /// The files.
    pub tree: TreeId,
    /// The children whose changes collide with those before, each with the files; their changes are not in the files.
    pub conflicts: Vec<(String, Vec<String>)>,
}

/// Returns a node that makes the changes of children to the files, one after the other: `job` reads from the state which, `done`
/// makes the update from the files.
///
/// The node fails if git fails.
pub fn join_children<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<ChildrenJob, E> + Send + Sync + 'static,
    D: Fn(&S, JoinedChildren) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done)
}

async fn perform<C: Send + Sync + 'static>(job: ChildrenJob, ctx: Ctx<C>) -> Result<JoinedChildren, NodeError> {
    let arguments = (&job.tree, &job.works, &job.worktrees);
    ctx.effect("join", &arguments, |_| job.join(&ctx)).await
}

impl ChildrenJob {
    async fn join<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<JoinedChildren, NodeError> {
        let workspace = self.folder.hold(ctx).await?;
        let mut joined = JoinedChildren { tree: self.tree.clone(), conflicts: vec![] };
        for work in &self.works {
            match workspace.carried(&work.from, &joined.tree, &work.tree).await {
                Ok(tree) => joined.tree = tree,
                Err(WorkspaceError::Conflict { files }) => joined.conflicts.push((work.id.clone(), files)),
                Err(error) => return Err(failed(error)),
            }
        }
        workspace.reset_to(&joined.tree).await.map_err(failed)?;
        if let Some(worktrees) = &self.worktrees {
            sweep(&self.folder, worktrees).await?;
        }
        Ok(joined)
    }
}

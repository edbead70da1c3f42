//! The node that merges the results of children, in order. Knows git, must not know the children's tasks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::folder::{Folder, failed, thread};
use crate::nodes::on_top::reset_on_top;
use crate::nodes::step::step;
use crate::nodes::worktree::sweep;
use crate::workspace::{Standing, TreeId, WorkspaceError};

/// Children to merge.
#[derive(Clone, Debug)]
pub struct ChildrenJob {
    /// The work tree that gets the result.
    pub folder: Folder,
    /// Its files.
    pub tree: TreeId,
    /// The position that these files belong to: commits that people made on top of it since stay in the work tree.
    pub at: Standing,
    /// The results, in order.
    pub works: Vec<ChildWork>,
    /// Folder of the children's worktrees, which is removed; none: they worked in the work tree itself.
    pub worktrees: Option<PathBuf>,
}

/// The result of a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildWork {
    /// Its id.
    pub id: String,
    /// Its files at the start.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
}

/// Result of merging children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedChildren {
    /// The files.
    pub tree: TreeId,
    /// Children whose changes conflict with earlier ones, each with the files; their changes are left out.
    pub conflicts: Vec<(String, Vec<String>)>,
}

/// Returns a node that applies the changes of children to the files, one after the other: `job` reads them from the
/// state, `done` creates the update from the files.
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
        reset_on_top(&thread(ctx), &workspace, &self.at, &joined.tree).await.map_err(failed)?;
        if let Some(worktrees) = &self.worktrees {
            sweep(&self.folder, worktrees, ctx).await?;
        }
        Ok(joined)
    }
}

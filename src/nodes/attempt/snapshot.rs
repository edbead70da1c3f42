//! The node that takes a snapshot of an attempt's files.

use serde::{Deserialize, Serialize};

use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::folder::{Base, Folder, failed, thread};
use crate::nodes::on_top::placed_files;
use crate::nodes::step::step;
use crate::nodes::stored_files::store;
use crate::workspace::{Standing, TreeId};

/// Snapshot to take.
#[derive(Clone, Debug)]
pub struct SnapshotJob {
    /// The folder.
    pub folder: Folder,
    /// The position and files at which the task began.
    pub base: Base,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenSnapshot {
    /// All files.
    pub tree: TreeId,
    /// Keys of this process that the files contain, each as a line with file and line number.
    pub leaked: Vec<String>,
    /// The position and files at which the task began, if people made commits meanwhile: it is on top of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
}

/// A snapshot with the position of HEAD.
#[derive(Serialize, Deserialize)]
struct PlacedSnapshot {
    #[serde(flatten)]
    taken: TakenSnapshot,
    /// None: HEAD or its branch were moved in another way than by commits on top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Standing>,
}

/// Returns a node that takes a snapshot of the files: `job` reads the folder from the state, `done` creates the update.
///
/// The node fails if git fails.
pub fn snapshot<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<SnapshotJob, E> + Send + Sync + 'static,
    D: Fn(&S, TakenSnapshot) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, |job: SnapshotJob, ctx: Ctx<C>| async move { taken(&job, &ctx).await }, done)
}

pub(super) async fn taken<C: Send + Sync + 'static>(
    job: &SnapshotJob,
    ctx: &Ctx<C>,
) -> Result<TakenSnapshot, NodeError> {
    let take = |_| async {
        let workspace = job.folder.hold(ctx).await?;
        let (found, at) = placed_files(&thread(ctx), &workspace, &job.base.at).await.map_err(failed)?;
        let leaked = job.folder.leaked(&job.base.tree, &found.tree).await?;
        if leaked.is_empty() && workspace.git_dir() != workspace.common_dir() {
            store(&job.folder, Some(&found.tree), ctx).await?; // the worktree may be removed while its task waits
        }
        Ok::<_, NodeError>(PlacedSnapshot { taken: TakenSnapshot { tree: found.tree, leaked, base: None }, at })
    };
    let PlacedSnapshot { taken, at } = ctx.effect("files", &job.base.tree, take).await?;
    let base = job.folder.new_base(ctx, "files", &job.base, at).await?;
    Ok(TakenSnapshot { base, ..taken })
}

//! The files of a worktree whose work waits, stored in git under a reference of the thread. Knows git, must not know the
//! work.

use std::path::Path;

use super::folder::{Folder, failed};
use crate::graph::{Ctx, NodeError};
use crate::workspace::{KeptTree, TreeId, Workspace, reference_name};

/// Returns the reference that keeps the files of a worktree while its work waits.
pub(super) fn reference_of(thread: &str, path: &Path) -> String {
    reference_name(thread, &["worktrees", &path.file_name().unwrap_or_default().to_string_lossy()])
}

/// Stores the files of a worktree, from which it is made again if it is lost while its work waits. It is no effect: records
/// of earlier versions have none.
pub(super) async fn store<C>(folder: &Folder, tree: Option<&TreeId>, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Some((_, thread)) = ctx.store() else { return Ok(()) };
    let workspace = folder.open_for(ctx).await.map_err(failed)?;
    let tree = match tree {
        Some(tree) => tree.clone(),
        None => workspace.snapshot().await.map_err(failed)?.tree,
    };
    let kept = KeptTree {
        reference: reference_of(thread.as_str(), &folder.directory),
        parent: workspace.head().await.map_err(failed)?.commit().cloned(),
        tree,
        message: "files of a subtask at work\n".into(),
        at: 0,
    };
    workspace.keep_tree(&kept).await.map(drop).map_err(failed)
}

/// Removes what [`store`] stored of a worktree, once its work has ended.
pub(super) async fn unstore<C>(repository: &Workspace, path: &Path, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Some((_, thread)) = ctx.store() else { return Ok(()) };
    repository.remove_reference(&reference_of(thread.as_str(), path)).await.map_err(failed)
}

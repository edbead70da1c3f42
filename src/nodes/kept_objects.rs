//! What keeps a thread's trees and commits in git: everything that is made in a run, and what older records name. Knows
//! records only as text that may contain ids.

use crate::checkpoint::{Checkpointer, ThreadId, hex_ids};
use crate::graph::Ctx;
use crate::workspace::{Workspace, WorkspaceError};

/// Keeps what the records of a thread name, unless that was done: it was stored by an earlier version, or is a copy of
/// another thread.
pub(super) async fn keep_recorded<C>(ctx: &Ctx<C>, workspace: &Workspace) -> Result<(), WorkspaceError> {
    let Some((store, thread)) = ctx.store() else { return Ok(()) };
    keep_records_of(&**store, thread, workspace).await
}

/// Keeps what the records of a thread name, unless that was done.
///
/// # Errors
/// Those of git.
pub(crate) async fn keep_records_of(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    workspace: &Workspace,
) -> Result<(), WorkspaceError> {
    if workspace.keeps_recorded(thread.as_str()).await? {
        return Ok(());
    }
    // A damaged record is reported by whoever needs it.
    let Ok(ids) = hex_ids(store, thread).await else { return Ok(()) };
    workspace.keep_recorded(thread.as_str(), ids).await
}

/// Adjusts what is kept to the records that are left of a thread; without any, nothing is.
///
/// # Errors
/// Those of git.
#[cfg(feature = "app")]
pub(crate) async fn keep_remaining(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    workspace: &Workspace,
) -> Result<(), WorkspaceError> {
    if !workspace.keeps_objects(thread.as_str()).await? {
        return Ok(());
    }
    let Ok(ids) = hex_ids(store, thread).await else { return Ok(()) };
    workspace.keep_only(thread.as_str(), ids).await
}

/// Ends the keeping of everything for a thread that was deleted. Its salvaged work is a person's, and remains.
///
/// # Errors
/// Those of git.
#[cfg(feature = "app")]
pub(crate) async fn keep_nothing(thread: &ThreadId, workspace: &Workspace) -> Result<(), WorkspaceError> {
    for folder in ["worktrees", "integrated"] {
        workspace.remove_references(thread.as_str(), folder).await?;
    }
    workspace.remove_integration(thread.as_str()).await?;
    workspace.keep_only(thread.as_str(), [].into()).await
}

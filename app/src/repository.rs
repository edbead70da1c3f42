//! The git repositories of threads: what is kept for a thread there is adjusted to what is left of the thread.

use std::path::PathBuf;

use superstep::checkpoint::ThreadId;

use super::local::Local;

/// Returns the repository that a thread works in; none if it has none, or cannot be read.
pub(crate) async fn repository_of(local: &Local, id: &ThreadId) -> Option<PathBuf> {
    Some(local.thread(id.as_str()).await.ok()?.repository().await?.folder)
}

/// Keeps the objects of git that the records of a new copy of a thread name: it does not need the first thread from now on.
/// Returns a note as [`sweep_repository`].
#[cfg(feature = "agents")]
pub(crate) async fn keep_repository(local: &Local, id: &ThreadId) -> Option<String> {
    use superstep::workspace::Workspace;

    let workspace = Workspace::open(repository_of(local, id).await?).await.ok()?;
    let kept = superstep::nodes::__private::keep_objects(&*local.store, id, &workspace).await;
    let text = format!("note: git may remove files of {id}: {}", kept.err()?);
    Some(super::text::clean(&text).into_owned() + "\n")
}

/// Stops keeping objects of git that no record of the thread names any more. Returns a note for people if that failed:
/// it is no failure of the command.
#[cfg(feature = "agents")]
pub(crate) async fn sweep_repository(local: &Local, id: &ThreadId, repository: Option<PathBuf>) -> Option<String> {
    use superstep::workspace::Workspace;

    let workspace = Workspace::open(repository?).await.ok()?;
    note(id, superstep::nodes::__private::sweep_objects(&*local.store, id, &workspace).await)
}

/// Stops keeping objects of git for a thread that was deleted. Returns a note as [`sweep_repository`].
#[cfg(feature = "agents")]
pub(crate) async fn clear_repository(id: &ThreadId, repository: Option<PathBuf>) -> Option<String> {
    use superstep::workspace::Workspace;

    let workspace = Workspace::open(repository?).await.ok()?;
    note(id, superstep::nodes::__private::release_objects(id, &workspace).await)
}

#[cfg(feature = "agents")]
fn note(id: &ThreadId, swept: Result<(), superstep::workspace::WorkspaceError>) -> Option<String> {
    let text = format!("note: git still has files of {id} under refs/superstep: {}", swept.err()?);
    Some(super::text::clean(&text).into_owned() + "\n")
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn keep_repository(_: &Local, _: &ThreadId) -> Option<String> {
    None
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn clear_repository(_: &ThreadId, _: Option<PathBuf>) -> Option<String> {
    None
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn sweep_repository(_: &Local, _: &ThreadId, _: Option<PathBuf>) -> Option<String> {
    None
}

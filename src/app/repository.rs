//! The git repositories of threads: what is kept for a thread there is adjusted to what is left of the thread.

use std::path::PathBuf;

use super::local::Local;
use crate::checkpoint::ThreadId;

/// Returns the repository that a thread works in; none if it has none, or cannot be read.
pub(crate) async fn repository_of(local: &Local, id: &ThreadId) -> Option<PathBuf> {
    local.thread(id.as_str()).await.ok()?.repository().await
}

/// Stops keeping objects of git that no record of the thread names any more. Returns a note for people if that failed:
/// it is no failure of the command.
#[cfg(feature = "agents")]
pub(crate) async fn sweep_repository(local: &Local, id: &ThreadId, repository: Option<PathBuf>) -> Option<String> {
    use crate::workspace::Workspace;

    let workspace = Workspace::open(repository?).await.ok()?;
    let swept = crate::nodes::keep_remaining(&*local.store, id, &workspace).await;
    let error = swept.err()?;
    let text = format!("note: git still keeps files of {id} under refs/superstep: {error}\n");
    Some(super::text::clean(text.trim_end()).into_owned() + "\n")
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn sweep_repository(_: &Local, _: &ThreadId, _: Option<PathBuf>) -> Option<String> {
    None
}

//! A fork of a task: what it stores about its own work tree and branch.

use serde_json::json;

use super::attempt::Attempt;
use super::state::{CodeTaskState, Settings, Start};
use crate::nodes::{Base, Folder};
use crate::workflows::fork::{ForkPlace, ForkedWork};
use crate::workspace::WorkspaceError;

/// Makes a place of its own for a fork of the thread, as [`task_based::fork`](crate::workflows::task_based::fork()) does.
///
/// # Errors
/// Those of git.
pub async fn fork(
    at: &CodeTaskState,
    newest: &CodeTaskState,
    thread: &str,
    is_new_thread: bool,
) -> Result<ForkPlace, WorkspaceError> {
    let began = newest.start.as_ref().and_then(|start| start.base.at.commit.clone());
    let base = at.start.as_ref().map(|start| at.attempt.base.as_ref().unwrap_or(&start.base));
    let commit = base.map_or(began, |base| base.at.commit.clone());
    let files =
        base.map(|base| at.attempt.files.as_ref().map_or_else(|| base.tree.clone(), |files| files.tree.clone()));
    let work = ForkedWork { repository: &at.settings.repository, thread, is_new_thread, commit, files };
    let place = work.place().await?;
    let moved = |base: &Base| place.base(base);
    let mut settings = Settings { repository: place.folder.clone(), ..at.settings.clone() };
    settings.profile.working_dir.clone_from(&place.folder);
    settings.profile.stay_on_branch = Some(true);
    let start = at.start.as_ref().map(|start| Start {
        run: place.name.clone(),
        folder: Folder { directory: place.folder.clone(), ..start.folder.clone() },
        base: moved(&start.base),
        came_from: None,
        with_commits: start.with_commits.clone(),
    });
    let attempt = Attempt { base: at.attempt.base.as_ref().map(moved), session: None, cut: None, ..at.attempt.clone() };
    let mut spec = at.spec.clone();
    if let Some(spec) = spec.as_mut().filter(|_| at.start.is_none()) {
        spec.git.branch = Some(place.branch.clone());
    }
    let values = json!({ "settings": settings, "start": start, "attempt": attempt, "spec": spec });
    Ok(ForkPlace::new(place, values))
}

//! The repository of a thread whose folder was moved or copied: found before the thread is used. From then on, stored paths
//! lead to its present place, in whatever is opened.

use std::path::Path;

#[cfg(feature = "agents")]
use superstep_base::moved;

use super::failure::Failure;
#[cfg(feature = "agents")]
use super::settings::WorkRepository;
use super::threads::AppThread;
#[cfg(feature = "agents")]
use superstep::workspace::{RecordedRun, RepositoryLocation, WorkspaceError, mend_outside, mend_worktrees};

/// Finds the repository of a thread, if it is not where it was. Of a thread whose repository is gone, records can be read.
///
/// # Errors
/// If it cannot be known which repository it is, or its work trees cannot be mended.
#[cfg(feature = "agents")]
pub(crate) async fn locate(thread: &AppThread, name: &str, store: Option<&Path>) -> Result<(), Failure> {
    find(thread, name, store).await.map(drop)
}

/// The same for a thread that is about to run: if its work has begun, the repository must be there.
///
/// # Errors
/// As [`locate`], and if the repository is gone.
#[cfg(feature = "agents")]
pub(crate) async fn locate_to_run(thread: &AppThread, name: &str, store: Option<&Path>) -> Result<(), Failure> {
    match find(thread, name, store).await? {
        Some(gone) => Err(gone),
        None => Ok(()),
    }
}

/// Returns the error of a repository that is gone.
#[cfg(feature = "agents")]
async fn find(thread: &AppThread, name: &str, store: Option<&Path>) -> Result<Option<Failure>, Failure> {
    let Some(WorkRepository { folder, commit, origin }) = thread.repository().await else { return Ok(None) };
    let store = store.map(|store| std::path::absolute(store).unwrap_or_default());
    let current = std::env::current_dir().ok().or_else(|| store.clone()).unwrap_or_default();
    // Of a store that is in no folder, the repository may be where the command is called.
    let store = store.unwrap_or_else(|| current.clone());
    let (place, is_begun) = (folder.clone(), commit.is_some());
    let recorded = RecordedRun { folder, commit, origin, thread: name.to_owned(), store, current };
    let found = tokio::task::spawn_blocking(move || find_and_mend(&recorded)).await;
    let unmended = |error: &dyn std::error::Error| {
        Failure::new(format!("the repository of thread `{name}` was moved, and cannot be used in its new location"))
            .because(error)
    };
    let found = found.map_err(|error| unmended(&error))?.map_err(|error| unmended(&error))?;
    let place = place.display();
    let found = match found {
        FoundRepository::At(found) => found,
        FoundRepository::UsedAs(other) => {
            let error =
                format!("the repository of thread `{name}`, {place}, is used by this process as {}", other.display());
            return Ok(Some(Failure::new(error).help("run this thread when the others of that repository have ended")));
        }
    };
    match found {
        RepositoryLocation::Unmoved | RepositoryLocation::Moved(_) => Ok(None),
        RepositoryLocation::Gone if !is_begun => Ok(None), // the plan may still be rejected
        RepositoryLocation::Gone => Ok(Some(
            Failure::new(format!("the repository of thread `{name}` is not at {place} any more"))
                .help("if it was moved, run this command in its new folder, with the same `--store`"),
        )),
        RepositoryLocation::Copied { copy } => {
            let error =
                format!("thread `{name}` works in {place}, and {} is a copy of that repository", copy.display());
            Err(Failure::new(error).help(
                "run this command outside of the copy to continue in the first one; to continue in the copy, rename or remove \
                 the first one",
            ))
        }
        RepositoryLocation::Unclear(places) => Err(unclear(name, &place.to_string(), &places)),
    }
}

/// A repository that was looked for.
#[cfg(feature = "agents")]
enum FoundRepository {
    At(RepositoryLocation),
    /// This process knows the folder, or its place, in another way, for another thread.
    UsedAs(std::path::PathBuf),
}

/// Finds the repository, notes where it is, and mends its links.
#[cfg(feature = "agents")]
fn find_and_mend(recorded: &RecordedRun) -> Result<FoundRepository, WorkspaceError> {
    mend_outside(recorded)?;
    let found = recorded.find();
    let to = match &found {
        RepositoryLocation::Moved(to) => to.clone(),
        RepositoryLocation::Unmoved => moved::FolderMove { from: recorded.root(), to: recorded.root() },
        RepositoryLocation::Gone | RepositoryLocation::Copied { .. } | RepositoryLocation::Unclear(_) => {
            return Ok(FoundRepository::At(found));
        }
    };
    if let Err(other) = moved::note(to.clone()) {
        return Ok(FoundRepository::UsedAs(other));
    }
    if !to.is_in_place() {
        mend_worktrees(&to)?;
    }
    Ok(FoundRepository::At(found))
}

#[cfg(feature = "agents")]
fn unclear(name: &str, place: &str, places: &[std::path::PathBuf]) -> Failure {
    let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    let all = places.join(", ");
    let error = format!("the repository of thread `{name}` is not at {place} any more, and may be any of {all}");
    Failure::new(error).help("run this command inside the right one, with a store that is not in one of the others")
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn locate(_: &AppThread, _: &str, _: Option<&Path>) -> Result<(), Failure> {
    Ok(())
}

#[cfg(not(feature = "agents"))]
pub(crate) async fn locate_to_run(_: &AppThread, _: &str, _: Option<&Path>) -> Result<(), Failure> {
    Ok(())
}

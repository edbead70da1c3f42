//! Builds a store in a directory that is either complete or absent: for backups and repairs. Knows where a store is
//! built and when it gets its name.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::directory::sync_path;
use super::files::io_at;
use crate::checkpoint::{BackedUp, CheckpointError, Checkpointer, backup};

/// A store in a directory, of any kind.
pub(in crate::checkpoint) trait DirectoryStore: Checkpointer + Sized {
    /// Opens the store in the directory `path`, or creates it.
    fn create(path: &Path) -> Result<Self, CheckpointError>;

    /// Finishes the queue and unlocks the directory.
    fn finish(self) -> impl Future<Output = Result<(), CheckpointError>> + Send;
}

/// Copies every thread of a store into a new one in the directory `path`.
pub(in crate::checkpoint) async fn back_up<S: DirectoryStore>(
    from: &dyn Checkpointer,
    path: &Path,
) -> Result<BackedUp, CheckpointError> {
    refuse_existing(path, "back up the store")?;
    built_beside(path, "back up the store", async |partial| copy::<S>(from, partial).await).await
}

async fn copy<S: DirectoryStore>(from: &dyn Checkpointer, partial: &Path) -> Result<BackedUp, CheckpointError> {
    let to = S::create(partial)?;
    let report = backup(from, &to).await?;
    to.finish().await?;
    Ok(report)
}

/// Builds a store in a temporary directory, and renames that when it is complete and on disk.
pub(super) async fn built_beside<T>(
    path: &Path,
    what: &str,
    build: impl AsyncFnOnce(&Path) -> Result<T, CheckpointError>,
) -> Result<T, CheckpointError> {
    let partial = beside(path, ".partial");
    clear(&partial)?;
    match build(&partial).await {
        Ok(report) => {
            io_at(path, what, fs::rename(&partial, path))?;
            sync_parent(path)?;
            Ok(report)
        }
        Err(error) => {
            let _ = fs::remove_dir_all(&partial); // the failure is what the caller has to know
            Err(error)
        }
    }
}

/// Removes the leftovers of an interrupted attempt, and nothing else.
fn clear(partial: &Path) -> Result<(), CheckpointError> {
    if !partial.exists() {
        return Ok(());
    }
    if !partial.join("holder").exists() {
        return refuse_existing(partial, "use the directory");
    }
    io_at(partial, "remove the directory", fs::remove_dir_all(partial))
}

pub(super) fn refuse_existing(path: &Path, what: &str) -> Result<(), CheckpointError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "there is something already");
    Err(CheckpointError::io(what, path, source))
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes the name of a directory durable.
pub(super) fn sync_parent(path: &Path) -> Result<(), CheckpointError> {
    let whole = io_at(path, "find the directory", path.canonicalize())?;
    whole.parent().map_or(Ok(()), |parent| sync_path(parent.into()))
}

//! Backup as a directory that is either complete or absent. Knows where a store is built and when it gets its name.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::directory::sync_path;
use super::files::io_at;
use super::store::SledCheckpointer;
use crate::checkpoint::{BackedUp, CheckpointError, Checkpointer, backup};

impl SledCheckpointer {
    /// Copies every thread of any store into a new store in the directory `path`, which must not exist. Runs may
    /// continue meanwhile: see [`backup`]. To restore the copy, open it.
    ///
    /// The copy is built in `path` with `.partial` appended, and renamed when it is complete and on disk; leftovers of
    /// an interrupted backup are removed first.
    ///
    /// # Errors
    /// [`CheckpointError::Io`] if `path` exists or cannot be written; the errors of [`backup`].
    pub async fn backup(from: &dyn Checkpointer, path: impl AsRef<Path>) -> Result<BackedUp, CheckpointError> {
        let path = path.as_ref();
        refuse_existing(path, "back up the store")?;
        built_beside(path, "back up the store", async |partial| build(from, partial).await).await
    }
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

async fn build(from: &dyn Checkpointer, partial: &Path) -> Result<BackedUp, CheckpointError> {
    let to = SledCheckpointer::open(partial)?;
    let report = backup(from, &to).await?;
    to.close().await?;
    Ok(report)
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

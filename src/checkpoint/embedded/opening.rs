//! Steps of opening a store that do not depend on its database: its directory, and the work that follows when the
//! database is open. A crash at any point leaves a directory that can be opened.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use super::commit_marker::{CommitMarker, MarkerFile};
use super::committer::{finish_deletions, unfinished_deletions};
use super::directory::{keep_private, restrict, sync_directories, writable};
use super::engine::{Engine, RowSource, Tree};
use super::files::{self, Access, damaged_store, io_at};
use super::index::{changed_threads, complete_row, is_complete};
use super::kind::{FORMAT_FILE, write_format};
use super::lock::{self, Lock};
use super::rows::{EPOCH_SHIFT, STORE, decode_epoch, store_row};
use super::view::View;
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::{CheckpointError, StoreKind};

type Result<T> = std::result::Result<T, CheckpointError>;

/// An open, locked database.
#[derive(Debug)]
pub(in crate::checkpoint) struct OpenedStore<E> {
    pub(in crate::checkpoint) engine: E,
    pub(in crate::checkpoint) marker_file: MarkerFile,
    pub(in crate::checkpoint) lock: Lock,
    /// Number of openings, this one included.
    pub(in crate::checkpoint) epoch: u64,
    /// Threads that have changed since the index was brought up to date.
    pub(in crate::checkpoint) changes: ChangedThreads,
}

/// A locked store whose database is not open yet.
pub(in crate::checkpoint) struct LockedStore<'a> {
    pub(in crate::checkpoint) path: &'a Path,
    pub(in crate::checkpoint) kind: StoreKind,
    pub(in crate::checkpoint) lock: Lock,
    /// True if a store was written here before.
    pub(in crate::checkpoint) is_old: bool,
    /// Newest acknowledged commit, if it is known.
    pub(in crate::checkpoint) marker: Option<CommitMarker>,
    pub(in crate::checkpoint) marker_file: MarkerFile,
}

/// A store that was opened read-only.
#[derive(Debug)]
pub(in crate::checkpoint) struct ReadOnlyStore<S: RowSource> {
    pub(in crate::checkpoint) view: View<S>,
    /// `None` if no process has ever locked the store.
    pub(in crate::checkpoint) lock: Option<Lock>,
}

impl<S: RowSource> ReadOnlyStore<S> {
    /// Checks what is read, and hides threads whose deletion was interrupted.
    pub(in crate::checkpoint) fn of(
        path: &Path,
        source: S,
        marker: Option<&CommitMarker>,
        lock: Option<Lock>,
    ) -> Result<Self> {
        let tree = source.snapshot();
        marker.map_or(Ok(()), |marker| marker.check(&tree, path))?;
        tree.get(STORE)?.map_or(Ok(()), |row| decode_epoch(path, row.as_ref()).map(drop))?;
        let deleted = unfinished_deletions(&tree)?;
        drop(tree);
        let view = View::new(Arc::new(source));
        deleted.into_iter().for_each(|name| view.hide_thread(name));
        Ok(Self { view, lock })
    }
}

impl LockedStore<'_> {
    /// Finishes interrupted work of the open database. `files` are those that the database created and did not sync.
    pub(in crate::checkpoint) fn with<E: Engine>(self, engine: E, files: &[&str]) -> Result<OpenedStore<E>> {
        match self.prepare(&engine, files) {
            Ok((epoch, changes)) => {
                Ok(OpenedStore { engine, marker_file: self.marker_file, lock: self.lock, epoch, changes })
            }
            Err(error) => Err(engine.discard(error)),
        }
    }

    /// Returns the number of openings, this one included, and the threads that have changed since the index was brought up to
    /// date.
    fn prepare(&self, engine: &impl Engine, files: &[&str]) -> Result<(u64, ChangedThreads)> {
        self.marker.as_ref().map_or(Ok(()), |marker| marker.check(&engine.snapshot(), self.path))?;
        let (epoch, has_index) = raise_epoch(engine, self.path, self.is_old)?;
        self.marker_file.write(epoch << EPOCH_SHIFT, STORE)?;
        finish_deletions(engine)?;
        if !self.is_old {
            self.marker_file.sync()?;
            write_format(self.path, self.kind)?;
        }
        restrict(self.path)?;
        sync_directories(self.path, files)?;
        Ok((epoch, changed_threads(&engine.snapshot(), has_index)?))
    }
}

/// Increments the number of openings and returns it, and whether the index is complete.
fn raise_epoch(engine: &impl Engine, path: &Path, is_old: bool) -> Result<(u64, bool)> {
    let epoch = match engine.snapshot().get(STORE)? {
        Some(row) => decode_epoch(path, row.as_ref())?,
        None if is_old => return Err(damaged_store(path, "its records are gone")),
        None => 0,
    };
    let has_index = is_complete(&engine.snapshot(), epoch)?;
    let epoch = epoch + 1;
    let mut rows = vec![(STORE.to_vec(), Some(store_row(epoch, epoch << EPOCH_SHIFT)?))];
    rows.extend(Some(complete_row(epoch)).filter(|_| has_index).map(|(key, row)| (key, Some(row))));
    engine.write(rows)?;
    Ok((epoch, has_index))
}

/// Creates the directory of a store, or checks the one that exists.
pub(in crate::checkpoint) fn create_directory(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        let (what, reason) = ("a store".into(), "the path of its directory is empty".into());
        return Err(CheckpointError::InvalidName { what, reason });
    }
    let is_new = !path.exists();
    io_at(path, "create the store", fs::create_dir_all(path))?;
    if is_new {
        return io_at(path, "set the permissions", files::set_mode(path, 0o700));
    }
    if is_ours(path) {
        files::check(path, Access::Write)?;
        return keep_private(path);
    }
    if writable(path, fs::read_dir(path))?.next().is_none() {
        return keep_private(path);
    }
    let reason = "the directory holds other files; choose an empty or a new one";
    Err(CheckpointError::io("create the store", path, io::Error::new(io::ErrorKind::DirectoryNotEmpty, reason)))
}

/// The error for a directory without a store.
pub(in crate::checkpoint) fn no_store(what: &str, path: &Path) -> CheckpointError {
    CheckpointError::io(what, path, io::Error::new(io::ErrorKind::NotFound, "there is no store"))
}

/// Returns whether an earlier opening created the directory.
pub(in crate::checkpoint) fn is_ours(path: &Path) -> bool {
    let is_there = |name: &str| path.join(name).symlink_metadata().is_ok();
    (is_there(FORMAT_FILE) && StoreKind::of(path).is_some()) || is_there(lock::NAME)
}

//! Opens a store: directory, lock, database, the store's own record. Knows the order of these steps: a crash at any
//! point leaves a directory that can be opened.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::database::{Database, FjallOptions};
use super::survey::{self, journals};
use crate::checkpoint::embedded::commit_marker::{CommitMarker, MarkerFile};
use crate::checkpoint::embedded::directory::spend_reserve;
use crate::checkpoint::embedded::engine::RowSource;
use crate::checkpoint::embedded::files::{self, Access, damaged_store, io_at};
use crate::checkpoint::embedded::kind::check_format;
use crate::checkpoint::embedded::lock::{self, Lock};
use crate::checkpoint::embedded::opening::{
    LockedStore, OpenedStore, ReadOnlyStore, create_directory, is_ours, no_store,
};
use crate::checkpoint::{CheckpointError, StoreKind};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(super) fn open(path: &Path, options: &FjallOptions) -> Result<OpenedStore<Database>> {
    create_directory(path)?;
    if !path.join(lock::NAME).exists() {
        check(path)?; // a damaged store gets no file that it does not have
    }
    let lock = Lock::take(path)?;
    let StoreState { is_old, marker, in_tables } = check(path)?;
    if marker.is_none() {
        remove_leftovers(path)?;
    }
    if let Some(marker) = marker.as_ref().filter(|_| in_tables) {
        check_tables(path, marker)?;
    }
    if options.spend_reserve {
        spend_reserve(path)?;
    }
    let marker_file = MarkerFile::open(path)?;
    if is_old {
        restore_lock(path)?;
    }
    let database = Database::open(path, options)?;
    LockedStore { path, kind: StoreKind::Fjall, lock, is_old, marker, marker_file }.with(database, &[])
}

/// Opens the store in the directory `path` read-only: writes nothing there, and needs no write permission.
pub(super) fn open_read_only(path: &Path) -> Result<ReadOnlyStore<Database>> {
    if !is_ours(path) {
        return Err(no_store("read the store", path));
    }
    files::check(path, Access::Read)?;
    let lock = Lock::share(path)?;
    let Some(marker) = check(path)?.marker else { return Err(no_store("read the store", path)) };
    ReadOnlyStore::of(path, Database::open_copy(path)?, Some(&marker), lock)
}

/// The state of a store before fjall opens it.
struct StoreState {
    /// True if a store was written here before.
    is_old: bool,
    /// Newest acknowledged commit.
    marker: Option<CommitMarker>,
    /// True if no journal holds a commit, so that the newest has to be in a table.
    in_tables: bool,
}

/// Checks that the files of a store are intact before fjall opens them; writes nothing.
fn check(path: &Path) -> Result<StoreState> {
    let is_old = check_format(path, StoreKind::Fjall)?;
    let (marker, mut in_tables) = (CommitMarker::read(path)?, false);
    match &marker {
        Some(marker) => in_tables = !survey::check(path, marker.number)?,
        None if is_old || survey::holds_commits(path)? => {
            let reason = "its file `tip` is missing or empty, so whether its newest commits are there is unknown";
            return Err(damaged_store(path, reason));
        }
        None => {}
    }
    Ok(StoreState { is_old, marker, in_tables })
}

/// Checks that the newest acknowledged commit is in the tables of a store, in a copy: fjall itself would cut off the
/// journal before anybody could look.
fn check_tables(path: &Path, marker: &CommitMarker) -> Result<()> {
    match Database::open_copy(path) {
        Ok(copy) => marker.check(&copy.snapshot(), path),
        Err(error @ CheckpointError::DamagedStore { .. }) => Err(error),
        Err(_) => Ok(()), // no space for a copy; the check is made again once the store is open
    }
}

/// Creates fjall's own lock file if it is missing. It is empty, but fjall opens no database without it.
fn restore_lock(path: &Path) -> Result<()> {
    let lock = path.join("lock");
    let opened = files::open(&lock, File::options().write(true).create(true).truncate(false));
    io_at(&lock, "create the file", opened).map(drop)
}

/// Removes fjall's files from a store of which nothing was ever acknowledged: fjall opens no directory in which its
/// creation was interrupted.
fn remove_leftovers(store: &Path) -> Result<()> {
    for (_, journal) in journals(store)? {
        io_at(&journal, "remove the file", fs::remove_file(&journal))?;
    }
    for name in ["version", "lock"] {
        io_at(&store.join(name), "remove the file", ignore_not_found(fs::remove_file(store.join(name))))?;
    }
    let keyspaces = store.join("keyspaces");
    io_at(&keyspaces, "remove the directory", ignore_not_found(fs::remove_dir_all(&keyspaces)))
}

fn ignore_not_found(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

//! Opens a store: directory, lock, database, the store's own record. Knows the order of these steps: a crash at any
//! point leaves a directory that can be opened.

use std::fs::File;
use std::path::Path;

use super::database::Database;
use super::options::FjallOptions;
use super::{leftovers, survey};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::StoreKind;
use crate::checkpoint::embedded::commit_marker::{CommitMarker, MarkerFile};
use crate::checkpoint::embedded::files::{self, broken, io_at};
use crate::checkpoint::embedded::lock::Lock;
use crate::checkpoint::embedded::opening::{LockedStore, OpenedStore, check_format, create_directory};
use crate::checkpoint::embedded::reserve;

type Result<T> = std::result::Result<T, CheckpointError>;

pub(super) fn open(path: &Path, options: &FjallOptions) -> Result<OpenedStore<Database>> {
    create_directory(path)?;
    if !path.join("holder").exists() {
        check(path)?; // a damaged store gets no file that it does not have
    }
    let lock = Lock::take(path)?;
    let (is_old, marker) = check(path)?;
    if marker.is_none() {
        leftovers::remove(path)?;
    }
    if options.spend_reserve {
        reserve::spend(path)?;
    }
    let marker_file = MarkerFile::open(path)?;
    if is_old {
        restore_lock(path)?;
    }
    let database = Database::open(path, options)?;
    LockedStore { path, kind: StoreKind::Fjall, lock, is_old, marker, marker_file }.with(database, &[])
}

/// Checks that the files of a store are intact before fjall opens them; writes nothing. Returns whether a store was
/// written here before, and its newest acknowledged commit.
fn check(path: &Path) -> Result<(bool, Option<CommitMarker>)> {
    let is_old = check_format(path, StoreKind::Fjall)?;
    let marker = CommitMarker::read(path)?;
    match &marker {
        Some(marker) => survey::check(path, marker.number)?,
        None if is_old || survey::holds_commits(path)? => {
            let reason = "its file `tip` is missing or empty, so whether its newest commits are there is unknown";
            return Err(broken(path, reason));
        }
        None => {}
    }
    Ok((is_old, marker))
}

/// Creates fjall's own lock file if it is missing. It is empty, but fjall opens no database without it.
fn restore_lock(path: &Path) -> Result<()> {
    let lock = path.join("lock");
    let opened = files::open(&lock, File::options().write(true).create(true).truncate(false));
    io_at(&lock, "create the file", opened).map(drop)
}

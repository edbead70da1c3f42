//! Builds a new store from the files of a damaged one. Knows where the files are and where the new store is built;
//! `checkpoint::repair` decides what is whole. sled does not open the old one, and nothing in it changes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::backup::{built_beside, refuse_existing};
use super::commit_marker::CommitMarker;
use super::disk::broken;
use super::files::{self, Access, io_at};
use super::lock::Lock;
use super::store::SledCheckpointer;
use super::tracked::TrackedFiles;
use crate::checkpoint::repair::scan::Scan;
use crate::checkpoint::threads::foreign::mark;
use crate::checkpoint::threads::insert::insert_thread;
use crate::checkpoint::{CheckpointError, Repaired};

type Result<T> = std::result::Result<T, CheckpointError>;

impl SledCheckpointer {
    /// Reads all intact rows of the damaged store in the directory `damaged` and writes them into a new store in the
    /// directory `path`, which must not exist. The damaged store is not changed.
    ///
    /// Each thread resumes from its newest whole checkpoint: one whose references all exist, in versions that belong
    /// together. Other checkpoints are left out, and the report lists what they lack. Data that left no trace cannot be
    /// reported; deleted data may come back if the record of its deletion is lost too. Effects that ran after the
    /// checkpoint from which a thread resumes run again. A thread is held in memory while it is written.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if nothing can be restored, and then no store is created;
    /// [`CheckpointError::Locked`] if the damaged store is open; [`CheckpointError::UnsafeStore`] if it contains links;
    /// [`CheckpointError::Io`] if there is no such directory, if `path` exists, or if a system call fails.
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<Repaired> {
        let (damaged, path) = (damaged.as_ref(), path.as_ref());
        files::check(damaged, Access::Read)?;
        let found = io_at(damaged, "read the store", within(damaged))?;
        refuse_existing(path, "repair the store")?;
        let _lock = if damaged.join("holder").is_file() { Some(Lock::take(damaged)?) } else { None };
        let opened = opened(found)?;
        let scan = Scan::from(opened).map_err(|(file, error)| unread(&file, error))?;
        built_beside(path, "repair the store", async |partial| build(damaged, &scan, partial).await).await
    }
}

async fn build(damaged: &Path, scan: &Scan, partial: &Path) -> Result<Repaired> {
    let mut report = Repaired {
        bytes: scan.bytes,
        rows: scan.rows,
        broken: scan.broken,
        has_newest: newest(damaged).map(|newest| newest <= scan.newest),
        threads: vec![],
    };
    let store = SledCheckpointer::open(partial)?;
    let is_foreign = TrackedFiles::find(damaged)?.is_some_and(|tracked| !tracked.is_trusted());
    for thread in scan.threads() {
        let (repaired, saved) = scan.thread(&thread).map_err(|error| unread(damaged, error))?;
        if let Some(mut saved) = saved {
            if is_foreign {
                mark(&thread, &mut saved.records)?;
            }
            insert_thread(&store, &thread, saved.head, saved.records).await?;
        }
        report.threads.push(repaired);
    }
    store.close().await?;
    if report.threads.iter().all(|thread| thread.goes_on_from.is_none()) {
        return Err(broken(damaged, "nothing of it can be restored"));
    }
    Ok(report)
}

/// Returns the number of the newest acknowledged commit, if it is known.
fn newest(store: &Path) -> Option<u64> {
    CommitMarker::read(store).ok().flatten().map(|marker| marker.number)
}

/// Returns all files in a store that may contain rows, in every directory.
fn within(store: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        let kind = entry.file_type()?; // does not follow links
        if kind.is_dir() {
            found.extend(within(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn opened(found: Vec<PathBuf>) -> Result<Vec<(PathBuf, File)>> {
    let open = |path: PathBuf| match files::read(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(unread(&path, error)),
    };
    found.into_iter().map(open).collect()
}

fn unread(path: &Path, error: io::Error) -> CheckpointError {
    CheckpointError::io("read the file", path, error)
}

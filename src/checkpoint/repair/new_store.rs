//! Builds a new store from the files of a damaged one. Knows where the files are and where the new store is built;
//! `salvage` decides what is whole. No database opens the old one, and nothing in it changes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::scan::Scan;
use crate::checkpoint::embedded::build::{build_beside, refuse_existing};
use crate::checkpoint::embedded::commit_marker::CommitMarker;
use crate::checkpoint::embedded::files::{self, Access, damaged_store, io_at};
use crate::checkpoint::embedded::lock::{self, Lock};
use crate::checkpoint::embedded::store::{EmbeddedStore, Store};
use crate::checkpoint::embedded::tracked::TrackedFiles;
use crate::checkpoint::threads::insert::insert_thread;
use crate::checkpoint::threads::marks::mark_records;
use crate::checkpoint::{CheckpointError, Checkpointer, ItemWrite, RepairReport};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Reads all intact rows of the damaged store in the directory `damaged` and writes them into a new store in the
/// directory `path`, which must not exist. The damaged store is not changed.
pub(in crate::checkpoint) async fn repair<E: EmbeddedStore>(damaged: &Path, path: &Path) -> Result<RepairReport> {
    files::check(damaged, Access::Read)?;
    let found = io_at(damaged, "read the store", list_files(damaged))?;
    refuse_existing(path, "repair the store")?;
    let _lock = if damaged.join(lock::NAME).is_file() { Some(Lock::take(damaged)?) } else { None };
    let opened = open_files(found)?;
    let scan = Scan::from(opened).map_err(|(file, error)| read_error(&file, error))?;
    build_beside(path, "repair the store", async |partial| build::<E>(damaged, &scan, partial).await).await
}

async fn build<E: EmbeddedStore>(damaged: &Path, scan: &Scan, partial: &Path) -> Result<RepairReport> {
    let mut report = RepairReport {
        bytes: scan.bytes,
        rows: scan.rows,
        broken: scan.broken,
        has_newest: newest_commit(damaged).map(|newest| newest <= scan.newest),
        threads: vec![],
        items: 0,
        lost_items: vec![],
    };
    let store = Store::<E>::open(partial, &E::Options::default())?;
    let is_foreign = TrackedFiles::find(damaged)?.is_some_and(|tracked| !tracked.is_trusted());
    for thread in scan.threads() {
        let (repaired, saved) = scan.thread(&thread).map_err(|error| read_error(damaged, error))?;
        if let Some(mut saved) = saved {
            if is_foreign {
                mark_records(&thread, &mut saved.records)?;
            }
            insert_thread(&store, &thread, saved.head, saved.records).await?;
        }
        report.threads.push(repaired);
    }
    if !is_foreign {
        restore_items(damaged, scan, &store, &mut report).await?;
    }
    store.close().await?;
    if report.items == 0 && report.threads.iter().all(|thread| thread.goes_on_from.is_none()) {
        return Err(damaged_store(damaged, "nothing of it can be restored"));
    }
    Ok(report)
}

/// Writes the items that can be read.
async fn restore_items<E: EmbeddedStore>(
    damaged: &Path,
    scan: &Scan,
    store: &Store<E>,
    report: &mut RepairReport,
) -> Result<()> {
    for (item, version) in &scan.items {
        match scan.record(version).map_err(|error| read_error(damaged, error))? {
            Some(value) => {
                store.write_items(vec![ItemWrite::put(item.clone(), value)]).await?;
                report.items += 1;
            }
            None => report.lost_items.push(item.clone()),
        }
    }
    Ok(())
}

/// Returns the number of the newest acknowledged commit, if it is known.
fn newest_commit(store: &Path) -> Option<u64> {
    CommitMarker::read(store).ok().flatten().map(|marker| marker.number)
}

/// Returns all files in a store that may contain rows, in every directory.
fn list_files(store: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        let kind = entry.file_type()?; // does not follow links
        if kind.is_dir() {
            found.extend(list_files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn open_files(found: Vec<PathBuf>) -> Result<Vec<(PathBuf, File)>> {
    let open = |path: PathBuf| match files::open_to_read(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(read_error(&path, error)),
    };
    found.into_iter().map(open).collect()
}

fn read_error(path: &Path, error: io::Error) -> CheckpointError {
    CheckpointError::io("read the file", path, error)
}

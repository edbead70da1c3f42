//! A new store from the files of a damaged one. Knows where the files are and where the new store is built; what is whole is
//! decided in `checkpoint::repair`. sled does not open the old one, and nothing in it changes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::backup::{built_beside, refuse_existing};
use super::disk::broken;
use super::files::{self, Access, io_at};
use super::lock::Lock;
use super::store::SledCheckpointer;
use super::tip::Witness;
use super::tracked::Tracked;
use crate::checkpoint::{
    CheckpointError, Repaired, repair::carve::Carved, threads::deposit::deposit, threads::foreign::mark,
};

type Result<T> = std::result::Result<T, CheckpointError>;

impl SledCheckpointer {
    /// Reads what can be read of the damaged store in the directory `damaged` and writes it into a new store in the
    /// directory `path`, which must not exist. The damaged store stays as it is.
    ///
    /// Each thread goes on from its newest checkpoint that is whole: with everything it leads to, in versions that belong
    /// together. Checkpoints that are not whole are left out, and the report says what they lack. What left no trace cannot
    /// be told from what never was; what was deleted may come back if the note of its deletion is lost too. Effects that ran
    /// after the checkpoint that a thread goes on from run again. A thread is in memory while it is written.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if nothing can be restored, and then no store is made;
    /// [`CheckpointError::Locked`] if the damaged store is open; [`CheckpointError::UnsafeStore`] if it holds links; [`CheckpointError::Io`] if there is no such directory, if
    /// `path` exists, or if the system refuses.
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<Repaired> {
        let (damaged, path) = (damaged.as_ref(), path.as_ref());
        files::check(damaged, Access::Read)?;
        let found = io_at(damaged, "read the store", within(damaged))?;
        refuse_existing(path, "repair the store")?;
        let _lock = if damaged.join("holder").is_file() { Some(Lock::take(damaged)?) } else { None };
        let opened = opened(found)?;
        let carved = Carved::from(opened).map_err(|(file, error)| unread(&file, &error))?;
        built_beside(path, "repair the store", async |partial| build(damaged, &carved, partial).await).await
    }
}

async fn build(damaged: &Path, carved: &Carved, partial: &Path) -> Result<Repaired> {
    let mut report = Repaired {
        bytes: carved.bytes,
        rows: carved.rows,
        broken: carved.broken,
        has_newest: newest(damaged).map(|newest| newest <= carved.newest),
        threads: vec![],
    };
    let store = SledCheckpointer::open(partial)?;
    let is_foreign = Tracked::find(damaged)?.is_some_and(|tracked| !tracked.is_trusted());
    for thread in carved.threads() {
        let (repaired, saved) = carved.thread(&thread).map_err(|error| unread(damaged, &error))?;
        if let Some(mut saved) = saved {
            if is_foreign {
                mark(&thread, &mut saved.records)?;
            }
            deposit(&store, &thread, saved.head, saved.records).await?;
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
    Witness::read(store).ok().flatten().map(|witness| witness.number)
}

/// Returns the files that rows may stand in, wherever sled would look for them.
fn within(store: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        let kind = entry.file_type()?; // of the entry itself, whatever it links to
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
        Err(error) => Err(unread(&path, &error)),
    };
    found.into_iter().map(open).collect()
}

fn unread(path: &Path, error: &io::Error) -> CheckpointError {
    CheckpointError::Io { what: "read the file".into(), path: path.into(), reason: error.to_string() }
}

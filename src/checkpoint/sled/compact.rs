//! Compaction: writes the store anew without the data that sled keeps of deleted rows. `swap` then replaces the old
//! one.

use std::ops::Bound;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use sled::Batch;

use super::disk::{Disk, guarded};
use super::open;
use super::options::SledOptions;
use super::store::SledCheckpointer;
use super::swap::{NEW, declare, finish_swap};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::commit_marker::MarkerFile;
use crate::checkpoint::embedded::compacted::{Compacted, size, verify};
use crate::checkpoint::embedded::directory::{restrict, sync_directories};
use crate::checkpoint::embedded::engine::Engine;
use crate::checkpoint::embedded::epoch::EPOCH_SHIFT;
use crate::checkpoint::embedded::files::{self, io_at};
use crate::checkpoint::embedded::opening::{FORMAT_FILE, OpenedStore, no_store};
use crate::checkpoint::embedded::rows::{DELETIONS, STORE};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Maximum number of bytes of rows in one batch.
const BATCH: usize = 4 << 20;

impl SledCheckpointer {
    /// Rewrites the store in the directory `path` and replaces the old one, to return the disk space of deleted
    /// records. The store must not be open. It needs space for both copies meanwhile, and blocks: in async code, call
    /// it where blocking is fine.
    ///
    /// A crash at any point leaves either the old store or the new one. A full disk leaves the old one. Every row's
    /// checksum is verified, and a damaged store is left unchanged.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open, [`CheckpointError::Damaged`] or [`CheckpointError::DamagedStore`],
    /// [`CheckpointError::Io`] if a system call fails: the old store remains in place then.
    pub fn compact(path: impl AsRef<Path>) -> Result<Compacted> {
        let path = path.as_ref();
        if !path.join(FORMAT_FILE).exists() {
            return Err(no_store("compact the store", path));
        }
        let OpenedStore { engine: disk, marker_file, lock, epoch } =
            open::open(path, &SledOptions { spend_reserve: true, ..SledOptions::default() })?;
        let before = size(path);
        let new = path.join(NEW);
        let rows = build(&disk, &new, epoch).map_err(|error| refused(path, error));
        drop(marker_file);
        drop(disk);
        wait_until_closed(path)?;
        let swapped = rows.and_then(|rows| declare(path).map(|()| rows));
        // Whatever happened, one of the two is complete; remove the leftovers of the other.
        let settled = finish_swap(path);
        let rows = swapped?;
        settled?;
        restrict(path)?;
        let after = size(path);
        drop(lock); // last: no process may open it before
        Ok(Compacted { before, after, rows })
    }
}

/// Copies every row into a new database, after verifying it.
fn build(old: &Disk, new: &Path, epoch: u64) -> Result<u64> {
    io_at(new, "create the directory", fs::create_dir(new))?;
    let disk = Disk::open(new, &SledOptions::default())?;
    let rows = match copy(old, &disk) {
        Ok(rows) => rows,
        Err(error) => return Err(disk.discard(error)),
    };
    guarded(new, move || {
        drop(disk); // sled writes on drop, and may panic on a full disk
        Ok(())
    })?;
    MarkerFile::open(new)?.write(epoch << EPOCH_SHIFT, STORE)?;
    wait_until_closed(new)?;
    sync_directories(new, &["db", "conf", "blobs"])?;
    Ok(rows)
}

fn copy(old: &Disk, new: &Disk) -> Result<u64> {
    let (mut batch, mut bytes, mut rows) = (Batch::default(), 0, 0);
    for row in old.rows(&[], Bound::Unbounded) {
        let (key, value) = row?;
        if key.first() == Some(&DELETIONS) {
            continue; // the new database contains nothing deleted
        }
        verify(&key, &value)?;
        bytes += key.len() + value.len();
        rows += 1;
        batch.insert(key, value);
        if bytes >= BATCH {
            bytes = 0;
            new.apply(std::mem::take(&mut batch))?;
        }
    }
    new.apply(batch).map(|()| rows)
}

/// Waits until sled's background threads have closed a dropped database; until then they may write to its files.
fn wait_until_closed(path: &Path) -> Result<()> {
    let log = path.join("db");
    let file = io_at(&log, "open the file", files::read(&log))?;
    for _ in 0..500 {
        if file.try_lock().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    io_at(&log, "close the file", Err(std::io::Error::other("the store still uses it")))
}

/// Errors of the new database are not damage of the store.
fn refused(path: &Path, error: CheckpointError) -> CheckpointError {
    match error {
        CheckpointError::DamagedStore { path: at, reason } if at != path => {
            CheckpointError::io("write the store anew", &at, io::Error::other(reason))
        }
        other => other,
    }
}

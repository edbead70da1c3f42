//! [`SledCheckpointer`]: the embedded store on sled, and its compaction, which rewrites the store without the data that
//! sled keeps of deleted rows; `swap` then replaces the old one.

use std::ops::Bound;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use sled::Batch;

use super::disk::{Disk, SledOptions, call_sled};
use super::image::Image;
use super::open;
use super::swap::{NEW, declare, finish_swap};
use crate::checkpoint::embedded::build::{CompactionReport, compact, verify_row};
use crate::checkpoint::embedded::commit_marker::MarkerFile;
use crate::checkpoint::embedded::directory::sync_directories;
use crate::checkpoint::embedded::engine::Engine;
use crate::checkpoint::embedded::files::{self, io_at};
use crate::checkpoint::embedded::opening::{OpenedStore, ReadOnlyStore};
use crate::checkpoint::embedded::public_methods::public_methods;
use crate::checkpoint::embedded::rows::{DELETIONS, EPOCH_SHIFT, STORE, is_derived};
use crate::checkpoint::embedded::store::{EmbeddedStore, Store};
use crate::checkpoint::repair::new_store::repair;
use crate::checkpoint::{CheckpointError, RepairReport};

/// Maximum number of bytes of rows in one batch.
const BATCH: usize = 4 << 20;

/// Checkpointer that stores everything in a directory, for one process at a time. LangGraph: `SqliteSaver`.
///
/// Every acknowledged commit survives a crash and a power cut. Dropping it finishes the queue and unlocks the
/// directory, which may block for the time of a sync; [`SledCheckpointer::close`] does so on a blocking thread. Only
/// the owner can read the directory (0700); its contents are not encrypted, and it never shrinks. Links inside it are
/// not followed.
///
/// A store whose files a git repository tracks came with a clone: its threads may be read, but not run until a person
/// [trusts](crate::checkpoint::trust) one of them, and with it the whole store in its tracked state.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Write }
/// # fn example(essays: CompiledGraph<Draft, Step>, letters: CompiledGraph<Draft, Step>) -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(SledCheckpointer::open("runs.sled")?); // once per process
/// let essays = essays.with_shared_checkpointer(store.clone());
/// let letters = letters.with_shared_checkpointer(store);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SledCheckpointer(Store<Disk>);

impl SledCheckpointer {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open already, [`CheckpointError::DamagedStore`] or
    /// [`CheckpointError::Format`] if it cannot be read, [`CheckpointError::Io`] if a system call fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Self::open_with(path, SledOptions::default())
    }

    /// Opens the store in the directory `path` read-only. Writes nothing, not even a lock file, and needs no free space
    /// and no write permission: use it for a read-only medium, a full disk, or a store in doubt. Other processes may
    /// read it at the same time, but not write it. Writes are refused with [`CheckpointError::NotWritable`].
    ///
    /// The whole log is read once; only the locations of its pages are held in memory, not the values.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`]; [`CheckpointError::Io`] if there is no store, [`CheckpointError::NotWritable`] if
    /// a compaction was interrupted, which only an opening for writing can finish.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Store::open_read_only(path.as_ref()).map(Self)
    }

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
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<RepairReport, CheckpointError> {
        repair::<Disk>(damaged.as_ref(), path.as_ref()).await
    }

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
    pub fn compact(path: impl AsRef<Path>) -> Result<CompactionReport, CheckpointError> {
        compact::<Disk>(path.as_ref())
    }
}

impl EmbeddedStore for Disk {
    type Reader = Image;
    type Options = SledOptions;

    fn options_to_remove() -> SledOptions {
        SledOptions::default().spend_reserve()
    }

    fn is_to_remove(options: &SledOptions) -> bool {
        options.spend_reserve
    }

    fn open_store(path: &Path, options: &SledOptions) -> Result<OpenedStore<Disk>, CheckpointError> {
        open::open(path, options)
    }

    fn read_store(path: &Path) -> Result<ReadOnlyStore<Image>, CheckpointError> {
        open::open_read_only(path)
    }

    fn rewrite(self, path: &Path, epoch: u64) -> Result<u64, CheckpointError> {
        let rows = build(&self, &path.join(NEW), epoch).map_err(|error| new_store_error(path, error));
        drop(self);
        wait_until_closed(path)?;
        let swapped = rows.and_then(|rows| declare(path).map(|()| rows));
        // Whatever happened, one of the two is complete; remove the leftovers of the other.
        let settled = finish_swap(path);
        let rows = swapped?;
        settled.map(|()| rows)
    }
}

public_methods!(SledCheckpointer, Disk, SledOptions);

/// Copies every row into a new database, after verifying it.
fn build(old: &Disk, new: &Path, epoch: u64) -> Result<u64, CheckpointError> {
    io_at(new, "create the directory", fs::create_dir(new))?;
    let disk = Disk::open(new, &SledOptions::default())?;
    let rows = match copy(old, &disk) {
        Ok(rows) => rows,
        Err(error) => return Err(disk.discard(error)),
    };
    call_sled(new, move || {
        drop(disk); // sled writes on drop, and may panic on a full disk
        Ok(())
    })?;
    MarkerFile::open(new)?.write(epoch << EPOCH_SHIFT, STORE)?;
    wait_until_closed(new)?;
    sync_directories(new, &["db", "conf", "blobs"])?;
    Ok(rows)
}

fn copy(old: &Disk, new: &Disk) -> Result<u64, CheckpointError> {
    let (mut batch, mut bytes, mut rows) = (Batch::default(), 0, 0);
    for row in old.rows(&[], Bound::Unbounded) {
        let (key, value) = row?;
        if key.first() == Some(&DELETIONS) || is_derived(&key) {
            continue; // the new database contains nothing deleted, and its index is made anew
        }
        verify_row(&key, &value)?;
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
fn wait_until_closed(path: &Path) -> Result<(), CheckpointError> {
    let log = path.join("db");
    let file = io_at(&log, "open the file", files::open_to_read(&log))?;
    for _ in 0..500 {
        if file.try_lock().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    io_at(&log, "close the file", Err(std::io::Error::other("the store still uses it")))
}

/// Errors of the new database are not damage of the store.
fn new_store_error(path: &Path, error: CheckpointError) -> CheckpointError {
    match error {
        CheckpointError::DamagedStore { path: at, reason } if at != path => {
            CheckpointError::io("rewrite the store", &at, io::Error::other(reason))
        }
        other => other,
    }
}

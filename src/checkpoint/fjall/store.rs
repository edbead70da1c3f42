//! [`FjallCheckpointer`]: the embedded store on fjall, and its compaction, which writes every table anew without removed
//! rows and empties the journal.

use std::fs::{self, File};
use std::path::Path;

use super::database::{Database, FjallOptions};
use super::open;
use super::survey::journals;
#[cfg(feature = "test-util")]
use crate::checkpoint::StoreFaults;
use crate::checkpoint::embedded::build::{Compacted, DirectoryStore, back_up, size, verify};
use crate::checkpoint::embedded::directory::restrict;
use crate::checkpoint::embedded::engine::{Source, Tree};
use crate::checkpoint::embedded::files::{self, io_at};
use crate::checkpoint::embedded::kind::FORMAT_FILE;
use crate::checkpoint::embedded::opening::{OpenedStore, ReadOnlyStore, no_store};
use crate::checkpoint::embedded::rows::LAST;
use crate::checkpoint::embedded::store::{Store, delegate};
use crate::checkpoint::repair::new_store::repair;
use crate::checkpoint::{BackedUp, CheckpointError, Checkpointer, Order, Repaired};

/// Checkpointer that stores everything in a directory, for one process at a time, on a log-structured merge tree. It
/// makes the same promises as [`SledCheckpointer`](super::super::SledCheckpointer), writes less per commit, and returns
/// the space of removed records by itself as it goes.
///
/// Every acknowledged commit survives a crash and a power cut. Dropping it finishes the queue and unlocks the
/// directory, which may block for the time of a sync; [`FjallCheckpointer::close`] does so on a blocking thread. Only
/// the owner can read the directory (0700); its contents are not encrypted. Links inside it are not followed.
///
/// A store whose files a git repository tracks came with a clone: its threads may be read, but not run until a person
/// [trusts](crate::checkpoint::trust) one of them, and with it the whole store in its tracked state.
///
/// ```no_run
/// # use superstep::prelude::*;
/// # use superstep::checkpoint::FjallCheckpointer;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Write }
/// # fn example(essays: CompiledGraph<Draft, Step>) -> Result<(), Box<dyn std::error::Error>> {
/// let essays = essays.with_checkpointer(FjallCheckpointer::open("runs.fjall")?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FjallCheckpointer(Store<Database>);

impl FjallCheckpointer {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open already, [`CheckpointError::OtherStore`] if it is a store of another
    /// kind, [`CheckpointError::DamagedStore`] or [`CheckpointError::Format`] if it cannot be read,
    /// [`CheckpointError::Io`] if a system call fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Self::open_with(path, FjallOptions::default())
    }

    /// Opens the store in the directory `path` with `options`, or creates it.
    ///
    /// # Errors
    /// As [`FjallCheckpointer::open`].
    pub fn open_with(path: impl AsRef<Path>, options: FjallOptions) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        Store::start(path, open::open(path, &options)?).map(Self)
    }

    /// Opens the store in the directory `path` read-only. Writes nothing there, not even a lock file, and needs no write
    /// permission: use it for a read-only medium, a full disk, or a store in doubt. Other processes may read it at the
    /// same time, but not write it. Writes are refused with [`CheckpointError::NotWritable`].
    ///
    /// fjall writes when it opens a store, so a copy is opened: links to its tables, and its journals, which may have
    /// 128 MB. It is in the directory of temporary files or, if there is no space, in memory, and is removed on drop.
    ///
    /// # Errors
    /// As [`FjallCheckpointer::open`]; [`CheckpointError::Io`] if there is no store.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        let ReadOnlyStore { view, lock } = open::read(path)?;
        Store::read_only(path, view, lock).map(Self)
    }

    /// Finishes the queue and unlocks the directory, without blocking the caller's thread.
    ///
    /// # Errors
    /// [`CheckpointError::Poisoned`] if a write failed.
    pub async fn close(self) -> Result<(), CheckpointError> {
        self.0.close().await
    }

    /// Copies every thread of any store into a new store in the directory `path`, which must not exist. Runs may
    /// continue meanwhile: see [`backup`](crate::checkpoint::backup). To restore the copy, open it.
    ///
    /// The copy is built in `path` with `.partial` appended, and renamed when it is complete and on disk; leftovers of
    /// an interrupted backup are removed first.
    ///
    /// # Errors
    /// [`CheckpointError::Io`] if `path` exists or cannot be written; the errors of
    /// [`backup`](crate::checkpoint::backup).
    pub async fn backup(from: &dyn Checkpointer, path: impl AsRef<Path>) -> Result<BackedUp, CheckpointError> {
        back_up::<Self>(from, path.as_ref()).await
    }

    /// Reads all intact rows of the damaged store in the directory `damaged` and writes them into a new store in the
    /// directory `path`, which must not exist. The damaged store is not changed. Threads resume as after
    /// [`SledCheckpointer::repair`](super::super::SledCheckpointer::repair).
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if nothing can be restored, and then no store is created;
    /// [`CheckpointError::Locked`] if the damaged store is open; [`CheckpointError::UnsafeStore`] if it contains links;
    /// [`CheckpointError::Io`] if there is no such directory, if `path` exists, or if a system call fails.
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<Repaired, CheckpointError> {
        repair::<Self>(damaged.as_ref(), path.as_ref()).await
    }

    /// Writes the store in the directory `path` anew in place, to return the disk space of deleted records at once
    /// instead of as it goes. The store must not be open. It needs space for both copies meanwhile, and blocks: in async
    /// code, call it where blocking is fine.
    ///
    /// A crash at any point leaves a whole store. Every row's checksum is verified, and a damaged store is left
    /// unchanged.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open, [`CheckpointError::Damaged`] or [`CheckpointError::DamagedStore`],
    /// [`CheckpointError::Io`] if a system call fails.
    pub fn compact(path: impl AsRef<Path>) -> Result<Compacted, CheckpointError> {
        let path = path.as_ref();
        if !path.join(FORMAT_FILE).exists() {
            return Err(no_store("compact the store", path));
        }
        let options = FjallOptions { spend_reserve: true, ..FjallOptions::default() };
        let OpenedStore { engine, marker_file, lock, .. } = open::open(path, &options)?;
        let before = size(path);
        let rows = verify_all(&engine)?;
        engine.compact()?;
        drop(marker_file);
        drop(engine);
        empty_journals(path)?;
        restrict(path)?;
        let after = size(path);
        drop(lock); // last: no process may open it before
        Ok(Compacted { before, after, rows })
    }

    /// Returns the switches with which a test makes this store fail.
    #[cfg(feature = "test-util")]
    pub fn faults(&self) -> StoreFaults {
        self.0.faults()
    }
}

impl DirectoryStore for FjallCheckpointer {
    fn create(path: &Path) -> Result<Self, CheckpointError> {
        Self::open(path)
    }

    async fn finish(self) -> Result<(), CheckpointError> {
        self.close().await
    }
}

delegate!(FjallCheckpointer);

/// Verifies every row, and returns their number.
fn verify_all(database: &Database) -> Result<u64, CheckpointError> {
    let tree = database.snapshot();
    let mut rows = 0;
    for row in tree.range(&[], LAST, Order::Ascending) {
        let (key, row) = row?;
        verify(&key, &row)?;
        rows += 1;
    }
    Ok(rows)
}

/// Empties the journal of a closed database whose rows are all in tables, and removes older ones: oldest first, so that
/// after a crash none is missing between others.
fn empty_journals(path: &Path) -> Result<(), CheckpointError> {
    let journals = journals(path)?;
    let Some(((_, newest), older)) = journals.split_last() else { return Ok(()) };
    for (_, journal) in older {
        io_at(journal, "remove the file", fs::remove_file(journal))?;
    }
    let opened = files::open(newest, File::options().write(true));
    let emptied = opened.and_then(|file| file.set_len(0).and_then(|()| file.sync_all()));
    io_at(newest, "empty the file", emptied)
}

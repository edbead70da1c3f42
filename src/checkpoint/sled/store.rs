//! [`SledCheckpointer`]: the embedded store on sled.

use std::path::Path;

use super::disk::Disk;
use super::image::Image;
use super::open;
use super::options::SledOptions;
#[cfg(feature = "test-util")]
use crate::checkpoint::StoreFaults;
use crate::checkpoint::embedded::build::{DirectoryStore, back_up};
use crate::checkpoint::embedded::delegate::delegate;
use crate::checkpoint::embedded::opening::ReadOnlyStore;
use crate::checkpoint::embedded::repair::repair;
use crate::checkpoint::embedded::store::Store;
use crate::checkpoint::{BackedUp, CheckpointError, Checkpointer, Repaired};

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
pub struct SledCheckpointer(Store<Disk, Image>);

impl SledCheckpointer {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open already, [`CheckpointError::DamagedStore`] or
    /// [`CheckpointError::Format`] if it cannot be read, [`CheckpointError::Io`] if a system call fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Self::open_with(path, SledOptions::default())
    }

    /// Opens the store in the directory `path` with `options`, or creates it.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SledOptions) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        Store::start(path, open::open(path, &options)?).map(Self)
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
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<Repaired, CheckpointError> {
        repair::<Self>(damaged.as_ref(), path.as_ref()).await
    }

    /// Returns the switches with which a test makes this store fail.
    #[cfg(feature = "test-util")]
    pub fn faults(&self) -> StoreFaults {
        self.0.faults()
    }
}

impl DirectoryStore for SledCheckpointer {
    fn create(path: &Path) -> Result<Self, CheckpointError> {
        Self::open(path)
    }

    async fn finish(self) -> Result<(), CheckpointError> {
        self.close().await
    }
}

delegate!(SledCheckpointer);

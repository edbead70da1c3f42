//! [`FjallCheckpointer`]: the embedded store on fjall, and its compaction, which rewrites every table without removed
//! rows and empties the journal.

use std::path::Path;

use super::clean_end::empty_journals;
use super::database::{Database, FjallOptions};
use super::open;
use crate::checkpoint::embedded::build::{CompactionReport, compact, verify_row};
use crate::checkpoint::embedded::engine::{RowSource, Tree};
use crate::checkpoint::embedded::opening::{OpenedStore, ReadOnlyStore};
use crate::checkpoint::embedded::public_methods::public_methods;
use crate::checkpoint::embedded::rows::{LAST, is_derived};
use crate::checkpoint::embedded::store::{EmbeddedStore, Store};
use crate::checkpoint::repair::new_store::repair;
use crate::checkpoint::{CheckpointError, Order, RepairReport};

/// Checkpointer that stores everything in a directory, for one process at a time, on a log-structured merge tree. It
/// makes the same promises as [`SledCheckpointer`](super::super::SledCheckpointer), writes less per commit, and returns
/// the space of removed records by itself as it goes.
///
/// Every acknowledged commit survives a crash and a power cut. Dropping it finishes the queue, writes what is only in its
/// journal to a table if that is much (at most 64 MB; tables of many short openings are merged now and then), and unlocks the
/// directory, which blocks meanwhile; [`FjallCheckpointer::close`] does so on a blocking thread. Only the owner can read the
/// directory (0700); its contents are not encrypted. Links inside it are not followed.
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
        Store::open_read_only(path.as_ref()).map(Self)
    }

    /// Reads all intact rows of the damaged store in the directory `damaged` and writes them into a new store in the
    /// directory `path`, which must not exist. The damaged store is not changed. Threads resume as after
    /// [`SledCheckpointer::repair`](super::super::SledCheckpointer::repair).
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if nothing can be restored, and then no store is created;
    /// [`CheckpointError::Locked`] if the damaged store is open; [`CheckpointError::UnsafeStore`] if it contains links;
    /// [`CheckpointError::Io`] if there is no such directory, if `path` exists, or if a system call fails.
    pub async fn repair(damaged: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<RepairReport, CheckpointError> {
        repair::<Database>(damaged.as_ref(), path.as_ref()).await
    }

    /// Rewrites the store in the directory `path` in place, to return the disk space of deleted records at once
    /// instead of as it goes. The store must not be open. It needs space for both copies meanwhile, and blocks: in async
    /// code, call it where blocking is fine.
    ///
    /// A crash at any point leaves a whole store. Every row's checksum is verified, and a damaged store is left
    /// unchanged.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open, [`CheckpointError::Damaged`] or [`CheckpointError::DamagedStore`],
    /// [`CheckpointError::Io`] if a system call fails.
    pub fn compact(path: impl AsRef<Path>) -> Result<CompactionReport, CheckpointError> {
        compact::<Database>(path.as_ref())
    }
}

impl EmbeddedStore for Database {
    type Reader = Database;
    type Options = FjallOptions;

    fn options_to_remove() -> FjallOptions {
        FjallOptions::default().spend_reserve()
    }

    fn is_to_remove(options: &FjallOptions) -> bool {
        options.spend_reserve
    }

    fn open_store(path: &Path, options: &FjallOptions) -> Result<OpenedStore<Database>, CheckpointError> {
        open::open(path, options)
    }

    fn read_store(path: &Path) -> Result<ReadOnlyStore<Database>, CheckpointError> {
        open::open_read_only(path)
    }

    fn rewrite(self, path: &Path, _epoch: u64) -> Result<u64, CheckpointError> {
        let rows = verify_all(&self)?;
        self.compact()?;
        drop(self);
        empty_journals(path)?;
        Ok(rows)
    }
}

public_methods!(FjallCheckpointer, Database, FjallOptions);

/// Verifies every row, and returns their number.
fn verify_all(database: &Database) -> Result<u64, CheckpointError> {
    let tree = database.snapshot();
    let mut rows = 0;
    for row in tree.range(&[], LAST, Order::Ascending) {
        let (key, row) = row?;
        verify_row(&key, &row)?;
        rows += u64::from(!is_derived(&key));
    }
    Ok(rows)
}

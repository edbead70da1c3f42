//! fjall behind a small interface: read rows as of one moment, write batches durably. Knows fjall's calls. Must not
//! know what a row is.
//!
//! fjall writes a batch to its journal, syncs the journal, and only then shows the batch to readers, so nothing has to
//! be hidden from them meanwhile. It panics on some damaged files, so every call to it is guarded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

use fjall::compaction::Leveled;
use fjall::{AbstractTree, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Slice, Snapshot};

use super::clean_end::{CleanEnd, FEW, MUCH, RowPlace, journal_bytes};
use super::copy::Copy;
use super::journal;
use crate::checkpoint::embedded::build::size;
use crate::checkpoint::embedded::directory::{free_space, take_reserve};
use crate::checkpoint::embedded::engine::{Engine, Faults, Row, RowIter, RowSource, Rows, Tree, catch_quietly};
use crate::checkpoint::embedded::files::{damaged_store, io_at};
use crate::checkpoint::{CheckpointError, Order};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Name of the only keyspace.
const ROWS: &str = "rows";
/// Size in bytes at which records leave memory for a table. Limits how much of the journal an opening reads.
const MEMTABLE: u64 = 32 << 20;
/// Size in bytes of all journals above which fjall writes tables in order to drop the oldest.
const JOURNALS: u64 = 128 << 20;
/// Number of background threads: one writes tables while the other merges them.
const WORKERS: usize = 2;
/// Number of full memtables with which fjall lets no batch return until a worker has written them.
const BLOCKING_MEMTABLES: usize = 4;
/// Number of runs on the first level from which fjall delays batches; with 30, none returns until a worker has merged them.
const SLOW_RUNS: usize = 20;
/// Number of runs on the first level from which closing merges them. Processes that write little each add one, and none of them merges.
const MANY_RUNS: usize = 8;
/// Size in bytes of the tables that a compaction makes.
const TABLE: u64 = 64_000_000;
/// Size of the reserve in bytes: journal for the removals, and a table of what is left.
const RESERVE: u64 = 8 << 20;

/// Options of [`FjallCheckpointer::open_with`](super::FjallCheckpointer::open_with).
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct FjallOptions {
    /// Size of the block cache in bytes. Default: 32 MB. fjall uses more memory than that: up to 64 MB for records that
    /// are only in its journal.
    pub cache_bytes: u64,
    /// Set to release the small reserve of disk space that a store keeps, so that old checkpoints can be removed
    /// although the disk is full. The next opening without it takes the reserve again, if there is space. Default:
    /// false.
    pub spend_reserve: bool,
}

impl Default for FjallOptions {
    fn default() -> Self {
        Self { cache_bytes: 32_000_000, spend_reserve: false }
    }
}

impl FjallOptions {
    /// Sets [`cache_bytes`](Self::cache_bytes).
    pub fn cache_bytes(self, bytes: u64) -> Self {
        Self { cache_bytes: bytes, ..self }
    }

    /// Sets [`spend_reserve`](Self::spend_reserve).
    pub fn spend_reserve(self) -> Self {
        Self { spend_reserve: true, ..self }
    }
}

pub(super) struct Database {
    path: PathBuf,
    rows: Keyspace,
    db: fjall::Database,
    /// True if space is reserved for a full disk, or must not be.
    has_reserve: AtomicBool,
    /// True if fjall's threads write and merge tables; else every write does it that has to.
    has_workers: bool,
    faults: Faults,
    /// Dropped after fjall, whose files it changes.
    end: CleanEnd,
    /// The files that are open in place of those in `path`. Dropped last.
    _copy: Option<Copy>,
}

/// Rows at one moment.
pub(super) struct DatabaseSnapshot<'a> {
    database: &'a Database,
    snapshot: Snapshot,
}

impl Database {
    /// Opens or creates the database in the directory `path`, which exists and is locked. With the reserve spent and
    /// little space, nothing works in the background: merging tables may need more space than there is, and its failure
    /// would end all writes.
    pub(super) fn open(path: &Path, options: &FjallOptions) -> Result<Self> {
        let has_workers = !options.spend_reserve || has_space(path);
        let (db, rows) = open(path, path, options, if has_workers { WORKERS } else { 0 })?;
        let has_reserve = AtomicBool::new(options.spend_reserve);
        let faults = Faults::default();
        let end = CleanEnd::of(path);
        let database = Self { path: path.into(), rows, db, has_reserve, has_workers, faults, end, _copy: None };
        call_fjall(path, || database.work())?;
        Ok(database)
    }

    /// Opens a copy of the database in the directory `path`, to read it.
    pub(super) fn open_copy(path: &Path) -> Result<Self> {
        let copy = Copy::of(path)?;
        let (db, rows) = open(copy.path(), path, &FjallOptions::default(), 0)?;
        let (has_reserve, faults) = (AtomicBool::new(true), Faults::default());
        let end = CleanEnd::of(path);
        Ok(Self { path: path.into(), rows, db, has_reserve, has_workers: false, faults, end, _copy: Some(copy) })
    }

    /// Does what fjall's threads would do, if there are none: writes what fills memory, if there is space for it, and
    /// all that fjall would let the next batch wait for, forever. Nobody else can begin a new journal, so the one there is grows
    /// until an opening with space: by 21 bytes and its key for each row that is removed, of the 64 MB that it has from the
    /// start. An opening skips what tables hold, so its memory is bounded all the same.
    fn work(&self) -> fjall::Result<()> {
        if self.has_workers {
            return Ok(());
        }
        let (tree, unread) = (&self.rows.tree, self.db.supervisor.snapshot_tracker.get_seqno_safe_to_gc());
        let size = tree.active_memtable().size();
        if size > MEMTABLE && free_space(&self.path).is_none_or(|free| free > size) {
            tree.flush_active_memtable(unread)?;
        }
        if tree.sealed_memtable_count() >= BLOCKING_MEMTABLES {
            tree.flush(&tree.get_flush_lock(), unread)?;
        }
        if tree.l0_run_count() >= SLOW_RUNS {
            tree.compact(Arc::new(Leveled::default()), unread)?;
        }
        Ok(())
    }

    /// Writes the rows that are only in memory and in journals to a table, unless they are few; returns where they are.
    fn write_out(&self) -> fjall::Result<RowPlace> {
        self.db.persist(PersistMode::Buffer)?;
        let tree = &self.rows.tree;
        let are_few = tree.sealed_memtable_count() == 0 && tree.active_memtable().size() <= FEW;
        if are_few && journal_bytes(&self.path) <= MUCH {
            return Ok(RowPlace::Journal);
        }
        let unread = self.db.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
        tree.flush_active_memtable(unread)?;
        if tree.l0_run_count() >= MANY_RUNS {
            _ = tree.compact(Arc::new(Leveled::default()), unread); // else a later write does it
        }
        Ok(RowPlace::Tables)
    }

    /// Writes everything to tables, and rewrites the tables without removed rows. Nothing else uses the database meanwhile.
    pub(super) fn compact(&self) -> Result<()> {
        call_fjall(&self.path, || {
            let tree = &self.rows.tree;
            // Nobody reads an older state.
            let newest = tree.get_highest_seqno().map_or(0, |newest| newest + 1);
            tree.flush_active_memtable(newest)?;
            Ok(tree.major_compact(TABLE, newest)?)
        })
    }
}

/// Returns whether there is space for the journals and for all tables to be merged.
fn has_space(store: &Path) -> bool {
    free_space(store).is_some_and(|free| free > size(store).saturating_add(JOURNALS))
}

/// Opens fjall in a directory; `store` is named in errors.
fn open(directory: &Path, store: &Path, options: &FjallOptions, workers: usize) -> Result<(fjall::Database, Keyspace)> {
    call_fjall(store, || {
        let db = fjall::Database::builder(directory)
            .cache_size(options.cache_bytes)
            .max_journaling_size(JOURNALS)
            .worker_threads_unchecked(workers)
            .open()?;
        let rows = db.keyspace(ROWS, || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE))?;
        Ok((db, rows))
    })
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RowSource for Database {
    type Bytes = Slice;
    type Snapshot<'a> = DatabaseSnapshot<'a>;

    fn snapshot(&self) -> DatabaseSnapshot<'_> {
        DatabaseSnapshot { database: self, snapshot: self.db.snapshot() }
    }
}

impl Tree for DatabaseSnapshot<'_> {
    type Bytes = Slice;

    fn get(&self, key: &[u8]) -> Result<Option<Slice>> {
        call_fjall(&self.database.path, || self.snapshot.get(&self.database.rows, key))
    }

    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, Slice> {
        let mut rows = self.snapshot.range(&self.database.rows, lo..=hi);
        let path = &self.database.path;
        Box::new(std::iter::from_fn(move || {
            let next = || match order {
                Order::Ascending => rows.next(),
                Order::Descending => rows.next_back(),
            };
            next_row(path, next)
        }))
    }
}

/// Takes a row from an iterator.
fn next_row(path: &Path, next: impl FnOnce() -> Option<fjall::Guard>) -> Option<Result<Row<Slice>>> {
    call_fjall(path, || next().map(fjall::Guard::into_inner).transpose()).transpose()
}

impl Engine for Database {
    const SHOWS_UNSYNCED: bool = false;

    fn write(&self, rows: Rows) -> Result<()> {
        io_at(&self.path, "sync the store", self.faults.before_sync())?;
        self.write_with(rows, Some(PersistMode::SyncData))
    }

    fn write_soon(&self, rows: Rows) -> Result<()> {
        self.write_with(rows, None)
    }

    fn maintain(&self) {
        if !self.has_reserve.load(Ordering::Relaxed) {
            let bytes = call_fjall(&self.path, || self.db.disk_space()).unwrap_or(0);
            let bytes = bytes.saturating_sub(journal::PREALLOCATED);
            self.has_reserve.store(take_reserve(&self.path, bytes, RESERVE), Ordering::Relaxed);
        }
    }

    fn settle(&self) {
        // Without workers there may be no space for a table.
        if !self.has_workers || !self.end.is_in_place() {
            return;
        }
        match call_fjall(&self.path, || self.write_out()) {
            Ok(rows) => self.end.note(rows),
            Err(error) => tracing::warn!(%error, "the rows of a store stay in its journal"),
        }
    }

    fn discard(self, error: CheckpointError) -> CheckpointError {
        _ = catch_quietly(move || drop(self));
        error
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl Database {
    fn write_with(&self, rows: Rows, durability: Option<PersistMode>) -> Result<()> {
        call_fjall(&self.path, || {
            let mut batch = self.db.batch().durability(durability);
            for (key, row) in rows {
                match row {
                    Some(row) => batch.insert(&self.rows, key, row),
                    None => batch.remove(&self.rows, key),
                }
            }
            batch.commit()?;
            self.work()
        })
    }
}

/// Runs a call to fjall and converts its errors and its panic.
pub(super) fn call_fjall<T>(path: &Path, call: impl FnOnce() -> fjall::Result<T>) -> Result<T> {
    match catch_quietly(call) {
        Ok(done) => done.map_err(|error| convert_error(path, error)),
        Err(panic) => {
            let reason = panic.lines().next().unwrap_or_default();
            Err(damaged_store(path, &format!("the embedded database failed: {reason}")))
        }
    }
}

fn convert_error(path: &Path, error: fjall::Error) -> CheckpointError {
    use fjall::{Error, LsmError};
    let use_store = |error| match io_at::<()>(path, "use the store", Err(error)) {
        Err(error) => error,
        Ok(()) => damaged_store(path, "an error without a reason"),
    };
    match error {
        Error::Storage(LsmError::Io(error)) if is_of_content(&error) => {
            damaged_store(path, &format!("a table cannot be read: {error}"))
        }
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => use_store(error),
        Error::Storage(LsmError::ChecksumMismatch { .. }) => damaged_store(path, "a table does not match its checksum"),
        Error::Storage(LsmError::Unrecoverable) | Error::Unrecoverable => {
            damaged_store(path, "a table or its list is missing")
        }
        Error::Storage(error) => damaged_store(path, &format!("a table cannot be read: {error:?}")),
        Error::JournalRecovery(reason) => damaged_store(path, &format!("its journal cannot be read: {reason:?}")),
        Error::InvalidVersion(_) => damaged_store(path, "its file `version` holds no version of fjall 3"),
        // fjall does not tell why a write in the background failed.
        Error::Poisoned if free_space(path).is_some_and(|free| free < MEMTABLE) => {
            CheckpointError::DiskFull { what: "write a table of the store".into(), path: path.into() }
        }
        Error::Poisoned => CheckpointError::Poisoned { reason: "an earlier write of the database failed".into() },
        other => damaged_store(path, &format!("the embedded database reports {other:?}")),
    }
}

/// Returns whether an error of reading shows damage: a file that is too short, or an impossible position in it.
fn is_of_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

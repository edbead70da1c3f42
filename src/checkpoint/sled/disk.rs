//! sled behind a small interface: read rows, write batches durably. Knows sled's calls and their gaps. Must not know
//! what a row is.
//!
//! sled 0.34.7 ends a flush on Linux with `sync_file_range`, which commits neither the file's metadata nor the disk's
//! cache, so every write here ends with our own `sync_data`. It also panics on some damaged files, so every call to it
//! is guarded.

use std::fmt::Debug;
use std::fs::{self, File};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use sled::{Batch, Db, IVec, Iter};

use super::segment::SEGMENT;
use crate::checkpoint::embedded::directory::take_reserve;
use crate::checkpoint::embedded::engine::{Engine, Faults, RowIter, RowSource, Rows, Tree, catch_quietly};
use crate::checkpoint::embedded::files::{self, damaged_store, io_at};
use crate::checkpoint::{CheckpointError, Order};

/// Number of accesses that sled's cache may buffer before it looks at page sizes and evicts: 64 in each of its 256
/// shards, however large the pages are.
const ACCESSES: u64 = 64 * 256;
/// Bytes that the pages of these accesses may have together, if the cache is not larger: with less, reads of large values
/// would consist of accesses.
const BUFFERED: u64 = 64_000_000;
/// Size of the reserve in bytes: the rest of a segment, which an opening fills, the next one, and one of a compacted
/// store.
const RESERVE: u64 = 3 * SEGMENT as u64;

/// Options of [`SledCheckpointer::open_with`](super::SledCheckpointer::open_with).
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct SledOptions {
    /// Size of the page cache in bytes, as sled counts: small values take more than twice as much in memory. Default:
    /// 8 MB, because the operating system keeps the file in its own cache. sled uses more memory than that: about 70
    /// bytes for each KiB of the log for the places of its pages, and with values of 1 MiB about 70 MB for write buffers
    /// and for evicted pages that are not freed yet.
    pub cache_bytes: u64,
    /// Set to release the small reserve of disk space that a store keeps, so that old checkpoints can be removed
    /// although the disk is full. The next opening without it takes the reserve again, if there is space. Default:
    /// false.
    pub spend_reserve: bool,
}

impl Default for SledOptions {
    fn default() -> Self {
        Self { cache_bytes: 8_000_000, spend_reserve: false }
    }
}

impl SledOptions {
    /// Sets [`cache_bytes`](Self::cache_bytes).
    pub fn cache_bytes(self, bytes: u64) -> Self {
        Self { cache_bytes: bytes, ..self }
    }

    /// Sets [`spend_reserve`](Self::spend_reserve).
    pub fn spend_reserve(self) -> Self {
        Self { spend_reserve: true, ..self }
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    db: Db,
    /// Our own handle on sled's log, to sync it.
    log: File,
    /// Modification time of the directory of sled's blob files.
    blobs_changed: Option<SystemTime>,
    /// Size of the page cache in bytes.
    cache_bytes: u64,
    /// True if space is reserved for a full disk, or must not be.
    has_reserve: AtomicBool,
    faults: Faults,
}

type Row = (IVec, IVec);

impl RowSource for Disk {
    type Bytes = IVec;
    type Snapshot<'a> = &'a Disk;

    fn snapshot(&self) -> &Disk {
        self
    }
}

impl Tree for &Disk {
    type Bytes = IVec;

    fn get(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError> {
        Disk::get(self, key)
    }

    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, IVec> {
        let rows = self.rows(lo, Bound::Included(hi));
        match order {
            Order::Ascending => Box::new(rows),
            Order::Descending => Box::new(rows.rev()),
        }
    }
}

impl Engine for Disk {
    const SHOWS_UNSYNCED: bool = true;

    fn write(&self, rows: Rows) -> Result<(), CheckpointError> {
        self.write_soon(rows)?;
        self.sync()
    }

    fn write_soon(&self, rows: Rows) -> Result<(), CheckpointError> {
        let (mut batch, mut heavy) = (Batch::default(), vec![]);
        for (key, row) in rows {
            match row {
                Some(row) => {
                    if self.is_heavy(row.len()) {
                        heavy.push((key.clone(), row.len()));
                    }
                    batch.insert(key, row);
                }
                None => batch.remove(key),
            }
        }
        call_sled(&self.path, || self.db.apply_batch(batch))?;
        self.weigh_all(&heavy)
    }

    fn maintain(&self) {
        if !self.has_reserve.load(Ordering::Relaxed) {
            let log = fs::symlink_metadata(self.path.join("db")).map_or(0, |log| log.len());
            self.has_reserve.store(take_reserve(&self.path, log, RESERVE), Ordering::Relaxed);
        }
    }

    /// sled writes on drop, and may panic.
    fn discard(self, error: CheckpointError) -> CheckpointError {
        _ = catch_quietly(move || drop(self));
        error
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }
}

pub(super) struct RangeIter<'a> {
    disk: &'a Disk,
    rows: Iter,
}

impl Disk {
    /// Opens or creates the database in the directory `path`, which exists and is locked.
    pub(super) fn open(path: &Path, options: &SledOptions) -> Result<Self, CheckpointError> {
        let cache_bytes = options.cache_bytes;
        let config =
            ::sled::Config::new().path(path).segment_size(SEGMENT).cache_capacity(cache_bytes).flush_every_ms(None);
        let db = call_sled(path, || config.open())?;
        let log = io_at(path, "open the store", files::open_to_read(&path.join("db")))?;
        let blobs_changed = modified_at(&path.join("blobs"));
        let has_reserve = AtomicBool::new(options.spend_reserve);
        let disk =
            Self { path: path.into(), db, log, blobs_changed, cache_bytes, has_reserve, faults: Faults::default() };
        match disk.list_blobs() {
            Ok(()) => Ok(disk),
            Err(error) => Err(disk.discard(error)),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError> {
        call_sled(&self.path, || {
            let row = self.db.get(key)?;
            self.weigh(key, row.as_ref().map_or(0, |row| row.len()))?;
            Ok(row)
        })
    }

    /// Returns whether a row is so large that one access to it counts as several.
    fn is_heavy(&self, bytes: usize) -> bool {
        self.weight(bytes) > 0
    }

    /// Returns the number of extra accesses that a row counts for, so that the pages of all buffered accesses together
    /// stay within [`BUFFERED`], or the cache size if that is larger.
    fn weight(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(ACCESSES) / self.cache_bytes.max(BUFFERED)
    }

    /// Records extra accesses to a row according to its size.
    fn weigh(&self, key: &[u8], bytes: usize) -> ::sled::Result<()> {
        (0..self.weight(bytes).min(64)).try_for_each(|_| self.db.contains_key(key).map(drop))
    }

    /// Returns the rows between two keys.
    pub(super) fn rows(&self, lo: &[u8], hi: Bound<&[u8]>) -> RangeIter<'_> {
        RangeIter { disk: self, rows: self.db.range::<&[u8], _>((Bound::Included(lo), hi)) }
    }

    /// Takes a row from an iterator and records extra accesses to it.
    fn next_row(&self, next: impl FnOnce() -> Option<::sled::Result<Row>>) -> Option<Result<Row, CheckpointError>> {
        let row = || {
            let Some(row) = next().transpose()? else { return Ok(None) };
            self.weigh(&row.0, row.1.len())?;
            Ok(Some(row))
        };
        call_sled(&self.path, row).transpose()
    }

    /// Writes rows atomically, and returns when they are on disk.
    pub(super) fn apply(&self, batch: Batch) -> Result<(), CheckpointError> {
        call_sled(&self.path, || self.db.apply_batch(batch))?;
        self.sync()
    }

    /// Records extra accesses to the written rows according to their sizes.
    fn weigh_all(&self, rows: &[(Vec<u8>, usize)]) -> Result<(), CheckpointError> {
        call_sled(&self.path, || rows.iter().try_for_each(|(key, bytes)| self.weigh(key, *bytes)))
    }

    fn sync(&self) -> Result<(), CheckpointError> {
        call_sled(&self.path, || self.db.flush())?;
        io_at(&self.path, "sync the store", self.faults.before_sync().and_then(|()| self.log.sync_data()))?;
        self.check_blobs()
    }

    /// Checks that sled has stored no value in a blob file: it never syncs those.
    fn check_blobs(&self) -> Result<(), CheckpointError> {
        if self.blobs_changed.is_some() && modified_at(&self.path.join("blobs")) == self.blobs_changed {
            return Ok(());
        }
        self.list_blobs()
    }

    fn list_blobs(&self) -> Result<(), CheckpointError> {
        let blobs = self.path.join("blobs");
        if io_at(&blobs, "list the files", fs::read_dir(&blobs))?.next().is_none() {
            return Ok(());
        }
        Err(damaged_store(&self.path, "a value is outside the log, where it would not survive a power cut"))
    }
}

impl Iterator for RangeIter<'_> {
    type Item = Result<Row, CheckpointError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.disk.next_row(|| self.rows.next())
    }
}

impl DoubleEndedIterator for RangeIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.disk.next_row(|| self.rows.next_back())
    }
}

/// Runs a call to sled and converts its panic to an error.
pub(super) fn call_sled<T>(path: &Path, call: impl FnOnce() -> ::sled::Result<T>) -> Result<T, CheckpointError> {
    match catch_quietly(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(::sled::Error::Io(error))) => io_at(path, "use the store", Err(error)),
        Ok(Err(::sled::Error::Corruption { at: None, .. })) => {
            Err(damaged_store(path, "a file of its index cannot be read"))
        }
        Ok(Err(::sled::Error::Corruption { at: Some(at), .. })) => {
            Err(damaged_store(path, &format!("its log cannot be read at byte {}", at.lid())))
        }
        Ok(Err(error)) => Err(panic_error(path, &error.to_string())),
        Err(panic) => {
            let reason = panic.lines().next().unwrap_or_default();
            Err(panic_error(path, &format!("the embedded database failed: {reason}")))
        }
    }
}

/// Returns the error for the text of a panic in sled: only the text shows that the disk is full.
fn panic_error(path: &Path, words: &str) -> CheckpointError {
    if words.contains("StorageFull") || words.contains("No space left") {
        return CheckpointError::DiskFull { what: "use the store".into(), path: path.into() };
    }
    damaged_store(path, words)
}

fn modified_at(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory).and_then(|metadata| metadata.modified()).ok()
}

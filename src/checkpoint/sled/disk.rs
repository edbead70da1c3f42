//! The embedded store as the rest of this folder sees it: rows in, rows out, one durable write. Knows sled's calls and what
//! they leave undone. Must not know what a row is.
//!
//! sled 0.34.7 ends a flush on Linux with `sync_file_range`, which commits neither the file's metadata nor the disk's
//! cache, so every write here ends with our own `sync_data`. It also panics on some damaged files: no call to it goes
//! unguarded.

use std::fmt::Debug;
use std::fs::{self, File};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sled::{Batch, Db, IVec, Iter};

use super::faults::Faults;
use super::files::{self, io_at};
use super::quiet::caught_quietly;
use super::segment::SEGMENT;
use crate::checkpoint::{CheckpointError, Order};

/// One open sled database.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    db: Db,
    /// A handle of our own on sled's log, to sync it.
    log: File,
    /// When a file last came or went among sled's blob files.
    blobs_changed: Option<SystemTime>,
    /// The most memory for pages, in bytes.
    cache_bytes: u64,
    faults: Faults,
}

/// How many accesses sled's cache may have noted before it looks at the sizes of pages and lets some go: 64 in each of its 256
/// parts, however large the pages are.
const ACCESSES: u64 = 64 * 256;

/// The bytes of a row and its key.
pub(super) type Row = (IVec, IVec);

/// Rows of a range, in one order.
pub(super) type Rows<'a> = Box<dyn Iterator<Item = Result<Row, CheckpointError>> + 'a>;

/// Rows by their keys, to read.
pub(super) trait Tree: Debug + Send + Sync {
    /// Returns one row.
    fn get(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError>;

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    fn range(&self, lo: &[u8], hi: &[u8], order: Order) -> Rows<'_>;
}

impl Tree for Disk {
    fn get(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError> {
        self.get(key)
    }

    fn range(&self, lo: &[u8], hi: &[u8], order: Order) -> Rows<'_> {
        let rows = self.rows(lo, Bound::Included(hi));
        match order {
            Order::Ascending => Box::new(rows),
            Order::Descending => Box::new(rows.rev()),
        }
    }
}

/// Rows of a range of sled's tree, from either end.
pub(super) struct Between<'a> {
    disk: &'a Disk,
    rows: Iter,
}

impl Disk {
    /// Opens or creates the database in the directory `path`, which exists and is locked.
    pub(super) fn open(path: &Path, cache_bytes: u64) -> Result<Self, CheckpointError> {
        let config =
            ::sled::Config::new().path(path).segment_size(SEGMENT).cache_capacity(cache_bytes).flush_every_ms(None);
        let db = guarded(path, || config.open())?;
        let log = io_at(path, "open the store", files::read(&path.join("db")))?;
        let blobs_changed = changed(&path.join("blobs"));
        let disk = Self { path: path.into(), db, log, blobs_changed, cache_bytes, faults: Faults::default() };
        match disk.list_blobs() {
            Ok(()) => Ok(disk),
            Err(error) => Err(disk.discard(error)),
        }
    }

    /// Returns the directory that it is in.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the database go after an error, which it returns. sled writes once more when it goes, and may panic.
    pub(super) fn discard(self, error: CheckpointError) -> CheckpointError {
        _ = caught_quietly(move || drop(self));
        error
    }

    /// Returns one row.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError> {
        guarded(&self.path, || {
            let row = self.db.get(key)?;
            self.weigh(key, row.as_ref().map_or(0, |row| row.len()))?;
            Ok(row)
        })
    }

    /// Returns whether a row is so large that its access counts for several.
    pub(super) fn is_heavy(&self, bytes: usize) -> bool {
        self.weight(bytes) > 0
    }

    /// How many accesses more a row counts for, so that all that are noted together have no more bytes than the cache.
    fn weight(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(ACCESSES) / self.cache_bytes.max(1)
    }

    /// Lets the access to a row count by its size.
    fn weigh(&self, key: &[u8], bytes: usize) -> ::sled::Result<()> {
        (0..self.weight(bytes).min(64)).try_for_each(|_| self.db.contains_key(key).map(drop))
    }

    /// Returns the rows between two keys.
    pub(super) fn rows(&self, lo: &[u8], hi: Bound<&[u8]>) -> Between<'_> {
        Between { disk: self, rows: self.db.range::<&[u8], _>((Bound::Included(lo), hi)) }
    }

    /// Takes a row from an iterator.
    fn weighed(&self, next: impl FnOnce() -> Option<::sled::Result<Row>>) -> Option<Result<Row, CheckpointError>> {
        let row = || {
            let Some(row) = next().transpose()? else { return Ok(None) };
            self.weigh(&row.0, row.1.len())?;
            Ok(Some(row))
        };
        guarded(&self.path, row).transpose()
    }

    /// Writes rows, all or none, and returns when they are on disk.
    pub(super) fn write(&self, batch: Batch) -> Result<(), CheckpointError> {
        guarded(&self.path, || self.db.apply_batch(batch))?;
        self.sync()
    }

    /// Lets the rows that were written under these keys count by their sizes.
    pub(super) fn weigh_all(&self, rows: &[(Vec<u8>, usize)]) -> Result<(), CheckpointError> {
        guarded(&self.path, || rows.iter().try_for_each(|(key, bytes)| self.weigh(key, *bytes)))
    }

    fn sync(&self) -> Result<(), CheckpointError> {
        guarded(&self.path, || self.db.flush())?;
        io_at(&self.path, "sync the store", self.faults.before_sync().and_then(|()| self.log.sync_data()))?;
        self.check_blobs()
    }

    /// Checks that sled keeps no value in a file of its own: it never syncs those.
    fn check_blobs(&self) -> Result<(), CheckpointError> {
        if self.blobs_changed.is_some() && changed(&self.path.join("blobs")) == self.blobs_changed {
            return Ok(());
        }
        self.list_blobs()
    }

    fn list_blobs(&self) -> Result<(), CheckpointError> {
        let blobs = self.path.join("blobs");
        if io_at(&blobs, "list the files", fs::read_dir(&blobs))?.next().is_none() {
            return Ok(());
        }
        Err(broken(&self.path, "a value stands outside the log, where it would not survive a power cut"))
    }

    /// Flips the last bit of a row; returns whether there is one.
    #[cfg(feature = "test-util")]
    pub(super) fn flip_a_bit(&self, key: &[u8]) -> bool {
        let flip = |row: Option<&[u8]>| row.and_then(|row| Some([&row[..row.len() - 1], &[row.last()? ^ 1]].concat()));
        matches!(self.db.update_and_fetch(key, flip), Ok(Some(_)))
    }

    /// Returns the switches with which a test makes this database fail.
    #[cfg(feature = "test-util")]
    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl Iterator for Between<'_> {
    type Item = Result<Row, CheckpointError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.disk.weighed(|| self.rows.next())
    }
}

impl DoubleEndedIterator for Between<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.disk.weighed(|| self.rows.next_back())
    }
}

/// Runs a call to sled; a panic in it becomes an error.
pub(super) fn guarded<T>(path: &Path, call: impl FnOnce() -> ::sled::Result<T>) -> Result<T, CheckpointError> {
    match caught_quietly(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(::sled::Error::Io(error))) => io_at(path, "use the store", Err(error)),
        Ok(Err(::sled::Error::Corruption { at: None, .. })) => Err(broken(path, "a file of its index cannot be read")),
        Ok(Err(::sled::Error::Corruption { at: Some(at), .. })) => {
            Err(broken(path, &format!("its log cannot be read at byte {}", at.lid())))
        }
        Ok(Err(error)) => Err(given_up(path, &error.to_string())),
        Err(panic) => {
            let reason = panic.lines().next().unwrap_or_default();
            Err(given_up(path, &format!("the embedded database gave up: {reason}")))
        }
    }
}

/// Returns the error for what sled says: that the disk is full it says in many words.
fn given_up(path: &Path, words: &str) -> CheckpointError {
    if words.contains("StorageFull") || words.contains("No space left") {
        return CheckpointError::DiskFull { what: "use the store".into(), path: path.into() };
    }
    broken(path, words)
}

/// Returns the error of a store that cannot be read as a whole.
pub(super) fn broken(path: &Path, reason: &str) -> CheckpointError {
    CheckpointError::DamagedStore { path: path.into(), reason: reason.into() }
}

fn changed(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory).and_then(|metadata| metadata.modified()).ok()
}

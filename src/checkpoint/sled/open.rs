//! Opens a store: directory, lock, database, the store's own record. Knows the order of these steps: a crash at any
//! point leaves a directory that can be opened. Knows which files are beside sled's log; must not know their content.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use super::disk::{Disk, SledOptions};
use super::image::Image;
use super::{survey, swap};
use crate::checkpoint::embedded::commit_marker::{CommitMarker, MarkerFile};
use crate::checkpoint::embedded::directory::spend_reserve;
use crate::checkpoint::embedded::files::{self, Access, damaged_store, io_at};
use crate::checkpoint::embedded::kind::{FORMAT_FILE, check_format};
use crate::checkpoint::embedded::lock::{self, Lock};
use crate::checkpoint::embedded::opening::{
    LockedStore, OpenedStore, ReadOnlyStore, create_directory, is_ours, no_store,
};
use crate::checkpoint::{CheckpointError, StoreKind};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Settings of the database, written by sled.
const CONF: &str = "conf";
/// Lengths of the checksum and, in a snapshot, of the length field before it.
const CRC: usize = 4;
const LENGTH: usize = 8;
/// Files that sled creates and does not sync.
const UNSYNCED: &[&str] = &["db", "conf", "blobs"];

pub(super) fn open(path: &Path, options: &SledOptions) -> Result<OpenedStore<Disk>> {
    create_directory(path)?;
    check_format(path, StoreKind::Sled)?;
    if !path.join(lock::NAME).exists() {
        check(path)?; // a damaged store gets no file that it does not have
    }
    let lock = Lock::take(path)?;
    swap::finish_swap(path)?;
    let is_old = check_format(path, StoreKind::Sled)?;
    let marker = check(path)?;
    if options.spend_reserve {
        spend_reserve(path)?;
    }
    let marker_file = MarkerFile::open(path)?;
    remove_unfinished_snapshots(path)?;
    let disk = open_disk(path, options)?;
    LockedStore { path, kind: StoreKind::Sled, lock, is_old, marker, marker_file }.with(disk, UNSYNCED)
}

/// Opens the store in the directory `path` read-only: writes nothing, and needs no write permission.
pub(super) fn open_read_only(path: &Path) -> Result<ReadOnlyStore<Image>> {
    if !is_ours(path) {
        return Err(no_store("read the store", path));
    }
    files::check(path, Access::Read)?;
    let lock = Lock::share(path)?;
    if swap::is_declared(path) {
        let reason = "a compaction has to be finished first, which writes".into();
        return Err(CheckpointError::NotWritable { path: path.into(), reason });
    }
    check_format(path, StoreKind::Sled)?;
    let marker = check_beside_log(path)?;
    let image = Image::read(path, marker.as_ref().map(|marker| marker.number))?;
    ReadOnlyStore::of(path, image, marker.as_ref(), lock)
}

/// Checks that the files of a store are intact before sled opens them; writes nothing.
fn check(path: &Path) -> Result<Option<CommitMarker>> {
    let marker = check_beside_log(path)?;
    survey::check(path, marker.as_ref().map(|marker| marker.number))?;
    Ok(marker)
}

/// Runs the same checks except that of the log, which [`Image::read`] does itself.
fn check_beside_log(path: &Path) -> Result<Option<CommitMarker>> {
    let marker = CommitMarker::read(path)?;
    if marker.is_none() {
        survey::check_empty(path)?;
        if path.join(FORMAT_FILE).exists() && !path.join("db").exists() {
            return Err(damaged_store(path, "its file `db` is missing"));
        }
    }
    check_small_files(path)?;
    Ok(marker)
}

/// Checks the settings and the newest snapshot, where they exist, by their checksums: sled's own errors do not name the
/// file.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] with the name of the damaged file; [`CheckpointError::Io`] if it cannot be read.
fn check_small_files(store: &Path) -> Result<()> {
    let conf = read_small_file(store, CONF)?;
    // sled writes missing settings.
    if conf.len() > 2 * CRC && !is_whole(&conf, 0) {
        return Err(checksum_error(store, CONF));
    }
    match newest_snapshot(store)? {
        Some(name) if !is_whole(&read_small_file(store, &name)?, LENGTH) => Err(checksum_error(store, &name)),
        _ => Ok(()),
    }
}

fn checksum_error(store: &Path, name: &str) -> CheckpointError {
    damaged_store(store, &format!("its file `{name}` does not match its checksum"))
}

/// Returns whether bytes end with the checksum of all but the last `extra` bytes before it.
fn is_whole(bytes: &[u8], extra: usize) -> bool {
    let Some((rest, crc)) = bytes.split_last_chunk::<CRC>() else { return false };
    let Some(length) = rest.len().checked_sub(extra).filter(|length| *length > 0) else { return false };
    crc32fast::hash(&rest[..length]) == u32::from_le_bytes(*crc)
}

/// Returns the name of the snapshot that sled reads.
fn newest_snapshot(store: &Path) -> Result<Option<String>> {
    let whole = survey::snapshots(store)?.into_iter().filter(|path| !is_unfinished(path));
    Ok(whole.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).max())
}

fn is_unfinished(snapshot: &Path) -> bool {
    snapshot.extension().is_some_and(|ending| ending == "generating")
}

fn read_small_file(store: &Path, name: &str) -> Result<Vec<u8>> {
    let path = store.join(name);
    let mut bytes = vec![];
    match files::open_to_read(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        read => io_at(&path, "read the file", read).map(|_| bytes),
    }
}

/// Removes the leftover of a kill during opening: sled would take it for the newest snapshot, and never open again.
fn remove_unfinished_snapshots(path: &Path) -> Result<()> {
    let mut unfinished = survey::snapshots(path)?.into_iter().filter(|path| is_unfinished(path));
    unfinished.try_for_each(|snapshot| io_at(&snapshot, "remove the file", fs::remove_file(&snapshot)))
}

fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Retries while sled's background threads of a closed handle still hold the file; no other process can, because the
/// directory is locked.
fn open_disk(path: &Path, options: &SledOptions) -> Result<Disk> {
    let mut tries = 0;
    loop {
        match Disk::open(path, options) {
            Err(CheckpointError::Io { source, .. }) if tries < 200 && is_locked(&source) => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

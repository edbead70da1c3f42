//! Opens a store: directory, lock, database, the store's own record. Knows the order of these steps: a crash at any
//! point leaves a directory that can be opened.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::commit_marker::{CommitMarker, MarkerFile};
use super::directory::{keep_private, restrict, sync_directories, writable};
use super::disk::{Disk, Tree, broken};
use super::epoch::{EPOCH_SHIFT, raise_epoch, read_store};
use super::files::{Access, io_at};
use super::image::Image;
use super::lock::Lock;
use super::options::SledOptions;
use super::rows::STORE;
use super::view::View;
use super::{delete, files, reserve, small, survey, swap};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// File that marks a directory as a store whose database has been written.
const FORMAT_FILE: &str = "format";
const FORMAT: u16 = 1;

/// An open, locked database.
#[derive(Debug)]
pub(super) struct OpenedStore {
    pub(super) disk: Disk,
    pub(super) marker_file: MarkerFile,
    pub(super) lock: Lock,
    /// Number of openings, this one included.
    pub(super) epoch: u64,
}

pub(super) fn open(path: &Path, options: &SledOptions) -> Result<OpenedStore> {
    create_directory(path)?;
    if !path.join("holder").exists() {
        check(path)?; // a damaged store gets no file that it does not have
    }
    let lock = Lock::take(path)?;
    swap::finish_swap(path)?;
    let is_old = check_format_file(path)?;
    let marker = check(path)?;
    if options.spend_reserve {
        reserve::spend(path)?;
    }
    let marker_file = MarkerFile::open(path)?;
    remove_unfinished_snapshots(path)?;
    let disk = open_disk(path, options)?;
    match prepare(path, is_old, &disk, marker.as_ref(), &marker_file) {
        Ok(epoch) => Ok(OpenedStore { disk, marker_file, lock, epoch }),
        Err(error) => Err(disk.discard(error)),
    }
}

#[derive(Debug)]
pub(super) struct ReadOnlyStore {
    pub(super) view: View,
    /// `None` if no process has ever locked the store.
    pub(super) lock: Option<Lock>,
}

/// Opens the store in the directory `path` read-only: writes nothing, and needs no write permission.
pub(super) fn read(path: &Path) -> Result<ReadOnlyStore> {
    if !is_ours(path) {
        return Err(no_store("read the store", path));
    }
    files::check(path, Access::Read)?;
    let lock = Lock::share(path)?;
    if swap::is_declared(path) {
        let reason = "a compaction has to be finished first, which writes".into();
        return Err(CheckpointError::NotWritable { path: path.into(), reason });
    }
    check_format_file(path)?;
    let marker = check_beside_log(path)?;
    let image = Image::read(path, marker.as_ref().map(|marker| marker.number))?;
    marker.map_or(Ok(()), |marker| marker.check(&image, path))?;
    image.get(STORE)?.map_or(Ok(()), |row| read_store(path, &row).map(drop))?;
    let deleted = delete::unfinished(&image)?;
    let view = View::new(Arc::new(image));
    deleted.into_iter().for_each(|name| view.hide_thread(name));
    Ok(ReadOnlyStore { view, lock })
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
            return Err(broken(path, "its file `db` is missing"));
        }
    }
    small::check(path)?;
    Ok(marker)
}

/// Finishes interrupted work of an open database and returns the number of openings, this one included.
fn prepare(
    path: &Path,
    is_old: bool,
    disk: &Disk,
    marker: Option<&CommitMarker>,
    marker_file: &MarkerFile,
) -> Result<u64> {
    marker.map_or(Ok(()), |marker| marker.check(disk, path))?;
    let epoch = raise_epoch(disk, path, is_old)?;
    marker_file.write(epoch << EPOCH_SHIFT, STORE);
    delete::finish_all(disk)?;
    if !is_old {
        marker_file.sync(path)?;
        write_marker(path)?;
    }
    restrict(path)?;
    sync_directories(path)?;
    Ok(epoch)
}

fn create_directory(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        let (what, reason) = ("a store".into(), "the path of its directory is empty".into());
        return Err(CheckpointError::InvalidName { what, reason });
    }
    let is_new = !path.exists();
    io_at(path, "create the store", fs::create_dir_all(path))?;
    if is_new {
        return io_at(path, "set the permissions", files::set_mode(path, 0o700));
    }
    if is_ours(path) {
        files::check(path, Access::Write)?;
        return keep_private(path);
    }
    if writable(path, fs::read_dir(path))?.next().is_none() {
        return keep_private(path);
    }
    let reason = "the directory holds other files; choose an empty or a new one";
    Err(CheckpointError::io("create the store", path, io::Error::new(io::ErrorKind::DirectoryNotEmpty, reason)))
}

/// The error for a directory without a store.
pub(super) fn no_store(what: &str, path: &Path) -> CheckpointError {
    CheckpointError::io(what, path, io::Error::new(io::ErrorKind::NotFound, "there is no store"))
}

/// Returns whether an earlier opening created the directory.
fn is_ours(path: &Path) -> bool {
    let is_there = |name: &str| path.join(name).symlink_metadata().is_ok();
    (is_there(FORMAT_FILE) && (is_there("db") || is_there("conf"))) || is_there("holder")
}

/// Returns whether a store was written here before.
fn check_format_file(path: &Path) -> Result<bool> {
    let file = path.join(FORMAT_FILE);
    if !file.exists() {
        return Ok(false);
    }
    let mut text = vec![];
    let read = files::read(&file).and_then(|file| file.take(100).read_to_end(&mut text));
    io_at(&file, "read the file", read)?;
    let text = String::from_utf8_lossy(&text);
    match text.trim().parse::<u16>() {
        Ok(found) if found > FORMAT => {
            Err(CheckpointError::Format { what: format!("the store at {}", path.display()), found, known: FORMAT })
        }
        Ok(FORMAT) => Ok(true),
        _ => Err(broken(path, "its file `format` holds no format")),
    }
}

fn write_marker(path: &Path) -> Result<()> {
    let file = path.join(FORMAT_FILE);
    let opened = files::open(&file, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|mut file| {
        file.write_all(format!("{FORMAT}\n").as_bytes())?;
        file.sync_all()
    });
    io_at(&file, "write the file", written)
}

/// Removes the leftover of a kill during opening: sled would take it for the newest snapshot, and never open again.
fn remove_unfinished_snapshots(path: &Path) -> Result<()> {
    for entry in io_at(path, "list the files", fs::read_dir(path))? {
        let file = io_at(path, "list the files", entry)?;
        let name = file.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("snap.") && name.ends_with(".generating")) {
            io_at(&file.path(), "remove the file", fs::remove_file(file.path()))?;
        }
    }
    Ok(())
}

fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Retries while sled's background threads of a closed handle still hold the file; no other process can, because the
/// directory is locked.
fn open_disk(path: &Path, options: &SledOptions) -> Result<Disk> {
    let mut tries = 0;
    loop {
        match Disk::open(path, options.cache_bytes) {
            Err(CheckpointError::Io { source, .. }) if tries < 200 && is_locked(&source) => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

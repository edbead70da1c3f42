//! Opening: directory, lock, database, the store's own record. Knows the order in which these must happen, so that a crash
//! at any point leaves something that opens.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::directory::{keep_private, restrict, sync_directories, writable};
use super::disk::{Disk, Tree, broken};
use super::epoch::{EPOCH_SHIFT, raise_epoch, read_store};
use super::files::{Access, io_at};
use super::image::Image;
use super::lock::Lock;
use super::options::SledOptions;
use super::rows::STORE;
use super::tip::{Tip, Witness};
use super::view::View;
use super::{delete, files, reserve, small, survey, swap};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Says that the directory holds a store of ours, and that its database has been written.
const MARKER: &str = "format";
const FORMAT: u16 = 1;

/// An open, locked database.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) disk: Disk,
    pub(super) tip: Tip,
    pub(super) lock: Lock,
    /// How often the store was opened, this time included.
    pub(super) epoch: u64,
}

/// Opens or creates the store in the directory `path`.
pub(super) fn open(path: &Path, options: &SledOptions) -> Result<Opened> {
    create_directory(path)?;
    if !path.join("holder").exists() {
        check(path)?; // a damaged store gets no file that it does not have
    }
    let lock = Lock::take(path)?;
    swap::settle(path)?;
    let is_old = check_marker(path)?;
    let witness = check(path)?;
    if options.spend_reserve {
        reserve::spend(path)?;
    }
    let tip = Tip::open(path)?;
    remove_unfinished_snapshots(path)?;
    let disk = open_disk(path, options)?;
    match take_up(path, is_old, &disk, witness.as_ref(), &tip) {
        Ok(epoch) => Ok(Opened { disk, tip, lock, epoch }),
        Err(error) => Err(disk.discard(error)),
    }
}

/// A store that is only read.
#[derive(Debug)]
pub(super) struct Readable {
    pub(super) view: View,
    /// None if no process ever wrote the file that is locked.
    pub(super) lock: Option<Lock>,
}

/// Opens the store in the directory `path` for reading alone: writes nothing, and needs no permission to write.
pub(super) fn read(path: &Path) -> Result<Readable> {
    if !is_ours(path) {
        let reason = "there is no store".into();
        return Err(CheckpointError::Io { what: "read the store".into(), path: path.into(), reason });
    }
    files::check(path, Access::Read)?;
    let lock = Lock::share(path)?;
    if swap::is_declared(path) {
        let reason = "a compaction has to be finished first, which writes".into();
        return Err(CheckpointError::NotWritable { path: path.into(), reason });
    }
    check_marker(path)?;
    let witness = check_beside_log(path)?;
    let image = Image::read(path, witness.as_ref().map(|witness| witness.number))?;
    witness.map_or(Ok(()), |witness| witness.check(&image, path))?;
    image.get(STORE)?.map_or(Ok(()), |row| read_store(path, &row).map(drop))?;
    let deleted = delete::unfinished(&image)?;
    let view = View::new(Arc::new(image));
    deleted.into_iter().for_each(|name| view.hide_thread(name));
    Ok(Readable { view, lock })
}

/// Checks that the files of a store are whole, before sled gets to see them; writes nothing.
fn check(path: &Path) -> Result<Option<Witness>> {
    let witness = check_beside_log(path)?;
    survey::check(path, witness.as_ref().map(|witness| witness.number))?;
    Ok(witness)
}

/// Checks the same but for the log, which [`Image::read`] checks itself.
fn check_beside_log(path: &Path) -> Result<Option<Witness>> {
    let witness = Witness::read(path)?;
    if witness.is_none() {
        survey::check_empty(path)?;
        if path.join(MARKER).exists() && !path.join("db").exists() {
            return Err(broken(path, "its file `db` is missing"));
        }
    }
    small::check(path)?;
    Ok(witness)
}

/// Brings an open database up to date and returns how often it was opened, this time included.
fn take_up(path: &Path, is_old: bool, disk: &Disk, witness: Option<&Witness>, tip: &Tip) -> Result<u64> {
    witness.map_or(Ok(()), |witness| witness.check(disk, path))?;
    let epoch = raise_epoch(disk, path, is_old)?;
    tip.write(epoch << EPOCH_SHIFT, STORE);
    delete::finish_all(disk)?;
    if !is_old {
        tip.sync(path)?;
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
    let reason = "the directory holds other files; choose an empty or a new one".into();
    Err(CheckpointError::Io { what: "create the store".into(), path: path.into(), reason })
}

/// Returns whether the directory was begun by an earlier opening.
fn is_ours(path: &Path) -> bool {
    let is_there = |name: &str| path.join(name).symlink_metadata().is_ok();
    (is_there(MARKER) && (is_there("db") || is_there("conf"))) || is_there("holder")
}

/// Returns whether a store was written here before.
fn check_marker(path: &Path) -> Result<bool> {
    let marker = path.join(MARKER);
    if !marker.exists() {
        return Ok(false);
    }
    let mut text = vec![];
    let read = files::read(&marker).and_then(|file| file.take(100).read_to_end(&mut text));
    io_at(&marker, "read the file", read)?;
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
    let marker = path.join(MARKER);
    let opened = files::open(&marker, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|mut file| {
        file.write_all(format!("{FORMAT}\n").as_bytes())?;
        file.sync_all()
    });
    io_at(&marker, "write the file", written)
}

/// Removes what a kill during an opening left: sled would take it for the newest snapshot, and never open again.
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

/// Threads of sled's own may hold the file for a moment after an earlier handle was closed; nobody else can, because the
/// directory is locked.
fn open_disk(path: &Path, options: &SledOptions) -> Result<Disk> {
    let mut tries = 0;
    loop {
        match Disk::open(path, options.cache_bytes) {
            Err(CheckpointError::Io { reason, .. }) if tries < 200 && reason.contains("could not acquire lock") => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

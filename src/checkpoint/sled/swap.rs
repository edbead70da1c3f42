//! A new database, put in place of the old one.
//!
//! Everything happens inside the store's directory, under its lock. The new database grows in `compacted/`; when it is whole
//! and on disk, the file `swap` says so, and from then on the new one counts: whoever opens the store finishes the move.
//! Before that the old one counts, and `compacted/` is removed. So a crash at any point leaves the old store or the new one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::directory::sync_path;
use super::files::{self, io_at};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Where the new database grows.
pub(super) const NEW: &str = "compacted";
/// Says that the new database is whole.
const SWAP: &str = "swap";

/// From here on the new database counts.
pub(super) fn declare(path: &Path) -> Result<()> {
    let begun = path.join("swap.begun");
    let opened = files::open(&begun, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|file| file.sync_all());
    io_at(&begun, "write the file", written)?;
    io_at(&begun, "rename the file", fs::rename(&begun, path.join(SWAP)))?;
    sync_path(path.into())
}

/// Returns whether a new database is to be put in place.
pub(super) fn is_declared(path: &Path) -> bool {
    path.join(SWAP).exists()
}

/// Brings a directory to rest: finishes a move that was declared, or removes what was not. Before sled opens it.
pub(super) fn settle(path: &Path) -> Result<()> {
    remove_file(&path.join("swap.begun"))?;
    if is_declared(path) {
        finish(path)?;
    }
    let new = path.join(NEW);
    if new.exists() {
        io_at(&new, "remove the directory", fs::remove_dir_all(&new))?;
    }
    Ok(())
}

/// Moves the new database into place. Each step may have been done before.
fn finish(path: &Path) -> Result<()> {
    let new = path.join(NEW);
    if new.join("db").exists() {
        // Until the log is replaced, snapshots here are the old log's; afterwards they are the new one's.
        snapshots(path)?.iter().try_for_each(|old| remove_file(old))?;
        sync_path(path.into())?;
        rename(&new.join("db"), &path.join("db"))?;
        sync_path(path.into())?;
    }
    if new.join("blobs").exists() {
        let blobs = path.join("blobs");
        if blobs.exists() {
            io_at(&blobs, "remove the directory", fs::remove_dir_all(&blobs))?;
        }
        rename(&new.join("blobs"), &blobs)?;
    }
    for name in ["conf", "tip"].map(PathBuf::from).into_iter().chain(snapshots(&new)?) {
        let name = name.file_name().unwrap_or_default();
        if new.join(name).exists() {
            rename(&new.join(name), &path.join(name))?;
        }
    }
    sync_path(path.into())?;
    if new.exists() {
        io_at(&new, "remove the directory", fs::remove_dir_all(&new))?;
    }
    sync_path(path.into())?;
    remove_file(&path.join(SWAP))?;
    sync_path(path.into())
}

fn snapshots(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.exists() {
        return Ok(vec![]);
    }
    let mut found = vec![];
    for entry in io_at(directory, "list the files", fs::read_dir(directory))? {
        let entry = io_at(directory, "list the files", entry)?;
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    io_at(to, "replace the file", fs::rename(from, to))
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => io_at(path, "remove the file", Err(error)),
        _ => Ok(()),
    }
}

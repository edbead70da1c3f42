//! Replaces a database by a new one, atomically.
//!
//! Everything happens inside the store's directory, under its lock. The new database is built in `compacted/`; when it
//! is complete and on disk, the file `swap` is created, and from then on the new one is valid: the next opening
//! finishes the move. Before that the old one is valid, and `compacted/` is removed. So a crash at any point leaves
//! either the old store or the new one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::survey::snapshots;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::directory::sync_path;
use crate::checkpoint::embedded::files::{self, io_at};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Directory of the new database.
pub(super) const NEW: &str = "compacted";
/// File that marks the new database as complete.
const SWAP: &str = "swap";

/// Marks the new database as complete: from here on it is the valid one.
pub(super) fn declare(path: &Path) -> Result<()> {
    let unfinished = path.join("swap.begun");
    let opened = files::open(&unfinished, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|file| file.sync_all());
    io_at(&unfinished, "write the file", written)?;
    io_at(&unfinished, "rename the file", fs::rename(&unfinished, path.join(SWAP)))?;
    sync_path(path.into())
}

pub(super) fn is_declared(path: &Path) -> bool {
    path.join(SWAP).exists()
}

/// Finishes a move that was declared, or removes an incomplete database. Must run before sled opens the store.
pub(super) fn finish_swap(path: &Path) -> Result<()> {
    remove_file(&path.join("swap.begun"))?;
    if is_declared(path) {
        move_into_place(path)?;
    }
    let new = path.join(NEW);
    if new.exists() {
        io_at(&new, "remove the directory", fs::remove_dir_all(&new))?;
    }
    Ok(())
}

/// Moves the new database into place. Each step may have been done before.
fn move_into_place(path: &Path) -> Result<()> {
    let new = path.join(NEW);
    if new.join("db").exists() {
        // Until the log is replaced, snapshots here belong to the old log; afterwards to the new one.
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
    let moved = if new.exists() { snapshots(&new)? } else { vec![] };
    for name in ["conf", "tip"].map(PathBuf::from).into_iter().chain(moved) {
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

fn rename(from: &Path, to: &Path) -> Result<()> {
    io_at(to, "replace the file", fs::rename(from, to))
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => io_at(path, "remove the file", Err(error)),
        _ => Ok(()),
    }
}

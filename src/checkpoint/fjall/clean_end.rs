//! A clean end of a database: its rows in tables, or few of them in a short journal, so that the next opening reads little. Until
//! then the journals have every row, so a crash in between loses nothing: an opening skips the rows that tables have.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::journal::{PREALLOCATED, Rest, walk};
use super::survey::journals;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::build::allocated_bytes;
use crate::checkpoint::embedded::directory::sync_directories;
use crate::checkpoint::embedded::files::{self, io_at};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Size in bytes of the rows in memory up to which they stay in the journal: an opening reads them in 2 ms.
pub(super) const FEW: u64 = 256 << 10;
/// Size of the journals in bytes above which they are emptied although few of their rows are in memory: they have many that
/// tables have too, after a crash during a clean end.
pub(super) const MUCH: u64 = 1 << 20;
/// Number of bytes at the start of a journal among which its end is looked for.
const START: u64 = 2 * MUCH;

/// The place of the rows of a database when it is closed.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowPlace {
    /// All are in tables.
    Tables,
    /// Few are in the newest journal.
    Journal,
}

/// Shortens the journals of a database when it is dropped, after the database itself.
#[derive(Debug)]
pub(super) struct CleanEnd {
    path: PathBuf,
    /// The directory at that path when the database was opened: meanwhile it may have been moved, and another store be there.
    directory: Option<FileId>,
    rows: OnceLock<RowPlace>,
}

/// A device, and a file on it.
type FileId = (u64, u64);

impl CleanEnd {
    pub(super) fn of(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        Self { directory: file_id(&path), path, rows: OnceLock::new() }
    }

    /// Returns true if the database is still where it was opened.
    pub(super) fn is_in_place(&self) -> bool {
        self.directory.is_some() && file_id(&self.path) == self.directory
    }

    /// Notes that nothing more is written.
    pub(super) fn note(&self, rows: RowPlace) {
        _ = self.rows.set(rows);
    }
}

impl Drop for CleanEnd {
    fn drop(&mut self) {
        let shortened = match self.rows.get().filter(|_| self.is_in_place()) {
            Some(RowPlace::Tables) => empty_journals(&self.path),
            Some(RowPlace::Journal) => cut_journal(&self.path),
            None => Ok(()),
        };
        if let Err(error) = shortened {
            tracing::warn!(%error, "the journal of a store was not shortened, so the next opening takes longer");
        }
    }
}

/// Returns the space that the journals in a directory take, in bytes.
pub(super) fn journal_bytes(path: &Path) -> u64 {
    let journals = journals(path).unwrap_or_default();
    journals.iter().filter_map(|(_, journal)| Some(allocated_bytes(&journal.metadata().ok()?))).sum()
}

/// Empties the journal of a closed database whose rows are all in tables, and removes older ones: oldest first, so that
/// after a crash none is missing between others.
pub(super) fn empty_journals(path: &Path) -> Result<()> {
    let journals = journals(path)?;
    let Some(((_, newest), older)) = journals.split_last() else { return Ok(()) };
    for (_, journal) in older {
        io_at(journal, "remove the file", fs::remove_file(journal))?;
    }
    if !older.is_empty() {
        sync_directories(path, &[])?; // none of them may come back without the rows of the newest
    }
    let opened = files::open(newest, File::options().write(true));
    let emptied = opened.and_then(|file| file.set_len(0).and_then(|()| file.sync_all()));
    io_at(newest, "empty the file", emptied)
}

/// Cuts off the zeros after the rows of the newest journal of a closed database: the next opening would read them.
fn cut_journal(path: &Path) -> Result<()> {
    let journals = journals(path)?;
    let Some((_, newest)) = journals.last() else { return Ok(()) };
    let file = io_at(newest, "open the file", files::open(newest, File::options().read(true).write(true)))?;
    if io_at(newest, "read the file", file.metadata())?.len() < PREALLOCATED {
        return Ok(()); // an opening has cut it
    }
    let extent = io_at(newest, "read the file", walk(std::io::Read::take(&file, START), 0))?;
    match extent.rest {
        Rest::Empty if extent.end < START => io_at(newest, "cut the file", file.set_len(extent.end)),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> Option<FileId> {
    None
}

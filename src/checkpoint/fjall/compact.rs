//! Compaction: writes every table anew without removed rows, and empties the journal.

use std::fs::{self, File};
use std::path::Path;

use super::database::Database;
use super::open;
use super::options::FjallOptions;
use super::survey::journals;
use crate::checkpoint::embedded::compacted::{Compacted, size, verify};
use crate::checkpoint::embedded::directory::restrict;
use crate::checkpoint::embedded::engine::{Source, Tree};
use crate::checkpoint::embedded::files::{self, io_at};
use crate::checkpoint::embedded::opening::{FORMAT_FILE, OpenedStore, no_store};
use crate::checkpoint::embedded::rows::LAST;
use crate::checkpoint::{CheckpointError, Order};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(super) fn compact(path: &Path) -> Result<Compacted> {
    if !path.join(FORMAT_FILE).exists() {
        return Err(no_store("compact the store", path));
    }
    let options = FjallOptions { spend_reserve: true, ..FjallOptions::default() };
    let OpenedStore { engine, marker_file, lock, .. } = open::open(path, &options)?;
    let before = size(path);
    let rows = verify_all(&engine)?;
    engine.compact()?;
    drop(marker_file);
    drop(engine);
    empty_journals(path)?;
    restrict(path)?;
    let after = size(path);
    drop(lock); // last: no process may open it before
    Ok(Compacted { before, after, rows })
}

/// Verifies every row, and returns their number.
fn verify_all(database: &Database) -> Result<u64> {
    let tree = database.snapshot();
    let mut rows = 0;
    for row in tree.range(&[], LAST, Order::Ascending) {
        let (key, row) = row?;
        verify(&key, &row)?;
        rows += 1;
    }
    Ok(rows)
}

/// Empties the journal of a closed database whose rows are all in tables, and removes older ones: oldest first, so that
/// after a crash none is missing between others.
fn empty_journals(path: &Path) -> Result<()> {
    let journals = journals(path)?;
    let Some(((_, newest), older)) = journals.split_last() else { return Ok(()) };
    for (_, journal) in older {
        io_at(journal, "remove the file", fs::remove_file(journal))?;
    }
    let opened = files::open(newest, File::options().write(true));
    let emptied = opened.and_then(|file| file.set_len(0).and_then(|()| file.sync_all()));
    io_at(newest, "empty the file", emptied)
}

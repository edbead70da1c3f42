//! Checks fjall's files before fjall opens them. Knows the files, and the number of the newest acknowledged commit;
//! writes nothing.
//!
//! fjall takes the first damage in a journal for the torn end of it, and cuts off all that follows; it takes missing
//! journals for a new database, and deletes a keyspace that its list of keyspaces does not name. All of that happens
//! silently. So a store is opened only if its journals are intact up to the newest acknowledged commit: a damaged one
//! is not modified, so that it can be repaired.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Display, Path, PathBuf};

use super::journal::{Extent, Rest, take, walk};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::{self, damaged_store, io_at};
use crate::checkpoint::embedded::rows::EPOCH_SHIFT;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Files without which fjall starts empty, or deletes existing data.
const NEEDED: [&str; 3] = ["version", "keyspaces/0/current", "keyspaces/1/current"];

/// Checks that the files of a store are there, and its journals intact up to the commit `acknowledged`. Returns whether
/// the journals hold a commit at all: if not, those in tables have to be looked at.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if they are not; [`CheckpointError::Io`] if they cannot be read.
pub(super) fn check(store: &Path, acknowledged: u64) -> Result<bool> {
    if let Some(missing) = NEEDED.iter().find(|name| !store.join(name).is_file()) {
        return Err(damaged_store(store, &format!("its file `{missing}` is missing")));
    }
    check_tables(store)?;
    let journals = journals(store)?;
    let Some((last, _)) = journals.last() else { return Err(damaged_store(store, "its journals are missing")) };
    let (mut commit, mut next) = (0, 0);
    for (number, path) in &journals {
        let file = io_at(path, "open the file", files::open_to_read(path))?;
        let extent = io_at(path, "read the file", walk(file, next))?;
        check_end(store, path, extent, number == last)?;
        (commit, next) = (extent.commit.max(commit), extent.next);
    }
    // Older commits than those in the journals are in tables.
    if 0 < commit && commit < acknowledged {
        return Err(damaged_store(store, "its journal ends before the newest acknowledged commit"));
    }
    Ok(commit > 0)
}

/// Returns whether a store without a commit marker holds more than its creation wrote: the record of its first opening.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] or [`CheckpointError::Io`] if its files cannot be read.
pub(super) fn holds_commits(store: &Path) -> Result<bool> {
    if !entries(&store.join("keyspaces/1/tables"))?.is_empty() {
        return Ok(true);
    }
    for (_, path) in journals(store)? {
        let file = io_at(&path, "open the file", files::open_to_read(&path))?;
        if io_at(&path, "read the file", walk(file, 0))?.commit > 1 << EPOCH_SHIFT {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks that the folders of tables hold only files that may be tables: fjall panics over others, and a panic while it
/// opens a database ends the process.
fn check_tables(store: &Path) -> Result<()> {
    let keyspaces = store.join("keyspaces");
    for (keyspace, is_folder) in entries(&keyspaces)? {
        if !is_folder {
            continue; // fjall ignores it
        }
        check_name(store, &keyspace)?;
        for (table, is_folder) in entries(&keyspace.join("tables"))? {
            check_name(store, &table)?;
            if is_folder {
                return Err(damaged_store(store, &format!("its file `{}` is a directory", within(store, &table))));
            }
        }
        if keyspace.join("current").exists() {
            check_list(store, &keyspace)?;
        }
    }
    Ok(())
}

/// Checks that the newest list of a keyspace's tables can be read, and all tables in it are there.
fn check_list(store: &Path, keyspace: &Path) -> Result<()> {
    let current = keyspace.join("current");
    let mut number = [0; 8];
    let mut file = io_at(&current, "open the file", files::open_to_read(&current))?;
    if file.read_exact(&mut number).is_err() {
        return Err(damaged_store(store, &format!("its file `{}` is too short", within(store, &current))));
    }
    let list = keyspace.join(format!("v{}", u64::from_le_bytes(number)));
    let missing = |path: &Path| damaged_store(store, &format!("its file `{}` is missing", within(store, path)));
    if !list.is_file() {
        return Err(missing(&list));
    }
    let tables = tables_in(&list);
    let tables =
        tables.ok_or_else(|| damaged_store(store, &format!("its file `{}` cannot be read", within(store, &list))))?;
    let mut paths = tables.into_iter().map(|table| keyspace.join("tables").join(table.to_string()));
    paths.find(|path| !path.is_file()).map_or(Ok(()), |path| Err(missing(&path)))
}

/// Returns the numbers of the tables in a list: levels (one byte: how many) of runs (one byte) of tables (4 bytes), each
/// with its number (8 bytes, least byte first) and 25 bytes more.
fn tables_in(list: &Path) -> Option<Vec<u64>> {
    let archive = sfa::Reader::new(list).ok()?;
    let section = archive.toc().section(b"tables")?;
    let mut bytes = vec![];
    let mut file = files::open_to_read(list).ok()?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(section.pos())).ok()?;
    file.take(section.len()).read_to_end(&mut bytes).ok()?;
    let (mut rest, mut found) = (&bytes[..], vec![]);
    for _ in 0..take::<1>(&mut rest)?[0] {
        for _ in 0..take::<1>(&mut rest)?[0] {
            for _ in 0..u32::from_le_bytes(*take(&mut rest)?) {
                found.push(u64::from_le_bytes(*take(&mut rest)?));
                take::<25>(&mut rest)?;
            }
        }
    }
    Some(found)
}

fn check_name(store: &Path, path: &Path) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    match name.and_then(|name| name.parse::<u64>().ok()) {
        Some(_) => Ok(()),
        None => Err(damaged_store(store, &format!("its file `{}` does not belong to a database", within(store, path)))),
    }
}

/// Returns the entries of a directory, and whether each is a directory; none if there is no such directory.
pub(super) fn entries(directory: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let list = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        list => io_at(directory, "list the files", list)?,
    };
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    };
    io_at(directory, "list the files", list.map(entry).collect())
}

fn within<'a>(store: &Path, path: &'a Path) -> Display<'a> {
    path.strip_prefix(store).unwrap_or(path).display()
}

fn check_end(store: &Path, path: &Path, extent: Extent, is_newest: bool) -> Result<()> {
    let is_fine = match extent.rest {
        Rest::Empty => true,
        Rest::Torn => is_newest, // a write that a crash interrupted
        Rest::Followed => false,
    };
    let name = path.file_name().unwrap_or_default().display();
    if is_fine {
        Ok(())
    } else {
        Err(damaged_store(store, &format!("its file `{name}` cannot be read at byte {}", extent.end)))
    }
}

/// Returns the journals of a store, oldest first.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] if one is missing.
pub(super) fn journals(store: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut found = vec![];
    for (path, _) in entries(store)? {
        if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("jnl")) {
            continue;
        }
        let number = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let name = path.file_name().unwrap_or_default().display();
        found.push((number.ok_or_else(|| damaged_store(store, &format!("its file `{name}` is not a journal")))?, path));
    }
    found.sort_unstable();
    match found.windows(2).find(|pair| pair[1].0 != pair[0].0 + 1) {
        Some(pair) => Err(damaged_store(store, &format!("its file `{}.jnl` is missing", pair[0].0 + 1))),
        None => Ok(found),
    }
}

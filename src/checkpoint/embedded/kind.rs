//! The kind of the store in a directory, which the names of its files show, and its file `format`. Must not know what is in
//! the other files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::files::{self, damaged_store, io_at};
use crate::checkpoint::{CheckpointError, StoreKind};

type Result<T> = std::result::Result<T, CheckpointError>;

/// File that marks a directory as a store whose database has been written.
pub(in crate::checkpoint) const FORMAT_FILE: &str = "format";
const FORMAT: u16 = 1;

impl StoreKind {
    /// Returns the kind of the store in the directory `path`; `None` if it holds no store, or an unfinished one of which
    /// nothing shows the kind.
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        Self::ALL.iter().rev().copied().find(|kind| kind.is_shown_in(path.as_ref()))
    }

    fn is_shown_in(self, path: &Path) -> bool {
        let is_there = |name: &&str| path.join(name).symlink_metadata().is_ok();
        self.row().files.iter().any(is_there) || self.begins_format(path)
    }

    /// Returns whether the file `format` names the kind.
    fn begins_format(self, path: &Path) -> bool {
        let word = self.row().format_prefix.trim_end().as_bytes();
        let mut text = vec![0; word.len()];
        let read = files::open_to_read(&path.join(FORMAT_FILE)).and_then(|mut file| file.read_exact(&mut text));
        !word.is_empty() && read.is_ok() && text == word
    }
}

/// Returns whether a store was written here before.
///
/// # Errors
/// [`CheckpointError::OtherStore`] if it is of another kind, [`CheckpointError::Format`] if a later release wrote it.
pub(in crate::checkpoint) fn check_format(path: &Path, kind: StoreKind) -> Result<bool> {
    if let Some(found) = StoreKind::of(path).filter(|found| *found != kind) {
        return Err(CheckpointError::OtherStore { path: path.into(), found: found.name(), opened: kind.name() });
    }
    let Some(text) = read_format(path)? else { return Ok(false) };
    let number = text.trim().strip_prefix(kind.row().format_prefix).and_then(|number| number.parse::<u16>().ok());
    match number {
        Some(found) if found > FORMAT => {
            Err(CheckpointError::Format { what: format!("the store at {}", path.display()), found, known: FORMAT })
        }
        Some(FORMAT) => Ok(true),
        _ => Err(damaged_store(path, "its file `format` holds no format")),
    }
}

fn read_format(path: &Path) -> Result<Option<String>> {
    let file = path.join(FORMAT_FILE);
    if !file.exists() {
        return Ok(None);
    }
    let mut text = vec![];
    let read = files::open_to_read(&file).and_then(|file| file.take(100).read_to_end(&mut text));
    io_at(&file, "read the file", read)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn write_format(path: &Path, kind: StoreKind) -> Result<()> {
    let file = path.join(FORMAT_FILE);
    let opened = files::open(&file, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|mut file| {
        file.write_all(format!("{}{FORMAT}\n", kind.row().format_prefix).as_bytes())?;
        file.sync_all()
    });
    io_at(&file, "write the file", written)
}

//! Kinds of embedded stores, and how a directory shows its kind: by the names of its files, and by its file `format`.
//! Must not know what is in the other files.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::files::{self, broken, io_at};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// File that marks a directory as a store whose database has been written.
pub(in crate::checkpoint) const FORMAT_FILE: &str = "format";
const FORMAT: u16 = 1;

/// Database of an embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// `SledCheckpointer`.
    Sled,
    /// `FjallCheckpointer`.
    Fjall,
}

impl StoreKind {
    /// Returns the kind of the store in the directory `path`; `None` if it holds no store, or an unfinished one of which
    /// nothing shows the kind.
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        let is_there = |name: &&str| path.join(name).symlink_metadata().is_ok();
        if Self::Fjall.files().iter().any(is_there) || begins_with_fjall(path) {
            return Some(Self::Fjall);
        }
        Self::Sled.files().iter().any(is_there).then_some(Self::Sled)
    }

    /// Returns the name of the kind: `sled` or `fjall`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sled => "sled",
            Self::Fjall => "fjall",
        }
    }

    /// Returns whether the directory holds a database of any kind.
    pub(super) fn has_database(path: &Path) -> bool {
        Self::of(path).is_some()
    }

    /// Returns the text before the number in the file `format`.
    fn format_prefix(self) -> &'static str {
        match self {
            Self::Sled => "",
            Self::Fjall => "fjall ",
        }
    }

    /// Returns names of files that only this kind has.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Sled => &["db", "conf"],
            Self::Fjall => &["keyspaces", "version"],
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn begins_with_fjall(path: &Path) -> bool {
    let mut text = [0; 5];
    let read = files::read(&path.join(FORMAT_FILE)).and_then(|mut file| file.read_exact(&mut text));
    read.is_ok() && text == *b"fjall"
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
    let number = text.trim().strip_prefix(kind.format_prefix()).and_then(|number| number.parse::<u16>().ok());
    match number {
        Some(found) if found > FORMAT => {
            Err(CheckpointError::Format { what: format!("the store at {}", path.display()), found, known: FORMAT })
        }
        Some(FORMAT) => Ok(true),
        _ => Err(broken(path, "its file `format` holds no format")),
    }
}

fn read_format(path: &Path) -> Result<Option<String>> {
    let file = path.join(FORMAT_FILE);
    if !file.exists() {
        return Ok(None);
    }
    let mut text = vec![];
    let read = files::read(&file).and_then(|file| file.take(100).read_to_end(&mut text));
    io_at(&file, "read the file", read)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn write_format(path: &Path, kind: StoreKind) -> Result<()> {
    let file = path.join(FORMAT_FILE);
    let opened = files::open(&file, File::options().write(true).create(true).truncate(true));
    let written = opened.and_then(|mut file| {
        file.write_all(format!("{}{FORMAT}\n", kind.format_prefix()).as_bytes())?;
        file.sync_all()
    });
    io_at(&file, "write the file", written)
}

//! Kinds of embedded stores, and how their directories differ. Must not know what is in the files.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::files;

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
    pub(in crate::checkpoint) fn has_database(path: &Path) -> bool {
        Self::of(path).is_some()
    }

    /// Returns the text before the number in the file `format`.
    pub(in crate::checkpoint) fn format_prefix(self) -> &'static str {
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
    let read =
        files::open(&path.join("format"), File::options().read(true)).and_then(|mut file| file.read_exact(&mut text));
    read.is_ok() && text == *b"fjall"
}

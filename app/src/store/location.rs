//! [`StoreLocation`]: which store a command line names, such as `fjall:PATH` or the address of a database, and how to open it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use superstep::checkpoint::{CheckpointError, Checkpointer, MemoryCheckpointer, StoreKind};

use super::database::{DatabaseAddress, OwnerSettings};

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

/// Kind of a store that is named by its path alone.
const PLAIN: StoreKind = StoreKind::Sled;
/// The name of a store in memory.
const MEMORY: &str = "memory:";

/// The location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    Directory(StoreDirectory),
    /// This process alone; lost at its end.
    Memory,
    /// A database that several processes share.
    Database(DatabaseAddress),
}

/// A directory, and the kind of the store in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreDirectory {
    pub kind: StoreKind,
    pub path: PathBuf,
}

impl StoreLocation {
    /// Returns the help of the option that names a store.
    pub(crate) fn help() -> String {
        let others = StoreKind::ALL.iter().filter(|kind| **kind != PLAIN).map(|kind| format!("`{kind}:`"));
        let others: Vec<String> = others.collect();
        format!(
            "The store of the threads: a directory of {PLAIN}, or of another kind with the prefix {}; or a database, \
             `postgres://USER@HOST/NAME`",
            others.join(" or ")
        )
    }

    /// Returns the help of an argument that names a store to copy.
    pub(crate) fn help_to_copy() -> String {
        let named: Vec<String> = StoreKind::ALL.iter().map(|kind| format!("`{kind}:PATH`")).collect();
        format!("The store to copy: {}, the path of a {PLAIN} store, or `postgres://USER@HOST/NAME`", named.join(", "))
    }

    /// Returns how to name a store whose kind is `found`.
    pub(crate) fn advice(found: &str) -> String {
        if found == PLAIN.name() {
            return "use its path without a prefix: `--store PATH`".into();
        }
        format!("put `{found}:` before its path: `--store {found}:PATH`")
    }

    /// Returns the words that name it on a command line, without a password.
    pub(crate) fn argument(&self) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.argument(),
            Self::Memory => MEMORY.into(),
            Self::Database(address) => address.to_string().into(),
        }
    }

    /// Returns the store as used by a process with a name and leases of its own; a directory has neither.
    pub(crate) fn used_by(&self, owner: OwnerSettings) -> Self {
        match self {
            Self::Directory(_) | Self::Memory => self.clone(),
            Self::Database(address) => Self::Database(address.clone().used_by(owner)),
        }
    }

    /// Returns whether its address has a password in it.
    pub(crate) fn has_password(&self) -> bool {
        matches!(self, Self::Database(address) if address.has_password())
    }

    /// Returns the folder of a store in a directory.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.directory().map(|directory| &*directory.path)
    }

    /// Returns the directory of a store in one.
    pub(crate) fn directory(&self) -> Option<&StoreDirectory> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Memory | Self::Database(_) => None,
        }
    }

    /// Opens the store, or creates it.
    pub(crate) async fn open(&self) -> OpenResult {
        match self {
            Self::Directory(directory) => directory.open(),
            Self::Memory => Ok(Arc::new(MemoryCheckpointer::new())),
            Self::Database(address) => address.open(false).await,
        }
    }

    /// Opens the store in order to remove records from it, on a full disk too.
    pub(crate) async fn open_to_remove(&self) -> OpenResult {
        match self {
            Self::Directory(StoreDirectory { kind, path }) => kind.open_to_remove(path),
            Self::Memory => Ok(Arc::new(MemoryCheckpointer::new())),
            Self::Database(address) => address.open(false).await,
        }
    }

    /// Opens the store read-only.
    pub(crate) async fn open_read_only(&self) -> OpenResult {
        match self {
            Self::Directory(StoreDirectory { kind, path }) => kind.open_read_only(path),
            Self::Memory => Ok(Arc::new(MemoryCheckpointer::new())),
            Self::Database(address) => address.open(true).await,
        }
    }

    /// Returns whether both name the same store.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self.folder(), other.folder()) {
            (Some(one), Some(other)) => {
                one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
            }
            _ => self == other,
        }
    }
}

impl StoreDirectory {
    pub(crate) fn argument(&self) -> PathBuf {
        let plain = StoreLocation::from(self.path.clone().into_os_string());
        if plain == StoreLocation::Directory(self.clone()) {
            return self.path.clone();
        }
        let mut text = OsString::from(format!("{}:", self.kind));
        text.push(&self.path);
        text.into()
    }

    fn open(&self) -> OpenResult {
        self.hide();
        self.kind.open(&self.path)
    }

    /// Hides the folder `.superstep` around the store from git. Whether a store can be written, its opening says.
    fn hide(&self) {
        let around = self.path.parent().filter(|around| around.file_name().is_some_and(|name| name == ".superstep"));
        _ = around.map(superstep_base::files::hide_from_git);
    }
}

/// Reads an argument. A path without a kind is that of a [`PLAIN`] store.
impl From<OsString> for StoreLocation {
    fn from(text: OsString) -> Self {
        if let Some(address) = text.to_str().and_then(DatabaseAddress::parse) {
            return Self::Database(address);
        }
        if text == MEMORY {
            return Self::Memory;
        }
        let found = StoreKind::ALL.iter().find_map(|kind| Some((*kind, after_kind(&text, *kind)?)));
        let (kind, path) = found.unwrap_or((PLAIN, text.into()));
        Self::Directory(StoreDirectory { kind, path })
    }
}

impl Serialize for StoreLocation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.argument().serialize(serializer)
    }
}

fn after_kind(text: &OsStr, kind: StoreKind) -> Option<PathBuf> {
    let path = text.as_encoded_bytes().strip_prefix(kind.name().as_bytes())?.strip_prefix(b":")?;
    // What follows ASCII is whole; a path that is no UTF-8 keeps its bytes where the system has bytes.
    Some(os_string(path))
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("postgres://ada:secret@host/db?schema=a", "postgres://ada@host/db?schema=a")]
    #[case("postgresql://ada:s@cret@host", "postgresql://ada@host")]
    #[case("postgres://host:5433/db", "postgres://host:5433/db")]
    #[case("postgres:///db?password=secret&host=/run", "postgres:///db?host=/run")]
    fn a_database_is_named_without_its_password(#[case] text: &str, #[case] argument: &str) {
        let location = StoreLocation::from(OsString::from(text));
        assert_eq!(location.argument(), Path::new(argument));
        assert!(!format!("{location:?}").contains("cret"));
    }

    #[rstest::rstest]
    #[case("runs", StoreKind::Sled, "runs", "runs")]
    #[case("sled:runs", StoreKind::Sled, "runs", "runs")]
    #[case("fjall:runs", StoreKind::Fjall, "runs", "fjall:runs")]
    #[case("sled:fjall:runs", StoreKind::Sled, "fjall:runs", "sled:fjall:runs")]
    #[case("./fjall:runs", StoreKind::Sled, "./fjall:runs", "./fjall:runs")]
    fn a_store_is_named_by_kind_and_path(
        #[case] text: &str,
        #[case] kind: StoreKind,
        #[case] path: &str,
        #[case] argument: &str,
    ) {
        let location = StoreLocation::from(OsString::from(text));
        assert_eq!(location, StoreLocation::Directory(StoreDirectory { kind, path: path.into() }));
        assert_eq!(location.argument(), Path::new(argument));
    }
}

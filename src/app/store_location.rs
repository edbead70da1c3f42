//! [`StoreLocation`]: which store a command line names, `sled:PATH` or `fjall:PATH`, and how to open it.

use std::ffi::{OsStr, OsString};
#[cfg(not(feature = "fjall"))]
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::checkpoint::{CheckpointError, Checkpointer, Compacted, Repaired, SledCheckpointer, SledOptions, StoreKind};
#[cfg(feature = "fjall")]
use crate::checkpoint::{FjallCheckpointer, FjallOptions};

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

/// A directory, and the kind of the store in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreLocation {
    pub kind: StoreKind,
    pub path: PathBuf,
}

impl StoreLocation {
    const KINDS: [StoreKind; 2] = [StoreKind::Sled, StoreKind::Fjall];

    /// Returns the words that name it on a command line.
    pub(crate) fn argument(&self) -> PathBuf {
        let plain = Self::from(self.path.clone().into_os_string());
        if plain == *self {
            return self.path.clone();
        }
        let mut text = OsString::from(format!("{}:", self.kind));
        text.push(&self.path);
        text.into()
    }

    /// Opens the store, or creates it.
    pub(crate) fn open(&self) -> OpenResult {
        self.hide();
        match self.kind {
            StoreKind::Sled => shared(SledCheckpointer::open(&self.path)),
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => shared(FjallCheckpointer::open(&self.path)),
            #[cfg(not(feature = "fjall"))]
            StoreKind::Fjall => Err(without_fjall(&self.path)),
        }
    }

    /// Hides the folder `.superstep` around the store from git. Whether a store can be written, its opening says.
    fn hide(&self) {
        let around = self.path.parent().filter(|around| around.file_name().is_some_and(|name| name == ".superstep"));
        _ = around.map(superstep_base::files::hide_from_git);
    }

    /// Opens the store in order to remove records from it, on a full disk too.
    pub(crate) fn open_to_remove(&self) -> OpenResult {
        match self.kind {
            StoreKind::Sled => {
                let options = SledOptions { spend_reserve: true, ..SledOptions::default() };
                shared(SledCheckpointer::open_with(&self.path, options))
            }
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => {
                let options = FjallOptions { spend_reserve: true, ..FjallOptions::default() };
                shared(FjallCheckpointer::open_with(&self.path, options))
            }
            #[cfg(not(feature = "fjall"))]
            StoreKind::Fjall => Err(without_fjall(&self.path)),
        }
    }

    /// Opens the store read-only.
    pub(crate) fn open_read_only(&self) -> OpenResult {
        match self.kind {
            StoreKind::Sled => shared(SledCheckpointer::open_read_only(&self.path)),
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => shared(FjallCheckpointer::open_read_only(&self.path)),
            #[cfg(not(feature = "fjall"))]
            StoreKind::Fjall => Err(without_fjall(&self.path)),
        }
    }

    pub(crate) fn compact(&self) -> Result<Compacted, CheckpointError> {
        match self.kind {
            StoreKind::Sled => SledCheckpointer::compact(&self.path),
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => FjallCheckpointer::compact(&self.path),
            #[cfg(not(feature = "fjall"))]
            StoreKind::Fjall => Err(without_fjall(&self.path)),
        }
    }

    /// Saves what is intact of the store into a new one of the same kind.
    pub(crate) async fn repair(&self, to: &Path) -> Result<Repaired, CheckpointError> {
        match self.kind {
            StoreKind::Sled => SledCheckpointer::repair(&self.path, to).await,
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => FjallCheckpointer::repair(&self.path, to).await,
            #[cfg(not(feature = "fjall"))]
            StoreKind::Fjall => Err(without_fjall(&self.path)),
        }
    }
}

/// Reads an argument. A path without a kind is a sled store's.
impl From<OsString> for StoreLocation {
    fn from(text: OsString) -> Self {
        let found = Self::KINDS.into_iter().find_map(|kind| Some((kind, after_kind(&text, kind)?)));
        let (kind, path) = found.unwrap_or((StoreKind::Sled, text.into()));
        Self { kind, path }
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

fn shared<S: Checkpointer>(opened: Result<S, CheckpointError>) -> OpenResult {
    opened.map(|store| Arc::new(store) as _)
}

#[cfg(not(feature = "fjall"))]
fn without_fjall(path: &Path) -> CheckpointError {
    let reason = "this program was built without the feature `fjall` of superstep";
    CheckpointError::io("open the store", path, io::Error::new(io::ErrorKind::Unsupported, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(location, StoreLocation { kind, path: path.into() });
        assert_eq!(location.argument(), Path::new(argument));
    }
}

//! Stores whose kind is only known at run time, such as one that a command line names. Knows the type of each kind; must not
//! know how that type works.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::embedded::{Compacted, lock};
use super::repair::Repaired;
use super::{CheckpointError, Checkpointer, StoreKind};

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

/// Evaluates `$call` with `$store` as the type of a kind's store; fails if the feature of the kind is off.
macro_rules! with_store {
    ($kind:expr, $path:expr, $store:ident => $call:expr) => {
        match $kind {
            #[cfg(feature = "sled")]
            StoreKind::Sled => {
                type $store = super::SledCheckpointer;
                $call
            }
            #[cfg(feature = "fjall")]
            StoreKind::Fjall => {
                type $store = super::FjallCheckpointer;
                $call
            }
            #[allow(unreachable_patterns, reason = "all features may be on")]
            kind => Err(missing(kind, $path)),
        }
    };
}

impl StoreKind {
    /// Returns whether the directory `path` holds a store of any kind.
    ///
    /// # Errors
    /// If the directory cannot be searched.
    pub fn is_at(path: impl AsRef<Path>) -> io::Result<bool> {
        path.as_ref().join(lock::NAME).try_exists()
    }

    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// As `SledCheckpointer::open`; [`CheckpointError::Io`] if the feature of the kind is off, here and in the other methods.
    pub fn open(self, path: &Path) -> OpenResult {
        with_store!(self, path, S => shared(S::open(path)))
    }

    /// Opens the store for reading, as `SledCheckpointer::open_read_only` does.
    ///
    /// # Errors
    /// As `SledCheckpointer::open_read_only`.
    pub fn open_read_only(self, path: &Path) -> OpenResult {
        with_store!(self, path, S => shared(S::open_read_only(path)))
    }

    /// Opens the store in order to remove records from it, which works on a full disk too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_to_remove(self, path: &Path) -> OpenResult {
        with_store!(self, path, S => shared(S::open_to_remove(path)))
    }

    /// Gives disk space back that removed records used, as `SledCheckpointer::compact` does. Blocks.
    ///
    /// # Errors
    /// As `SledCheckpointer::compact`.
    pub fn compact(self, path: &Path) -> Result<Compacted, CheckpointError> {
        with_store!(self, path, S => S::compact(path))
    }

    /// Saves what is intact of a damaged store into a new one of the same kind, as `SledCheckpointer::repair` does.
    ///
    /// # Errors
    /// As `SledCheckpointer::repair`.
    pub async fn repair(self, path: &Path, to: &Path) -> Result<Repaired, CheckpointError> {
        with_store!(self, path, S => S::repair(path, to).await)
    }
}

fn shared<S: Checkpointer>(opened: Result<S, CheckpointError>) -> OpenResult {
    opened.map(|store| Arc::new(store) as _)
}

fn missing(kind: StoreKind, path: &Path) -> CheckpointError {
    let reason = format!("this program was built without the feature `{kind}` of superstep");
    CheckpointError::io("open the store", path, io::Error::new(io::ErrorKind::Unsupported, reason))
}

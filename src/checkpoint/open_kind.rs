//! Stores whose kind is only known at run time, such as one that a command line names. Must not know how a store works.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::embedded::{CompactionReport, lock};
use super::repair::RepairReport;
use super::store_kind::with_store;
use super::{CheckpointError, Checkpointer, StoreKind};
use crate::checkpoint;

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

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
        with_store!(self, missing(path), S => shared(S::open(path)))
    }

    /// Opens the store for reading, as `SledCheckpointer::open_read_only` does.
    ///
    /// # Errors
    /// As `SledCheckpointer::open_read_only`.
    pub fn open_read_only(self, path: &Path) -> OpenResult {
        with_store!(self, missing(path), S => shared(S::open_read_only(path)))
    }

    /// Opens the store in order to remove records from it, which works on a full disk too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_to_remove(self, path: &Path) -> OpenResult {
        with_store!(self, missing(path), S => shared(S::open_to_remove(path)))
    }

    /// Gives disk space back that removed records used, as `SledCheckpointer::compact` does. Blocks.
    ///
    /// # Errors
    /// As `SledCheckpointer::compact`.
    pub fn compact(self, path: &Path) -> Result<CompactionReport, CheckpointError> {
        with_store!(self, missing(path), S => S::compact(path))
    }

    /// Saves what is intact of a damaged store into a new one of the same kind, as `SledCheckpointer::repair` does.
    ///
    /// # Errors
    /// As `SledCheckpointer::repair`.
    pub async fn repair(self, path: &Path, to: &Path) -> Result<RepairReport, CheckpointError> {
        with_store!(self, missing(path), S => S::repair(path, to).await)
    }
}

fn shared<S: Checkpointer>(opened: Result<S, CheckpointError>) -> OpenResult {
    opened.map(|store| Arc::new(store) as _)
}

fn missing(path: &Path) -> impl FnOnce(StoreKind) -> CheckpointError {
    move |kind| {
        let reason = format!("this program was built without the feature `{kind}` of superstep");
        CheckpointError::io("open the store", path, io::Error::new(io::ErrorKind::Unsupported, reason))
    }
}

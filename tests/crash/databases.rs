//! The embedded stores by name, for processes that read the name from an environment variable.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{CheckpointError, Checkpointer, FjallCheckpointer, SledCheckpointer};

/// An embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    Sled,
    Fjall,
}

impl Database {
    /// Environment variable that names it.
    pub(crate) const NAME: &str = "SUPERSTEP_CRASH_DATABASE";

    /// Returns the one that the environment names.
    pub(crate) fn named() -> Self {
        let name = std::env::var(Self::NAME).unwrap();
        [Self::Sled, Self::Fjall].into_iter().find(|known| known.name() == name).unwrap()
    }

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn open(self, path: &Path) -> Result<Arc<dyn Checkpointer>, CheckpointError> {
        Ok(match self {
            Self::Sled => Arc::new(SledCheckpointer::open(path)?),
            Self::Fjall => Arc::new(FjallCheckpointer::open(path)?),
        })
    }

    pub(crate) fn compact(self, path: &Path) {
        match self {
            Self::Sled => drop(SledCheckpointer::compact(path).unwrap()),
            Self::Fjall => drop(FjallCheckpointer::compact(path).unwrap()),
        }
    }
}

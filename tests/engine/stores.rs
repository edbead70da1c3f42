//! The stores that a claim holds over.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};

/// A store; a directory that it is in goes when it goes.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) store: Arc<dyn Checkpointer>,
    _directory: Option<tempfile::TempDir>,
}

impl Store {
    pub(crate) fn memory() -> Self {
        Self { store: Arc::new(MemoryCheckpointer::new()), _directory: None }
    }

    #[cfg(feature = "sled")]
    pub(crate) fn disk() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = superstep::checkpoint::SledCheckpointer::open(directory.path()).unwrap();
        Self { store: Arc::new(store), _directory: Some(directory) }
    }

    #[cfg(not(feature = "sled"))]
    pub(crate) fn disk() -> Self {
        Self::memory()
    }
}

//! Harnesses of the kit for the stores of this crate.

use std::sync::Arc;
#[cfg(feature = "sled")]
use std::sync::Mutex;

use superstep::checkpoint::kit::Harness;
use superstep::checkpoint::{BoxFuture, CheckpointError, Checkpointer, MemoryCheckpointer};
#[cfg(feature = "sled")]
use superstep::checkpoint::{Key, SledCheckpointer, SledFaults, ThreadId};

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

pub(crate) struct Memory;

impl Harness for Memory {
    fn open(&self) -> BoxFuture<'_, OpenResult> {
        Box::pin(async { Ok(Arc::new(MemoryCheckpointer::new()) as _) })
    }
}

/// The harness of the embedded store; holds the directory of the store opened last.
#[cfg(feature = "sled")]
#[derive(Default)]
pub(crate) struct Sled(Mutex<Option<(tempfile::TempDir, SledFaults)>>);

#[cfg(feature = "sled")]
impl Sled {
    fn open_in(&self, directory: tempfile::TempDir) -> OpenResult {
        let store = SledCheckpointer::open(directory.path())?;
        *self.0.lock().unwrap() = Some((directory, store.faults()));
        Ok(Arc::new(store))
    }

    fn faults(&self) -> SledFaults {
        self.0.lock().unwrap().as_ref().unwrap().1.clone()
    }
}

#[cfg(feature = "sled")]
impl Harness for Sled {
    fn open(&self) -> BoxFuture<'_, OpenResult> {
        Box::pin(async { self.open_in(tempfile::tempdir().unwrap()) })
    }

    fn reopen(&self) -> BoxFuture<'_, Option<OpenResult>> {
        let (directory, _) = self.0.lock().unwrap().take().unwrap();
        Box::pin(async { Some(self.open_in(directory)) })
    }

    fn fail_next_flush(&self) -> bool {
        self.faults().fail_next_sync()
    }

    fn damage(&self, thread: &ThreadId, key: &Key) -> bool {
        self.faults().damage(thread, key)
    }
}

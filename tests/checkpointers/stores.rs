//! Harnesses of the kit for the stores of this crate.

use std::path::Path;
use std::sync::{Arc, Mutex};

use superstep::checkpoint::kit::Harness;
use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, FjallCheckpointer, Key, MemoryCheckpointer, SledCheckpointer,
    StoreFaults, ThreadId,
};

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

pub(crate) struct Memory;

impl Harness for Memory {
    fn open(&self) -> BoxFuture<'_, OpenResult> {
        Box::pin(async { Ok(Arc::new(MemoryCheckpointer::new()) as _) })
    }
}

/// An embedded store, with what makes it fail.
type Opened = Result<(Arc<dyn Checkpointer>, StoreFaults), CheckpointError>;

fn sled(path: &Path) -> Opened {
    let store = SledCheckpointer::open(path)?;
    let faults = store.faults();
    Ok((Arc::new(store), faults))
}

fn fjall(path: &Path) -> Opened {
    let store = FjallCheckpointer::open(path)?;
    let faults = store.faults();
    Ok((Arc::new(store), faults))
}

/// The harness of an embedded store; holds the directory of the store opened last.
pub(crate) struct Embedded {
    opener: fn(&Path) -> Opened,
    last: Mutex<Option<(tempfile::TempDir, StoreFaults)>>,
}

impl Embedded {
    pub(crate) fn sled() -> Self {
        Self { opener: sled, last: Mutex::default() }
    }

    pub(crate) fn fjall() -> Self {
        Self { opener: fjall, last: Mutex::default() }
    }

    fn open_in(&self, directory: tempfile::TempDir) -> OpenResult {
        let (store, faults) = (self.opener)(directory.path())?;
        *self.last.lock().unwrap() = Some((directory, faults));
        Ok(store)
    }

    fn faults(&self) -> StoreFaults {
        self.last.lock().unwrap().as_ref().unwrap().1.clone()
    }
}

impl Harness for Embedded {
    fn open(&self) -> BoxFuture<'_, OpenResult> {
        Box::pin(async { self.open_in(tempfile::tempdir().unwrap()) })
    }

    fn reopen(&self) -> BoxFuture<'_, Option<OpenResult>> {
        let (directory, _) = self.last.lock().unwrap().take().unwrap();
        Box::pin(async { Some(self.open_in(directory)) })
    }

    fn fail_next_flush(&self) -> bool {
        self.faults().fail_next_sync()
    }

    fn damage(&self, thread: &ThreadId, key: &Key) -> bool {
        self.faults().damage(thread, key)
    }
}

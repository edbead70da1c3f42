//! Switches that make a store fail or wait in tests. They can only be set with the feature `test-util`.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Pending failures, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct Faults {
    fails: Arc<AtomicBool>,
    waits: Arc<AtomicBool>,
    gate: Arc<Mutex<()>>,
}

impl Faults {
    /// Called before each sync.
    pub(in crate::checkpoint) fn before_sync(&self) -> io::Result<()> {
        self.waits.store(true, Ordering::SeqCst);
        drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.waits.store(false, Ordering::SeqCst);
        let fails = self.fails.swap(false, Ordering::SeqCst);
        if fails { Err(io::Error::other("chosen to fail")) } else { Ok(()) }
    }

    /// Makes the next sync fail.
    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn fail_next_sync(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }

    /// Returns whether a sync waits at the gate.
    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Runs `action` while no sync can start.
    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> T {
        let _held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        action()
    }
}

//! Switches with which tests make a store fail or wait. Without the feature `test-util` nothing can set them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Failures to come, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    fails: Arc<AtomicBool>,
    waits: Arc<AtomicBool>,
    gate: Arc<Mutex<()>>,
}

impl Faults {
    /// Stands before each sync.
    pub(super) fn before_sync(&self) -> io::Result<()> {
        self.waits.store(true, Ordering::SeqCst);
        drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.waits.store(false, Ordering::SeqCst);
        let fails = self.fails.swap(false, Ordering::SeqCst);
        if fails { Err(io::Error::other("chosen to fail")) } else { Ok(()) }
    }

    /// Makes the next sync fail.
    #[cfg(feature = "test-util")]
    pub(super) fn fail_next_sync(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }

    /// Returns whether a sync stands before the gate.
    #[cfg(feature = "test-util")]
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Runs `action` while no sync can begin.
    #[cfg(feature = "test-util")]
    pub(super) fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> T {
        let _held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        action()
    }
}

//! Switches that make a store fail or wait in tests. Without the feature `test-util` they are empty.

use std::io;
#[cfg(feature = "test-util")]
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// A write that a test makes fail once.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct FaultSwitch {
    #[cfg(feature = "test-util")]
    fails: Arc<AtomicBool>,
}

impl FaultSwitch {
    /// Fails if a test has chosen so.
    pub(in crate::checkpoint) fn check(&self) -> io::Result<()> {
        #[cfg(feature = "test-util")]
        if self.fails.swap(false, Ordering::SeqCst) {
            return Err(io::Error::other("chosen to fail"));
        }
        Ok(())
    }

    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn fail_next(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }
}

/// Pending failures of syncs, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct Faults {
    sync: FaultSwitch,
    #[cfg(feature = "test-util")]
    waits: Arc<AtomicBool>,
    #[cfg(feature = "test-util")]
    gate: Arc<Mutex<()>>,
}

impl Faults {
    /// Called before each sync.
    pub(in crate::checkpoint) fn before_sync(&self) -> io::Result<()> {
        #[cfg(feature = "test-util")]
        self.wait_at_gate();
        self.sync.check()
    }
}

#[cfg(feature = "test-util")]
impl Faults {
    fn wait_at_gate(&self) {
        self.waits.store(true, Ordering::SeqCst);
        drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.waits.store(false, Ordering::SeqCst);
    }

    /// Makes the next sync fail.
    pub(in crate::checkpoint) fn fail_next_sync(&self) {
        self.sync.fail_next();
    }

    /// Returns whether a sync waits at the gate.
    pub(in crate::checkpoint) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Runs `action` while no sync can start.
    pub(in crate::checkpoint) fn hold_syncs<T>(&self, action: impl FnOnce() -> T) -> T {
        let _held = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        action()
    }
}

//! Switches with which tests make a store fail. Without the feature `test-util` nothing can set them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Failures to come, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    sync: Arc<AtomicBool>,
}

impl Faults {
    /// Makes the next sync fail.
    #[cfg(feature = "test-util")]
    pub(super) fn fail_next_sync(&self) {
        self.sync.store(true, Ordering::SeqCst);
    }

    /// Returns whether this sync is to fail.
    pub(super) fn take_sync(&self) -> bool {
        self.sync.swap(false, Ordering::SeqCst)
    }
}

//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::pad::PadThread;

/// A clock in seconds since the Unix epoch, which moves only when it is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand(Arc<AtomicU64>);

impl Hand {
    pub(crate) fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    /// Advances the clock by a second.
    pub(crate) fn tick(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> SystemTime {
        at(self.0.load(Ordering::SeqCst))
    }

    /// Returns the thread with this clock.
    pub(crate) fn on(&self, thread: PadThread) -> PadThread {
        let hand = self.clone();
        thread.clock(move || hand.now())
    }
}

/// Returns the time this many seconds after the Unix epoch.
pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

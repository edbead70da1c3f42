//! The looks of a server for threads of other programs: the last one, and how far the first one has come. Must not know records.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use superstep::checkpoint::ThreadId;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard, watch};

/// The time by which the clocks of processes may differ, in milliseconds.
const SKEW: u64 = 2_000;

/// Returns the time from which on a look finds what other processes have changed since `time`, in milliseconds since 1970.
pub(crate) fn with_skew(time: u64) -> u64 {
    time.saturating_sub(SKEW)
}

/// The state of the search for threads of other programs: one look at a time.
pub(crate) struct ForeignSearch {
    looked: AsyncMutex<Looked>,
    first: watch::Sender<FirstProgress>,
    /// The threads that other programs were running.
    running: Mutex<HashSet<ThreadId>>,
    /// Set if a list was read lately.
    is_read: AtomicBool,
}

impl Default for ForeignSearch {
    fn default() -> Self {
        Self {
            looked: AsyncMutex::default(),
            first: watch::Sender::new(NOT_BEGUN),
            running: Mutex::default(),
            is_read: AtomicBool::new(false),
        }
    }
}

/// Result of the last look.
#[derive(Default)]
pub(crate) struct Looked {
    /// The time at which the last look began, by the clock of the store; `None` before the first one.
    pub since: Option<u64>,
    /// The same, by the clock of this process.
    pub began: Option<Instant>,
}

/// The progress of the first look, which comes to the newest threads first. Times are in milliseconds since 1970.
#[derive(Clone, Copy)]
struct FirstProgress {
    /// The time at which it began; `None` unless it is going on.
    began: Option<u64>,
    /// All threads that were made at this time or later have been looked at; 0 once all have.
    to: u64,
}

const NOT_BEGUN: FirstProgress = FirstProgress { began: None, to: u64::MAX };

/// The first look while it is going on. If it is dropped before it has come to all threads, another one begins anew.
pub(crate) struct FirstLook<'a>(&'a ForeignSearch);

impl FirstLook<'_> {
    /// Notes that all threads that were made at a time or later have been looked at.
    pub(crate) fn reach(&self, to: u64) {
        self.0.first.send_modify(|first| first.to = to);
    }

    /// Notes that all threads have been looked at.
    pub(crate) fn end(&self) {
        self.reach(0);
    }
}

impl Drop for FirstLook<'_> {
    fn drop(&mut self) {
        self.0.first.send_modify(|first| match first.to {
            0 => first.began = None,
            _ => *first = NOT_BEGUN,
        });
    }
}

impl ForeignSearch {
    /// Enters a look; `None` if one has begun and ended meanwhile.
    pub(crate) async fn enter(&self) -> Option<MutexGuard<'_, Looked>> {
        let wanted = Instant::now();
        let looked = self.looked.lock().await;
        let is_new = looked.began.is_none_or(|began| began < wanted);
        is_new.then_some(looked)
    }

    /// Begins the first look.
    pub(crate) fn begin_first(&self, began: u64) -> FirstLook<'_> {
        self.first.send_replace(FirstProgress { began: Some(began), to: u64::MAX });
        FirstLook(self)
    }

    /// Returns the time at which the first look began, if it is going on.
    pub(crate) fn first_began(&self) -> Option<u64> {
        self.first.borrow().began
    }

    /// Returns the time from which on all threads have been looked at; 0 for all of them.
    pub(crate) fn reached(&self) -> u64 {
        self.first.borrow().to
    }

    /// Waits until the first look has reached a time; returns false if it has been given up.
    pub(crate) async fn wait_until_reached(&self, time: u64) -> bool {
        let mut first = self.first.subscribe();
        let is_over = |first: &FirstProgress| first.to <= time || first.began.is_none();
        first.wait_for(is_over).await.is_ok_and(|first| first.to <= time)
    }

    /// Notes that a list is read.
    pub(crate) fn note_reader(&self) {
        self.is_read.store(true, Ordering::Relaxed);
    }

    /// Returns whether a list was read since the last call.
    pub(crate) fn take_reader(&self) -> bool {
        self.is_read.swap(false, Ordering::Relaxed)
    }

    /// Notes that another program runs a thread.
    pub(crate) fn note_running(&self, thread: &ThreadId) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(thread.clone());
    }

    /// Returns the threads that other programs were running, and forgets them.
    pub(crate) fn take_running(&self) -> HashSet<ThreadId> {
        std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! Contexts that outlive their bodies, in tasks that the bodies spawned and did not await. What such a task asks or waits
//! for belongs to no body any more: it fails the run.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::checkpoint::panics::caught;
use crate::graph::error::RunError;

/// The time for which the end of a run waits for them.
const GRACE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(2);
/// The number of times that the runtime may run other tasks first.
const YIELDS: u32 = 16;

/// The contexts of a run's ended tasks that somebody still holds, and the first error that came of one.
#[derive(Default)]
pub(crate) struct Stragglers {
    has_failed: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    contexts: Vec<Weak<dyn Any + Send + Sync>>,
    error: Option<RunError>,
}

impl Stragglers {
    /// Notes a context that somebody holds although its body has ended.
    pub(crate) fn add(&self, ctx: Weak<dyn Any + Send + Sync>) {
        self.lock().contexts.push(ctx);
    }

    /// Fails if something was raised after its body had ended.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.lock().error.clone().map_or(Ok(()), Err)
    }

    /// Waits for those that are left at the end of a run: until the runtime has run other tasks, and for a moment more if the
    /// graph declares anything that they might ask or wait for.
    ///
    /// # Errors
    /// What was raised after its body had ended.
    pub(crate) async fn wait(&self, may_ask: impl FnOnce() -> bool) -> Result<(), RunError> {
        for _ in 0..YIELDS {
            if !self.are_left() {
                return self.check();
            }
            tokio::task::yield_now().await;
        }
        if !may_ask() {
            return self.check();
        }
        for _ in 0..GRACE.as_millis() / PAUSE.as_millis() {
            if !self.are_left() {
                break;
            }
            let Ok(pause) = caught(|| tokio::time::sleep(PAUSE)) else { break }; // a runtime without timers
            pause.await;
        }
        self.check()
    }

    fn are_left(&self) -> bool {
        let mut inner = self.lock();
        inner.contexts.retain(|ctx| ctx.strong_count() > 0);
        inner.error.is_none() && !inner.contexts.is_empty()
    }

    /// Notes what was raised after its body had ended.
    pub(crate) fn fail(&self, error: RunError) {
        self.lock().error.get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Contexts that outlive their bodies, in tasks that the bodies spawned and did not await. What such a task asks or waits
//! for belongs to no body any more: it fails the run.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use superstep_base::panics::catch_panic;

use crate::graph::error::RunError;

/// The time for which a run waits for them, at most, each time.
const GRACE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(2);
/// The number of pauses of a whole run: one that leaves a context behind in each of many supersteps does not wait in each.
const PAUSES: u32 = 500;
/// The number of times that the runtime may run other tasks first.
const YIELDS: u32 = 16;

/// The contexts of a run's ended tasks that somebody still holds, and the first error that came of one.
#[derive(Default)]
pub(crate) struct Stragglers {
    are_noted: AtomicBool,
    has_failed: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// With the ids of their tasks.
    contexts: Vec<(String, Weak<dyn Any + Send + Sync>)>,
    error: Option<(String, RunError)>,
    pauses: u32,
}

impl Stragglers {
    /// Notes a context that somebody holds although its body has ended.
    pub(crate) fn add(&self, task: String, ctx: Weak<dyn Any + Send + Sync>) {
        let contexts = &mut self.lock().contexts;
        if contexts.len() == contexts.capacity() {
            contexts.retain(|(_, ctx)| ctx.strong_count() > 0); // a context that was dropped keeps its memory until then
        }
        contexts.push((task, ctx));
        self.are_noted.store(true, Ordering::Relaxed);
    }

    /// Returns true if any context was noted.
    pub(crate) fn are_noted(&self) -> bool {
        self.are_noted.load(Ordering::Relaxed)
    }

    /// Fails if something was raised after its body had ended.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.lock().error.clone().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Returns what was raised after an attempt of this task had ended, if that was the first such error of the run.
    pub(crate) fn error_of(&self, task: &str) -> Option<RunError> {
        self.lock().error.as_ref().filter(|(of, _)| of == task).map(|(_, error)| error.clone())
    }

    /// Waits for those that are left at the end of a run, as [`wait_while`](Self::wait_while) does.
    ///
    /// # Errors
    /// What was raised after its body had ended.
    pub(crate) async fn wait(&self, may_ask: impl FnOnce() -> bool) -> Result<(), RunError> {
        self.wait_while(|| self.are_left(|_| true), may_ask).await;
        self.check()
    }

    /// Waits until the runtime has run other tasks, and for a moment more if `may_ask`: the tasks that are left may ask or
    /// wait for something.
    pub(crate) async fn wait_while(&self, are_left: impl Fn() -> bool, may_ask: impl FnOnce() -> bool) {
        for _ in 0..YIELDS {
            if !are_left() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if !may_ask() {
            return;
        }
        for _ in 0..GRACE.as_millis() / PAUSE.as_millis() {
            if !are_left() || !self.may_pause() {
                return;
            }
            // A runtime without timers panics, and cannot be asked whether it has any.
            let Ok(pause) = catch_panic(|| tokio::time::sleep(PAUSE)) else { return };
            pause.await;
        }
    }

    /// Returns true if somebody holds a context of such a task, and nothing was raised.
    pub(crate) fn are_left(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut inner = self.lock();
        inner.contexts.retain(|(_, ctx)| ctx.strong_count() > 0);
        inner.error.is_none() && inner.contexts.iter().any(|(task, _)| is_meant(task))
    }

    fn may_pause(&self) -> bool {
        let pauses = &mut self.lock().pauses;
        *pauses += 1;
        *pauses <= PAUSES
    }

    /// Notes what was raised after its body had ended.
    pub(crate) fn fail(&self, task: String, error: RunError) {
        self.lock().error.get_or_insert((task, error));
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

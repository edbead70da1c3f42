//! Retry policies. Knows no node and no clock.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_base::backoff::backoff;

use crate::graph::error::{ErrorClass, NodeError};
use crate::graph::records::clock::random;

type Predicate = dyn Fn(&NodeError) -> bool + Send + Sync;

/// The number of attempts of a failing node, and the pauses between them. LangGraph: `RetryPolicy`.
///
/// The defaults are LangGraph's: 3 attempts in all, 500 ms before the second, twice as long each time, at most 128 s, plus
/// up to 1 s at random. Without [`when`](Self::when) it applies to every failure that is not permanent. Attempts are
/// counted anew when a thread resumes; the count is not stored. The time of the next attempt is: a process that resumes
/// the thread in a pause waits for the rest of it.
///
/// ```
/// # use std::time::Duration;
/// # use superstep::prelude::*;
/// let busy = RetryPolicy::attempts(5)
///     .pause(Duration::from_secs(1))
///     .backoff(2.0, Duration::from_secs(30))
///     .when(|error| error.to_string().contains("429"));
/// ```
#[derive(Clone)]
#[must_use]
pub struct RetryPolicy {
    pub(crate) max_attempts: u32,
    pub(crate) initial: Duration,
    pub(crate) factor: f64,
    pub(crate) longest: Duration,
    pub(crate) jitter: bool,
    pub(crate) when: Option<Arc<Predicate>>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let (initial, longest) = (Duration::from_millis(500), Duration::from_secs(128));
        Self { max_attempts: 3, initial, factor: 2.0, longest, jitter: true, when: None }
    }
}

impl RetryPolicy {
    /// Returns a policy with this number of attempts, the first included.
    pub fn attempts(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// Sets the pause before the second attempt, with no random part.
    pub fn pause(mut self, initial: Duration) -> Self {
        (self.initial, self.jitter) = (initial, false);
        self
    }

    /// Sets the growth factor of the pauses, and the longest pause.
    pub fn backoff(mut self, factor: f64, longest: Duration) -> Self {
        (self.factor, self.longest) = (factor, longest);
        self
    }

    /// Limits the policy to errors of one type that match; of several policies the first that matches is used.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// use std::io::{Error, ErrorKind};
    /// let busy = RetryPolicy::attempts(5).when_error(|error: &Error| error.kind() == ErrorKind::ConnectionReset);
    /// ```
    pub fn when_error<E: Error + 'static>(self, fits: impl Fn(&E) -> bool + Send + Sync + 'static) -> Self {
        self.when(move |error| error.source().downcast_ref().is_some_and(&fits))
    }

    /// Limits the policy to matching failures; of several policies the first that matches is used.
    pub fn when(mut self, fits: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Arc::new(fits));
        self
    }

    pub(crate) fn fits(&self, error: &NodeError) -> bool {
        error.class() != ErrorClass::Permanent && self.when.as_ref().is_none_or(|when| when(error))
    }

    /// Returns the pause before attempt `next` (the second is 2).
    pub(crate) fn delay(&self, next: u32) -> Duration {
        let pause = backoff(self.initial, self.factor, next.saturating_sub(2), self.longest);
        if self.jitter { pause + Duration::from_millis(random() % 1000) } else { pause }
    }
}

impl RetryPolicy {
    /// Returns the longest pause that it can make.
    pub(crate) fn longest_delay(&self) -> Duration {
        self.longest.max(self.initial) + Duration::from_millis(if self.jitter { 1000 } else { 0 })
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy").field("max_attempts", &self.max_attempts).finish_non_exhaustive()
    }
}

//! Retries turns after transient failures.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use superstep_base::backoff::backoff;

use crate::drivers::driver::forward_methods;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished, Sender,
    SessionRef, events,
};

/// Retry policy for a service that cannot be reached or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RetrySettings {
    /// Number of attempts in quick succession, the first one included. Default: 4.
    pub attempts: u32,
    /// First wait between two of them; each wait is twice as long as the one before. Default: half a second.
    pub wait: Duration,
    /// Time to wait for the end of an outage after that. Default: ten minutes.
    pub patience: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { attempts: 4, wait: Duration::from_millis(500), patience: Duration::from_secs(600) }
    }
}

impl RetrySettings {
    /// Sets [`attempts`](Self::attempts).
    #[must_use]
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Sets [`wait`](Self::wait).
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Sets [`patience`](Self::patience).
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

const SHORTEST: Duration = Duration::from_millis(10);

/// Repeats a turn, with the same key, after a transient failure: after a growing, random wait, or after the time that
/// the server asks for. A turn that gets further than before, according to its usage, gets all attempts again.
/// Permanent failures (content, key, budget, lost session) are returned at once, and so is one whose wait would be too
/// long: its `retry_after` contains that wait.
#[derive(Clone, Debug)]
#[must_use]
pub struct Retry<D> {
    driver: Arc<D>,
    attempts: u32,
    first: Duration,
    longest: Duration,
    waits: Duration,
}

impl<D: Driver + 'static> Retry<D> {
    /// Makes up to 4 attempts; waits half a second, then twice as long each time, at most 30 s; waits up to 60 s in all
    /// for busy servers.
    pub fn new(driver: D) -> Self {
        let seconds = Duration::from_secs;
        let (driver, first) = (Arc::new(driver), Duration::from_millis(500));
        Self { driver, attempts: 4, first, longest: seconds(30), waits: seconds(60) }
    }

    /// Sets the number of attempts without progress, the first one included.
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Sets the first and the longest wait after a transient failure.
    pub fn backoff(self, first: Duration, longest: Duration) -> Self {
        Self { first, longest, ..self }
    }

    /// Sets the total time that a turn without progress waits for rate limits and busy servers.
    pub fn waits_at_most(self, waits: Duration) -> Self {
        Self { waits, ..self }
    }

    async fn run_turn(&self, request: AgentRequest, sender: &Sender) -> Result<Finished, DriverError> {
        let (mut attempt, mut furthest, mut state) = (1, 0, RetryState::default());
        loop {
            let far = furthest;
            let error = match forward(self.driver.run(request.clone()), sender, &mut furthest).await {
                Err(error) => error,
                finished => return finished,
            };
            if furthest > far {
                state = RetryState::default();
            }
            let Some(wait) = self.wait(&error, &mut state) else {
                let outage = error.class == DriverErrorClass::Transient && error.retry_after.is_none();
                return Err(DriverError { outage, ..error });
            };
            let notice = format!("attempt {attempt} failed: {error}; the next one begins in {wait:.1?}");
            sender.send(AgentEvent::Notice(notice)).await;
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => return Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled")),
                () = tokio::time::sleep(wait) => attempt += 1,
            }
        }
    }

    /// Returns the time to wait after a failure; `None` if it is final.
    fn wait(&self, error: &DriverError, state: &mut RetryState) -> Option<Duration> {
        let backoff = jitter(backoff(self.first, 2.0, state.tries, self.longest)).max(SHORTEST);
        let left = self.waits.saturating_sub(state.waited);
        state.tries += 1;
        let wait = match (error.class, error.retry_after) {
            (DriverErrorClass::Transient, None) => {
                state.failures += 1;
                return (state.failures < self.attempts).then_some(backoff);
            }
            // A server that keeps asking for no wait is still left alone for a moment.
            (DriverErrorClass::Transient | DriverErrorClass::RateLimited, Some(asked)) => asked.max(backoff.min(left)),
            (DriverErrorClass::RateLimited, None) => backoff.min(left),
            (
                DriverErrorClass::Content
                | DriverErrorClass::Auth
                | DriverErrorClass::Budget
                | DriverErrorClass::SessionLost
                | DriverErrorClass::Cancelled
                | DriverErrorClass::Fatal,
                _,
            ) => return None,
        };
        state.waited = state.waited.saturating_add(wait);
        (!left.is_zero() && wait <= left).then_some(wait)
    }
}

/// Attempts since the last progress.
#[derive(Default)]
struct RetryState {
    tries: u32,
    /// Failures for which the server reported no wait.
    failures: u32,
    waited: Duration,
}

/// Returns a random time between half of `time` and all of it.
fn jitter(time: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let share = u32::try_from(random % 1001).unwrap_or(0);
    time / 2 + time / 2 * share / 1000
}

/// Forwards the events; `furthest` is the highest usage of any attempt. An agent that resumes reports growing usage;
/// one that starts again has to get as far first.
async fn forward(mut inner: AgentEvents, sender: &Sender, furthest: &mut u64) -> Result<Finished, DriverError> {
    while let Some(event) = inner.next().await {
        let event = event?;
        if let AgentEvent::Usage(usage) = &event {
            *furthest = usage.tokens().saturating_add(usage.requests).max(*furthest);
        }
        match event {
            AgentEvent::Finished(finished) => return Ok(finished),
            event => sender.send(event).await,
        }
    }
    Err(DriverError::no_result(""))
}

impl<D: Driver + 'static> Driver for Retry<D> {
    forward_methods!();

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = Self {
            driver: Arc::clone(&self.driver),
            attempts: self.attempts,
            first: self.first,
            longest: self.longest,
            waits: self.waits,
        };
        events(|sender| async move { this.run_turn(request, &sender).await })
    }
}

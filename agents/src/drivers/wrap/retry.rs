//! Tries turns again that failed for a while.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use superstep_base::backoff::backoff;

use super::passes_on::passes_on;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, ErrorClass, Finished, Sender, SessionRef,
    events,
};

/// How often, and how long, requests to a service are repeated that cannot be reached or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RetrySettings {
    /// How often a request is tried in quick succession, the first time included; 4.
    pub attempts: u32,
    /// The first wait between two of them; half a second. Each wait is twice as long as the one before.
    pub wait: Duration,
    /// How long an outage is waited for after that; ten minutes.
    pub patience: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { attempts: 4, wait: Duration::from_millis(500), patience: Duration::from_secs(600) }
    }
}

/// The shortest wait.
const SHORTEST: Duration = Duration::from_millis(10);

/// Carries a turn out again, under the same key, if it failed in a way that may pass: transient failures after a growing,
/// random wait; rate limits, and whatever else a server says a time for, after that time. A turn that gets further than before,
/// as its usage tells, is tried afresh. What will not pass (content, key, budget, lost session) is returned at once, and so is
/// what would have to be waited for too long: its `retry_after` says until when.
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
    /// Tries up to 4 times; waits half a second, then twice as long each time, at most 30 s; waits for servers that are busy up
    /// to 60 s in all.
    pub fn new(driver: D) -> Self {
        let seconds = Duration::from_secs;
        let (driver, first) = (Arc::new(driver), Duration::from_millis(500));
        Self { driver, attempts: 4, first, longest: seconds(30), waits: seconds(60) }
    }

    /// Sets how often a turn is tried that gets no further, the first time included.
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Sets the first wait and the longest after a transient failure.
    pub fn backoff(self, first: Duration, longest: Duration) -> Self {
        Self { first, longest, ..self }
    }

    /// Sets how long a turn that gets no further waits for rate limits and servers that say how long they are busy, in all.
    pub fn waits_at_most(self, waits: Duration) -> Self {
        Self { waits, ..self }
    }

    async fn carried_out(&self, request: AgentRequest, tell: &Sender) -> Result<Finished, DriverError> {
        let (mut attempt, mut furthest, mut stuck) = (1, 0, Stuck::default());
        loop {
            let far = furthest;
            let error = match relayed(self.driver.run(request.clone()), tell, &mut furthest).await {
                Err(error) => error,
                finished => return finished,
            };
            if furthest > far {
                stuck = Stuck::default();
            }
            let Some(wait) = self.wait(&error, &mut stuck) else {
                let outage = error.class == ErrorClass::Transient && error.retry_after.is_none();
                return Err(DriverError { outage, ..error });
            };
            let notice = format!("attempt {attempt} failed: {error}; the next one begins in {wait:.1?}");
            tell.tell(AgentEvent::Notice(notice)).await;
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => return Err(DriverError::new(ErrorClass::Cancelled, "the turn was cancelled")),
                () = tokio::time::sleep(wait) => attempt += 1,
            }
        }
    }

    /// How long to wait after a failure; none if it stays.
    fn wait(&self, error: &DriverError, stuck: &mut Stuck) -> Option<Duration> {
        let backoff = jittered(backoff(self.first, 2.0, stuck.tries, self.longest)).max(SHORTEST);
        let left = self.waits.saturating_sub(stuck.waited);
        stuck.tries += 1;
        let wait = match (error.class, error.retry_after) {
            (ErrorClass::Transient, None) => {
                stuck.failures += 1;
                return (stuck.failures < self.attempts).then_some(backoff);
            }
            // A server that says "at once" over and over is still left alone for a moment.
            (ErrorClass::Transient | ErrorClass::RateLimited, Some(asked)) => asked.max(backoff.min(left)),
            (ErrorClass::RateLimited, None) => backoff.min(left),
            (
                ErrorClass::Content
                | ErrorClass::Auth
                | ErrorClass::Budget
                | ErrorClass::SessionLost
                | ErrorClass::Cancelled
                | ErrorClass::Fatal,
                _,
            ) => return None,
        };
        stuck.waited = stuck.waited.saturating_add(wait);
        (!left.is_zero() && wait <= left).then_some(wait)
    }
}

/// What happened since a turn got further.
#[derive(Default)]
struct Stuck {
    tries: u32,
    /// Those that failed without a word on how long to wait.
    failures: u32,
    waited: Duration,
}

/// Between half of a time and all of it.
fn jittered(time: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let share = u32::try_from(random % 1001).unwrap_or(0);
    time / 2 + time / 2 * share / 1000
}

/// Passes the events on; `furthest` is the most that any attempt has used. An agent that goes on where it was tells ever more;
/// one that begins again has to get as far first.
async fn relayed(mut inner: AgentEvents, tell: &Sender, furthest: &mut u64) -> Result<Finished, DriverError> {
    while let Some(event) = inner.next().await {
        let event = event?;
        if let AgentEvent::Usage(usage) = &event {
            *furthest = usage.tokens().saturating_add(usage.requests).max(*furthest);
        }
        match event {
            AgentEvent::Finished(finished) => return Ok(finished),
            event => tell.tell(event).await,
        }
    }
    Err(DriverError::unfinished(""))
}

impl<D: Driver + 'static> Driver for Retry<D> {
    passes_on!();

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = Self {
            driver: Arc::clone(&self.driver),
            attempts: self.attempts,
            first: self.first,
            longest: self.longest,
            waits: self.waits,
        };
        events(|tell| async move { this.carried_out(request, &tell).await })
    }
}

//! Tries turns again that failed for a while.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use crate::checkpoint::BoxFuture;
use crate::drivers::driver::{AgentEvents, Capabilities, Driver, Sender, events};
use crate::drivers::error::{DriverError, ErrorClass};
use crate::drivers::event::{AgentEvent, Finished};
use crate::drivers::request::{AgentRequest, SessionRef};

/// Carries a turn out again, under the same key, if it failed in a way that may pass: transient failures after a growing,
/// random wait, rate limits after the wait that the server asks for. What will not pass (content, key, budget, lost session)
/// is returned at once, and so is a rate limit that would have to be waited for too long: its `retry_after` says until when.
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
    /// Tries up to 4 times; waits half a second, then twice as long each time, at most 30 s; waits for rate limits up to 60 s
    /// in all.
    pub fn new(driver: D) -> Self {
        let seconds = Duration::from_secs;
        let (driver, first) = (Arc::new(driver), Duration::from_millis(500));
        Self { driver, attempts: 4, first, longest: seconds(30), waits: seconds(60) }
    }

    /// Sets how often a turn is tried, the first time included.
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Sets the first wait and the longest after a transient failure.
    pub fn backoff(self, first: Duration, longest: Duration) -> Self {
        Self { first, longest, ..self }
    }

    /// Sets how long one turn may wait for rate limits, in all.
    pub fn waits_at_most(self, waits: Duration) -> Self {
        Self { waits, ..self }
    }

    async fn carried_out(&self, request: AgentRequest, tell: &Sender) -> Result<Finished, DriverError> {
        let (mut attempt, mut waited) = (1, Duration::ZERO);
        loop {
            let error = match relayed(self.driver.run(request.clone()), tell).await {
                Err(error) => error,
                finished => return finished,
            };
            let Some(wait) = self.wait(&error, attempt, waited) else { return Err(error) };
            if error.class == ErrorClass::RateLimited {
                waited += wait;
            }
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
    fn wait(&self, error: &DriverError, attempt: u32, waited: Duration) -> Option<Duration> {
        let backoff = || jittered(self.first.saturating_mul(1 << (attempt - 1).min(16)).min(self.longest));
        match error.class {
            ErrorClass::Transient => (attempt < self.attempts).then(backoff),
            ErrorClass::RateLimited => {
                let wait = error.retry_after.unwrap_or_else(backoff);
                let is_bounded = error.retry_after.is_some() || attempt < self.attempts;
                (is_bounded && waited.saturating_add(wait) <= self.waits).then_some(wait.max(Duration::from_millis(10)))
            }
            ErrorClass::Content
            | ErrorClass::Auth
            | ErrorClass::Budget
            | ErrorClass::SessionLost
            | ErrorClass::Cancelled
            | ErrorClass::Fatal => None,
        }
    }
}

/// Between half of a time and all of it.
fn jittered(time: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let share = u32::try_from(random % 1001).unwrap_or(0);
    time / 2 + time / 2 * share / 1000
}

async fn relayed(mut inner: AgentEvents, tell: &Sender) -> Result<Finished, DriverError> {
    while let Some(event) = inner.next().await {
        match event? {
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

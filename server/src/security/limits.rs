//! Limits of a server, and what is counted for them. Must not know routes.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ApiResult};

/// The number of requests after which callers that have been quiet are forgotten.
const FORGET: usize = 1 << 16;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest body of a request, in bytes.
    pub body: usize,
    /// Longest time for a body to arrive.
    pub body_time: Duration,
    /// Largest head of a request, in bytes.
    pub headers: usize,
    /// Longest time for a head to arrive, from the end of the last request on.
    pub headers_time: Duration,
    pub connections: usize,
    /// Largest number of answers that last as long as a run.
    pub streams: usize,
    /// Largest number of runs of one thread that have not ended.
    pub queue: usize,
    /// Largest number of runs that have not ended.
    pub open_runs: usize,
    /// Requests of a key, or of an address, in a second.
    pub requests: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            body_time: Duration::from_secs(60),
            headers: 64 << 10,
            headers_time: Duration::from_secs(30),
            connections: 10_000,
            streams: 8_000,
            queue: 1_000,
            open_runs: 100_000,
            requests: 10_000,
        }
    }
}

/// The sender of requests that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    Key(String),
    Address(IpAddr),
}

impl Sender {
    /// Returns the sender at an address: of IPv6, its network, since one sender may have all addresses of it.
    pub(super) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        })
    }
}

/// Requests that are counted by their sender, and open streams.
pub(super) struct RequestCounts {
    senders: DefaultKeyedRateLimiter<Sender>,
    since: AtomicUsize,
    streams: Arc<Semaphore>,
}

impl RequestCounts {
    pub(super) fn new(limits: &Limits) -> Self {
        let quota = Quota::per_second(NonZeroU32::new(limits.requests).unwrap_or(NonZeroU32::MIN));
        Self {
            senders: DefaultKeyedRateLimiter::keyed(quota),
            since: AtomicUsize::new(0),
            streams: Arc::new(Semaphore::new(limits.streams.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Counts a request. Returns the time after which the sender may send again, if it has sent too many.
    pub(super) fn count(&self, sender: &Sender) -> Result<(), Duration> {
        if self.since.fetch_add(1, Ordering::Relaxed) % FORGET == FORGET - 1 {
            self.senders.retain_recent();
        }
        self.senders.check_key(sender).map_err(|until| until.wait_time_from(DefaultClock::default().now()))
    }

    /// Returns a permit for a stream, which is given back when it is dropped.
    pub(super) fn stream(&self) -> ApiResult<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            let detail = "as many streams are open as this server serves: try again later";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })
    }
}

/// The number of runs that have not ended, as far as this server knows.
#[derive(Debug, Default)]
pub(crate) struct OpenRunCount(AtomicUsize);

impl OpenRunCount {
    /// Counts a run that is to be created.
    pub(crate) fn add(&self, limits: &Limits) -> ApiResult<()> {
        let open = self.0.fetch_add(1, Ordering::Relaxed);
        if open < limits.open_runs {
            return Ok(());
        }
        self.0.fetch_sub(1, Ordering::Relaxed);
        let detail = format!("{open} runs have not ended, as many as this server accepts: try again later");
        Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, detail))
    }

    /// Sets the number to what the store has: other servers create and end runs too.
    pub(crate) fn set(&self, open: usize) {
        self.0.store(open, Ordering::Relaxed);
    }
}

/// Returns the error of a thread whose queue is full.
pub(crate) fn full_queue(thread: &str, length: usize) -> ApiError {
    let detail = format!("the thread `{thread}` has {length} runs that have not ended: try again when one has");
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_sender() {
        let sender = |text: &str| Sender::at(text.parse().unwrap());
        assert_eq!(sender("2001:db8::1"), sender("2001:db8::ffff:1"));
        assert_ne!(sender("2001:db8::1"), sender("2001:db8:0:1::1"));
        assert_eq!(sender("::ffff:10.0.0.1"), sender("10.0.0.1"));
        assert_ne!(sender("10.0.0.2"), sender("10.0.0.1"));
    }

    #[test]
    fn a_run_that_is_refused_is_not_counted() {
        let (count, limits) = (OpenRunCount::default(), Limits { open_runs: 1, ..Limits::default() });
        assert!(count.add(&limits).is_ok());
        assert!(count.add(&limits).is_err() && count.add(&limits).is_err());
        count.set(0);
        assert!(count.add(&limits).is_ok());
    }
}

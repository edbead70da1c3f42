//! How a node's body is run: retry, timeouts, cache.

use std::time::Duration;

use super::retry::RetryPolicy;

/// The time for which a node's result may be taken from the cache instead of running it. LangGraph: `CachePolicy`.
///
/// The input is the whole state, untracked channels included, or what [`reads`](crate::graph::NodeExt::reads) names, or the payload of a
/// send; if it cannot be serialized, the node runs each time.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct CachePolicy {
    pub(crate) ttl: Option<Duration>,
}

impl CachePolicy {
    /// Returns a policy whose results are kept for so long.
    pub fn ttl(ttl: Duration) -> Self {
        Self { ttl: Some(ttl) }
    }
}

/// The settings that a node may take from the defaults of its graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecutionOptions {
    /// Retry policies; the first that fits the failure is used.
    pub retry: Vec<RetryPolicy>,
    /// Limits one attempt.
    pub timeout: Option<Duration>,
    /// Limits the time between two signs of life of an attempt.
    pub idle_timeout: Option<Duration>,
    pub cache: Option<CachePolicy>,
    pub replayable: bool,
}

impl ExecutionOptions {
    /// Takes from the defaults what is not set.
    pub(crate) fn fill_from(&mut self, defaults: &Self) {
        if self.retry.is_empty() {
            self.retry.clone_from(&defaults.retry);
        }
        self.timeout = self.timeout.or(defaults.timeout);
        self.idle_timeout = self.idle_timeout.or(defaults.idle_timeout);
        self.cache = self.cache.or(defaults.cache);
        self.replayable |= defaults.replayable;
    }

    /// Returns true if a body needs neither a clock nor a cache.
    pub(crate) fn is_plain(&self) -> bool {
        let timed = self.timeout.is_some() || self.idle_timeout.is_some();
        self.retry.is_empty() && !timed && self.cache.is_none()
    }
}

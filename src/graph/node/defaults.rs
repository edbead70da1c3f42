//! Options that apply to all nodes of a graph. Knows no graph.

use std::time::Duration;

use super::options::CachePolicy;
use super::retry::RetryPolicy;

#[cfg(doc)]
use crate::graph::context::ctx::Ctx;

/// What applies to every node that does not say otherwise. LangGraph: `set_node_defaults`.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NodeDefaults {
    pub(crate) retry: Vec<RetryPolicy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) replayable: bool,
}

impl NodeDefaults {
    /// Adds a retry policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry.push(policy);
        self
    }

    /// Limits how long one attempt may take.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Limits how long one attempt may be silent.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = Some(limit);
        self
    }

    /// Marks every node as replayable: all their side effects go through [`Ctx`], so that a replay may run their bodies over
    /// what was recorded.
    pub fn replayable(mut self) -> Self {
        self.replayable = true;
        self
    }

    /// Caches results.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = Some(policy);
        self
    }
}

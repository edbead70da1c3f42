//! Default options for all nodes of a graph. Knows no graph.

use std::time::Duration;

use super::execution::{CachePolicy, ExecutionOptions};
use super::retry::RetryPolicy;

#[cfg(doc)]
use crate::graph::context::ctx::Ctx;

/// Options of every node that does not set them itself. LangGraph: `set_node_defaults`.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NodeDefaults(pub(crate) ExecutionOptions);

impl NodeDefaults {
    /// Adds a retry policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.0.retry.push(policy);
        self
    }

    /// Limits the duration of an attempt.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.0.timeout = Some(limit);
        self
    }

    /// Limits the time an attempt may be silent.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.0.idle_timeout = Some(limit);
        self
    }

    /// Marks every node as replayable: all side effects go through [`Ctx`], so that a replay may run the bodies over
    /// recorded results.
    pub fn replayable(mut self) -> Self {
        self.0.replayable = true;
        self
    }

    /// Caches results.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.0.cache = Some(policy);
        self
    }
}

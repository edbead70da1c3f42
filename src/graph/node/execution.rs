//! How a node's body is run: retry, timeouts, cache.

use std::time::Duration;

use superstep_base::Fnv;

use super::retry::RetryPolicy;

/// The time for which a node's result may be taken from the cache instead of running it. LangGraph: `CachePolicy`.
///
/// The input is the whole state, untracked channels included, or what [`reads`](crate::graph::NodeExt::reads) names, or the payload of a
/// send; if it cannot be serialized, the node runs each time. Neither the run's context nor the captures of a closure are
/// part of it: results of a body that captures anything are shared by clones of one compiled graph only, and are lost with
/// the process, unless it has a [`key`](Self::key).
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct CachePolicy {
    pub(crate) ttl: Option<Duration>,
    pub(crate) key: Option<u64>,
}

impl CachePolicy {
    /// Returns a policy whose results are kept for so long.
    pub fn ttl(ttl: Duration) -> Self {
        Self { ttl: Some(ttl), key: None }
    }

    /// Returns a policy whose results are shared by all bodies of this type with this key, in every build of the graph and,
    /// with a cache on disk, in every process of the program. The key identifies what the body captures; it need not name the
    /// body, as two closures have two types:
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Translate }
    /// fn translate(language: String) -> impl Node<Draft, Step, ()> {
    ///     let policy = CachePolicy::default().key(&language);
    ///     let body = move |draft: Arc<Draft>, _: Ctx| {
    ///         let text = format!("{}: {language}", draft.text);
    ///         async move { Ok::<_, NodeError>(Draft::update().text(text)) }
    ///     };
    ///     body.cache(policy)
    /// }
    /// ```
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        let mut hash = Fnv::new();
        hash.mix(key.as_ref().as_bytes());
        self.key = Some(hash.finish());
        self
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

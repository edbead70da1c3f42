//! How a node's body is run: retry, timeouts, cache; and the defaults of these for all nodes of a graph. Knows no node and no
//! clock.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_base::Fnv;
use superstep_base::backoff::backoff;

use crate::graph::error::{ErrorClass, NodeError};
use crate::graph::records::clock::random;

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
    /// Returns a policy that keeps results for this time.
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

type Predicate = dyn Fn(&NodeError) -> bool + Send + Sync;

/// The number of attempts of a failing node, and the pauses between them. LangGraph: `RetryPolicy`.
///
/// The defaults are LangGraph's: 3 attempts in all, 500 ms before the second, twice as long each time, at most 128 s, plus
/// up to 1 s at random. Without [`when`](Self::when) it applies to every failure that is not permanent. Attempts are
/// counted from zero when a thread resumes; the count is not stored. The time of the next attempt is: a process that resumes
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

    /// Marks every node as replayable: all side effects go through [`Ctx`](crate::graph::Ctx), so that a replay may run the
    /// bodies over recorded results.
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

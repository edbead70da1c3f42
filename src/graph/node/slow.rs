//! Detection of bodies that block their thread, with one warning per node. Knows no superstep.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::command::AnyEnded;
use crate::graph::state::Boxed;

/// Polls longer than this delay other tasks and timeouts.
const LIMIT: Duration = Duration::from_millis(100);

/// The longest poll of a node over the limit, in milliseconds; 0 if there was none.
#[derive(Debug, Default)]
pub(crate) struct Longest(AtomicU64);

impl Longest {
    /// Records a poll over the limit; returns true for the first.
    fn note(&self, took: Duration) -> bool {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(took, Ordering::Relaxed) == 0
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        }
    }
}

pub(crate) struct TimedBody {
    pub body: Boxed<'static, AnyEnded>,
    pub node: Arc<str>,
    pub longest: Arc<Longest>,
}

impl Future for TimedBody {
    type Output = AnyEnded;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let began = Instant::now();
        let polled = self.body.as_mut().poll(cx);
        let took = began.elapsed();
        if took > LIMIT && self.longest.note(took) {
            blocked(&self.node, took);
        }
        polled
    }
}

/// Logs a warning that a body blocked its thread.
pub(crate) fn blocked(node: &str, took: Duration) {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::warn!(
        node,
        millis,
        "a node blocked its thread: other tasks and timeouts waited meanwhile; add it as `blocking(f)`, or await what it waits for"
    );
}

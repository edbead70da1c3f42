//! The events of a run for its readers: numbered from 1 without gaps, kept in this process while the run is live and for a while
//! after. A slow reader never slows a run.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::records::thread::RunFailure;

/// The time for which the events of a run that has ended are kept.
const KEEP: Duration = Duration::from_secs(600);
/// The number of feeds below which none is removed.
const FEW: usize = 1000;
/// The number of events of a run that are kept.
const EVENTS: usize = 100_000;

/// An event with its number.
#[derive(Debug)]
pub(crate) struct FedEvent {
    pub number: u64,
    pub name: Cow<'static, str>,
    pub data: Value,
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct Feed {
    inner: Mutex<Inner>,
    /// Changes with each event, and at the end.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<Arc<FedEvent>>,
    sent: u64,
    ended: Option<Instant>,
    /// The values at the end of a run whose thread is gone by then.
    result: Option<Value>,
    failure: Option<RunFailure>,
}

impl Feed {
    fn new() -> Self {
        Self { inner: Mutex::default(), changed: watch::Sender::new(()) }
    }

    pub(crate) fn send(&self, name: impl Into<Cow<'static, str>>, data: Value) {
        let mut inner = self.lock();
        inner.sent += 1;
        let event = FedEvent { number: inner.sent, name: name.into(), data };
        inner.events.push_back(Arc::new(event));
        if inner.events.len() > EVENTS {
            inner.events.pop_front();
        }
        drop(inner);
        self.changed.send_replace(());
    }

    /// Notes that the run has ended. Its status is stored by then: a reader asks for it as soon as the events end.
    pub(crate) fn end(&self, failure: Option<RunFailure>) {
        let mut inner = self.lock();
        inner.ended.get_or_insert_with(Instant::now);
        inner.failure = failure;
        drop(inner);
        self.changed.send_replace(());
    }

    pub(crate) fn set_result(&self, values: Value) {
        self.lock().result = Some(values);
    }

    /// Returns the values at the end of a run whose thread is gone.
    pub(crate) fn result(&self) -> Option<Value> {
        self.lock().result.clone()
    }

    pub(crate) fn failure(&self) -> Option<RunFailure> {
        self.lock().failure.clone()
    }

    /// Returns the number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        self.lock().sent
    }

    /// Returns the events after a number, and whether more may come.
    fn after(&self, number: u64) -> (Vec<Arc<FedEvent>>, bool) {
        let inner = self.lock();
        let first = inner.events.partition_point(|event| event.number <= number);
        (inner.events.range(first..).cloned().collect(), inner.ended.is_none())
    }

    /// Returns a reader of the events after a number.
    pub(crate) fn read_after(self: &Arc<Self>, number: u64) -> FeedReader {
        FeedReader { feed: Arc::clone(self), changed: self.changed.subscribe(), number }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the events of a run.
#[derive(Debug)]
pub(crate) struct FeedReader {
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    number: u64,
}

impl FeedReader {
    /// Returns the next events; `None` once the run has ended and all were read.
    pub(crate) async fn next(&mut self) -> Option<Vec<Arc<FedEvent>>> {
        loop {
            self.changed.mark_unchanged();
            let (events, is_live) = self.feed.after(self.number);
            if let Some(last) = events.last() {
                self.number = last.number;
                return Some(events);
            }
            if !is_live || self.changed.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// The feeds of a server.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<KeptFeeds>);

#[derive(Debug, Default)]
struct KeptFeeds {
    feeds: HashMap<Uuid, Arc<Feed>>,
    /// The number of feeds at which old ones are removed: not with each request, as that looks at all.
    full: usize,
}

impl Feeds {
    /// Returns the feed of a run, which begins if there is none.
    pub(crate) fn of(&self, run: Uuid) -> Arc<Feed> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.feeds.len() >= kept.full.max(FEW) {
            kept.feeds.retain(|_, feed| feed.lock().ended.is_none_or(|ended| ended.elapsed() < KEEP));
            kept.full = 2 * kept.feeds.len();
        }
        Arc::clone(kept.feeds.entry(run).or_insert_with(|| Arc::new(Feed::new())))
    }
}

//! Filters and pages for lists of threads.

use std::time::SystemTime;

use super::listing::{Listing, ThreadInfo};
use super::status::StatusKind;
use crate::checkpoint::{Checkpointer, ThreadId};
use crate::graph::error::RunError;
use crate::graph::records::clock;

/// A filter for threads: by name, status, graph, metadata and time, a page at a time. Without conditions it matches
/// all.
///
/// ```
/// # use superstep::checkpoint::{Checkpointer, CheckpointError};
/// # use superstep::graph::{RunError, StatusKind, ThreadFilter};
/// # async fn example(store: &dyn Checkpointer) -> Result<(), RunError> {
/// let failed = ThreadFilter::new().prefix("order-").status(StatusKind::Failed).limit(50);
/// let mut page = failed.page(store).await?;
/// loop {
///     page.threads.iter().for_each(|thread| println!("{} {}", thread.id, thread.step));
///     let Some(next) = page.next else { break };
///     page = failed.clone().after(next).page(store).await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a filter reads nothing until `page` is called"]
pub struct ThreadFilter {
    prefix: String,
    status: Option<StatusKind>,
    graph: Option<String>,
    metadata: Vec<(String, String)>,
    since: Option<u64>,
    before: Option<u64>,
    after: Option<ThreadId>,
    limit: Option<usize>,
    now: Option<SystemTime>,
}

/// A page of threads.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct ThreadPage {
    /// The threads, in byte order of length and name.
    pub threads: Vec<ThreadInfo>,
    /// The last thread of the page, if others may follow: [`ThreadFilter::after`] takes it.
    pub next: Option<ThreadId>,
}

impl ThreadFilter {
    /// Returns a filter that matches every thread.
    pub fn new() -> Self {
        Self::default()
    }

    /// Matches threads whose names start with this prefix.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Matches threads with this status, as their records show it: see [`ThreadInfo::status`].
    pub fn status(mut self, status: StatusKind) -> Self {
        self.status = Some(status);
        self
    }

    /// Matches threads of the graph with this name.
    pub fn graph(mut self, name: impl Into<String>) -> Self {
        self.graph = Some(name.into());
        self
    }

    /// Matches threads whose newest checkpoint has this metadata; several calls must all match.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Matches threads whose newest checkpoint was made at this time or later.
    pub fn updated_since(mut self, time: SystemTime) -> Self {
        self.since = Some(clock::millis(time));
        self
    }

    /// Matches threads whose newest checkpoint was made before this time.
    pub fn updated_before(mut self, time: SystemTime) -> Self {
        self.before = Some(clock::millis(time));
        self
    }

    /// Starts after this thread.
    pub fn after(mut self, thread: ThreadId) -> Self {
        self.after = Some(thread);
        self
    }

    /// Limits a page to this many threads; without a limit there is one page.
    pub fn limit(mut self, threads: usize) -> Self {
        self.limit = Some(threads);
        self
    }

    /// Sets the time that decides whether threads still wait; the system clock unless set.
    pub fn at(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Returns the matching threads of a store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn page(&self, store: &dyn Checkpointer) -> Result<ThreadPage, RunError> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let mut listing = Listing::new(store, self.now.unwrap_or_else(SystemTime::now));
        let mut threads: Vec<ThreadInfo> = vec![];
        let (mut after, mut count) = (self.after.clone(), limit.saturating_add(1));
        loop {
            let ids = store.threads(after.as_ref(), count).await?;
            let is_last = ids.len() < count;
            for id in ids {
                if threads.len() >= limit {
                    return Ok(ThreadPage { next: threads.last().map(|thread| thread.id.clone()), threads });
                }
                if id.as_str().starts_with(&self.prefix) {
                    threads.extend(listing.read(&id).await?.filter(|info| self.fits(info)));
                }
                after = Some(id);
            }
            if is_last {
                return Ok(ThreadPage { threads, next: None });
            }
            count = count.saturating_mul(2); // few of the threads fit
        }
    }

    /// Returns true if the filter matches a thread, whatever the page.
    pub fn fits(&self, info: &ThreadInfo) -> bool {
        info.id.as_str().starts_with(&self.prefix)
            && self.status.is_none_or(|status| status == info.status)
            && self.graph.as_ref().is_none_or(|graph| *graph == info.graph)
            && self.metadata.iter().all(|wanted| info.metadata.contains(wanted))
            && self.since.is_none_or(|since| info.updated_at >= since)
            && self.before.is_none_or(|before| info.updated_at < before)
    }
}

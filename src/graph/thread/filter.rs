//! Filters and pages for lists of threads.

use std::time::SystemTime;

use super::listing::ThreadInfo;
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{Checkpointer, ThreadId, ThreadQuery};
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
    query: ThreadQuery,
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
        self.query.prefix = prefix.into();
        self
    }

    /// Matches threads with this status, as their records show it: see [`ThreadInfo::status`].
    pub fn status(mut self, status: StatusKind) -> Self {
        self.query.statuses = vec![status];
        self
    }

    /// Matches threads of the graph with this name.
    pub fn graph(mut self, name: impl Into<String>) -> Self {
        self.query.graph = Some(name.into());
        self
    }

    /// Matches threads whose newest checkpoint has this metadata; several calls must all match.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.metadata.push((key.into(), value.into()));
        self
    }

    /// Matches threads whose newest checkpoint was made at this time or later.
    pub fn updated_since(mut self, time: SystemTime) -> Self {
        self.query.updated_since = Some(clock::millis(time));
        self
    }

    /// Matches threads whose newest checkpoint was made before this time.
    pub fn updated_before(mut self, time: SystemTime) -> Self {
        self.query.updated_before = Some(clock::millis(time));
        self
    }

    /// Matches only so many of the threads that match otherwise, those whose newest checkpoints are the latest, and those whose are
    /// as late as that of the last one. An embedded store reads no others.
    pub fn newest(mut self, threads: usize) -> Self {
        self.query.newest = Some(threads);
        self
    }

    /// Starts after this thread.
    pub fn after(mut self, thread: ThreadId) -> Self {
        self.query.after = Some(thread);
        self
    }

    /// Limits a page to this many threads; without a limit there is one page.
    pub fn limit(mut self, threads: usize) -> Self {
        self.query.limit = Some(threads);
        self
    }

    /// Sets the time that decides whether threads still wait; the system clock unless set.
    pub fn at(mut self, now: SystemTime) -> Self {
        self.query.at = Some(now);
        self
    }

    /// Returns the matching threads of a store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn page(&self, store: &dyn Checkpointer) -> Result<ThreadPage, RunError> {
        // One more than the page, to see whether others follow.
        let limit = self.query.limit.map(|limit| limit.saturating_add(1));
        let mut threads = ThreadInfo::list(store, &ThreadQuery { limit, ..self.query.clone() }).await?;
        let page = self.query.limit.unwrap_or(usize::MAX);
        let has_more = threads.len() > page;
        threads.truncate(page);
        Ok(ThreadPage { next: threads.last().filter(|_| has_more).map(|thread| thread.id.clone()), threads })
    }

    /// Returns true if the filter matches a thread, whatever the page.
    pub fn fits(&self, info: &ThreadInfo) -> bool {
        info.fits(&self.query)
    }
}

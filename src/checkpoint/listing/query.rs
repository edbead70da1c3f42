//! Conditions of a list of threads, and the list that is made by reading every thread: for stores without an index.

use std::cmp::Ordering;
use std::time::SystemTime;

use superstep_base::time::{millis, now};

use super::reads::ThreadReads;
use super::status_kind::StatusKind;
use super::summary::ListedThread;
use super::summary_reader::SummaryReader;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;

/// Conditions of a list of threads, all of which a thread must meet. Without conditions it is a list of all threads.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ThreadQuery {
    /// The start of the name.
    pub prefix: String,
    /// Statuses, one of which it has; empty: any.
    pub statuses: Vec<StatusKind>,
    /// The name of its graph.
    pub graph: Option<String>,
    /// Metadata of its newest checkpoint.
    pub metadata: Vec<(String, String)>,
    /// Its newest checkpoint was made at this time or later, in milliseconds since 1970.
    pub updated_since: Option<u64>,
    /// Its newest checkpoint was made before this time, in milliseconds since 1970.
    pub updated_before: Option<u64>,
    /// The number of threads with the latest checkpoints among those that meet the conditions: others are left out, but for those
    /// whose newest checkpoint is as late as that of the last one.
    pub newest: Option<usize>,
    /// Starts after this thread.
    pub after: Option<ThreadId>,
    /// The maximum number of threads.
    pub limit: Option<usize>,
    /// The time that decides whether a thread still waits; the store's clock unless set.
    pub at: Option<SystemTime>,
}

/// The part of a thread that conditions look at.
pub(crate) struct ListedFields<'a> {
    pub(crate) id: &'a ThreadId,
    pub(crate) status: StatusKind,
    pub(crate) graph: &'a str,
    pub(crate) metadata: &'a [(String, String)],
    pub(crate) updated_at: u64,
}

impl ThreadQuery {
    /// Returns true if a thread meets the conditions, whatever the page.
    pub fn fits(&self, thread: &ListedThread) -> bool {
        let ListedThread { id, status, graph, metadata, updated_at, .. } = thread;
        self.fits_listed(&ListedFields { id, status: *status, graph, metadata, updated_at: *updated_at })
    }

    pub(crate) fn fits_listed(&self, thread: &ListedFields<'_>) -> bool {
        thread.id.as_str().starts_with(&self.prefix)
            && (self.statuses.is_empty() || self.statuses.contains(&thread.status))
            && self.graph.as_ref().is_none_or(|graph| graph == thread.graph)
            && self.metadata.iter().all(|pair| thread.metadata.contains(pair))
            && self.updated_since.is_none_or(|since| thread.updated_at >= since)
            && self.updated_before.is_none_or(|before| thread.updated_at < before)
    }

    /// Drops the threads that are not among the [`newest`](Self::newest).
    pub fn keep_newest(&self, threads: &mut Vec<ListedThread>) {
        let Some(newest) = self.newest.filter(|newest| *newest < threads.len()) else { return };
        let mut times: Vec<u64> = threads.iter().map(|thread| thread.updated_at).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        match newest.checked_sub(1).and_then(|last| times.get(last)) {
            Some(oldest) => threads.retain(|thread| thread.updated_at >= *oldest),
            None => threads.clear(),
        }
    }

    /// Returns true if a name has the prefix and is on the page.
    pub(crate) fn fits_name(&self, name: &ThreadId) -> bool {
        let is_after = self.after.as_ref().is_none_or(|after| list_order(after, name) == Ordering::Less);
        is_after && name.as_str().starts_with(&self.prefix)
    }

    /// Returns the maximum number of threads.
    pub(crate) fn page(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns the number of threads after which a search in the order of names ends.
    pub(crate) fn searched(&self) -> usize {
        if self.newest.is_some() { usize::MAX } else { self.page() }
    }

    /// Returns the time that decides whether a thread still waits, in milliseconds since 1970.
    pub(crate) fn time(&self) -> u64 {
        self.at.map_or_else(now, millis)
    }
}

/// Compares names in the order of a list: by length, then by bytes.
pub(crate) fn list_order(a: &ThreadId, b: &ThreadId) -> Ordering {
    let key = |name: &ThreadId| name.as_str().len();
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// The number of names that are read first.
const NAMES: usize = 64;

/// Makes a list by reading every thread up to the last one of the page.
pub(crate) async fn list_by_reading(
    reads: &dyn ThreadReads,
    query: &ThreadQuery,
) -> Result<Vec<ListedThread>, CheckpointError> {
    let (limit, now, mut found) = (query.searched(), query.time(), vec![]);
    let mut reader = SummaryReader::new(reads);
    let (mut after, mut count) = (query.after.clone(), limit.max(NAMES));
    loop {
        let names = reads.read_names(after.as_ref(), count).await?;
        let is_last = names.len() < count;
        after = names.last().cloned();
        for name in names.iter().filter(|name| name.as_str().starts_with(&query.prefix)) {
            if found.len() >= limit {
                return Ok(found);
            }
            found.extend(reader.read(name, now).await?.filter(|thread| query.fits(thread)));
        }
        if is_last {
            query.keep_newest(&mut found);
            found.truncate(query.page());
            return Ok(found);
        }
        count = count.saturating_mul(2); // few of the threads fit
    }
}

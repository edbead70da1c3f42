//! Threads that expire: deleted a while after they finished. Knows lists of threads, and no records.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use superstep_base::time::millis;

use super::listing::status_kind::StatusKind;
use super::spending::delete_thread;
use super::{CheckpointError, Checkpointer, Claim, ListedThread, ThreadId, ThreadQuery};

/// The number of threads that are looked at in one list.
const PAGE: usize = 256;

/// Ages at which finished threads are deleted. Without one, no thread is.
///
/// ```
/// # use std::time::Duration;
/// # use superstep::checkpoint::{Expiry, MemoryCheckpointer, expire_threads};
/// # async fn example(store: MemoryCheckpointer) -> Result<(), superstep::checkpoint::CheckpointError> {
/// let day = Duration::from_secs(86_400);
/// let expiry = Expiry::new().finished(30 * day).finished_of("chat", 7 * day);
/// println!("{}", expire_threads(&store, &expiry).await?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Expiry {
    finished: Option<Duration>,
    finished_of: BTreeMap<String, Duration>,
    at: Option<SystemTime>,
}

impl Expiry {
    /// Returns rules by which no thread expires.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the age of finished threads, from their newest checkpoint.
    pub fn finished(self, age: Duration) -> Self {
        Self { finished: Some(age), ..self }
    }

    /// Sets the age of finished threads of a graph.
    pub fn finished_of(mut self, graph: impl Into<String>, age: Duration) -> Self {
        self.finished_of.insert(graph.into(), age);
        self
    }

    /// Sets the time from which ages are counted back; the clock of the store or the machine unless set.
    pub fn at(self, now: SystemTime) -> Self {
        Self { at: Some(now), ..self }
    }

    /// Returns whether no thread expires.
    pub fn is_empty(&self) -> bool {
        self.finished.is_none() && self.finished_of.is_empty()
    }

    /// Returns the latest update, in milliseconds since 1970, of threads that have reached an age.
    fn limit(&self, age: Duration) -> u64 {
        let now = millis(self.at.unwrap_or_else(SystemTime::now));
        now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns lists in which all threads are that have expired.
    fn candidates(&self) -> Vec<ThreadQuery> {
        let list = |graph: Option<&String>, age: Duration| ThreadQuery {
            statuses: vec![StatusKind::Finished],
            graph: graph.cloned(),
            updated_before: Some(self.limit(age)),
            limit: Some(PAGE),
            ..ThreadQuery::default()
        };
        let of_graphs = self.finished_of.iter().map(|(graph, age)| list(Some(graph), *age));
        of_graphs.chain(self.finished.map(|age| list(None, age))).collect()
    }

    /// Returns whether a thread has expired: the rule of its graph comes first.
    fn is_expired(&self, thread: &ListedThread) -> bool {
        let age = self.finished_of.get(&thread.graph).copied().or(self.finished);
        thread.status == StatusKind::Finished && age.is_some_and(|age| thread.updated_at < self.limit(age))
    }
}

/// The outcome of an expiry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpiryReport {
    /// The deleted threads.
    pub deleted: Vec<ThreadId>,
}

impl fmt::Display for ExpiryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads expired", self.deleted.len())
    }
}

/// Deletes the threads that have expired. One that a run holds, or that was changed meanwhile, stays.
///
/// # Errors
/// If the store cannot be read or written.
pub async fn expire_threads(store: &dyn Checkpointer, expiry: &Expiry) -> Result<ExpiryReport, CheckpointError> {
    let mut report = ExpiryReport::default();
    let expiry = &Expiry { at: expiry.at.or_else(|| store.time()), ..expiry.clone() };
    for mut query in expiry.candidates() {
        loop {
            let page = store.list(&query).await?;
            for thread in page.iter().filter(|thread| expiry.is_expired(thread)) {
                if delete_unchanged(store, thread).await? {
                    report.deleted.push(thread.id.clone());
                }
            }
            let Some(last) = page.last().filter(|_| page.len() >= PAGE) else { break };
            query.after = Some(last.id.clone());
        }
    }
    Ok(report)
}

/// Deletes a thread unless it is claimed, gone, or not as it was listed; returns whether it was deleted.
async fn delete_unchanged(store: &dyn Checkpointer, thread: &ListedThread) -> Result<bool, CheckpointError> {
    let lease = match store.claim(&thread.id, Claim::IfFree).await {
        Err(CheckpointError::ThreadBusy { .. }) => return Ok(false),
        claimed => claimed?,
    };
    let head = store.head(&thread.id).await?;
    let is_unchanged = head.is_some_and(|head| head.checkpoint == thread.checkpoint);
    if is_unchanged {
        delete_thread(store, &lease).await?;
    }
    lease.release().await?;
    Ok(is_unchanged)
}

//! The outcome of a runner, for people and programs, and the ledger that it keeps: threads that are running, and those given
//! up because they make no progress. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::Instant;

use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{CheckpointId, ListedThread, Progress, ThreadId, note_version};
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::json::time_text;
use crate::graph::thread::Status;

/// A question asked in a turn of the runner.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunnerQuestion {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its graph.
    pub graph: String,
    /// The question.
    pub question: Question,
}

/// The end of a turn of the runner.
#[derive(Clone, Debug, Serialize)]
pub struct RunnerStop {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its graph.
    pub graph: String,
    /// Its status after the turn.
    #[serde(flatten)]
    pub status: Status,
    /// The error that the turn ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Set if this run alone was cancelled: the thread is not resumed again.
    #[serde(skip)]
    pub(crate) is_cancelled: bool,
}

/// The report of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunnerReport {
    /// The number of times that a thread was resumed.
    pub turns: u64,
    /// The number of turns that ended with each status.
    pub ended: BTreeMap<StatusKind, u64>,
    /// The number of turns that ended with an error, and of calls of hooks that panicked.
    pub errors: u64,
    /// Threads given up after [`Runner::max_resumes`](crate::graph::Runner::max_resumes) resumes without progress.
    pub given_up: Vec<ThreadId>,
    /// Graphs that the runner does not have, or only in an older version, and whose threads it left to others, each with the
    /// newest version that stored one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown_graphs: BTreeMap<String, u32>,
    /// The time when the next sleeping thread can be resumed.
    #[serde(serialize_with = "rfc3339")]
    pub wake: Option<SystemTime>,
}

impl RunnerReport {
    /// Counts the end of a turn.
    pub fn count(&mut self, stop: &RunnerStop) {
        *self.ended.entry(stop.status.kind()).or_default() += 1;
        self.errors += u64::from(stop.error.is_some());
    }
}

fn rfc3339<W: serde::Serializer>(wake: &Option<SystemTime>, out: W) -> Result<W::Ok, W::Error> {
    wake.map(time_text).serialize(out)
}

/// The position of a thread as listed; it changes when the thread makes progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadMark {
    checkpoint: Option<CheckpointId>,
    status: StatusKind,
    progress: Progress,
    requested_at: Option<u64>,
}

impl From<&ListedThread> for ThreadMark {
    fn from(thread: &ListedThread) -> Self {
        let ListedThread { checkpoint, status, progress, requested_at, .. } = *thread;
        Self { checkpoint, status, progress, requested_at }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ThreadLedger {
    running: HashSet<ThreadId>,
    /// Number of resumes of a thread at this position.
    tries: HashMap<ThreadId, (ThreadMark, u32)>,
    left: HashMap<ThreadId, ThreadMark>,
    cancelled: HashSet<ThreadId>,
    given_up: BTreeSet<ThreadId>,
    /// Stores of which every thread was judged that was left before.
    looked_through: HashSet<usize>,
    unknown: BTreeMap<String, u32>,
    /// The last time at which graphs that the runner does not have were looked for in a store.
    looked_for_others: HashMap<usize, Instant>,
}

impl ThreadLedger {
    /// Returns the threads whose turns have not ended.
    pub(super) fn running(&self) -> &HashSet<ThreadId> {
        &self.running
    }

    /// Returns true if a thread is not resumed at this position: it was left, or it is given up as it has reached the limit of
    /// resumes.
    pub(super) fn rejects(&mut self, thread: &ThreadId, mark: &ThreadMark, resumes: u32) -> bool {
        self.is_left(thread, mark) || self.gives_up(thread, mark, resumes)
    }

    /// Gives a thread up if it reached the limit of resumes at this position.
    fn gives_up(&mut self, thread: &ThreadId, mark: &ThreadMark, resumes: u32) -> bool {
        let is_stuck = self.tries.get(thread).is_some_and(|(known, times)| known == mark && *times >= resumes);
        if is_stuck {
            self.given_up.insert(thread.clone());
        } else {
            self.given_up.remove(thread);
        }
        is_stuck
    }

    /// Returns true until every thread of a store was judged that was left before the runner.
    pub(super) fn judges_left(&self, store: usize) -> bool {
        !self.looked_through.contains(&store)
    }

    pub(super) fn note_all_judged(&mut self, store: usize) {
        self.looked_through.insert(store);
    }

    /// Returns true if graphs that the runner does not have are to be looked for in a store: once in an interval.
    pub(super) fn looks_for_others(&mut self, store: usize, interval: Duration) -> bool {
        let now = Instant::now();
        let is_time = self.looked_for_others.get(&store).is_none_or(|last| now >= *last + interval);
        if is_time {
            self.looked_for_others.insert(store, now);
        }
        is_time
    }

    /// Notes a graph whose threads are left to others, and returns true for the first time.
    pub(super) fn note_unknown(&mut self, graph: &str, version: u32) -> bool {
        let is_new = !self.unknown.contains_key(graph);
        note_version(&mut self.unknown, graph, version);
        is_new
    }

    /// Returns the graphs whose threads were left to others.
    pub(super) fn unknown_graphs(&self) -> BTreeMap<String, u32> {
        self.unknown.clone()
    }

    /// Returns the threads that were given up.
    pub(super) fn given_up(&self) -> Vec<ThreadId> {
        self.given_up.iter().cloned().collect()
    }

    pub(super) fn begin(&mut self, thread: &ThreadId, mark: ThreadMark) {
        self.running.insert(thread.clone());
        match self.tries.get_mut(thread) {
            Some((known, times)) if *known == mark => *times += 1,
            _ => _ = self.tries.insert(thread.clone(), (mark, 1)),
        }
    }

    pub(super) fn end(&mut self, thread: &ThreadId) {
        self.running.remove(thread);
    }

    /// Records that its graph does not resume the thread at this position.
    pub(super) fn leave(&mut self, thread: ThreadId, mark: ThreadMark) {
        self.left.insert(thread, mark);
    }

    /// Returns true if its graph does not resume the thread at this position, or it was cancelled.
    fn is_left(&self, thread: &ThreadId, mark: &ThreadMark) -> bool {
        self.cancelled.contains(thread) || self.left.get(thread) == Some(mark)
    }

    pub(super) fn cancel(&mut self, thread: ThreadId) {
        self.cancelled.insert(thread);
    }
}

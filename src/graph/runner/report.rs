//! The outcome of a runner, for people and programs, and the ledger that it keeps: threads that are running, and those given
//! up because they make no progress. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

use serde::Serialize;

use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{CheckpointId, Progress, ThreadId};
use crate::graph::error::RunError;
use crate::graph::interrupt::{InterruptId, Question};
use crate::graph::json::time_text;
use crate::graph::thread::{Status, ThreadInfo};

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
    /// The time when the next sleeping thread can be resumed.
    #[serde(serialize_with = "rfc3339")]
    pub wake: Option<SystemTime>,
}

fn rfc3339<W: serde::Serializer>(wake: &Option<SystemTime>, out: W) -> Result<W::Ok, W::Error> {
    wake.map(time_text).serialize(out)
}

/// The position of a thread as listed; it changes when the thread makes progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadMark {
    checkpoint: Option<CheckpointId>,
    status: StatusKind,
    questions: Vec<InterruptId>,
    progress: Progress,
}

impl From<&ThreadInfo> for ThreadMark {
    fn from(info: &ThreadInfo) -> Self {
        let questions = info.questions.iter().map(|question| question.id()).collect();
        Self { checkpoint: info.checkpoint, status: info.status, questions, progress: info.progress }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ThreadLedger {
    running: HashSet<ThreadId>,
    /// Number of resumes of a thread at this position.
    tries: HashMap<ThreadId, (ThreadMark, u32)>,
    left: HashMap<ThreadId, ThreadMark>,
    cancelled: HashSet<ThreadId>,
}

impl ThreadLedger {
    pub(super) fn is_running(&self, thread: &ThreadId) -> bool {
        self.running.contains(thread)
    }

    /// Returns true if the thread reached the limit of resumes at this position.
    pub(super) fn has_given_up(&self, thread: &ThreadId, mark: &ThreadMark, resumes: u32) -> bool {
        self.tries.get(thread).is_some_and(|(known, times)| known == mark && *times >= resumes)
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
    pub(super) fn is_left(&self, thread: &ThreadId, mark: &ThreadMark) -> bool {
        self.cancelled.contains(thread) || self.left.get(thread) == Some(mark)
    }

    pub(super) fn cancel(&mut self, thread: ThreadId) {
        self.cancelled.insert(thread);
    }
}

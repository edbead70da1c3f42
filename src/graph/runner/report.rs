//! The outcome of a runner, for people and programs.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use crate::checkpoint::ThreadId;
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::shape::fields::time;
use crate::graph::thread::{Status, StatusKind};

/// A question asked in a turn of the runner.
#[derive(Clone, Debug, Serialize)]
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
    wake.map(time).serialize(out)
}

//! The outcome of a runner, as people and programs read it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use crate::checkpoint::ThreadId;
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::shape::fields::time;
use crate::graph::thread::{Standing, Status};

/// A question that a turn of the runner led to.
#[derive(Clone, Debug, Serialize)]
pub struct RunnerQuestion {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its graph.
    pub graph: String,
    /// The question.
    pub question: Question,
}

/// What a turn of the runner ended with.
#[derive(Clone, Debug, Serialize)]
pub struct RunnerStop {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its graph.
    pub graph: String,
    /// The status it has now.
    #[serde(flatten)]
    pub status: Status,
    /// The error that the turn ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Whether somebody cancelled this run alone: the thread is left alone then.
    #[serde(skip)]
    pub(crate) is_cancelled: bool,
}

/// What a runner did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunnerReport {
    /// The number of times that a thread was resumed.
    pub turns: u64,
    /// The number of turns that ended with each status.
    pub ended: BTreeMap<Standing, u64>,
    /// The number of turns that ended with an error, and of calls of hooks that panicked.
    pub errors: u64,
    /// Threads that were resumed as often as [`Runner::max_resumes`](crate::graph::Runner::max_resumes) allows without getting further, and are left alone.
    pub given_up: Vec<ThreadId>,
    /// When the next thread that sleeps can be resumed.
    #[serde(serialize_with = "rfc3339")]
    pub wake: Option<SystemTime>,
}

fn rfc3339<W: serde::Serializer>(wake: &Option<SystemTime>, out: W) -> Result<W::Ok, W::Error> {
    wake.map(time).serialize(out)
}

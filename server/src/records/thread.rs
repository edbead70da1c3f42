//! A thread as the server knows it beside its checkpoints: its metadata, and the runs that wait for it in their order.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::graph::ThreadInfo;
use uuid::Uuid;

use super::items::{Record, key_part};

/// Record of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadRecord {
    pub thread: String,
    /// The graph of its runs, from the first one on.
    pub graph: Option<String>,
    pub metadata: Map<String, Value>,
    /// In milliseconds since 1970, as all times of records.
    pub created_at: u64,
    pub updated_at: u64,
    /// The runs that have not ended, in the order in which they are executed.
    pub queue: Vec<Uuid>,
    /// The answers of these runs.
    #[serde(default)]
    pub answers: Vec<PendingAnswer>,
    /// The end of the last run, if it did not succeed.
    pub error: Option<RunFailure>,
    /// Deleted with its only run.
    pub is_temporary: bool,
}

/// An answer of a run that has not ended: another one to the same question is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingAnswer {
    pub run: Uuid,
    pub question: String,
    /// Set if the question takes answers of several people.
    pub is_vote: bool,
    pub by: Option<String>,
}

impl PendingAnswer {
    /// Returns whether both cannot be taken.
    fn excludes(&self, other: &Self) -> bool {
        self.question == other.question && (!self.is_vote || self.by == other.by)
    }
}

/// The failure of a run: the kind of error, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFailure {
    pub error: String,
    pub message: String,
}

impl Record for ThreadRecord {
    const NAMESPACE: &'static str = "superstep.server.threads";

    fn key(&self) -> String {
        Self::key_of(&self.thread)
    }
}

impl ThreadRecord {
    pub(crate) fn key_of(thread: &str) -> String {
        key_part(thread)
    }

    pub(crate) fn new(thread: impl Into<String>, now: u64) -> Self {
        Self {
            thread: thread.into(),
            graph: None,
            metadata: Map::new(),
            created_at: now,
            updated_at: now,
            queue: vec![],
            answers: vec![],
            error: None,
            is_temporary: false,
        }
    }

    /// Returns the record of a thread that another program made.
    pub(crate) fn of(info: &ThreadInfo) -> Self {
        let metadata = [("graph_id".to_owned(), Value::from(info.graph.as_str()))];
        Self {
            graph: Some(info.graph.clone()),
            metadata: metadata.into_iter().collect(),
            updated_at: info.updated_at,
            ..Self::new(info.id.as_str(), info.created_at)
        }
    }

    /// Returns whether a run that has not ended has an answer which excludes another one.
    pub(crate) fn takes_no(&self, answer: &PendingAnswer) -> bool {
        self.answers.iter().any(|pending| pending.excludes(answer))
    }

    /// Takes a run off the queue.
    pub(crate) fn remove_run(&mut self, run: Uuid) {
        self.queue.retain(|queued| *queued != run);
        self.answers.retain(|answer| answer.run != run);
    }

    /// Adds metadata; a new value of a key is in the place of the old one.
    pub(crate) fn add_metadata(&mut self, metadata: Map<String, Value>, now: u64) {
        self.metadata.extend(metadata);
        self.updated_at = now;
    }
}

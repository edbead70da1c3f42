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
    /// The end of the last run, if it did not succeed.
    pub error: Option<RunFailure>,
    /// Deleted with its only run.
    pub is_temporary: bool,
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

    /// Adds metadata; a new value of a key is in the place of the old one.
    pub(crate) fn add_metadata(&mut self, metadata: Map<String, Value>, now: u64) {
        self.metadata.extend(metadata);
        self.updated_at = now;
    }
}

//! [`ThreadService`]: the interface between commands and threads. Requests and replies are plain data, so that a
//! service may be in this process or behind a socket.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::graph::Reply;

use super::failure::Call;

/// A request to the process that holds the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum ThreadRequest {
    /// Returns a list of [`ThreadLine`](super::shapes::ThreadLine).
    Threads(ThreadsQuery),
    /// Returns a [`ThreadReport`](super::shapes::ThreadReport).
    Status { thread: String },
    /// Returns a list of [`HistoryStep`](super::shapes::HistoryStep), newest first.
    History { thread: String, channel: Option<String>, limit: Option<usize>, tasks: bool },
    /// Returns a [`CheckpointReport`](super::shapes::CheckpointReport).
    Show { thread: String, at: Option<u64>, task: Option<String> },
    /// Returns a list of events, oldest first.
    Events { thread: String },
    /// Streams the recorded events, then those of the active run.
    Follow { thread: String },
    /// The events of a running thread so far and from now on, with times; nothing if it does not run.
    Watch { thread: String },
    /// Returns a [`Draft`](super::shapes::Draft).
    Draft { thread: String, interrupt: Option<String> },
    /// Stores an answer and runs nothing. Returns a [`ThreadReport`](super::shapes::ThreadReport).
    Answer(AnswerRequest),
    /// Sends a signal. Returns a [`SignalReport`](super::shapes::SignalReport).
    Signal(SignalInput),
    /// Removes a signal that no task has received. Returns a [`ThreadReport`](super::shapes::ThreadReport).
    Discard { thread: String, signal: String },
    /// Cancels a run. Returns a [`ThreadReport`](super::shapes::ThreadReport).
    Cancel { thread: String },
}

/// The filter of a list of threads, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThreadsQuery {
    pub status: Option<String>,
    /// Only threads with pending questions.
    pub waiting: bool,
    pub prefix: String,
    pub graph: Option<String>,
    pub metadata: Vec<(String, String)>,
    /// In milliseconds since 1970.
    pub since: Option<u64>,
    /// In milliseconds since 1970.
    pub before: Option<u64>,
    pub limit: Option<usize>,
    /// Last thread of the previous page.
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnswerRequest {
    pub thread: String,
    pub says: AnswerInput,
    /// Id of the question.
    pub interrupt: Option<String>,
    pub by: Option<String>,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SignalInput {
    pub thread: String,
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub note: Option<String>,
    /// Idempotency key of the sender.
    #[serde(default)]
    pub key: Option<String>,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerInput {
    Json(Value),
    Reply(Reply),
    /// Cancels the question.
    Cancel,
    /// Text edited with `edit`.
    Edited(String),
}

/// The listener of events; returns true if it wants more.
pub(crate) type EventSink<'a> = &'a mut (dyn FnMut(Value) -> bool + Send);

/// Access to the threads of a store, held by this process or another one.
pub(crate) trait ThreadService: Send + Sync {
    /// Returns the reply as JSON; each [`ThreadRequest`] names its shape.
    fn call(&self, request: ThreadRequest) -> Call<'_, Value>;

    /// Streams the events of [`ThreadRequest::Follow`] or [`ThreadRequest::Watch`] while a process runs the thread.
    fn follow<'a>(&'a self, request: ThreadRequest, sink: EventSink<'a>) -> Call<'a, ()>;

    /// Returns true if the other process ended without a reply.
    fn is_disconnected(&self) -> bool {
        false
    }
}

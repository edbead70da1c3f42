//! The seam between commands and the threads they are about: questions and replies as plain data, so that a desk may be in
//! this process or behind a socket.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::erased::Call;

/// A request to the process that holds the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Ask {
    /// A list of [`ThreadLine`](super::shapes::ThreadLine).
    Threads(ThreadsAsk),
    /// A [`Stand`](super::shapes::Stand).
    Status { thread: String },
    /// A list of [`Step`](super::shapes::Step), newest first.
    History { thread: String, channel: Option<String>, limit: Option<usize>, tasks: bool },
    /// A [`Shown`](super::shapes::Shown).
    Show { thread: String, at: Option<u64>, task: Option<String> },
    /// A list of events, oldest first.
    Events { thread: String },
    /// The same, and what happens from now on while the thread runs: events, one after the other.
    Follow { thread: String },
    /// The events of a running thread so far and from now on, with times; nothing if it does not run.
    Watch { thread: String },
    /// A [`Draft`](super::shapes::Draft).
    Draft { thread: String, interrupt: Option<String> },
    /// Stores an answer and runs nothing; a [`Stand`](super::shapes::Stand).
    Answer(AnswerAsk),
    /// Sends a signal; a [`Sent`](super::shapes::Sent).
    Signal(SignalAsk),
    /// Removes a signal that no task has received; a [`Stand`](super::shapes::Stand).
    Discard { thread: String, signal: String },
    /// Cancels a run; a [`Stand`](super::shapes::Stand).
    Cancel { thread: String },
}

/// The filter of a list of threads, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThreadsAsk {
    pub status: Option<String>,
    /// Only those with pending questions.
    pub waiting: bool,
    pub prefix: String,
    pub graph: Option<String>,
    pub metadata: Vec<(String, String)>,
    /// In milliseconds since 1970.
    pub since: Option<u64>,
    /// In milliseconds since 1970.
    pub before: Option<u64>,
    pub limit: Option<usize>,
    /// The last thread of the page before.
    pub after: Option<String>,
}

/// An answer on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnswerAsk {
    pub thread: String,
    pub says: Saying,
    /// The question's id.
    pub interrupt: Option<String>,
    pub by: Option<String>,
    pub note: Option<String>,
}

/// A signal on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SignalAsk {
    pub thread: String,
    pub name: String,
    pub value: Value,
    pub by: Option<String>,
    pub note: Option<String>,
    /// The sender's key.
    #[serde(default)]
    pub key: Option<String>,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Saying {
    Json(Value),
    Approve,
    Reject(Option<String>),
    Revise(String),
    /// None: the question is cancelled.
    Cancel,
    /// A text that `edit` has changed.
    Edited(String),
}

/// The listener of events; returns true if it wants more.
pub(crate) type Tell<'a> = &'a mut (dyn FnMut(Value) -> bool + Send);

/// Whoever holds the store: this process, or another one.
pub(crate) trait Desk: Send + Sync {
    /// Returns the reply as JSON; its shape is named at each [`Ask`].
    fn ask(&self, ask: Ask) -> Call<'_, Value>;

    /// Tells the events that [`Ask::Follow`] or [`Ask::Watch`] asks for, for as long as a process runs the thread.
    fn follow<'a>(&'a self, ask: Ask, tell: Tell<'a>) -> Call<'a, ()>;

    /// Returns whether whoever was asked ended without a reply.
    fn has_left(&self) -> bool {
        false
    }
}

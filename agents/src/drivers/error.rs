//! How a turn fails, and what kind of failure it is: whether to try again, to wait, to ask otherwise or to give up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What kind of failure ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// It may work if it is tried again: a lost connection, a server error.
    Transient,
    /// It works later.
    RateLimited,
    /// The answer cannot be used: not the protocol, not the schema. Asking the same again is no use.
    Content,
    /// The key is missing or refused.
    Auth,
    /// A limit was reached: time, tokens, cost.
    Budget,
    /// The session is not known any more.
    SessionLost,
    /// It was cancelled.
    Cancelled,
    /// It cannot work: no such program, no such model.
    Fatal,
}

/// Words by which servers say that they refuse what a session holds, in lower case.
const REFUSALS: [&str; 17] = [
    "prompt is too long",
    "input is too long",
    "request too large",
    "context_length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "too many tokens",
    "max_tokens_exceeded",
    "content_filter",
    "content filter",
    "content management policy",
    "content_policy",
    "content policy",
    "usage policy",
    "invalid_prompt",
];

/// Whether a server's words say that it refuses what a session holds.
pub(super) fn tells_refusal(words: &str) -> bool {
    let lower = words.to_lowercase();
    REFUSALS.iter().any(|known| lower.contains(known))
}

/// A turn that did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct DriverError {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// What happened, where: for people. Holds no keys.
    pub message: String,
    /// What to do about it; empty if it is not known.
    #[serde(default)]
    pub help: String,
    /// How long to wait, if the server said.
    #[serde(default)]
    pub retry_after: Option<Duration>,
    /// What the agent had said until then, cut where it is long.
    #[serde(default)]
    pub transcript: String,
    /// Whether the service is out: it could not be reached, or failed, as often as [`Retry`](super::Retry) tries.
    #[serde(default)]
    pub outage: bool,
    /// Whether the server refuses the session itself: what it holds is too long, or stopped by a filter, or taken for broken.
    /// Another request in the same session is refused too.
    #[serde(default)]
    pub refusal: bool,
}

impl DriverError {
    /// Returns a failure of a kind.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            help: String::new(),
            retry_after: None,
            transcript: String::new(),
            outage: false,
            refusal: false,
        }
    }

    /// Returns the failure of a turn whose events ended without a result.
    pub fn unfinished(transcript: impl Into<String>) -> Self {
        Self::new(ErrorClass::Transient, "the agent ended without a result").transcript(transcript)
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Says how long to wait.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// Adds what the agent had said until then.
    #[must_use]
    pub fn transcript(self, transcript: impl Into<String>) -> Self {
        Self { transcript: transcript.into(), ..self }
    }
}

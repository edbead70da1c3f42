//! Errors of a turn, with a class by which the caller decides to retry, wait, change the request or give up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverErrorClass {
    /// A retry may succeed: a lost connection, a server error.
    Transient,
    /// It will work later.
    RateLimited,
    /// The answer is unusable: wrong protocol or schema. Repeating the request does not help.
    Content,
    /// The key is missing or refused.
    Auth,
    /// A limit was reached: time, tokens, cost.
    Budget,
    /// The session no longer exists.
    SessionLost,
    /// It was cancelled.
    Cancelled,
    /// It cannot work: missing program, unknown model.
    Fatal,
}

/// Phrases by which servers reject the content of a session, in lower case.
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

/// Returns whether a server's message rejects the content of a session.
pub(super) fn tells_refusal(words: &str) -> bool {
    let lower = words.to_lowercase();
    REFUSALS.iter().any(|known| lower.contains(known))
}

/// A failed turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct DriverError {
    /// Class of the failure.
    pub class: DriverErrorClass,
    /// Description for people, with the place. Contains no keys.
    pub message: String,
    /// Hint for the user; empty if there is none.
    #[serde(default)]
    pub help: String,
    /// Time to wait, if the server reported one.
    #[serde(default)]
    pub retry_after: Option<Duration>,
    /// Output of the agent so far, truncated.
    #[serde(default)]
    pub transcript: String,
    /// Set for an outage: the service could not be reached, or failed, on every attempt of [`Retry`](super::Retry).
    #[serde(default)]
    pub outage: bool,
    /// Set if the server rejects the session itself: its content is too long, filtered, or considered invalid. Another
    /// request in the same session would be rejected too.
    #[serde(default)]
    pub refusal: bool,
}

impl DriverError {
    /// Returns a failure of this class.
    pub fn new(class: DriverErrorClass, message: impl Into<String>) -> Self {
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

    /// Returns the error of a turn whose events ended without a result.
    pub fn no_result(transcript: impl Into<String>) -> Self {
        Self::new(DriverErrorClass::Transient, "the agent ended without a result").transcript(transcript)
    }

    /// Returns whether the same request may succeed later: the condition of a retry policy.
    pub fn is_temporary(&self) -> bool {
        matches!(self.class, DriverErrorClass::Transient | DriverErrorClass::RateLimited)
    }

    /// Sets the hint.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Sets the time to wait.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// Sets the output of the agent so far.
    #[must_use]
    pub fn transcript(self, transcript: impl Into<String>) -> Self {
        Self { transcript: transcript.into(), ..self }
    }
}

//! The error of a question without an answer.

use superstep_base::Printable;

use super::question::Interrupted;
use super::terms::{CloseReason, Closed};

impl Closed {
    pub(crate) fn error(self, question: &str) -> AskError {
        let (question, Self { how, by, note }) = (question.to_owned(), self);
        match how {
            CloseReason::Expired => AskError::Expired { question },
            CloseReason::Cancelled => AskError::Cancelled { question, by, note },
            CloseReason::Disagreed => AskError::Disagreed { question },
        }
    }
}

/// The error of a question that has no answer, yet or ever. Made by [`Ctx::ask`](crate::graph::Ctx::ask).
///
/// Handle the variants you expect and return the others with `?`: [`Interrupted`](Self::Interrupted) is not a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no answer yet: return it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It expired, and has no default.
    #[error("question `{question}` expired without an answer")]
    Expired {
        /// The name of its type.
        question: String,
    },
    /// It was cancelled.
    #[error("question `{question}` was cancelled{}", by.as_ref().map(|by| format!(" by {}", Printable(by))).unwrap_or_default())]
    Cancelled {
        /// The name of its type.
        question: String,
        /// The person who cancelled it.
        by: Option<String>,
        /// The person's note.
        note: Option<String>,
    },
    /// No answer can get the number of approvals it needs any more.
    #[error("those who were asked `{question}` do not agree")]
    Disagreed {
        /// The name of its type.
        question: String,
    },
}

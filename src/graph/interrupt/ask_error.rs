//! The error of a question that has no answer, yet or for good.

use super::question::Interrupted;
use super::terms::{Closed, Closing};

impl Closed {
    /// The error of a node that takes no typed one.
    pub(crate) fn error(self, question: &str) -> AskError {
        let (question, Self { how, by, note }) = (question.to_owned(), self);
        match how {
            Closing::Expired => AskError::Expired { question },
            Closing::Cancelled => AskError::Cancelled { question, by, note },
            Closing::Disagreed => AskError::Disagreed { question },
        }
    }
}

/// A question has no answer, yet or for good. Made by [`Ctx::ask`](crate::graph::Ctx::ask).
///
/// Handle the variants you expect and pass the others on with `?`: [`Interrupted`](Self::Interrupted) is no failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no answer yet: pass it on.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It expired, and has no default.
    #[error("question `{question}` expired without an answer")]
    Expired {
        /// The name of its type.
        question: String,
    },
    /// Somebody cancelled it.
    #[error("question `{question}` was cancelled{}", by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    Cancelled {
        /// The name of its type.
        question: String,
        /// Who cancelled it.
        by: Option<String>,
        /// What they noted.
        note: Option<String>,
    },
    /// No answer can get as many approvals as it needs any more.
    #[error("those who were asked `{question}` do not agree")]
    Disagreed {
        /// The name of its type.
        question: String,
    },
}

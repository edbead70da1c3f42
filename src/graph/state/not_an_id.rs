//! The error of a text that is not an id. Knows no id.

use superstep_base::Printable;

/// A text that is not an id of the expected kind: a question, or a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the id of a {what}", Printable(text))]
pub struct NotAnId {
    text: String,
    what: &'static str,
}

impl NotAnId {
    /// Keeps the start of the text; it may be of any length.
    pub(crate) fn of(what: &'static str, text: &str) -> Self {
        Self { text: text.chars().take(80).collect(), what }
    }
}

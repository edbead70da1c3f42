//! An answer in a snapshot or an event.

/// An answer to a task's question.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerInfo {
    /// The name of the question's type.
    pub name: String,
    /// The answer as JSON.
    pub value: serde_json::Value,
    /// The person who answered.
    pub by: Option<String>,
    /// The time of the answer, in milliseconds since 1970.
    pub at: u64,
    /// The person's note.
    pub note: Option<String>,
}

//! An answer as a snapshot or an event shows it.

/// An answer that a task has got.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerInfo {
    /// The name of the question's type.
    pub name: String,
    /// The answer as JSON.
    pub value: serde_json::Value,
    /// Who answered.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
    pub note: Option<String>,
}

//! A tool's answer, as the model gets it. Data only.

/// What a tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Whether it did what it was asked.
    pub ok: bool,
    /// The answer, for the model.
    pub text: String,
}

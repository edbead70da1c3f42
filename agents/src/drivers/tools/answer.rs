//! Tool result, as the model gets it. Data only.

/// Result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Set if the call succeeded.
    pub ok: bool,
    /// Text for the model.
    pub text: String,
}

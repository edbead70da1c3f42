//! The result of a command.

use serde::Serialize;
use serde_json::Value;

use crate::app::failure::Failure;
use crate::app::local::json;

/// The output of a command.
pub(crate) struct CommandOutput {
    pub text: String,
    pub json: Value,
    pub code: u8,
}

impl CommandOutput {
    /// All has been said.
    pub(super) fn nothing() -> Self {
        Self { text: String::new(), json: Value::Null, code: 0 }
    }

    pub(super) fn new(text: impl Into<String>, json: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self { text: text.into(), json: self::json(json)?, code: 0 })
    }
}

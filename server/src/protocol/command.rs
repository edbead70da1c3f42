//! The form of commands and of their answers. Knows JSON, and no command.

use serde_json::{Value, json};

use crate::error::ApiError;

/// A command of a client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProtocolCommand {
    pub id: u64,
    pub method: String,
    /// An object.
    pub params: Value,
}

impl ProtocolCommand {
    /// Reads a command.
    ///
    /// # Errors
    /// The answer to what is none.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Value> {
        let refuse = |id: Option<u64>, message: String| Err(CommandError::invalid(message).answer(id));
        let frame: Value = match serde_json::from_slice(bytes) {
            Ok(frame) => frame,
            Err(error) => return refuse(None, format!("the command is no JSON: {error}")),
        };
        let Some(id) = frame["id"].as_u64() else {
            return refuse(None, "a command has an `id`, a whole number from 0".to_owned());
        };
        let Some(method) = frame["method"].as_str() else {
            return refuse(Some(id), "a command has a `method`, a text".to_owned());
        };
        let params = match &frame["params"] {
            Value::Null => json!({}),
            Value::Object(fields) => fields.clone().into(),
            _ => return refuse(Some(id), "`params` must be an object".to_owned()),
        };
        Ok(Self { id, method: method.to_owned(), params })
    }

    /// Returns the command of a caller: answers are recorded under the caller's name, whatever the command says.
    pub(crate) fn of_caller(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.params["by"] = name.into();
        }
        self
    }

    /// Returns the answer to the command.
    pub(crate) fn answer(&self, result: Result<CommandResult, CommandError>) -> Value {
        match result {
            Ok(CommandResult { result, applied_through }) => json!({
                "type": "success", "id": self.id, "result": result,
                "meta": { "applied_through_seq": applied_through },
            }),
            Err(error) => error.answer(Some(self.id)),
        }
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandResult {
    pub result: Value,
    /// The number of the last event before those that the command causes.
    pub applied_through: u64,
}

/// The refusal of a command: a code that clients know, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    pub code: &'static str,
    pub message: String,
}

impl CommandError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_argument", message)
    }

    /// Returns the error on the wire.
    pub(crate) fn answer(&self, id: Option<u64>) -> Value {
        json!({ "type": "error", "id": id, "error": self.code, "message": self.message })
    }
}

impl From<ApiError> for CommandError {
    fn from(error: ApiError) -> Self {
        let code = match error.status.as_u16() {
            401 | 403 => "permission_denied",
            429 => "too_many_requests",
            500.. => "unknown_error",
            _ => "invalid_argument",
        };
        Self::new(code, error.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("{", Value::Null)]
    #[case("[]", Value::Null)]
    #[case(r#"{"id": -1, "method": "run.start"}"#, Value::Null)]
    #[case(r#"{"id": 4}"#, json!(4))]
    #[case(r#"{"id": 4, "method": "run.start", "params": []}"#, json!(4))]
    fn what_is_no_command_is_answered(#[case] text: &str, #[case] id: Value) {
        let answer = ProtocolCommand::parse(text.as_bytes()).unwrap_err();
        assert_eq!(
            (&answer["type"], &answer["error"], &answer["id"]),
            (&json!("error"), &json!("invalid_argument"), &id)
        );
    }

    #[test]
    fn a_command_needs_no_params() {
        let command = ProtocolCommand::parse(br#"{"id": 0, "method": "agent.getTree"}"#).unwrap();
        assert_eq!((command.id, command.params), (0, json!({})));
    }
}

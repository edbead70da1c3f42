//! Messages of a conversation with a model, and the tools it may call. Plain data, to be kept in states.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Instructions to the model.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool; its message is the result of one call.
    Tool,
}

/// Message of a conversation. As JSON: `{"role": "user", "content": "hello"}`.
///
/// A field of a state is a `Vec<Message>` with `#[channel(append)]`; with `#[channel(messages)]` messages can be
/// replaced and removed by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Author.
    pub role: MessageRole,
    /// Text; empty if the model only calls tools.
    #[serde(default)]
    pub content: String,
    /// Calls of tools, each of which needs a [result](Self::result) before the next request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call whose result this is; empty for other messages.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_call_id: String,
    /// Id in the list of a `#[channel(messages)]`, which sets it if it is empty. Not sent to the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
}

impl Message {
    fn new(role: MessageRole, content: impl Into<String>) -> Self {
        let (tool_call_id, id) = (String::new(), String::new());
        Self { role, content: content.into(), tool_calls: vec![], tool_call_id, id }
    }

    /// Returns instructions to the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(MessageRole::System, content)
    }

    /// Returns a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(MessageRole::User, content)
    }

    /// Returns a message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(MessageRole::Assistant, content)
    }

    /// Returns the result of a tool call.
    pub fn result(call: &ToolCall, content: impl Into<String>) -> Self {
        Self { tool_call_id: call.id.clone(), ..Self::new(MessageRole::Tool, content) }
    }
}

/// Tool call of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id, unique within the conversation.
    pub id: String,
    /// Name of the tool. Models may invent tools.
    pub name: String,
    /// Arguments as the model wrote them: JSON, or an attempt at it.
    pub arguments: String,
    /// Further fields of the server, which are sent back unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// Parses the arguments. Give an error to the model as the call's result, so that it can correct them.
    ///
    /// # Errors
    /// If they are not JSON, or not of this type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let arguments = self.arguments.trim();
        serde_json::from_str(if arguments.is_empty() { "{}" } else { arguments })
    }
}

/// Tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Name: `search`.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

impl Tool {
    /// Returns a tool; `schema` is the JSON schema of its arguments, an object.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), schema }
    }
}

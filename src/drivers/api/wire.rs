//! The messages of OpenAI's chat completions, read leniently: servers that speak it differ in everything that is not needed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::drivers::request::SubmitTool;
use crate::drivers::tools::ToolSpec;

/// A message of the assistant, as it is kept and sent back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Assistant {
    role: String,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall>,
}

impl Assistant {
    pub(super) fn new(content: String, tool_calls: Vec<ToolCall>) -> Self {
        let content = (!content.is_empty() || tool_calls.is_empty()).then_some(content);
        Self { role: "assistant".to_owned(), content, tool_calls }
    }
}

/// A call of a tool; what a server adds to it goes back as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) function: Function,
    #[serde(flatten)]
    pub(super) more: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    /// JSON, as the model wrote it; it may be cut or none at all.
    pub(super) arguments: String,
}

pub(super) fn system(text: &str) -> Value {
    json!({ "role": "system", "content": text })
}

pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(super) fn tool_result(id: &str, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

/// The tools of a request.
pub(super) fn offers(tools: &[ToolSpec], submit: Option<&SubmitTool>) -> Vec<Value> {
    let offer = |name: &str, description: &str, schema: &Value| {
        json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": schema },
        })
    };
    let tools = tools.iter().map(|tool| offer(tool.name, tool.description, &tool.schema));
    tools.chain(submit.map(|tool| offer(&tool.name, &tool.description, &tool.schema))).collect()
}

/// The body of a request. The messages come as the JSON they are stored as.
pub(super) fn body(model: &str, messages: &str, tools: &[Value]) -> Vec<u8> {
    let mut rest = json!({ "model": model, "stream": true, "stream_options": { "include_usage": true } });
    if !tools.is_empty() {
        rest["tools"] = tools.into();
    }
    let rest = rest.to_string();
    let mut body = Vec::with_capacity(rest.len() + messages.len() + 16);
    body.extend_from_slice(b"{\"messages\":[");
    body.extend_from_slice(messages.as_bytes());
    body.extend_from_slice(b"],");
    body.extend_from_slice(&rest.as_bytes()[1..]);
    body
}

/// A chunk of a streamed answer, or a whole one: then `message` stands for `delta`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) delta: Option<Delta>,
    #[serde(default)]
    pub(super) message: Option<Delta>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    pub(super) refusal: Value,
    #[serde(default)]
    pub(super) reasoning_content: Value,
    #[serde(default)]
    pub(super) reasoning: Value,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CallDelta {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<FunctionDelta>,
    #[serde(flatten)]
    pub(super) more: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) arguments: Value,
}

/// Text in the shapes servers give it: a string, or a list of parts with a text each.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

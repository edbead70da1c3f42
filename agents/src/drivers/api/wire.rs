//! Message format of OpenAI's chat completions. Parsing is lenient: servers differ in everything that is optional.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::drivers::SubmitTool;
use crate::drivers::tools::ToolSpec;

/// Message of the assistant, as it is stored and sent back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Assistant {
    role: String,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<WireCall>,
}

impl Assistant {
    pub(super) fn new(content: String, tool_calls: Vec<WireCall>) -> Self {
        let content = (!content.is_empty() || tool_calls.is_empty()).then_some(content);
        Self { role: "assistant".to_owned(), content, tool_calls }
    }
}

/// Tool call, as it is sent; unknown fields are sent back unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WireCall {
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
    /// JSON as the model wrote it; may be truncated or malformed.
    pub(super) arguments: String,
}

/// Field that wraps arguments which are not a JSON object.
const UNREADABLE: &str = "unreadable_arguments";

/// Wraps malformed arguments in an object with the original text: servers reject a session that contains them.
pub(super) fn repair_arguments(arguments: &mut String) {
    if arguments.trim().is_empty() {
        *arguments = "{}".to_owned();
    } else if !is_object(arguments) {
        *arguments = json!({ UNREADABLE: &*arguments }).to_string();
    }
}

/// Returns the arguments as the model wrote them.
pub(super) fn as_written(arguments: &str) -> Cow<'_, str> {
    let mended = |fields: Map<String, Value>| match fields.get(UNREADABLE) {
        Some(Value::String(text)) if fields.len() == 1 => Some(text.clone()),
        _ => None,
    };
    let written =
        if arguments.contains(UNREADABLE) { serde_json::from_str(arguments).ok().and_then(mended) } else { None };
    written.map_or(Cow::Borrowed(arguments), Cow::Owned)
}

fn is_object(arguments: &str) -> bool {
    arguments.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
}

/// Returns the messages of a session as stored JSON, with malformed arguments wrapped.
pub(super) fn mended_messages(joined: &str) -> Cow<'_, str> {
    let broken = |message: &&RawValue| message.get().contains("\"tool_calls\"") && mended_message(message).is_some();
    let list = format!("[{joined}]");
    let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(&list) else { return Cow::Borrowed(joined) };
    if !messages.iter().any(broken) {
        return Cow::Borrowed(joined);
    }
    let mended = messages.iter().map(|message| mended_message(message).unwrap_or_else(|| message.get().to_owned()));
    Cow::Owned(mended.collect::<Vec<_>>().join(","))
}

/// Returns a message of the assistant with wrapped arguments; `None` if there is nothing to change.
fn mended_message(message: &RawValue) -> Option<String> {
    let mut message: Assistant =
        serde_json::from_str(message.get()).ok().filter(|said: &Assistant| said.role == "assistant")?;
    let is_broken = |call: &WireCall| !is_object(&call.function.arguments);
    if !message.tool_calls.iter().any(is_broken) {
        return None;
    }
    message.tool_calls.iter_mut().for_each(|call| repair_arguments(&mut call.function.arguments));
    serde_json::to_string(&message).ok()
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

/// Returns the tool definitions of a request.
pub(super) fn tool_definitions(tools: &[ToolSpec], submit: Option<&SubmitTool>) -> Vec<Value> {
    let tools = tools.iter().map(|tool| tool_definition(tool.name, tool.description, &tool.schema));
    tools.chain(submit.map(|tool| tool_definition(&tool.name, &tool.description, &tool.schema))).collect()
}

/// Returns the definition of a tool.
pub(super) fn tool_definition(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
}

/// Returns the body of a request; messages are passed as stored JSON. `options` are further fields, which may replace
/// `stream_options` and no other field of ours.
pub(super) fn body(model: &str, messages: &str, tools: &[Value], options: &Map<String, Value>) -> Vec<u8> {
    let mut rest = json!({ "stream_options": { "include_usage": true } });
    options.iter().filter(|(name, _)| *name != "messages").for_each(|(name, value)| rest[name] = value.clone());
    (rest["model"], rest["stream"]) = (model.into(), true.into());
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

/// Chunk of a streamed response, or a complete response: then `message` is used in place of `delta`.
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

/// Returns text in either server format: a string, or a list of parts with a text each.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

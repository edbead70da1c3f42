//! Input of an agent's program: the prompt, the system prompt when the session starts, and instructions for the result;
//! and the walk over the result's JSON schema, which each program takes in another form. Pure.

use serde_json::Value;

use crate::drivers::{AgentRequest, Session, SubmitTool};

/// Returns the text for the program's standard input.
pub(super) fn of(request: &AgentRequest) -> String {
    let system = match request.session {
        Session::New => request.system.trim(),
        Session::Resume(_) => "",
    };
    let result = request.submit.as_ref().map(result).unwrap_or_default();
    let parts = [system, request.prompt.trim(), &result];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the instructions for the result: the program offers no submit tool, so it is the last message.
fn result(submit: &SubmitTool) -> String {
    let SubmitTool { name, description, schema } = submit;
    format!(
        "When you are done, hand over your result (`{name}`: {description}). There is no tool of this name here: your last \
         message is the result. It is one JSON object that fits this schema, and nothing else:\n\n```json\n{schema}\n```"
    )
}

/// Converts the schemas that a key has by name.
pub(super) fn each_named(schemas: &Value, of: fn(&Value) -> Value) -> Value {
    match schemas {
        Value::Object(named) => named.iter().map(|(name, value)| (name.clone(), of(value))).collect(),
        other => other.clone(),
    }
}

/// Converts the schemas that a key has as a list.
pub(super) fn each_listed(schemas: &Value, of: fn(&Value) -> Value) -> Value {
    match schemas {
        Value::Array(list) => list.iter().map(of).collect(),
        other => other.clone(),
    }
}

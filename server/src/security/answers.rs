//! Requests that only answer a question, all that the role `answer` may send to a route that creates runs; and the name under which an
//! answer is recorded. Must not know handlers.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use serde_json::{Map, Value};

use super::roles::Caller;

/// Fields of a request for a run that change nothing but how its events are read, or that clients always send.
const HARMLESS: [&str; 9] = [
    "assistant_id",
    "durability",
    "feedback_keys",
    "langsmith_tracer",
    "metadata",
    "on_disconnect",
    "stream_mode",
    "stream_resumable",
    "stream_subgraphs",
];
/// Fields of a command that belong to an answer.
const ANSWER: [&str; 3] = ["resume", "by", "note"];
/// Parameters of an answer by the event protocol.
const RESPONSE: [&str; 8] =
    ["assistant_id", "by", "interrupt_id", "metadata", "namespace", "note", "response", "responses"];

/// The body of a request for a run. If the request has a key, its answers are recorded under the name of the key, whatever they say.
pub(crate) struct CallerJson(pub Value);

impl<S: Send + Sync> FromRequest<S> for CallerJson {
    type Rejection = JsonRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, JsonRejection> {
        let caller = request.extensions().get::<Caller>().cloned();
        let Json(mut body) = Json::<Value>::from_request(request, state).await?;
        if let Some(caller) = caller
            && let Some(command) = body.pointer_mut("/command").and_then(Value::as_object_mut)
        {
            command.insert("by".into(), caller.name.into());
        }
        Ok(Self(body))
    }
}

/// Returns whether a body only answers: a run of a command with answers, or the answer of the event protocol.
pub(crate) fn is_answer(body: &[u8]) -> bool {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else { return false };
    match body.get("method") {
        Some(method) => {
            method == "input.respond" && body.get("params").is_some_and(|given| is_object_of(given, &RESPONSE))
        }
        None => is_answering_run(&body),
    }
}

fn is_answering_run(body: &Map<String, Value>) -> bool {
    let has_answer = body.get("command").is_some_and(|command| {
        command.get("resume").is_some_and(|answer| !answer.is_null()) && is_object_of(command, &ANSWER)
    });
    has_answer && body.iter().all(|(name, value)| value.is_null() || is_harmless(name, value))
}

fn is_harmless(name: &str, value: &Value) -> bool {
    match name {
        "command" => true,
        "multitask_strategy" => value == "enqueue" || value == "reject",
        "if_not_exists" => value == "reject",
        "config" => is_object_of(value, &["tags"]),
        _ => HARMLESS.contains(&name),
    }
}

/// Returns whether a value is an object in which all fields but these are null or empty.
fn is_object_of(value: &Value, names: &[&str]) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    value
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(name, value)| names.contains(&name.as_str()) || is_empty(value)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::answer(json!({ "assistant_id": "a", "command": { "resume": "yes" } }), true)]
    #[case::as_clients_send_it(json!({ "assistant_id": "a", "input": null, "command": { "resume": false, "update": null, "goto": null },
        "config": { "configurable": {}, "tags": [] }, "stream_mode": ["values"], "multitask_strategy": "enqueue" }), true)]
    #[case::input(json!({ "assistant_id": "a", "input": {}, "command": { "resume": "yes" } }), false)]
    #[case::update(json!({ "command": { "resume": "yes", "update": { "n": 1 } } }), false)]
    #[case::goto(json!({ "command": { "resume": "yes", "goto": "end" } }), false)]
    #[case::no_answer(json!({ "command": {} }), false)]
    #[case::null_answer(json!({ "command": { "resume": null } }), false)]
    #[case::no_command(json!({ "assistant_id": "a", "input": null }), false)]
    #[case::rollback(json!({ "command": { "resume": "yes" }, "multitask_strategy": "rollback" }), false)]
    #[case::fork(json!({ "command": { "resume": "yes" }, "checkpoint_id": "1" }), false)]
    #[case::webhook(json!({ "command": { "resume": "yes" }, "webhook": "https://example.com" }), false)]
    #[case::context(json!({ "command": { "resume": "yes" }, "config": { "configurable": { "model": "m" } } }), false)]
    #[case::new_thread(json!({ "command": { "resume": "yes" }, "if_not_exists": "create" }), false)]
    #[case::respond(json!({ "id": 1, "method": "input.respond", "params": { "interrupt_id": "i", "response": 1 } }), true)]
    #[case::respond_and_go(json!({ "id": 1, "method": "input.respond", "params": { "response": 1, "goto": "x" } }), false)]
    #[case::start(json!({ "id": 1, "method": "run.start", "params": { "assistant_id": "a" } }), false)]
    #[case::start_as_answer(json!({ "method": "run.start", "command": { "resume": 1 } }), false)]
    #[case::no_params(json!({ "method": "input.respond" }), false)]
    #[case::list(json!([1]), false)]
    fn only_an_answer_is_one(#[case] body: Value, #[case] expected: bool) {
        assert_eq!(is_answer(body.to_string().as_bytes()), expected);
    }
}

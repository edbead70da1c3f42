//! The program `codex`: arguments of `codex exec --json`, its output format, and the strict form of JSON schemas that it
//! requires: each object closed, each property required, optional ones nullable; results are converted back. Unknown lines
//! become notices. Tested with codex 0.169.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::dialect::{AgentProgram, Dialect};
use super::failure;
use super::input::{each_listed, each_named};
use super::turn::{ANSWER, CliTurnEnd, Turn, cut};
use crate::drivers::{AgentEvent, AgentRequest, DriverError, DriverErrorClass, Session, Usage};

/// The program `codex`.
pub(in crate::drivers) static CODEX: AgentProgram = AgentProgram {
    name: "cli:codex",
    command: "codex",
    install: "install it with `npm install -g @openai/codex` and log in with `codex login`",
    reports_cost: false,
    words: &["codex"],
    variables: &["CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    dialect: &Codex,
};

#[derive(Debug)]
struct Codex;

impl Dialect for Codex {
    fn args(&self, request: &AgentRequest, schema: Option<&Path>, more: &[OsString]) -> Vec<OsString> {
        let sandbox = if request.access.write { "workspace-write" } else { "read-only" };
        let mut args: Vec<OsString> = vec!["exec".into(), "-s".into(), sandbox.into(), "-C".into()];
        args.push(request.directory.clone().into());
        if let Session::Resume(session) = &request.session {
            args.extend(["resume".into(), OsString::from(&session.id)]);
        }
        args.extend(["--json".into(), "--skip-git-repo-check".into()]);
        if let Some(model) = &request.model {
            args.extend(["-m".into(), OsString::from(model)]);
        }
        if let Some(schema) = schema {
            args.extend(["--output-schema".into(), OsString::from(schema)]);
        }
        args.extend_from_slice(more);
        args.push("-".into());
        args
    }

    fn events(&self, turn: &mut Turn, message: &Value) -> Vec<AgentEvent> {
        match kind(message) {
            "thread.started" => message["thread_id"].as_str().map(|id| turn.start_session(id)).into_iter().collect(),
            "turn.started" | "item.updated" => vec![],
            "item.started" => item(turn, &message["item"], false),
            "item.completed" => item(turn, &message["item"], true),
            "turn.completed" => {
                turn.end = Some(CliTurnEnd::Done);
                let used = usage(turn, &message["usage"]);
                vec![turn.record_usage(used)]
            }
            "turn.failed" => {
                let text = message["error"]["message"].as_str().unwrap_or(&turn.reported_error).to_owned();
                turn.end = Some(CliTurnEnd::Failed(turn_error(turn, &text)));
                vec![]
            }
            // Also sent on reconnects; another line reports if the turn fails.
            "error" => {
                turn.reported_error = message["message"].as_str().unwrap_or_default().to_owned();
                vec![turn.notice(&turn.reported_error.clone())]
            }
            other => vec![turn.notice(&format!("unknown message `{other}`"))],
        }
    }

    fn schema_file(&self, schema: &Value) -> Option<Value> {
        Some(strict(schema))
    }

    fn restore(&self, submitted: Value) -> Value {
        without_nulls(submitted)
    }
}

/// Returns the error of a turn. If the server has answered in this session before and now rejects a request, it rejects
/// the session.
fn turn_error(turn: &Turn, text: &str) -> DriverError {
    let error = failure::read(text);
    match turn.has_answers() && text.to_lowercase().contains("400 bad request") {
        true => DriverError { class: DriverErrorClass::Content, refusal: true, ..error },
        false => error,
    }
}

fn kind(message: &Value) -> &str {
    message["type"].as_str().unwrap_or_default()
}

/// Returns the usage of the turn: the program reports the total of the session; the total before is in the session's
/// reference.
fn usage(turn: &mut Turn, reported: &Value) -> Usage {
    let of = |key: &str| reported[key].as_u64().unwrap_or(0);
    let keys = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];
    let all = keys.map(of);
    let before = turn.mark.as_deref().map_or(Some([0; 4]), counts);
    turn.mark = Some(all.map(|count| count.to_string()).join(","));
    let more = |place: usize| all[place].saturating_sub(before.map_or(0, |before| before[place]));
    let (cache_read, cache_write) = (more(1), more(2));
    let input = more(0).saturating_sub(cache_read).saturating_sub(cache_write);
    let estimated = before.is_none();
    Usage { input, output: more(3), cache_read, cache_write, requests: 1, estimated, ..Usage::default() }
}

/// Parses the counts in a session's reference; `None` if it has none.
fn counts(mark: &str) -> Option<[u64; 4]> {
    let counts: Vec<u64> = mark.split(',').map_while(|count| count.parse().ok()).collect();
    counts.try_into().ok()
}

/// Converts an item: a message, a thought or an action.
fn item(turn: &mut Turn, item: &Value, completed: bool) -> Vec<AgentEvent> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    match (kind(item), completed) {
        ("agent_message", true) => vec![turn.text_event(text("text"))],
        ("reasoning", true) => vec![AgentEvent::Thinking(text("text").to_owned())],
        // Not a failure of the turn.
        ("error", true) => vec![turn.notice(text("message"))],
        ("command_execution", _) => {
            let arguments = json!({"command": item["command"]});
            tool(turn, item, completed, "shell", arguments, text("aggregated_output"))
        }
        ("file_change", _) => tool(turn, item, completed, "edit", json!({"changes": item["changes"]}), ""),
        ("mcp_tool_call", _) => {
            let name = format!("{}.{}", text("server"), text("tool"));
            let answer = if item["error"].is_null() { item["result"].to_string() } else { item["error"].to_string() };
            tool(turn, item, completed, &name, item["arguments"].clone(), &answer)
        }
        ("web_search", _) => tool(turn, item, completed, "web_search", json!({"query": item["query"]}), ""),
        ("agent_message" | "reasoning" | "error" | "todo_list" | "plan", _) => vec![],
        (other, _) => vec![turn.notice(&format!("unknown item `{other}`"))],
    }
}

fn tool(turn: &mut Turn, item: &Value, completed: bool, name: &str, arguments: Value, answer: &str) -> Vec<AgentEvent> {
    let id = item["id"].as_str().unwrap_or_default().to_owned();
    let mut events = vec![];
    if turn.seen.insert(id.clone()) {
        events.push(AgentEvent::ToolCall { id: id.clone(), name: name.to_owned(), arguments });
    }
    if completed {
        let is_failed = matches!(item["status"].as_str(), Some("failed" | "declined"));
        let ok = !is_failed && item["exit_code"].as_i64().unwrap_or(0) == 0;
        events.push(AgentEvent::ToolResult { id, ok, text: cut(answer, ANSWER) });
    }
    events
}

/// Keys that strict schemas must not contain.
const LEFT_OUT: [&str; 5] = ["$schema", "title", "default", "format", "examples"];

/// Returns a schema in its strict form.
fn strict(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(object(fields)),
        // "Anything", which strict schemas cannot express.
        Value::Bool(true) => json!({"type": ["string", "number", "boolean", "null"]}),
        other => other.clone(),
    }
}

fn object(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut closed = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            key if LEFT_OUT.contains(&key) => {}
            "properties" | "$defs" | "definitions" => drop(closed.insert(key.clone(), each_named(value, strict))),
            "oneOf" | "anyOf" => drop(closed.insert("anyOf".to_owned(), each_listed(value, strict))),
            "allOf" | "prefixItems" => drop(closed.insert(key.clone(), each_listed(value, strict))),
            "items" => drop(closed.insert(key.clone(), strict(value))),
            _ => drop(closed.insert(key.clone(), value.clone())),
        }
    }
    close(fields, &mut closed);
    closed
}

/// Closes an object and requires each of its properties.
fn close(fields: &Map<String, Value>, strict: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = strict.get_mut("properties") else { return };
    let required: Vec<&str> = match fields.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(&name.as_str())) {
        *property = nullable(property.take());
    }
    let names: Value = properties.keys().cloned().collect();
    strict.insert("required".to_owned(), names);
    strict.insert("additionalProperties".to_owned(), json!(false));
}

fn nullable(schema: Value) -> Value {
    let says_null =
        |types: &Value| types == "null" || types.as_array().is_some_and(|types| types.contains(&json!("null")));
    match schema.get("type") {
        Some(types) if says_null(types) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Removes the nulls that represent missing properties.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.into_iter().filter(|(_, field)| !field.is_null());
            said.map(|(name, field)| (name, without_nulls(field))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

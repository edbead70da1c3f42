//! The program `claude`: arguments of `claude -p`, its output format, and JSON schemas without what it rejects: it drops a
//! schema with an unknown format. Unknown lines become notices. Tested with claude 2.1.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value};

use super::dialect::{AgentProgram, Dialect};
use super::failure;
use super::input::{each_listed, each_named};
use super::turn::{ANSWER, CliTurnEnd, Turn, cut};
use crate::drivers::{AgentEvent, AgentRequest, DriverError, DriverErrorClass, Session, TurnStatus, Usage};

/// The program `claude`.
pub(in crate::drivers) static CLAUDE: AgentProgram = AgentProgram {
    name: "cli:claude",
    command: "claude",
    install: "install it with `npm install -g @anthropic-ai/claude-code` and log in with `claude`",
    reports_cost: true,
    words: &["claude", "anthropic"],
    variables: &["ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"],
    dialect: &Claude,
};

#[derive(Debug)]
struct Claude;

impl Dialect for Claude {
    fn args(&self, request: &AgentRequest, _: Option<&Path>, more: &[OsString]) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from).into();
        let tools = tools(request);
        let mode = if request.access.write { "acceptEdits" } else { "dontAsk" };
        args.extend(["--tools", &tools, "--allowed-tools", &tools, "--permission-mode", mode].map(OsString::from));
        args.extend(["--max-turns".into(), request.limits.requests.max(1).to_string().into()]);
        if let Some(cost) = request.limits.cost {
            args.extend(["--max-budget-usd".into(), format!("{}.{:06}", cost / 1_000_000, cost % 1_000_000).into()]);
        }
        if let Some(model) = &request.model {
            args.extend(["--model".into(), OsString::from(model)]);
        }
        if let Some(submit) = &request.submit {
            args.extend(["--json-schema".into(), plain(&submit.schema).to_string().into()]);
        }
        if let Session::Resume(session) = &request.session {
            args.extend(["--resume".into(), OsString::from(&session.id)]);
        }
        args.extend_from_slice(more);
        args
    }

    fn events(&self, turn: &mut Turn, message: &Value) -> Vec<AgentEvent> {
        match message["type"].as_str().unwrap_or_default() {
            "system" if message["subtype"] == "init" => {
                message["session_id"].as_str().map(|id| turn.start_session(id)).into_iter().collect()
            }
            "assistant" => assistant(turn, message),
            "user" => results(turn, message),
            "result" => vec![result(turn, message)],
            "rate_limit_event" | "stream_event" | "tool_progress" => vec![],
            other => {
                let more = message["subtype"].as_str().map(|more| format!(".{more}")).unwrap_or_default();
                vec![turn.notice(&format!("unknown message `{other}{more}`"))]
            }
        }
    }
}

/// Returns its tools: reading, and whatever else the turn may do.
fn tools(request: &AgentRequest) -> String {
    let mut tools = vec!["Read", "Grep", "Glob"];
    if request.access.write {
        tools.extend(["Edit", "Write"]);
    }
    if request.access.shell.is_some() {
        tools.push("Bash");
    }
    tools.join(",")
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["message"]["content"].as_array().into_iter().flatten()
}

fn assistant(turn: &mut Turn, message: &Value) -> Vec<AgentEvent> {
    // Output of a subagent is not output of the agent.
    let is_own = message["parent_tool_use_id"].is_null();
    if let Some(reported_error) = message["error"].as_str() {
        reported_error.clone_into(&mut turn.reported_error);
    }
    let mut events: Vec<AgentEvent> = blocks(message).filter_map(|block| content_event(turn, block, is_own)).collect();
    events.extend(message_usage(turn, &message["message"]));
    events
}

fn content_event(turn: &mut Turn, block: &Value, is_own: bool) -> Option<AgentEvent> {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" if is_own => Some(turn.text_event(text("text"))),
        "text" => Some(AgentEvent::Thinking(text("text").to_owned())),
        "thinking" => Some(AgentEvent::Thinking(text("thinking").to_owned())),
        // The result, which is repeated at the end.
        "tool_use" if text("name") == "StructuredOutput" => {
            turn.submitted = Some(block["input"].clone());
            None
        }
        "tool_use" => {
            let (id, name, arguments) = (text("id").to_owned(), text("name").to_owned(), block["input"].clone());
            turn.seen.insert(id.clone());
            Some(AgentEvent::ToolCall { id, name, arguments })
        }
        "redacted_thinking" => None,
        other => Some(turn.notice(&format!("unknown content `{other}`"))),
    }
}

/// Reads the usage of a message, once: it comes in several lines, each with the usage of the whole.
fn message_usage(turn: &mut Turn, message: &Value) -> Option<AgentEvent> {
    let is_new = message["id"].as_str().is_none_or(|id| turn.seen.insert(id.to_owned()));
    (is_new && message["usage"].is_object()).then(|| {
        let mut all = turn.usage;
        all += Usage { requests: 1, ..usage(&message["usage"]) };
        turn.record_usage(all)
    })
}

fn usage(reported: &Value) -> Usage {
    let of = |key: &str| reported[key].as_u64().unwrap_or(0);
    Usage {
        input: of("input_tokens"),
        output: of("output_tokens"),
        cache_read: of("cache_read_input_tokens"),
        cache_write: of("cache_creation_input_tokens"),
        ..Usage::default()
    }
}

/// Returns the results of reported calls.
fn results(turn: &Turn, message: &Value) -> Vec<AgentEvent> {
    let is_reported = |block: &&Value| block["tool_use_id"].as_str().is_some_and(|id| turn.seen.contains(id));
    let results = blocks(message).filter(|block| block["type"] == "tool_result").filter(is_reported);
    let reported = results.map(|block| AgentEvent::ToolResult {
        id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        ok: block["is_error"] != true,
        text: cut(&answer(&block["content"]), ANSWER),
    });
    reported.collect()
}

fn answer(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Reads the last message: status and usage of the turn.
fn result(turn: &mut Turn, message: &Value) -> AgentEvent {
    if let Some(text) = message["result"].as_str() {
        text.clone_into(&mut turn.text);
    }
    if !message["structured_output"].is_null() {
        turn.submitted = Some(message["structured_output"].clone());
    }
    if turn.session.is_none() {
        turn.session = message["session_id"].as_str().map(str::to_owned);
    }
    turn.end = Some(end(turn, message));
    let requests = message["num_turns"].as_u64().unwrap_or(turn.usage.requests);
    let reported = if message["usage"].is_object() { usage(&message["usage"]) } else { turn.usage };
    turn.record_usage(Usage { requests, cost: millionths(&message["total_cost_usd"]), ..reported })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float is cut to what fits")]
fn millionths(dollars: &Value) -> u64 {
    (dollars.as_f64().unwrap_or(0.0) * 1e6).round() as u64
}

fn end(turn: &Turn, message: &Value) -> CliTurnEnd {
    let kind = message["subtype"].as_str().unwrap_or_default();
    match kind {
        "error_max_turns" => CliTurnEnd::Limit(TurnStatus::TurnLimit),
        "error_max_budget_usd" => CliTurnEnd::Limit(TurnStatus::CostLimit),
        _ if message["is_error"] == true || kind.starts_with("error") => {
            CliTurnEnd::Failed(turn_error(turn, message, kind))
        }
        _ => CliTurnEnd::Done,
    }
}

fn turn_error(turn: &Turn, message: &Value, kind: &str) -> DriverError {
    let errors = message["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.collect();
    let text = match errors.is_empty() {
        true => message["result"].as_str().unwrap_or(kind).to_owned(),
        false => errors.join("; "),
    };
    let error = failure::read(&text);
    // If the server has answered in this session before and now rejects a request, it rejects the session.
    let status = message["api_error_status"].as_u64();
    let is_request = matches!(status, Some(400 | 413 | 422));
    if error.refusal || (is_request && turn.has_answers()) {
        return DriverError { class: DriverErrorClass::Content, refusal: true, ..error };
    }
    let class = match (status, turn.reported_error.as_str()) {
        (Some(429), _) | (None, "rate_limit") => DriverErrorClass::RateLimited,
        (Some(401 | 403), _) | (None, "authentication_failed" | "billing_error") => DriverErrorClass::Auth,
        (Some(400 | 404 | 413 | 422), _) | (None, "invalid_request") => DriverErrorClass::Fatal,
        (Some(_), _) => DriverErrorClass::Transient,
        (None, _) if kind == "error_max_structured_output_retries" => DriverErrorClass::Content,
        (None, _) => error.class,
    };
    failure::of_class(error, class)
}

/// Formats that every JSON schema validator knows.
const FORMATS: [&str; 9] = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "uri", "uuid"];

/// Removes what Claude Code rejects: formats that only some validators know, such as `uint32`, and keys that do not
/// affect the result.
fn plain(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let is_known = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
    let mut kept = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "format" if !is_known(value) => continue,
            "$schema" | "$id" | "examples" => continue,
            "properties" | "patternProperties" | "$defs" | "definitions" => each_named(value, plain),
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => each_listed(value, plain),
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => plain(value),
            _ => value.clone(),
        };
        kept.insert(key.clone(), value);
    }
    Value::Object(kept)
}

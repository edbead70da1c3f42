//! The journal of a task as lines for people.

use serde_json::Value;

use super::block::value;
use super::escape::clean;
use super::story;

/// Formats the entries and the subgraph runs; `whole` adds the complete turns of agents. Questions and answers are
/// shown with the task.
pub(crate) fn journal(journal: &Value, whole: bool) -> String {
    let list = |key: &str| journal[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text: String = list("entries").iter().map(|entry| self::entry(entry, whole)).collect();
    text.extend(list("children").iter().map(child));
    text + &message_lines(list("messages"), whole)
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_default()
}

fn entry(entry: &Value, whole: bool) -> String {
    let name = |what: &str| format!("{what}{}", place(entry));
    match text(entry, "kind") {
        "effect" => effect(entry, whole),
        "value" => value(&name(&format!("recorded {}", text(entry, "key"))), &entry["value"], 2),
        "signal" => value(&name(&format!("received signal {}", text(entry, "key"))), &entry["value"], 2),
        "sleep" => value(&name("waits until"), &entry["until"], 2),
        kind => value(&name(&format!("recorded {kind}")), &entry["value"], 2),
    }
}

fn effect(effect: &Value, whole: bool) -> String {
    let mut shown = format!("  effect {}{}{}\n", clean(text(effect, "key")), clean(&place(effect)), attempt(effect));
    shown.push_str(&value("arguments", &effect["arguments"], 4));
    match effect["error"].is_string() {
        true => shown.push_str(&value("failed", &effect["error"], 4)),
        false => shown.push_str(&value("result", &effect["result"], 4)),
    }
    let messages = effect["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    shown + &message_lines(messages, whole)
}

/// Returns the times of an effect, its attempt, and its repetitions.
fn attempt(effect: &Value) -> String {
    let runs = effect["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let run = |run: &Value| format!("{} in attempt {}", text(run, "end"), run["attempt"]);
    let mut shown = match effect["attempt"].as_u64() {
        Some(attempt) => format!(": attempt {attempt}, {}", text(effect, "started_at")),
        None => format!(": {}", text(effect, "started_at")),
    };
    if let Some(ended) = effect["ended_at"].as_str() {
        shown.push_str(&format!(" to {ended}"));
    }
    if effect["repeated"] == true {
        shown.push_str(&format!("; repeated: {}", runs.iter().map(run).collect::<Vec<_>>().join(", ")));
    }
    clean(&shown).into_owned()
}

/// Returns the place at which an entry was made, if not by the body of the task itself.
fn place(entry: &Value) -> String {
    let names = |key: &str| {
        let names = entry[key].as_array().map(Vec::as_slice).unwrap_or_default();
        names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/")
    };
    let (path, within) = (names("path"), names("within"));
    let path = if path.is_empty() { path } else { format!(" in {path}") };
    let within = if within.is_empty() { within } else { format!(" inside {within}") };
    let handler = if entry["by_handler"] == true { " by the error handler" } else { "" };
    format!("{path}{within}{handler}")
}

fn child(child: &Value) -> String {
    let is = if child["over"] == true { "over" } else { "not over" };
    let handler = if child["by_handler"] == true { " of the error handler" } else { "" };
    let (call, checkpoint, step) = (&child["call"], &child["checkpoint"], &child["step"]);
    format!("  subgraph, call {call}{handler}: {is}, checkpoint {checkpoint}, superstep {step}\n")
}

/// Returns the messages: the story of an agent's turn, or its length.
fn message_lines(messages: &[Value], whole: bool) -> String {
    if messages.is_empty() {
        return String::new();
    }
    if !whole {
        let calls = messages.iter().filter(|message| !message["value"]["tool_call"].is_null()).count();
        let calls = if calls > 0 { format!(", {calls} of them tool calls") } else { String::new() };
        return format!("    messages: {}{calls}; a single task (--task) shows them\n", messages.len());
    }
    let shown = story::messages(messages.iter().map(|message| &message["value"]));
    shown.lines().map(|line| format!("  {line}\n")).collect()
}

//! The canonical form of outcomes: interrupt ids are marked, arrays without order are sorted with their ids blanked.
//! Knows the places of ids and unordered arrays; user values are not changed.

use serde_json::{Map, Value, json};

use crate::python::dumps;

/// Prefix of an interrupt id, so that no user value is taken for one.
const MARK: char = '\0';

/// Returns the canonical form of an outcome. `events` may be groups or a flat list.
pub(crate) fn outcome(mut outcome: Value) -> Value {
    removals(&mut outcome);
    let Some(map) = outcome.as_object_mut() else { return outcome };
    questions(map);
    field(map, "state", snapshot);
    each(map, "history", snapshot);
    field(map, "error", error);
    field(map, "build_error", error);
    each(map, "events", |item| match item {
        Value::Array(group) => group.iter_mut().for_each(event),
        single => event(single),
    });
    outcome
}

/// Returns the value with every interrupt id blanked.
pub(crate) fn blank(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with(MARK) => Value::String(MARK.to_string()),
        Value::Array(items) => items.iter().map(blank).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), blank(value))).collect(),
        scalar => scalar.clone(),
    }
}

/// Returns the interrupt id in a marked string.
pub(crate) fn id_of(text: &str) -> Option<&str> {
    text.strip_prefix(MARK)
}

/// Returns a text that orders values independently of their interrupt ids.
pub(crate) fn sort_key(value: &Value) -> String {
    dumps(&blank(value))
}

pub(crate) fn sort(items: &mut [Value]) {
    items.sort_by_cached_key(sort_key);
}

fn field(map: &mut Map<String, Value>, key: &str, canonical: impl FnOnce(&mut Value)) {
    if let Some(value) = map.get_mut(key) {
        canonical(value);
    }
}

fn each(map: &mut Map<String, Value>, key: &str, canonical: impl FnMut(&mut Value)) {
    if let Some(Value::Array(items)) = map.get_mut(key) {
        items.iter_mut().for_each(canonical);
    }
}

/// Canonicalizes the `interrupts` of any value that has them.
fn questions(map: &mut Map<String, Value>) {
    each(map, "interrupts", |question| {
        if let Some(Value::String(id)) = question.get_mut("id") {
            id.insert(0, MARK);
        }
    });
    if let Some(Value::Array(items)) = map.get_mut("interrupts") {
        sort(items);
    }
}

fn snapshot(value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    questions(map);
    each(map, "tasks", task);
    for key in ["tasks", "next"] {
        if let Some(Value::Array(items)) = map.get_mut(key) {
            sort(items);
        }
    }
}

fn task(value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    questions(map);
    field(map, "state", snapshot);
}

fn event(value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    questions(map);
    let mode = map.get("mode").and_then(Value::as_str).unwrap_or_default().to_owned();
    field(map, "data", |data| match mode.as_str() {
        "tasks" => task(data),
        "checkpoints" => snapshot(data),
        "debug" => debug(data),
        _ => {}
    });
}

fn debug(data: &mut Value) {
    let checkpoint = data.get("type").is_some_and(|kind| kind == "checkpoint");
    if let Some(payload) = data.get_mut("payload") {
        if checkpoint { snapshot(payload) } else { task(payload) }
    }
}

/// The Python class of an error without a kind is not compared.
fn error(value: &mut Value) {
    if value.get("kind").is_some_and(|kind| kind == "other") {
        *value = json!({"kind": "other"});
    }
}

/// Shows a removal as LangGraph's message for it.
fn removals(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(removals),
        Value::Object(map) => {
            map.values_mut().for_each(removals);
            if let Some(id) = removed(map) {
                *value = json!({"content": "", "id": id, "type": "remove"});
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn removed(map: &Map<String, Value>) -> Option<Value> {
    let (1, Some((key, id))) = (map.len(), map.iter().next()) else { return None };
    match key.as_str() {
        "$remove" => Some(id.clone()),
        "$remove_all" => Some("__remove_all__".into()),
        _ => None,
    }
}

//! Compares an outcome with the expected one: same values, groups of events, and interrupts up to a renaming of ids.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::canon::{self, blank, id_of, sort_key};
use crate::ids::Ids;

/// The first place where two outcomes differ.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) what: String,
    pub(crate) expected: Value,
    pub(crate) actual: Value,
}

/// Compares an outcome with the expected one, and records which interrupt id corresponds to which.
///
/// # Errors
///
/// The first difference; `ids` is then unchanged.
pub(crate) fn compare(expected: &Value, actual: &Value, ids: &mut Ids) -> Result<(), Box<Difference>> {
    let mut expected = canon::outcome(expected.clone());
    let mut actual = canon::outcome(actual.clone());
    regroup(&mut expected, &mut actual);
    let found = first_difference(&blank(&expected), &blank(&actual), "$");
    let renamed = found.map_or_else(
        || {
            let mut trial = ids.clone();
            same_ids(&expected, &actual, &mut trial).map(|()| trial)
        },
        Err,
    );
    match renamed {
        Ok(trial) => {
            *ids = trial;
            Ok(())
        }
        Err((path, what)) => Err(Box::new(Difference { path, what, expected, actual })),
    }
}

/// Cuts the actual events, a flat list, into groups of the expected sizes, and sorts every group of both sides. The
/// rest becomes one more group.
fn regroup(expected: &mut Value, actual: &mut Value) {
    let Some(Value::Array(groups)) = expected.get_mut("events") else { return };
    let Some(Value::Array(events)) = actual.get_mut("events") else { return };
    let mut rest = std::mem::take(events).into_iter();
    for group in groups.iter_mut().filter_map(Value::as_array_mut) {
        canon::sort(group);
        let mut ours: Vec<Value> = rest.by_ref().take(group.len()).collect();
        canon::sort(&mut ours);
        events.push(ours.into());
    }
    let rest: Vec<Value> = rest.collect();
    events.retain(|group| group.as_array().is_some_and(|group| !group.is_empty()));
    if !rest.is_empty() {
        events.push(rest.into());
    }
}

type Mismatch = (String, String);

fn first_difference(expected: &Value, actual: &Value, path: &str) -> Option<Mismatch> {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            keys.into_iter().find_map(|key| member(left.get(key), right.get(key), &format!("{path}.{key}")))
        }
        (Value::Array(left), Value::Array(right)) => {
            let count = left.len().max(right.len());
            (0..count).find_map(|i| member(left.get(i), right.get(i), &format!("{path}[{i}]")))
        }
        (left, right) if left == right => None,
        (left, right) => Some((path.to_owned(), format!("expected {}, got {}", short(left), short(right)))),
    }
}

fn member(expected: Option<&Value>, actual: Option<&Value>, path: &str) -> Option<Mismatch> {
    match (expected, actual) {
        (Some(left), Some(right)) => first_difference(left, right, path),
        (Some(left), None) => Some((path.to_owned(), format!("expected {}, got nothing", short(left)))),
        (None, Some(right)) => Some((path.to_owned(), format!("expected nothing, got {}", short(right)))),
        (None, None) => None,
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Binds the ids of two values that are equal except for them.
fn same_ids(expected: &Value, actual: &Value, ids: &mut Ids) -> Result<(), Mismatch> {
    walk(expected, actual, false, "$", ids)
}

fn walk(expected: &Value, actual: &Value, free: bool, path: &str, ids: &mut Ids) -> Result<(), Mismatch> {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => left.iter().try_for_each(|(key, value)| {
            let free = key == "tasks" || key == "interrupts";
            walk(value, right.get(key).unwrap_or(&Value::Null), free, &format!("{path}.{key}"), ids)
        }),
        (Value::Array(left), Value::Array(right)) if free || path.starts_with("$.events[") => {
            runs(left).try_for_each(|run| tied(&left[run.clone()], &right[run.clone()], path, run.start, ids))
        }
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).enumerate();
            pairs.into_iter().try_for_each(|(i, (l, r))| walk(l, r, false, &format!("{path}[{i}]"), ids))
        }
        _ => bind(&[expected], &[actual], path, ids),
    }
}

/// Returns the ranges of neighbours that differ in their ids only.
fn runs(items: &[Value]) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    let keys: Vec<String> = items.iter().map(sort_key).collect();
    let mut start = 0;
    std::iter::from_fn(move || {
        let key = keys.get(start)?;
        let length = keys[start..].iter().take_while(|other| *other == key).count();
        start += length;
        Some(start - length..start)
    })
}

/// Binds one element as it is, and several equal ones as a set of ids.
fn tied(expected: &[Value], actual: &[Value], path: &str, at: usize, ids: &mut Ids) -> Result<(), Mismatch> {
    let path = format!("{path}[{at}]");
    match (expected, actual) {
        ([left], [right]) => walk(left, right, false, &path, ids),
        (left, right) => bind(&Vec::from_iter(left), &Vec::from_iter(right), &path, ids),
    }
}

fn bind(expected: &[&Value], actual: &[&Value], path: &str, ids: &mut Ids) -> Result<(), Mismatch> {
    let mut sides = [BTreeSet::new(), BTreeSet::new()];
    for (values, found) in [expected, actual].into_iter().zip(&mut sides) {
        values.iter().for_each(|value| collect(value, found));
    }
    let [left, right] = sides;
    if left.is_empty() && right.is_empty() {
        return Ok(());
    }
    ids.bind(&left, &right).map_err(|what| (path.to_owned(), what))
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => found.extend(id_of(text).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => map.values().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the outcome with its expected events as one list, for an engine that plays a recording.
pub(crate) fn flatten_events(outcome: &Value) -> Value {
    let groups = outcome.get("events").and_then(Value::as_array);
    let events = groups.into_iter().flatten().filter_map(Value::as_array).flatten().cloned();
    json!(events.collect::<Vec<Value>>())
}

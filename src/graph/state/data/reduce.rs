//! The built-in reducers over JSON. Each takes a channel's value, which fits its kind, and a write, which may not. A write to
//! messages is parsed into changes that have ids; the typed reducer merges them.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Number, Value};

use crate::graph::state::reducers::{self, Change, Keyed};

/// Reduces a write into a value, or returns the reason why not.
pub(crate) type Reducer = fn(&mut Value, Value) -> Result<(), String>;

pub(crate) const ANY: &str = "";
pub(crate) const LIST: &str = "a list";
pub(crate) const NUMBER: &str = "a number";
pub(crate) const STRING: &str = "a string";
pub(crate) const OBJECT: &str = "an object";
pub(crate) const ORDERED: &str = "a number or a string";

const MESSAGE: &str = "a message or a list of messages";
const REMOVE: &str = "$remove";
const REMOVE_ALL: &str = "$remove_all";

/// Returns the error for a value of the wrong type. Never shows the value, which may be secret.
pub(crate) fn type_error(wanted: &str, given: &Value) -> String {
    format!("takes {wanted}, not {}", type_of(given))
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => NUMBER,
        Value::String(_) => STRING,
        Value::Array(_) => LIST,
        Value::Object(_) => OBJECT,
    }
}

pub(crate) fn append(list: &mut Value, write: Value) -> Result<(), String> {
    match (list, write) {
        (Value::Array(list), Value::Array(more)) => reducers::append(list, more),
        (_, write) => return Err(type_error(LIST, &write)),
    }
    Ok(())
}

/// Adds to a topic: a list item by item.
pub(super) fn publish(list: &mut Value, write: Value) -> Result<(), String> {
    let items = if write.is_array() { write } else { Value::Array(vec![write]) };
    append(list, items)
}

pub(crate) fn concat(text: &mut Value, write: Value) -> Result<(), String> {
    match (text, write) {
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (_, write) => return Err(type_error(STRING, &write)),
    }
    Ok(())
}

pub(crate) fn merge(map: &mut Value, write: Value) -> Result<(), String> {
    match (map, write) {
        (Value::Object(map), Value::Object(more)) => map.extend(more),
        (_, write) => return Err(type_error(OBJECT, &write)),
    }
    Ok(())
}

pub(crate) fn add(sum: &mut Value, write: Value) -> Result<(), String> {
    *sum = match (&*sum, &write) {
        (Value::Number(a), Value::Number(b)) => Value::Number(plus(a, b)?),
        (_, write) => return Err(type_error(NUMBER, write)),
    };
    Ok(())
}

pub(crate) fn max(value: &mut Value, write: Value) -> Result<(), String> {
    if !write.is_number() {
        return Err(type_error(NUMBER, &write));
    }
    if compare(&write, value) == Some(Ordering::Greater) {
        *value = write;
    }
    Ok(())
}

/// Keeps the smaller value. Null means no value yet.
pub(crate) fn opt_min(value: &mut Value, write: Value) -> Result<(), String> {
    if !(write.is_number() || write.is_string()) {
        return Err(type_error(ORDERED, &write));
    }
    let order = if value.is_null() { Some(Ordering::Less) } else { compare(&write, value) };
    match order {
        Some(Ordering::Less) => *value = write,
        Some(Ordering::Equal | Ordering::Greater) => {}
        None => return Err(format!("cannot compare {} with {}", type_of(&write), type_of(value))),
    }
    Ok(())
}

pub(crate) fn union(set: &mut Value, write: Value) -> Result<(), String> {
    match (set, write) {
        (Value::Array(set), Value::Array(more)) => {
            more.iter().try_for_each(check_item)?;
            set.extend(more);
            sort(set);
        }
        (_, write) => return Err(type_error(LIST, &write)),
    }
    Ok(())
}

pub(crate) fn into_set(list: Value) -> Result<Value, String> {
    let mut set = Value::Array(vec![]);
    union(&mut set, list)?;
    Ok(set)
}

fn sort(set: &mut Vec<Value>) {
    set.sort_by(by_type_and_value);
    set.dedup_by(|a, b| by_type_and_value(a, b) == Ordering::Equal);
}

fn check_item(item: &Value) -> Result<(), String> {
    let fits = !matches!(item, Value::Array(_) | Value::Object(_));
    if fits { Ok(()) } else { Err(format!("takes a list of simple values, one is {}", type_of(item))) }
}

fn by_type_and_value(a: &Value, b: &Value) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| compare(a, b).unwrap_or(Ordering::Equal))
}

/// Orders types as Python orders their names: `NoneType`, `bool`, `float`, `int`, `str`.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(number) if number.is_f64() => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) | Value::Object(_) => 5,
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn plus(a: &Number, b: &Number) -> Result<Number, String> {
    let whole = integer(a).zip(integer(b)).map(|(a, b)| a + b);
    let fits = whole
        .and_then(|sum| i64::try_from(sum).map(Number::from).or_else(|_| u64::try_from(sum).map(Number::from)).ok());
    let float = || Number::from_f64(a.as_f64()? + b.as_f64()?);
    fits.or_else(float).ok_or_else(|| "the sum is too great for a number".to_owned())
}

/// Returns the number as an integer whose sums cannot overflow.
fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

#[derive(Serialize)]
struct Entry(Value);

impl Keyed for Entry {
    fn id(&self) -> &str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    fn set_id(&mut self, id: String) {
        if let Some(fields) = self.0.as_object_mut().filter(|fields| !fields.get("id").is_some_and(Value::is_string)) {
            fields.insert("id".into(), id.into());
        }
    }
}

pub(crate) fn messages(list: &mut Value, write: Value) -> Result<(), String> {
    let Value::Array(list) = list else { return Err(type_error(MESSAGE, &write)) };
    let incoming = if let Value::Array(many) = write { many } else { vec![write] };
    incoming.iter().try_for_each(check_message)?;
    let changes = incoming.into_iter().map(change).collect();
    let mut entries = std::mem::take(list).into_iter().map(Entry).collect();
    let merged = reducers::messages(&mut entries, changes);
    list.extend(entries.into_iter().map(|entry| entry.0));
    merged
}

/// Returns the messages of an overwrite, with ids assigned.
pub(crate) fn normalize_messages(list: Value) -> Result<Value, String> {
    let Value::Array(list) = list else { return Err(type_error("a list of messages", &list)) };
    list.iter().try_for_each(check_message)?;
    if list.iter().any(|message| message.get(REMOVE).or(message.get(REMOVE_ALL)).is_some()) {
        return Err("cannot remove messages while all are replaced".into());
    }
    let mut entries: Vec<_> = list.into_iter().map(|message| Change::Put(Entry(message))).collect();
    reducers::give_ids(&[], &mut entries);
    let message = |entry| if let Change::Put(Entry(message)) = entry { Some(message) } else { None };
    Ok(entries.into_iter().filter_map(message).collect())
}

fn check_message(message: &Value) -> Result<(), String> {
    let Value::Object(fields) = message else { return Err(type_error(MESSAGE, message)) };
    let (id, remove, all) = (fields.get("id"), fields.get(REMOVE), fields.get(REMOVE_ALL));
    if !matches!(id, None | Some(Value::Null | Value::String(_))) {
        return Err("takes messages whose `id` is a string".into());
    }
    if !matches!(remove, None | Some(Value::String(_))) {
        return Err(format!("takes the id of a message as `{REMOVE}`"));
    }
    if !matches!(all, None | Some(Value::Bool(true))) {
        return Err(format!("takes nothing but `true` as `{REMOVE_ALL}`"));
    }
    Ok(())
}

fn change(message: Value) -> Change<Entry> {
    match (message.get(REMOVE_ALL), message.get(REMOVE).and_then(Value::as_str)) {
        (Some(_), _) => Change::RemoveAll,
        (None, Some(id)) => Change::remove(id),
        (None, None) => Change::Put(Entry(message)),
    }
}

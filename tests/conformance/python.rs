//! Python's rules for JSON values, as far as the expressions of a case depend on them: truth, equality, order, text,
//! iteration. Knows nothing of cases.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use crate::number::{Number, float_text};

/// An exception that Python would raise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonError {
    pub(crate) class: &'static str,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, PythonError>;

impl PythonError {
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

pub(crate) fn type_error<T>(message: impl Into<String>) -> Result<T> {
    Err(PythonError::new("TypeError", message))
}

pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(_) => Number::of(value).is_some_and(|number| !number.is_zero()),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Implements Python's `==`: `true` is 1, `1` is `1.0`.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return left.cmp(right) == Some(Ordering::Equal);
    }
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, left)| right.get(key).is_some_and(|r| equal(left, r)))
        }
        (left, right) => left == right,
    }
}

/// Implements Python's `<` and its kin; `None` when the two are not ordered (a NaN).
pub(crate) fn order(left: &Value, right: &Value) -> Result<Option<Ordering>> {
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(left.cmp(right));
    }
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        (Value::Array(left), Value::Array(right)) => match left.iter().zip(right).find(|(l, r)| !equal(l, r)) {
            Some((left, right)) => order(left, right),
            None => Ok(Some(left.len().cmp(&right.len()))),
        },
        (left, right) => type_error(format!("{left} and {right} have no order")),
    }
}

/// Returns the elements of a list, the characters of a string, the keys of an object.
pub(crate) fn iterate(value: &Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items.clone()),
        Value::String(text) => Ok(text.chars().map(|letter| Value::String(letter.to_string())).collect()),
        Value::Object(map) => Ok(map.keys().map(|key| Value::String(key.clone())).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => type_error(format!("{value} is not iterable")),
    }
}

pub(crate) fn len(value: &Value) -> Result<usize> {
    iterate(value).map(|items| items.len())
}

/// Returns `value[position]`, counted from the end if negative.
pub(crate) fn index(value: &Value, position: i128) -> Result<Value> {
    if value.is_object() {
        return Err(PythonError::new("KeyError", position.to_string()));
    }
    let items = iterate(value)?;
    at(&items, position).cloned().ok_or_else(|| PythonError::new("IndexError", format!("no element {position}")))
}

pub(crate) fn at(items: &[Value], position: i128) -> Option<&Value> {
    let count = i128::try_from(items.len()).ok()?;
    let position = if position < 0 { position + count } else { position };
    usize::try_from(position).ok().and_then(|position| items.get(position))
}

/// Implements Python's `str`.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number_text(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), repr(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter == quote => out.extend(['\\', letter]),
            letter if letter.is_control() => _ = write!(out, "\\x{:02x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out.push(quote);
    out
}

/// Implements Python's `json.dumps(value, sort_keys=True)`.
pub(crate) fn dumps(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => json_quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(dumps).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| format!("{}: {}", json_quoted(key), dumps(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn json_quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(letter),
            other => other.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}")),
        }
    }
    out.push('"');
    out
}

fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

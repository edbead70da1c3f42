//! JSON values as lines for people: long texts verbatim, the rest as JSON.

use serde_json::Value;

use super::escape::{clean, clean_lines, safe_json};
use super::workflow::workflow_event;

/// The maximum number of characters of a value on one line.
const WIDTH: usize = 88;

/// Formats a named value as lines, indented by `indent`.
pub(crate) fn value(name: &str, value: &Value, indent: usize) -> String {
    let (name, space) = (clean(name), " ".repeat(indent));
    match value {
        Value::String(text) if text.contains('\n') => {
            let lines = text.lines().map(|line| format!("{space}  {}\n", clean(line)));
            format!("{space}{name}:\n{}", lines.collect::<String>())
        }
        Value::String(text) => format!("{space}{name}: {}\n", clean(text)),
        Value::Array(items) if is_long(value) => {
            let items = items.iter().map(|item| format!("{space}  - {}\n", one_line(item)));
            format!("{space}{name}:\n{}", items.collect::<String>())
        }
        Value::Object(fields) if is_long(value) => {
            let fields = fields.iter().map(|(name, inner)| self::value(name, inner, indent + 2));
            format!("{space}{name}:\n{}", fields.collect::<String>())
        }
        _ => format!("{space}{name}: {}\n", one_line(value)),
    }
}

/// Returns the output of a running node: a text as it is written, its further lines indented; an event of a phase as
/// text; the rest as JSON.
pub(crate) fn emitted(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => clean_lines(text, indent),
        other => workflow_event(other, indent).unwrap_or_else(|| one_line(other)),
    }
}

fn is_long(value: &Value) -> bool {
    value.to_string().chars().nth(WIDTH).is_some()
}

fn one_line(value: &Value) -> String {
    safe_json(&value.to_string()).into_owned()
}

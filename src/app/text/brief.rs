//! An entry of a journal as one line. Pure.

use serde_json::Value;

use super::escape::{clean, clean_lines, safe_json};

/// Formats an entry as one line, for events.
pub(crate) fn brief(entry: &Value) -> String {
    let key = clean(entry["key"].as_str().unwrap_or_default()).into_owned();
    let held = |name: &str| safe_json(&entry[name].to_string()).into_owned();
    match entry["kind"].as_str().unwrap_or_default() {
        "effect" if entry["error"].is_string() => {
            format!("effect {key} {} failed: {}", held("arguments"), clean_lines(text(entry, "error"), 4))
        }
        "effect" => format!("effect {key} {} came to {}", held("arguments"), held("result")),
        "value" => format!("recorded {key}: {}", held("value")),
        "sleep" => format!("waits until {}", clean(text(entry, "until"))),
        kind => format!("recorded {kind} {}", held("value")),
    }
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_default()
}

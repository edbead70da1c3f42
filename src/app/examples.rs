//! Examples of answers and signals, from the texts that describe their shapes. Pure.

use serde_json::Value;

/// Fills in a shape; `JSON` if the result is none.
pub(crate) fn example(shape: &str) -> String {
    let mut filled = String::new();
    for part in shape.split_inclusive(|c: char| !c.is_ascii_alphabetic()) {
        let (word, rest) = part
            .split_at(part.len() - part.chars().last().filter(|c| !c.is_ascii_alphabetic()).map_or(0, char::len_utf8));
        filled.push_str(match (word, filled.ends_with('"')) {
            ("number" | "integer", false) => "1",
            ("text", false) => "\"...\"",
            (word, _) => word,
        });
        filled.push_str(rest);
    }
    if serde_json::from_str::<Value>(&filled).is_ok() { filled } else { "JSON".into() }
}

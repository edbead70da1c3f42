//! Formats that are no markdown but would be read as one long task. Pure.

use serde_norway::Value;

/// Returns the format of a text that is no markdown; `None` for markdown, and for prose.
pub(super) fn format(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches('\u{feff}').trim();
    of_start(text)
        .or_else(|| is_json(text).then_some("JSON"))
        .or_else(|| is_yaml(text).then_some("YAML"))
        .or_else(|| is_toml(text).then_some("TOML"))
        .or_else(|| of_lines(text))
}

fn of_start(text: &str) -> Option<&'static str> {
    const STARTS: [(&str, &str); 10] = [
        ("%PDF", "a PDF file"),
        ("PK\u{3}\u{4}", "an archive or office document"),
        ("{\\rtf", "rich text (RTF)"),
        ("<!doctype html", "HTML"),
        ("<html", "HTML"),
        ("<?xml", "XML"),
        ("#!/", "a script"),
        ("diff --git ", "a diff"),
        ("*** begin patch", "a patch"),
        ("begin:vcalendar", "a calendar"),
    ];
    if text.contains('\0') {
        return Some("binary data");
    }
    let start: String = text.chars().take(20).collect();
    let start = start.to_lowercase();
    STARTS.iter().find(|(prefix, _)| start.starts_with(&prefix.to_lowercase())).map(|(_, format)| *format)
}

/// True for a JSON document, also one with a mistake in it, and for a JSON object on each line.
fn is_json(text: &str) -> bool {
    let parses = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let looks = |text: &str| {
        let rest = text.trim_start_matches(['{', '[', ' ', '\t', '\r', '\n']);
        text.starts_with(['{', '[']) && text.ends_with(['}', ']']) && rest.starts_with('"')
    };
    let is_document = text.starts_with(['{', '[']) && parses(text) && text.contains('"');
    is_document
        || looks(text)
        || text.starts_with('{') && text.lines().all(|line| line.trim().is_empty() || parses(line))
}

/// True for YAML with entries that have keys of their own, which no markdown has by chance.
fn is_yaml(text: &str) -> bool {
    let has_headings = text.lines().any(|line| line.starts_with("##") || line.starts_with("```"));
    let has_keys = text
        .lines()
        .any(|line| line.trim_start_matches(['-', ' ', '\t']).split_once(':').is_some_and(|(key, _)| is_key(key)));
    if has_headings || !has_keys {
        return false;
    }
    let is_entry = |value: &Value| matches!(value, Value::Mapping(entry) if entry.len() > 1);
    match serde_norway::from_str::<Value>(text) {
        Ok(Value::Sequence(entries)) => entries.iter().filter(|entry| is_entry(entry)).count() > 1,
        Ok(Value::Mapping(map)) => map.values().any(|value| match value {
            Value::Sequence(entries) => entries.iter().any(is_entry),
            Value::Mapping(inner) => inner.values().any(is_entry),
            _ => false,
        }),
        Ok(_) | Err(_) => false,
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-\"'".contains(c))
}

fn is_toml(text: &str) -> bool {
    text.contains('=') && toml::from_str::<toml::Table>(text).is_ok_and(|table| !table.is_empty())
}

/// Recognises other languages of markup, and tables, by their lines.
fn of_lines(text: &str) -> Option<&'static str> {
    let count = |is: fn(&str) -> bool| text.lines().filter(|line| is(line)).count();
    if count(|line| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')) > 0 {
        return None;
    }
    if count(|line| line.starts_with("==") && line.trim_start_matches('=').starts_with(' ')) > 1 {
        return Some("AsciiDoc or wiki markup");
    }
    if count(|line| line.starts_with("#+") || is_org_task(line)) > 1 {
        return Some("Org");
    }
    if count(|line| line.starts_with(".. ") && line.contains("::")) > 0 {
        return Some("reStructuredText");
    }
    if count(|line| matches!(line.as_bytes(), [b'h', b'1'..=b'6', b'.', b' ', ..])) > 1 {
        return Some("Textile or Jira markup");
    }
    is_csv(text).then_some("comma-separated values")
}

/// True for a headline of Org with its keyword.
fn is_org_task(line: &str) -> bool {
    let words = line.trim_start_matches('*');
    words.len() < line.len() && (words.starts_with(" TO\u{44}O ") || words.starts_with(" DONE "))
}

/// True if each line has as many commas as the head, which has no spaces after them.
fn is_csv(text: &str) -> bool {
    let head = text.lines().next().unwrap_or_default();
    let columns = head.matches(',').count();
    let rest: Vec<&str> = text.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    let is_head = columns > 0 && !head.contains(", ") && !head.contains(". ");
    is_head && rest.len() > 1 && rest.iter().all(|line| line.matches(',').count() >= columns)
}

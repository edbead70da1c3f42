//! The text of a plan before its markdown is read: its format, line ends, byte order mark, front matter, line numbers.
//! Knows no other markdown.

use std::borrow::Cow;

use serde_norway::Value;

use superstep_base::text::first_chars;

/// Returns the text with each lone carriage return replaced by a line feed. Offsets do not change.
pub(super) fn with_line_feeds(markdown: &str) -> Cow<'_, str> {
    let bytes = markdown.as_bytes();
    let is_lone = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    if !(0..bytes.len()).any(is_lone) {
        return Cow::Borrowed(markdown);
    }
    let lines = markdown.char_indices().map(|(at, c)| if c == '\r' && is_lone(at) { '\n' } else { c });
    Cow::Owned(lines.collect())
}

/// The start of the markdown in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// The byte after the byte order mark and the front matter.
    pub(super) start: usize,
    /// Set if it starts like front matter, but no line closes it, or a task heading comes before that line.
    pub(super) open_front_matter: bool,
}

/// Finds the start of the markdown: after a byte order mark and front matter between two `---` or two `+++` lines.
///
/// The parser's own option is not used: it takes any `---` line in the document for the start of such a block.
pub(super) fn body(markdown: &str) -> Body {
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let mark = markdown.len() - text.len();
    match front_matter(text) {
        FrontMatter::None => Body { start: mark, open_front_matter: false },
        FrontMatter::Open => Body { start: mark, open_front_matter: true },
        FrontMatter::Closed(length) => Body { start: mark + length, open_front_matter: false },
    }
}

enum FrontMatter {
    None,
    Open,
    Closed(usize),
}

fn front_matter(text: &str) -> FrontMatter {
    let mut lines = text.split_inclusive('\n');
    let fence = lines.next().map(str::trim_end).filter(|line| matches!(*line, "---" | "+++"));
    let (Some(fence), true) = (fence, lines.next().is_some_and(is_key)) else { return FrontMatter::None };
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let is_first = length == 0;
        length += line.len();
        match line.trim_end() {
            end if !is_first && end == fence => return FrontMatter::Closed(length),
            heading if is_task_heading(heading) => return FrontMatter::Open,
            _ => {}
        }
    }
    FrontMatter::Open
}

/// True for `key: value`, `key = value` and `[table]`, the first lines of front matter; false for prose and headings.
fn is_key(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.\"'".contains(c));
    let before = |end: char| line.split_once(end).is_some_and(|(name, _)| is_name(name.trim()));
    before(':') || before('=') || line.starts_with('[')
}

/// True for a line that opens a task unless front matter hides it.
fn is_task_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (2..=4).contains(&level) && text.trim_start().starts_with("Task ")
}

/// True if the last line of a fenced block closes it.
pub(super) fn is_closed(block: &str) -> bool {
    let block = block.trim();
    let Some(fence) = block.chars().next() else { return true };
    let length = block.chars().take_while(|c| *c == fence).count();
    let Some((_, last)) = block.rsplit_once('\n') else { return false };
    let last = last.trim();
    last.len() >= length && last.chars().all(|c| c == fence)
}

/// Converts increasing byte offsets to line numbers in one pass.
pub(super) struct Lines<'m> {
    text: &'m str,
    at: usize,
    line: usize,
}

impl<'m> Lines<'m> {
    pub(super) fn new(text: &'m str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line, from 1, of an offset that is not before the previous one.
    pub(super) fn of(&mut self, offset: usize) -> usize {
        let between = self.text.get(self.at..offset).unwrap_or_default();
        self.line += between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = self.at.max(offset);
        self.line
    }
}

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
    let start = first_chars(text, 20).to_lowercase();
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
        .any(|line| line.trim_start_matches(['-', ' ', '\t']).split_once(':').is_some_and(|(key, _)| is_yaml_key(key)));
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

fn is_yaml_key(text: &str) -> bool {
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

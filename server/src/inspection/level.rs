//! One level of a JSON value, so that a large one is read piece by piece: its entries in pages, each with its kind, its size and a
//! preview; texts up to a limit. An answer has less than 200 KB, unless a whole text is asked for. Knows no state.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The number of entries of a page, unless it is asked for, and the largest number.
pub(crate) const ENTRIES: usize = 200;
pub(crate) const MOST_ENTRIES: usize = 1000;
/// The largest size of the entries of a page, in bytes of JSON.
const PAGE: usize = 100 << 10;
/// The largest part of a text that is returned, in bytes of JSON, and the largest one if the whole text is asked for.
const TEXT: usize = 64 << 10;
const WHOLE_TEXT: usize = 8 << 20;
/// The largest sizes of a preview, and of the name of an entry, in bytes of JSON.
const PREVIEW: usize = 120;
const NAME: usize = 1 << 10;

/// The part of a level that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelPage {
    /// The largest number of entries.
    pub limit: usize,
    /// The number of entries that are left out at the start.
    pub after: usize,
    /// True if the whole text is wanted.
    pub is_whole: bool,
}

impl Default for LevelPage {
    fn default() -> Self {
        Self { limit: ENTRIES, after: 0, is_whole: false }
    }
}

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

/// One level of a value.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ValueLevel)]
pub(crate) struct LevelJson {
    #[serde(rename = "type")]
    kind: ValueKind,
    /// The size of its JSON, in bytes.
    size: usize,
    /// The number of its entries; of a text, that of its characters.
    #[schema(required)]
    count: Option<usize>,
    /// The value, unless it is an object or an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// True if `value` is the first part of a text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    /// The entries of the page, in their order.
    entries: Vec<EntryJson>,
    /// The number of entries up to the end of the page, for `after`; null at the end.
    #[schema(required)]
    next: Option<usize>,
}

/// An entry of an object or an array.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ValueEntry)]
struct EntryJson {
    /// The name of a field, or the index in an array.
    key: String,
    /// True if `key` is the first part of a long name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(rename = "type")]
    kind: ValueKind,
    #[schema(required)]
    count: Option<usize>,
    /// The size of its JSON, in bytes.
    size: usize,
    /// The beginning of a text or the names of some fields; a number, true, false and null as they are.
    preview: String,
}

/// Returns one level of a value.
pub(crate) fn level(value: &Value, page: LevelPage) -> LevelJson {
    let mut level = LevelJson {
        kind: kind(value),
        size: size(value),
        count: count(value),
        value: None,
        cut: false,
        entries: vec![],
        next: None,
    };
    match value {
        Value::Object(fields) => level.fill(fields.iter().map(|(key, value)| (key.clone(), value)), page),
        Value::Array(items) => {
            level.fill(items.iter().enumerate().map(|(at, value)| (at.to_string(), value)), page);
        }
        Value::String(text) => {
            let (part, cut) = first_part(text, if page.is_whole { WHOLE_TEXT } else { TEXT });
            (level.value, level.cut) = (Some(part.into()), cut);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => level.value = Some(value.clone()),
    }
    level
}

impl LevelJson {
    /// Adds the entries of a page: up to its limit, and as many as are small enough together.
    fn fill<'a>(&mut self, all: impl ExactSizeIterator<Item = (String, &'a Value)>, page: LevelPage) {
        let (total, mut bytes) = (all.len(), 0);
        for (key, value) in all.skip(page.after).take(page.limit) {
            let entry = EntryJson::of(&key, value);
            bytes += entry.bytes();
            if bytes > PAGE && !self.entries.is_empty() {
                break;
            }
            self.entries.push(entry);
        }
        let end = page.after.saturating_add(self.entries.len());
        self.next = (end < total).then_some(end);
    }
}

impl EntryJson {
    fn of(key: &str, value: &Value) -> Self {
        let (name, cut) = first_part(key, NAME);
        Self {
            key: name.to_owned(),
            cut,
            kind: kind(value),
            count: count(value),
            size: size(value),
            preview: preview(value),
        }
    }

    /// Returns its size as JSON, at most.
    fn bytes(&self) -> usize {
        const FIELDS: usize = 160;
        FIELDS + text_size(&self.key) + text_size(&self.preview)
    }
}

fn kind(value: &Value) -> ValueKind {
    match value {
        Value::Object(_) => ValueKind::Object,
        Value::Array(_) => ValueKind::Array,
        Value::String(_) => ValueKind::String,
        Value::Number(_) => ValueKind::Number,
        Value::Bool(_) => ValueKind::Boolean,
        Value::Null => ValueKind::Null,
    }
}

fn count(value: &Value) -> Option<usize> {
    match value {
        Value::Object(fields) => Some(fields.len()),
        Value::Array(items) => Some(items.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Number(_) | Value::Bool(_) | Value::Null => None,
    }
}

fn preview(value: &Value) -> String {
    match value {
        Value::Object(fields) => first_part(&names(fields.keys()), PREVIEW).0.to_owned(),
        Value::Array(_) => String::new(),
        Value::String(text) => first_part(text, PREVIEW).0.to_owned(),
        Value::Number(_) | Value::Bool(_) | Value::Null => first_part(&value.to_string(), PREVIEW).0.to_owned(),
    }
}

/// Returns the first names of a list.
fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let first: Vec<&str> = names.take(8).map(|name| first_part(name, PREVIEW).0).collect();
    first.join(", ")
}

/// Returns the longest beginning of a text whose JSON is not larger than a size, and whether it is only a part.
pub(crate) fn first_part(text: &str, most: usize) -> (&str, bool) {
    let mut bytes = 0;
    for (at, letter) in text.char_indices() {
        bytes += letter_size(letter);
        if bytes > most {
            return (&text[..at], true);
        }
    }
    (text, false)
}

fn text_size(text: &str) -> usize {
    text.chars().map(letter_size).sum()
}

/// Returns the size of a character in a text of JSON.
fn letter_size(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        letter => letter.len_utf8(),
    }
}

/// Returns the size of a value as JSON, in bytes.
pub(crate) fn size(value: &Value) -> usize {
    let mut counted = ByteCount(0);
    _ = serde_json::to_writer(&mut counted, value); // counting does not fail
    counted.0
}

struct ByteCount(usize);

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Map, json};

    use super::*;

    fn shown(value: &Value, page: LevelPage) -> Value {
        serde_json::to_value(level(value, page)).unwrap()
    }

    #[rstest]
    #[case(json!(null), json!({ "type": "null", "size": 4, "count": null, "value": null }))]
    #[case(json!(1.5), json!({ "type": "number", "size": 3, "count": null, "value": 1.5 }))]
    #[case(json!(true), json!({ "type": "boolean", "size": 4, "count": null, "value": true }))]
    #[case(json!("é\n"), json!({ "type": "string", "size": 6, "count": 2, "value": "é\n" }))]
    fn a_scalar_is_returned_whole(#[case] value: Value, #[case] mut expected: Value) {
        (expected["entries"], expected["next"]) = (json!([]), Value::Null);
        assert_eq!(shown(&value, LevelPage::default()), expected);
    }

    #[test]
    fn entries_have_a_kind_a_size_and_a_preview() {
        let value = json!({ "a": { "x": 1, "y": [2] }, "b": [1, 2], "c": "text" });
        let entries = &shown(&value, LevelPage::default())["entries"];
        assert_eq!(entries[0], json!({ "key": "a", "type": "object", "count": 2, "size": 15, "preview": "x, y" }));
        assert_eq!(entries[1], json!({ "key": "b", "type": "array", "count": 2, "size": 5, "preview": "" }));
        assert_eq!(entries[2], json!({ "key": "c", "type": "string", "count": 4, "size": 6, "preview": "text" }));
    }

    #[test]
    fn pages_have_all_entries_once() {
        let value: Value = (0..7).collect::<Vec<_>>().into();
        let (mut keys, mut after) = (vec![], Some(0));
        while let Some(start) = after {
            let page = level(&value, LevelPage { limit: 3, after: start, is_whole: false });
            keys.extend(page.entries.into_iter().map(|entry| entry.key));
            after = page.next;
        }
        assert_eq!(keys, (0..7).map(|key| key.to_string()).collect::<Vec<_>>());
        assert!(level(&value, LevelPage { after: usize::MAX, ..LevelPage::default() }).entries.is_empty());
    }

    #[rstest]
    #[case::long_names((0..400).map(|at| (format!("{at}{}", "n".repeat(5000)), json!(1))).collect::<Map<_, _>>().into())]
    #[case::controls((0..1000).map(|at| (format!("{at}\u{1}"), json!("\u{1}".repeat(500)))).collect::<Map<_, _>>().into())]
    #[case::many(Value::from((0..100_000).map(|_| json!({ "name": "x".repeat(50) })).collect::<Vec<_>>()))]
    #[case::text(Value::from("\u{1}".repeat(1 << 20)))]
    #[case::wide_text(Value::from("é".repeat(1 << 20)))]
    fn an_answer_is_small(#[case] value: Value) {
        let page = LevelPage { limit: MOST_ENTRIES, ..LevelPage::default() };
        let found = level(&value, page);
        assert!(found.cut || found.next.is_some());
        assert!(size(&serde_json::to_value(&found).unwrap()) < 200 << 10);
    }

    #[test]
    fn a_whole_text_is_returned_if_it_is_asked_for() {
        let value = Value::from("x".repeat(1 << 20));
        let found = level(&value, LevelPage { is_whole: true, ..LevelPage::default() });
        assert_eq!((found.value.as_ref(), found.cut), (Some(&value), false));
    }
}

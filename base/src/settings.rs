//! Settings of a file, taken one by one from a tree of values with their lines; every problem at once. Knows neither the
//! format of the file nor a setting.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use serde_json::{Value as Json, json};

use crate::near::{did_you_mean, quote_list, unknown_key};
use crate::schema_record::{EACH_ITEM, EACH_NAME, SchemaRecord};

/// A value and its line.
#[derive(Debug)]
pub struct SettingNode {
    /// The line, from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

/// A value of any format.
#[allow(missing_docs)]
#[derive(Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Date,
    Text(String),
    List(Vec<SettingNode>),
    Map(Vec<SettingEntry>),
}

/// A key of a map with its value.
#[derive(Debug)]
pub struct SettingEntry {
    /// The key.
    pub key: String,
    /// The line of the key, from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

impl Value {
    /// Returns the kind of the value with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "`true` or `false`",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number with a point",
            Self::Date => "a date",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// A problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// The line, from 1.
    pub line: usize,
    /// The full key, such as `api.base_url`; empty for the whole file.
    pub key: String,
    /// The problem, and the rule.
    pub problem: String,
}

/// Collects the problems of a file; or, without a file, the schema of what a reader takes.
#[derive(Debug, Default)]
pub struct Problems {
    found: RefCell<Vec<SettingProblem>>,
    record: Option<RefCell<SchemaRecord>>,
}

impl Problems {
    /// Returns a collection that records the schema of the settings that are taken.
    pub fn recording() -> Self {
        Self { record: Some(RefCell::default()), ..Self::default() }
    }

    /// Returns the schema that was recorded.
    pub fn schema(self) -> Json {
        self.record.map_or(Json::Null, |record| record.into_inner().schema())
    }

    /// Returns the root of a file that is not there, for a reader whose schema is recorded.
    pub fn root(&self) -> SettingsSection<'_> {
        SettingsSection::empty(String::new(), self)
    }

    /// Adds a problem with a key.
    pub fn add(&self, line: usize, key: impl Into<String>, problem: impl Into<String>) {
        self.found.borrow_mut().push(SettingProblem { line, key: key.into(), problem: problem.into() });
    }

    /// Returns the problems in the order of the file.
    pub fn end(self) -> Vec<SettingProblem> {
        let mut problems = self.found.into_inner();
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

/// A map of settings, and the keys that were taken from it so far.
#[derive(Debug)]
pub struct SettingsSection<'p> {
    path: String,
    /// Its first line, from 1.
    pub line: usize,
    entries: Vec<SettingEntry>,
    known: Vec<&'static str>,
    taken: Vec<&'static str>,
    problems: &'p Problems,
}

impl<'p> SettingsSection<'p> {
    /// Returns a map as a section; adds a problem if the value is not a map. `path` is its name; empty for the file.
    pub fn new(path: String, line: usize, value: Value, problems: &'p Problems) -> Option<Self> {
        let entries = match value {
            Value::Map(entries) => entries,
            Value::Null => Vec::new(),
            other => {
                problems.add(line, path, format!("must be a map, not {}", other.kind()));
                return None;
            }
        };
        Some(Self { path, line, entries, known: Vec::new(), taken: Vec::new(), problems })
    }

    fn empty(path: String, problems: &'p Problems) -> Self {
        Self { path, line: 0, entries: Vec::new(), known: Vec::new(), taken: Vec::new(), problems }
    }

    /// True if there is no file, and the schema of what is taken is recorded.
    pub fn is_recording(&self) -> bool {
        self.problems.record.is_some()
    }

    /// Records the schema of a key's value; an empty key stands for the section itself.
    pub fn note(&self, key: &str, schema: impl FnOnce() -> Json) {
        if let Some(record) = &self.problems.record {
            let path = if key.is_empty() { self.path.clone() } else { self.path_of(key) };
            record.borrow_mut().note(&path, schema());
        }
    }

    /// Returns the section of a key whose schema is recorded; `None` if there is a file.
    fn recorded(&self, key: &str) -> Option<Self> {
        self.is_recording().then(|| Self::empty(self.path_of(key), self.problems))
    }

    /// Returns the section of each item of a list whose schema is recorded; `None` if there is a file.
    pub fn recorded_item(&self, key: &str) -> Option<Self> {
        self.recorded(&format!("{key}.{EACH_ITEM}"))
    }

    /// Returns an item of a list as a section.
    pub fn inner(&self, key: &str, item: SettingNode) -> Option<Self> {
        Self::new(self.path_of(key), item.line, item.value, self.problems)
    }

    /// Returns the full path of a key.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Adds a problem with the key.
    pub fn wrong(&self, line: usize, key: &str, problem: impl Into<String>) {
        self.problems.add(line, self.path_of(key), problem);
    }

    fn take(&mut self, key: &'static str) -> Option<SettingEntry> {
        self.known.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        self.taken.push(key);
        Some(self.entries.remove(at))
    }

    /// True if the file has a setting that was taken, even an invalid one.
    pub fn has(&self, key: &str) -> bool {
        self.taken.contains(&key)
    }

    /// Takes a value with `read`, whose error is the problem with the value.
    pub fn value<V>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value) -> Result<V, String>,
    ) -> Option<(usize, V)> {
        let entry = self.take(key)?;
        match read(&entry.value) {
            Ok(value) => return Some((entry.line, value)),
            Err(_) if matches!(entry.value, Value::Null) => {
                self.wrong(entry.line, key, "has no value; write one, or remove the key");
            }
            Err(problem) => self.wrong(entry.line, key, problem),
        }
        None
    }

    /// Takes a text that is not empty; it may have several lines.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.note(key, text_schema);
        self.value(key, |value| text_of(value).map(str::to_owned)).map(|(_, text)| text)
    }

    /// Takes a text of one line, converted by `check`.
    pub fn word<V, E: ToString>(&mut self, key: &'static str, check: impl FnOnce(&str) -> Result<V, E>) -> Option<V> {
        self.note(key, text_schema);
        let read = |value: &Value| match text_of(value)? {
            text if text.trim().chars().any(char::is_control) => Err("must be one line".to_owned()),
            text => check(text.trim()).map_err(|problem| problem.to_string()),
        };
        self.value(key, read).map(|(_, word)| word)
    }

    /// Takes a required text of one line.
    pub fn required<V, E: ToString>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(&str) -> Result<V, E>,
    ) -> Option<V> {
        if let Some(record) = &self.problems.record {
            record.borrow_mut().require(&self.path, key);
        }
        if !self.entries.iter().any(|entry| entry.key == key) {
            self.wrong(self.line, key, "is missing");
        }
        self.word(key, check)
    }

    /// Takes a text of one line.
    pub fn line(&mut self, key: &'static str) -> Option<String> {
        self.word(key, |text| Ok::<_, String>(text.to_owned()))
    }

    /// Takes `true` or `false`.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.note(key, || json!({ "type": "boolean" }));
        self.value(key, flag_of).map(|(_, flag)| flag)
    }

    /// Takes an integer within a range.
    pub fn count(&mut self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        self.note(key, || count_schema(&range));
        self.value(key, |value| count_of(value, &range)).map(|(_, count)| count)
    }

    /// Takes a list of non-empty texts.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        self.note(key, || json!({ "type": "array", "items": text_schema() }));
        let items = self.list(key)?;
        Some(items.iter().filter_map(|item| self.item(key, item)).collect())
    }

    /// Returns an item of a list as a text.
    pub fn item(&self, key: &str, item: &SettingNode) -> Option<String> {
        match text_of(&item.value) {
            Ok(text) => return Some(text.trim().to_owned()),
            Err(problem) => self.wrong(item.line, key, format!("each item {problem}")),
        }
        None
    }

    /// True if the value of a key is a list.
    pub fn is_list(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && matches!(entry.value, Value::List(_)))
    }

    /// Takes a list.
    pub fn list(&mut self, key: &'static str) -> Option<Vec<SettingNode>> {
        let entry = self.take(key)?;
        match entry.value {
            Value::List(items) => Some(items),
            Value::Null => None,
            other => {
                self.wrong(entry.line, key, expected("a list", &other));
                None
            }
        }
    }

    /// Takes a map; a key without a value counts as an empty map.
    pub fn section(&mut self, key: &'static str) -> Option<Self> {
        self.note(key, || json!({ "type": "object" }));
        if let Some(recorded) = self.recorded(key) {
            return Some(recorded);
        }
        let entry = self.take(key)?;
        SettingsSection::new(self.path_of(key), entry.line, entry.value, self.problems)
    }

    /// Takes a value of any kind.
    pub fn any(&mut self, key: &'static str) -> Option<(usize, Value)> {
        self.take(key).map(|entry| (entry.line, entry.value))
    }

    /// Returns every remaining entry as a section.
    pub fn sections(mut self) -> Vec<(String, usize, Self)> {
        let entries = std::mem::take(&mut self.entries);
        self.opened(entries)
    }

    /// Takes every remaining map, with its name and line.
    pub fn maps(&mut self) -> Vec<(String, usize, Self)> {
        if let Some(any) = self.recorded(EACH_NAME) {
            return vec![(EACH_NAME.to_owned(), 0, any)];
        }
        let (maps, others) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| matches!(entry.value, Value::Map(_)));
        self.entries = others;
        self.opened(maps)
    }

    fn opened(&self, maps: Vec<SettingEntry>) -> Vec<(String, usize, Self)> {
        let open = |SettingEntry { key, line, value }| {
            let section = Self::new(self.path_of(&key), line, value, self.problems)?;
            Some((key, line, section))
        };
        maps.into_iter().filter_map(open).collect()
    }

    /// Returns the remaining entries.
    pub fn rest(self) -> Vec<SettingEntry> {
        self.note("", || json!({ "additionalProperties": true }));
        self.entries
    }

    /// Appends a name to the path, such as that of a list item.
    pub fn named(&mut self, name: &str) {
        if self.is_recording() {
            return;
        }
        self.path = self.path_of(name);
    }

    /// Adds a problem for every key that was not taken.
    pub fn end(self) {
        self.end_with(unknown_key);
    }

    /// Adds a problem for every key that was not taken, created by `problem` from the key and the known ones.
    pub fn end_with(self, problem: impl Fn(&str, &[&str]) -> String) {
        for entry in &self.entries {
            self.wrong(entry.line, &entry.key, problem(&entry.key, &self.known));
        }
    }
}

/// Returns the problem of an unknown word, with the known ones.
pub fn none_of(word: &str, words: &[&str]) -> String {
    format!("`{word}` is not one of {}{}", quote_list(words), did_you_mean(word, words))
}

/// Returns a value as `true` or `false`.
pub fn flag_of(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other => Err(expected("`true` or `false`", other)),
    }
}

/// Returns a value as an integer within a range.
pub fn count_of(value: &Value, range: &RangeInclusive<u32>) -> Result<u32, String> {
    let Value::Int(number) = value else { return Err(expected("a whole number", value)) };
    let count = u32::try_from(*number).ok().filter(|count| range.contains(count));
    count.ok_or_else(|| format!("must be {}, not {number}", bounds(range)))
}

/// Returns the words for a range of counts.
pub fn bounds(range: &RangeInclusive<u32>) -> String {
    match *range.end() {
        u32::MAX => format!("at least {}", range.start()),
        end => format!("from {} to {end}", range.start()),
    }
}

/// Returns a value as a non-empty text.
pub fn text_of(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Err("must not be empty".to_owned()),
        Value::Text(text) if text.contains('\0') => Err("must not have a null character".to_owned()),
        Value::Text(text) => Ok(text),
        Value::Map(_) => Err("must be a text, not a map: a text with `: ` in it needs quotes".to_owned()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            Err(format!("{}: put it in quotes", expected("a text", value)))
        }
        Value::Null | Value::Date | Value::List(_) => Err(expected("a text", value)),
    }
}

/// Returns the schema of a non-empty text.
pub fn text_schema() -> Json {
    json!({ "type": "string", "minLength": 1 })
}

/// Returns the schema of an integer within a range.
pub fn count_schema(range: &RangeInclusive<u32>) -> Json {
    match *range.end() {
        u32::MAX => json!({ "type": "integer", "minimum": range.start() }),
        end => json!({ "type": "integer", "minimum": range.start(), "maximum": end }),
    }
}

/// Returns the problem of a value of the wrong kind.
pub fn expected(what: &str, value: &Value) -> String {
    format!("must be {what}, not {}", value.kind())
}

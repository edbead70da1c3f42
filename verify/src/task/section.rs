//! A YAML map whose settings are taken one by one; the remaining keys are unknown. Knows no setting.

use std::ops::RangeInclusive;
use std::str::FromStr;

use strum::VariantNames;
use superstep_base::near::{meant, quoted, unknown_key};

use super::problem::Problems;
use super::yaml::{Entry, Node, Value, parse};

/// A YAML map, and the keys that were taken from it so far.
#[derive(Debug)]
pub(super) struct Section<'p> {
    path: String,
    /// Its first line, from 1.
    pub(super) line: usize,
    entries: Vec<Entry>,
    known: Vec<&'static str>,
    problems: &'p Problems,
}

impl<'p> Section<'p> {
    /// Returns a map as a section; adds a problem if the value is not a map. `path` is its name; empty for the file.
    pub(super) fn new(path: String, line: usize, value: Value, problems: &'p Problems) -> Option<Self> {
        let entries = match value {
            Value::Map(entries) => entries,
            Value::Null => Vec::new(),
            other => {
                problems.add(line, path, format!("must be a map, not {}", other.kind()));
                return None;
            }
        };
        Some(Self { path, line, entries, known: Vec::new(), problems })
    }

    /// Parses a whole file as a section.
    pub(super) fn of_text(text: &str, problems: &'p Problems) -> Option<Self> {
        match parse(text) {
            Ok(root) => Self::new(String::new(), root.line, root.value, problems),
            Err(fault) => {
                problems.add(fault.line, "", fault.problem);
                None
            }
        }
    }

    /// Returns an item of a list as a section.
    pub(super) fn inner(&self, key: &str, item: Node) -> Option<Self> {
        Self::new(self.path_of(key), item.line, item.value, self.problems)
    }

    /// Returns the full path of a key.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Adds a problem with the key.
    pub(super) fn wrong(&self, line: usize, key: &str, problem: impl Into<String>) {
        self.problems.add(line, self.path_of(key), problem);
    }

    fn take(&mut self, key: &'static str) -> Option<Entry> {
        self.known.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Takes a value with `read`, whose error is the problem with the value.
    pub(super) fn value<V>(
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
    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        self.value(key, |value| text_of(value).map(str::to_owned)).map(|(_, text)| text)
    }

    /// Takes a text of one line, converted by `check`.
    pub(super) fn word<V, E: ToString>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(&str) -> Result<V, E>,
    ) -> Option<V> {
        let read = |value: &Value| match text_of(value)? {
            text if text.trim().chars().any(char::is_control) => Err("must be one line".to_owned()),
            text => check(text.trim()).map_err(|problem| problem.to_string()),
        };
        self.value(key, read).map(|(_, word)| word)
    }

    /// Takes a required text of one line.
    pub(super) fn required<V, E: ToString>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(&str) -> Result<V, E>,
    ) -> Option<V> {
        if !self.entries.iter().any(|entry| entry.key == key) {
            self.wrong(self.line, key, "is missing");
        }
        self.word(key, check)
    }

    pub(super) fn line(&mut self, key: &'static str) -> Option<String> {
        self.word(key, |text| Ok::<_, String>(text.to_owned()))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.value(key, flag_of).map(|(_, flag)| flag)
    }

    /// Takes an integer within a range.
    pub(super) fn count(&mut self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        self.value(key, |value| count_of(value, &range)).map(|(_, count)| count)
    }

    /// Takes one of the words of `C`.
    pub(super) fn choice<C: FromStr + VariantNames>(&mut self, key: &'static str) -> Option<C> {
        self.word(key, choice_of)
    }

    /// Takes a list of non-empty texts.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        let items = self.list(key)?;
        Some(items.iter().filter_map(|item| self.item(key, item)).collect())
    }

    /// Returns an item of a list as a text.
    pub(super) fn item(&self, key: &str, item: &Node) -> Option<String> {
        match text_of(&item.value) {
            Ok(text) => return Some(text.trim().to_owned()),
            Err(problem) => self.wrong(item.line, key, format!("each item {problem}")),
        }
        None
    }

    pub(super) fn is_list(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && matches!(entry.value, Value::List(_)))
    }

    pub(super) fn list(&mut self, key: &'static str) -> Option<Vec<Node>> {
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
    pub(super) fn section(&mut self, key: &'static str) -> Option<Self> {
        let entry = self.take(key)?;
        Section::new(self.path_of(key), entry.line, entry.value, self.problems)
    }

    /// Takes a value of any kind.
    pub(super) fn any(&mut self, key: &'static str) -> Option<(usize, Value)> {
        self.take(key).map(|entry| (entry.line, entry.value))
    }

    /// Returns every remaining entry as a section.
    pub(super) fn sections(mut self) -> Vec<(String, Self)> {
        let entries = std::mem::take(&mut self.entries);
        let open = |entry: Entry| {
            let path = self.path_of(&entry.key);
            Some((entry.key, Section::new(path, entry.line, entry.value, self.problems)?))
        };
        entries.into_iter().filter_map(open).collect()
    }

    /// Returns the remaining entries.
    pub(super) fn rest(self) -> Vec<Entry> {
        self.entries
    }

    /// Appends a name to the path, such as that of a list item.
    pub(super) fn named(&mut self, name: &str) {
        self.path = self.path_of(name);
    }

    /// Adds a problem for every key that was not taken.
    pub(super) fn end(self) {
        for entry in &self.entries {
            self.wrong(entry.line, &entry.key, unknown_key(&entry.key, &self.known));
        }
    }
}

/// Parses one of the words of `C`.
pub(crate) fn choice_of<C: FromStr + VariantNames>(word: &str) -> Result<C, String> {
    let problem = || format!("`{word}` is none of {}{}", quoted(C::VARIANTS), meant(word, C::VARIANTS));
    word.parse().map_err(|_| problem())
}

/// Returns a value as `true` or `false`.
pub(super) fn flag_of(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        other => Err(expected("`true` or `false`", other)),
    }
}

/// Returns a value as an integer within a range.
pub(super) fn count_of(value: &Value, range: &RangeInclusive<u32>) -> Result<u32, String> {
    let Value::Int(number) = value else { return Err(expected("a whole number", value)) };
    let count = u32::try_from(*number).ok().filter(|count| range.contains(count));
    count.ok_or_else(|| format!("must be {}, not {number}", bounds(range)))
}

pub(super) fn bounds(range: &RangeInclusive<u32>) -> String {
    match *range.end() {
        u32::MAX => format!("at least {}", range.start()),
        end => format!("from {} to {end}", range.start()),
    }
}

/// Returns a value as a non-empty text.
pub(super) fn text_of(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Err("must not be empty".to_owned()),
        Value::Text(text) if text.contains('\0') => Err("must not have a null character".to_owned()),
        Value::Text(text) => Ok(text),
        Value::Map(_) => Err("must be a text, not a map: a text with `: ` in it needs quotes".to_owned()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            Err(format!("{}: put it in quotes", expected("a text", value)))
        }
        Value::Null | Value::List(_) => Err(expected("a text", value)),
    }
}

/// Returns the problem of a value of the wrong kind.
pub(super) fn expected(what: &str, value: &Value) -> String {
    format!("must be {what}, not {}", value.kind())
}

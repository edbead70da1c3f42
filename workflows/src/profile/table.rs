//! TOML as tables, from which settings are taken one by one, and the error that lists every problem. Knows TOML and no setting.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use superstep_base::near::unknown_key;
use superstep_base::settings::{Problems, SettingEntry, SettingNode, SettingsSection, Value, none_of, text_schema};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::choices::Choice;

/// The error for an invalid profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("{}: the profile cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The content is invalid. Displays as a line `FILE:LINE: KEY: …` for each problem.
    #[error("{}", format_problems(file, problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Every problem, in the order of the file.
        problems: Vec<ProfileProblem>,
    },
    /// A flag that overrides the profile is invalid.
    #[error("{flag}: {problem}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// The problem.
        problem: String,
    },
}

/// One problem with a profile. Never shows a value that could be a key.
pub use superstep_base::settings::SettingProblem as ProfileProblem;

impl ProfileError {
    /// Returns a suggestion for fixing the error.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("pass a TOML file that exists and is readable"),
            Self::Invalid { .. } => Some("`docs/profile.md` lists every key of a profile with its default"),
            Self::Flag { .. } => None,
        }
    }
}

fn format_problems(file: &std::path::Path, problems: &[ProfileProblem]) -> String {
    let line = |found: &ProfileProblem| {
        let key = if found.key.is_empty() { String::new() } else { format!("{}: ", found.key) };
        format!("{}:{}: {key}{}", file.display(), found.line, found.problem)
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Parses a file as a table; what is not TOML is a problem.
pub(super) fn parse<'p>(text: &str, problems: &'p Problems) -> Option<Table<'p>> {
    let line_at = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or_default();
        let key = if error.message() == "duplicate key" { text.get(span.clone()).unwrap_or_default() } else { "" };
        problems.add(line_at(span.start), key, error.message());
    }
    if !errors.is_empty() {
        return None;
    }
    SettingsSection::new(String::new(), 1, map(document.into_inner(), &line_at), problems).map(Table)
}

fn map(table: DeTable<'_>, line_at: &impl Fn(usize) -> usize) -> Value {
    let entry = |(key, item): (Spanned<_>, Spanned<_>)| {
        let line = line_at(key.span().start);
        let key: Cow<'_, str> = key.into_inner();
        SettingEntry { key: key.into_owned(), line, value: value(item.into_inner(), line_at) }
    };
    Value::Map(table.into_iter().map(entry).collect())
}

fn value(value: DeValue<'_>, line_at: &impl Fn(usize) -> usize) -> Value {
    let node = |item: Spanned<_>| SettingNode {
        line: line_at(item.span().start),
        value: self::value(item.into_inner(), line_at),
    };
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        // More digits than fit are too many for every setting.
        DeValue::Integer(digits) => {
            Value::Int(i128::from_str_radix(digits.as_str(), digits.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(digits) => Value::Float(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(table) => map(table, line_at),
    }
}

/// A table, and the keys that were taken from it so far.
pub(super) struct Table<'p>(SettingsSection<'p>);

impl<'p> From<SettingsSection<'p>> for Table<'p> {
    fn from(section: SettingsSection<'p>) -> Self {
        Self(section)
    }
}

impl<'p> Deref for Table<'p> {
    type Target = SettingsSection<'p>;

    fn deref(&self) -> &SettingsSection<'p> {
        &self.0
    }
}

impl Table<'_> {
    /// Takes a text that is not empty, converted by `check`.
    pub(super) fn text<V>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<(usize, V)> {
        self.0.note(key, text_schema);
        self.0.value(key, |value| match value {
            Value::Text(text) if text.trim().is_empty() => Err("is empty".to_owned()),
            Value::Text(text) if text.chars().any(char::is_control) => Err("holds a control character".to_owned()),
            Value::Text(text) => check(text),
            other => Err(wrong_kind("a string in quotes", other)),
        })
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.0.note(key, || json!({ "type": "boolean" }));
        let found = self.0.value(key, |value| match value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(wrong_kind("`true` or `false`", other)),
        });
        found.map(|(_, flag)| flag)
    }

    /// Takes an integer of at least 1.
    pub(super) fn count<N: TryFrom<u64>>(&mut self, key: &'static str) -> Option<N> {
        self.0.note(key, || json!({ "type": "integer", "minimum": 1 }));
        let found = self.0.value(key, |value| {
            let number = whole(value).ok_or_else(|| wrong_kind("a whole number", value))?;
            let number = u64::try_from(number).ok().filter(|number| *number >= 1).ok_or("must be at least 1")?;
            N::try_from(number).map_err(|_| "is too large".to_owned())
        });
        found.map(|(_, number)| number)
    }

    /// Takes a positive amount of dollars, in millionths.
    pub(super) fn dollars(&mut self, key: &'static str) -> Option<u64> {
        self.amount(key, 0.000_001, "must be more than 0, and at most 1e9")
    }

    /// Takes a price in dollars, in millionths; 0 for local models.
    pub(super) fn price(&mut self, key: &'static str) -> Option<u64> {
        self.amount(key, 0.0, "must be at least 0, and at most 1e9")
    }

    fn amount(&mut self, key: &'static str, least: f64, wrong: &str) -> Option<u64> {
        self.0.note(key, || json!({ "type": "number", "minimum": least, "maximum": MAX_DOLLARS }));
        let found = self.0.value(key, |value| {
            let amount = match value {
                Value::Float(amount) => *amount,
                Value::Int(amount) => *amount as f64,
                other => return Err(wrong_kind("an amount of dollars, such as `2.5`", other)),
            };
            // Exact up to a billion dollars.
            let is_amount = (least..=MAX_DOLLARS).contains(&amount);
            if is_amount { Ok((amount * 1e6).round() as u64) } else { Err(wrong.to_owned()) }
        });
        found.map(|(_, amount)| amount)
    }

    /// Takes a time: whole seconds, or a text such as `90s`, `10m`, `1h`.
    pub(super) fn time(&mut self, key: &'static str) -> Option<Duration> {
        self.0.note(key, || json!({ "type": ["integer", "string"], "minimum": 1, "pattern": "^ *[0-9]+ *[smh]$" }));
        let found = self.0.value(key, |value| {
            let error = || wrong_kind("a time: whole seconds, or a string such as `90s`, `10m`, `1h`", value);
            let seconds = match value {
                Value::Text(text) => seconds(text).ok_or_else(error)?,
                _ => u64::try_from(whole(value).ok_or_else(error)?).map_err(|_| "must be at least one second")?,
            };
            let is_time = (1..=MAX_SECONDS).contains(&seconds);
            if is_time {
                Ok(Duration::from_secs(seconds))
            } else {
                Err("must be from one second to 30 days".to_owned())
            }
        });
        found.map(|(_, time)| time)
    }

    /// Takes a time that may be zero or less than a second: whole seconds, or a text such as `0s`, `500ms`, `10m`.
    pub(super) fn wait(&mut self, key: &'static str) -> Option<Duration> {
        self.0
            .note(key, || json!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^ *[0-9]+ *(ms|s|m|h)$" }));
        let found = self.0.value(key, |value| {
            let error = || wrong_kind("a time: whole seconds, or a string such as `500ms`, `90s`, `10m`", value);
            let time = match value {
                Value::Text(text) => time(text).ok_or_else(error)?,
                _ => Duration::from_secs(whole(value).and_then(|number| number.try_into().ok()).ok_or_else(error)?),
            };
            let is_time = time <= Duration::from_secs(MAX_SECONDS);
            if is_time { Ok(time) } else { Err("must be at most 30 days".to_owned()) }
        });
        found.map(|(_, time)| time)
    }

    /// Takes one of the words of `C`.
    pub(super) fn choice<C: Choice>(&mut self, key: &'static str) -> Option<C> {
        let words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        let found = self.text(key, |text| {
            let found = C::WORDS.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
            found.ok_or_else(|| none_of(text, &words))
        });
        self.0.note(key, || json!({ "enum": words }));
        found.map(|(_, choice)| choice)
    }

    /// Takes a list of non-empty texts.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<(usize, Vec<String>)> {
        self.0.note(key, || json!({ "type": "array", "items": text_schema() }));
        self.0.value(key, |value| {
            let wrong = |value: &Value| wrong_kind("a list of strings", value);
            let Value::List(items) = value else { return Err(wrong(value)) };
            let text = |item: &SettingNode| match &item.value {
                Value::Text(text) if text.trim().is_empty() => Err("contains an empty string".to_owned()),
                Value::Text(text) if text.contains('\0') => Err("holds a control character".to_owned()),
                Value::Text(text) => Ok(text.clone()),
                other => Err(wrong(other)),
            };
            items.iter().map(text).collect()
        })
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<Self> {
        if self.0.is_recording() {
            return self.0.section(key).map(Self);
        }
        let (line, value) = self.0.any(key)?;
        if !matches!(value, Value::Map(_)) {
            self.wrong(line, key, wrong_kind("a table", &value));
            return None;
        }
        self.inner(key, SettingNode { line, value }).map(Self)
    }

    /// Takes every remaining table, with its name and line.
    pub(super) fn tables(&mut self) -> Vec<(String, usize, Self)> {
        self.0.maps().into_iter().map(|(name, line, section)| (name, line, Self(section))).collect()
    }

    /// Adds a problem for every key that was not taken.
    pub(super) fn end(self) {
        self.0.end_with(|key, known| match is_secret(key) {
            true => {
                "keep keys out of the profile; name the environment variable of the key in `api_key_env`".to_owned()
            }
            false => unknown_key(key, known),
        });
    }
}

const MAX_SECONDS: u64 = 30 * 24 * 3600;
const MAX_DOLLARS: f64 = 1e9;

fn whole(value: &Value) -> Option<i128> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

fn time(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(digits) => digits.trim().parse().ok().map(Duration::from_millis),
        None => seconds(text).map(Duration::from_secs),
    }
}

fn seconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns the problem of a value of the wrong kind, without the value.
fn wrong_kind(what: &str, value: &Value) -> String {
    let kind = match value {
        Value::Text(_) => "this string",
        Value::Map(_) => "a table",
        other => other.kind(),
    };
    format!("must be {what}, not {kind}")
}

/// True for keys whose value may be a secret.
fn is_secret(key: &str) -> bool {
    let key: String = key.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    key == "key"
        || ["apikey", "token", "secret", "password", "accesskey", "authorization", "bearer"]
            .iter()
            .any(|end| key.ends_with(end))
}

pub(super) fn set_if_some<V>(place: &mut V, value: Option<V>) {
    if let Some(value) = value {
        *place = value;
    }
}

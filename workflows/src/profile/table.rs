//! A table of a TOML file, from which settings are taken one by one; the remaining keys are unknown. Collects every
//! problem with its line, for the error that lists them. Knows TOML and no setting.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use superstep_base::near::{meant, quoted, unknown_key};
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
    #[error("{}", listed(file, problems))]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileProblem {
    /// The line, from 1.
    pub line: usize,
    /// The full key, such as `api.base_url`; empty if the file is not TOML.
    pub key: String,
    /// The problem, and the rule.
    pub problem: String,
}

impl ProfileError {
    /// Returns a suggestion for fixing the error.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("name a TOML file that exists and may be read"),
            Self::Invalid { .. } => Some("`docs/profile.md` lists every key of a profile with its default"),
            Self::Flag { .. } => None,
        }
    }
}

fn listed(file: &std::path::Path, problems: &[ProfileProblem]) -> String {
    let line = |found: &ProfileProblem| {
        let key = if found.key.is_empty() { String::new() } else { format!("{}: ", found.key) };
        format!("{}:{}: {key}{}", file.display(), found.line, found.problem)
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The problems of a file.
pub(super) struct Problems<'t> {
    text: &'t str,
    found: Vec<ProfileProblem>,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Adds a problem at a byte offset.
    pub(super) fn add(&mut self, at: usize, key: impl Into<String>, problem: impl Into<String>) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        self.found.push(ProfileProblem { line, key: key.into(), problem: problem.into() });
    }

    /// Returns the problems in the order of the file.
    pub(super) fn end(mut self) -> Vec<ProfileProblem> {
        self.found.sort_by_key(|problem| problem.line);
        self.found
    }
}

/// A value and its position.
pub(super) struct Entry<'t> {
    /// The byte offset of its key.
    pub(super) at: usize,
    value: Spanned<DeValue<'t>>,
}

/// A table, and the keys that were taken from it so far.
pub(super) struct Table<'t> {
    path: String,
    entries: BTreeMap<String, Entry<'t>>,
    known: Vec<&'static str>,
    taken: Vec<&'static str>,
}

impl<'t> Table<'t> {
    /// Returns a table. `path` is its name followed by a dot; empty for the file.
    pub(super) fn new(path: impl Into<String>, table: DeTable<'t>) -> Self {
        let entry = |(key, value): (Spanned<_>, _)| {
            let Range { start, .. } = key.span();
            let name: std::borrow::Cow<'t, str> = key.into_inner();
            (name.into_owned(), Entry { at: start, value })
        };
        Self {
            path: path.into(),
            entries: table.into_iter().map(entry).collect(),
            known: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Returns the full path of a key.
    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }

    fn take(&mut self, key: &'static str) -> Option<Entry<'t>> {
        self.known.push(key);
        let entry = self.entries.remove(key)?;
        self.taken.push(key);
        Some(entry)
    }

    /// True if the file has a setting that was taken, even an invalid one.
    pub(super) fn has(&self, key: &str) -> bool {
        self.taken.contains(&key)
    }

    /// Takes a value with `read`, whose error is the problem with the value.
    fn value<V>(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'t>,
        read: impl FnOnce(&DeValue<'t>) -> Result<V, String>,
    ) -> Option<(usize, V)> {
        let entry = self.take(key)?;
        match read(entry.value.get_ref()) {
            Ok(value) => Some((entry.at, value)),
            Err(problem) => {
                problems.add(entry.at, self.path_of(key), problem);
                None
            }
        }
    }

    /// Takes a text that is not empty, converted by `check`.
    pub(super) fn text<V>(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'t>,
        check: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<(usize, V)> {
        self.value(key, problems, |value| match value.as_str() {
            Some(text) if text.trim().is_empty() => Err("is empty".to_owned()),
            Some(text) if text.chars().any(char::is_control) => Err("holds a control character".to_owned()),
            Some(text) => check(text),
            None => Err(expected("a text in quotes", value)),
        })
    }

    pub(super) fn flag(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<bool> {
        let found =
            self.value(key, problems, |value| value.as_bool().ok_or_else(|| expected("`true` or `false`", value)));
        found.map(|(_, flag)| flag)
    }

    /// Takes an integer of at least 1.
    pub(super) fn count<N: TryFrom<u64>>(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<N> {
        let found = self.value(key, problems, |value| {
            let number = whole(value).ok_or_else(|| expected("a whole number", value))?;
            let number = u64::try_from(number).ok().filter(|number| *number >= 1).ok_or("must be at least 1")?;
            N::try_from(number).map_err(|_| "is too large".to_owned())
        });
        found.map(|(_, number)| number)
    }

    /// Takes a positive amount of dollars, in millionths.
    pub(super) fn dollars(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<u64> {
        self.amount(key, problems, 0.000_001, "must be more than 0, and at most 1e9")
    }

    /// Takes a price in dollars, in millionths; 0 for local models.
    pub(super) fn price(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<u64> {
        self.amount(key, problems, 0.0, "must be at least 0, and at most 1e9")
    }

    fn amount(&mut self, key: &'static str, problems: &mut Problems<'t>, least: f64, wrong: &str) -> Option<u64> {
        let found = self.value(key, problems, |value| {
            let text = value.as_float().map(|float| float.as_str().to_owned());
            let text = text.or_else(|| whole(value).map(|number| number.to_string()));
            let text = text.ok_or_else(|| expected("an amount of dollars, such as `2.5`", value))?;
            let amount = text.parse::<f64>().map_err(|_| "is not an amount of dollars")?;
            // Exact up to a billion dollars.
            let is_amount = (least..=1e9).contains(&amount);
            if is_amount { Ok((amount * 1e6).round() as u64) } else { Err(wrong.to_owned()) }
        });
        found.map(|(_, amount)| amount)
    }

    /// Takes a time: whole seconds, or a text such as `90s`, `10m`, `1h`.
    pub(super) fn time(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<Duration> {
        let found = self.value(key, problems, |value| {
            let error = || expected("a time: whole seconds, or a text such as `90s`, `10m`, `1h`", value);
            let seconds = match value.as_str() {
                Some(text) => seconds(text).ok_or_else(error)?,
                None => u64::try_from(whole(value).ok_or_else(error)?).map_err(|_| "must be at least one second")?,
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
    pub(super) fn wait(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<Duration> {
        let found = self.value(key, problems, |value| {
            let error = || expected("a time: whole seconds, or a text such as `500ms`, `90s`, `10m`", value);
            let time = match value.as_str() {
                Some(text) => time(text).ok_or_else(error)?,
                None => Duration::from_secs(whole(value).and_then(|number| number.try_into().ok()).ok_or_else(error)?),
            };
            let is_time = time <= Duration::from_secs(MAX_SECONDS);
            if is_time { Ok(time) } else { Err("must be at most 30 days".to_owned()) }
        });
        found.map(|(_, time)| time)
    }

    /// Takes one of the words of `C`.
    pub(super) fn choice<C: Choice>(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<C> {
        let words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        let found = self.text(key, problems, |text| {
            let found = C::WORDS.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
            found.ok_or_else(|| format!("`{text}` is none of {}{}", quoted(&words), meant(text, &words)))
        });
        found.map(|(_, choice)| choice)
    }

    /// Takes a list of non-empty texts.
    pub(super) fn texts(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<(usize, Vec<String>)> {
        self.value(key, problems, |value| {
            let items = value.as_array().ok_or_else(|| expected("a list of texts", value))?;
            let text = |item: &Spanned<DeValue<'t>>| match item.get_ref().as_str() {
                Some(text) if text.trim().is_empty() => Err("holds an empty text".to_owned()),
                Some(text) if text.contains('\0') => Err("holds a control character".to_owned()),
                Some(text) => Ok(text.to_owned()),
                None => Err(expected("a list of texts", item.get_ref())),
            };
            items.iter().map(text).collect()
        })
    }

    pub(super) fn table(&mut self, key: &'static str, problems: &mut Problems<'t>) -> Option<Self> {
        let entry = self.take(key)?;
        self.open(key, entry, problems)
    }

    /// Takes every remaining table, with its name and position.
    pub(super) fn tables(&mut self, problems: &mut Problems<'t>) -> Vec<(String, usize, Self)> {
        let is_table = |entry: &Entry<'_>| entry.value.get_ref().is_table();
        let names: Vec<String> =
            self.entries.iter().filter(|(_, entry)| is_table(entry)).map(|(n, _)| n.clone()).collect();
        let take = |name: String| {
            let entry = self.entries.remove(&name)?;
            let at = entry.at;
            let table = self.open(&name, entry, problems)?;
            Some((name, at, table))
        };
        names.into_iter().filter_map(take).collect()
    }

    fn open(&self, key: &str, entry: Entry<'t>, problems: &mut Problems<'t>) -> Option<Self> {
        match entry.value.into_inner() {
            DeValue::Table(table) => Some(Self::new(format!("{}.", self.path_of(key)), table)),
            other => {
                problems.add(entry.at, self.path_of(key), expected("a table", &other));
                None
            }
        }
    }

    /// Adds a problem for every key that was not taken.
    pub(super) fn end(self, problems: &mut Problems<'t>) {
        for (key, entry) in &self.entries {
            let problem = if is_secret(key) {
                "keep keys out of the profile; name the environment variable of the key in `api_key_env`".to_owned()
            } else {
                unknown_key(key, &self.known)
            };
            problems.add(entry.at, self.path_of(key), problem);
        }
    }
}

const MAX_SECONDS: u64 = 30 * 24 * 3600;

fn whole(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
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
fn expected(what: &str, value: &DeValue<'_>) -> String {
    format!("must be {what}, not {}", kind(value))
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "this text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// True for keys whose value may be a secret.
fn is_secret(key: &str) -> bool {
    let key: String = key.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    key == "key"
        || ["apikey", "token", "secret", "password", "accesskey", "authorization", "bearer"]
            .iter()
            .any(|end| key.ends_with(end))
}

pub(super) fn set<V>(place: &mut V, value: Option<V>) {
    if let Some(value) = value {
        *place = value;
    }
}

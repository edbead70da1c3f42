//! Patches of a verifier's entry in `verifiers.yml` and in a task's front matter: a table of keys, each with a check,
//! and their application to an entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use superstep_base::near::unknown_key;

use super::entry::{Criticality, Mode, OnFail, VerifierEntry};
use super::id::name;
use super::section::{Section, choice_of, count_of, expected, text_of};
use super::stage::Stage;
use super::yaml::{Entry, Value};

/// A patch of a verifier's entry. Keys that are not present stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerifierPatch {
    /// Every key but `config`.
    #[serde(flatten)]
    keys: BTreeMap<String, Json>,
    /// The settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    config: BTreeMap<String, Json>,
    /// The lines of the keys; the line of the entry itself is under `id`, settings are under `config.KEY`.
    #[serde(skip)]
    lines: BTreeMap<String, usize>,
}

/// Ignores the lines.
impl PartialEq for VerifierPatch {
    fn eq(&self, other: &Self) -> bool {
        (&self.keys, &self.config) == (&other.keys, &other.config)
    }
}

type Check = fn(&Value) -> Result<Json, String>;

/// The keys of an entry, except `id` and `config`.
const KEYS: [(&str, Check); 9] = [
    ("enabled", flag),
    ("stakeholder", |value| word(value, |text| name(text).map_err(|error| error.to_string()))),
    ("mode", |value| word(value, choice_of::<Mode>)),
    ("stage", stage),
    ("after", names),
    ("criticality", |value| word(value, choice_of::<Criticality>)),
    ("required", flag),
    ("warn_triggers_retry", flag),
    ("on_fail", |value| word(value, choice_of::<OnFail>)),
];

/// The keys of `config` that all verifiers share.
const SETTINGS: [(&str, Check); 9] = [
    ("command", text),
    ("timeout_sec", |value| count(value, 1, 600)),
    ("max_findings", |value| count(value, 1, 1000)),
    ("max_diff_bytes", |value| count(value, 1, 10 << 20)),
    ("prompt", text),
    ("driver", text),
    ("model", text),
    ("acceptance_window", |value| count(value, 1, u32::MAX)),
    ("consider_next_tasks", next_tasks),
];

impl VerifierPatch {
    /// Reads an entry whose `id` has already been taken.
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let mut patch = Self::default();
        patch.lines.insert("id".to_owned(), section.line);
        for (key, check) in KEYS {
            let Some((line, value)) = section.value(key, check) else { continue };
            patch.lines.insert(key.to_owned(), line);
            patch.keys.insert(key.to_owned(), value);
        }
        if let Some(config) = section.section("config") {
            patch.settings(config);
        }
        section.end();
        patch
    }

    fn settings(&mut self, mut section: Section<'_>) {
        for (key, check) in SETTINGS {
            let Some((line, value)) = section.value(key, check) else { continue };
            self.setting(key.to_owned(), line, value);
        }
        for Entry { key, line, value } in section.rest() {
            self.setting(key, line, value.into_json());
        }
    }

    fn setting(&mut self, key: String, line: usize, value: Json) {
        self.lines.insert(format!("config.{key}"), line);
        self.config.insert(key, value);
    }

    /// Returns the line of a key, otherwise of the entry, from 1; 0 if it was not read from a file.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.lines.get(key).or_else(|| self.lines.get("id")).copied().unwrap_or_default()
    }

    /// Returns `true` if the patch has the key; settings are `config.KEY`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    pub(super) fn enabled(&self) -> Option<bool> {
        self.keys.get("enabled").and_then(Json::as_bool)
    }

    /// Returns `entry` with this patch applied.
    pub(super) fn over(&self, entry: &VerifierEntry) -> Result<VerifierEntry, serde_json::Error> {
        let mut json = serde_json::to_value(entry)?;
        for (key, value) in &self.keys {
            json[key] = value.clone();
        }
        if self.config.contains_key("command") && !self.keys.contains_key("mode") {
            json["mode"] = Mode::Shell.to_string().into();
        }
        for (key, value) in &self.config {
            json["config"][key] = value.clone();
        }
        serde_json::from_value(json)
    }
}

/// Returns the problem of an unknown setting.
pub(super) fn unknown_setting(key: &str) -> String {
    unknown_key(key, &SETTINGS.map(|(known, _)| known))
}

fn flag(value: &Value) -> Result<Json, String> {
    match value {
        Value::Bool(flag) => Ok((*flag).into()),
        other => Err(expected("`true` or `false`", other)),
    }
}

fn text(value: &Value) -> Result<Json, String> {
    text_of(value).map(Json::from)
}

fn word<W: ToString>(value: &Value, check: impl FnOnce(&str) -> Result<W, String>) -> Result<Json, String> {
    check(text_of(value)?.trim()).map(|word| word.to_string().into())
}

fn count(value: &Value, first: u32, last: u32) -> Result<Json, String> {
    count_of(value, &(first..=last)).map(Json::from)
}

fn stage(value: &Value) -> Result<Json, String> {
    let text = match value {
        Value::Int(number) => number.to_string(),
        other => text_of(other)?.trim().to_owned(),
    };
    text.parse::<Stage>().map(|stage| stage.to_string().into()).map_err(|error| error.to_string())
}

fn names(value: &Value) -> Result<Json, String> {
    let Value::List(items) = value else { return Err(expected("a list of ids", value)) };
    items.iter().map(|item| word(&item.value, |text| name(text).map_err(|error| error.to_string()))).collect()
}

/// Reads the number of next tasks in a model's prompt: all, none, or a number.
fn next_tasks(value: &Value) -> Result<Json, String> {
    match value {
        Value::Bool(true) => Ok(u32::MAX.into()),
        Value::Bool(false) => Ok(0.into()),
        Value::Int(_) => count(value, 0, u32::MAX),
        other => Err(expected("`true`, `false` or a whole number", other)),
    }
}

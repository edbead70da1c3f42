//! `verifiers.yml`: stakeholders, and patches of verifiers' entries, which a task's front matter has too: a table of keys, each with a
//! check, and their application to an entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use strum::VariantNames;
use superstep_base::near::unknown_key;
use superstep_base::settings::{
    Problems, SettingEntry, SettingsSection, Value, count_of, count_schema, expected, flag_of, text_of, text_schema,
};

use super::entry::{Criticality, OnFail, Stage, VerifierEntry, VerifierMode};
use super::id::name;
use super::problem::SpecError;
use super::yaml::{self, choice_of};

/// An owner of verifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stakeholder {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
}

/// The contents of a `verifiers.yml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifierConfig {
    pub(super) file: String,
    pub(super) stakeholders: Vec<Stakeholder>,
    pub(super) verifiers: Vec<(String, VerifierPatch)>,
}

/// The reserved id of the output that [`decide`](crate::decide) adds.
pub(crate) const PROGRESS: &str = "progress";

/// The reserved id of the output about the agent itself.
pub const AGENT: &str = "agent";

impl VerifierConfig {
    /// Parses a `verifiers.yml`. `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with every problem at once: unknown keys, values of the wrong kind or beyond their maxima,
    /// duplicate ids. Contradictions between entries are only found by
    /// [`RunSettings::merge`](super::RunSettings::merge).
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let problems = Problems::default();
        let made = yaml::section(text, &problems).map(|root| Self::read(root, file));
        SpecError::check(problems, file, made)
    }

    /// Returns the JSON Schema of the file, for editors: recorded while a file without keys is read, so it names the keys that
    /// [`parse`](Self::parse) takes.
    pub fn json_schema() -> Json {
        let problems = Problems::recording();
        Self::read(problems.root(), "");
        let mut schema = problems.schema();
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "superstep verifiers".into();
        schema
    }

    fn read(mut root: SettingsSection<'_>, file: &str) -> Self {
        let stakeholders = items(&mut root, "stakeholders", stakeholder);
        let verifiers = items(&mut root, "verifiers", verifier);
        unique(&root, "stakeholders", stakeholders.iter().map(|(line, stakeholder)| (*line, stakeholder.id.as_str())));
        unique(&root, "verifiers", verifiers.iter().map(|(line, (id, _))| (*line, id.as_str())));
        root.end();
        Self { file: file.to_owned(), stakeholders: without_lines(stakeholders), verifiers: without_lines(verifiers) }
    }
}

/// Reads a list of maps, each with its line.
fn items<T>(
    root: &mut SettingsSection<'_>,
    key: &'static str,
    read: fn(SettingsSection<'_>) -> Option<T>,
) -> Vec<(usize, T)> {
    if let Some(item) = root.recorded_item(key) {
        read(item);
        return vec![];
    }
    let list = root.list(key).unwrap_or_default();
    let sections = list.into_iter().filter_map(|item| root.inner(key, item));
    sections.filter_map(|section| Some((section.line, read(section)?))).collect()
}

fn without_lines<T>(items: Vec<(usize, T)>) -> Vec<T> {
    items.into_iter().map(|(_, item)| item).collect()
}

fn unique<'i>(root: &SettingsSection<'_>, key: &str, ids: impl Iterator<Item = (usize, &'i str)>) {
    let mut seen: Vec<(usize, &str)> = Vec::new();
    for (line, id) in ids {
        match seen.iter().find(|(_, other)| *other == id) {
            Some((first, _)) => root.wrong(line, key, format!("`{id}` was already written on line {first}")),
            None => seen.push((line, id)),
        }
    }
}

fn stakeholder(mut section: SettingsSection<'_>) -> Option<Stakeholder> {
    let id = section.required("id", name);
    let title = section.line("name");
    section.end();
    let id = id?;
    Some(Stakeholder { name: title.unwrap_or_else(|| id.clone()), id })
}

fn verifier(mut section: SettingsSection<'_>) -> Option<(String, VerifierPatch)> {
    let id = section.required("id", verifier_id);
    section.named(id.as_deref().unwrap_or("?"));
    let patch = VerifierPatch::read(section);
    Some((id?, patch))
}

fn verifier_id(text: &str) -> Result<String, String> {
    match text {
        PROGRESS | AGENT => Err(format!("`{text}` is the name of an output of superstep; choose another")),
        _ => name(text).map_err(|error| error.to_string()),
    }
}

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

/// Returns the JSON Schema of what a check takes.
type CheckSchema = fn() -> Json;

/// The keys of an entry, except `id` and `config`.
const KEYS: [(&str, Check, CheckSchema); 9] = [
    ("enabled", flag, flag_schema),
    ("stakeholder", |value| word(value, name), text_schema),
    ("mode", |value| word(value, choice_of::<VerifierMode>), words_schema::<VerifierMode>),
    ("stage", stage, || json!({ "type": ["string", "integer"] })),
    ("after", names, || json!({ "type": "array", "items": text_schema() })),
    ("criticality", |value| word(value, choice_of::<Criticality>), words_schema::<Criticality>),
    ("required", flag, flag_schema),
    ("warn_triggers_retry", flag, flag_schema),
    ("on_fail", |value| word(value, choice_of::<OnFail>), words_schema::<OnFail>),
];

/// The keys of `config` that all verifiers share.
const SETTINGS: [(&str, Check, CheckSchema); 9] = [
    ("command", text, text_schema),
    ("timeout_sec", |value| count(value, 1, 600), || count_schema(&(1..=600))),
    ("max_findings", |value| count(value, 1, 1000), || count_schema(&(1..=1000))),
    ("max_diff_bytes", |value| count(value, 1, 10 << 20), || count_schema(&(1..=10 << 20))),
    ("prompt", text, text_schema),
    ("driver", text, text_schema),
    ("model", text, text_schema),
    ("acceptance_window", |value| count(value, 1, u32::MAX), || count_schema(&(1..=u32::MAX))),
    ("consider_next_tasks", next_tasks, || json!({ "type": ["boolean", "integer"], "minimum": 0 })),
];

impl VerifierPatch {
    /// Reads an entry whose `id` has already been taken.
    pub(super) fn read(mut section: SettingsSection<'_>) -> Self {
        let mut patch = Self::default();
        patch.lines.insert("id".to_owned(), section.line);
        for (key, check, schema) in KEYS {
            section.note(key, schema);
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

    fn settings(&mut self, mut section: SettingsSection<'_>) {
        for (key, check, schema) in SETTINGS {
            section.note(key, schema);
            let Some((line, value)) = section.value(key, check) else { continue };
            self.setting(key.to_owned(), line, value);
        }
        for SettingEntry { key, line, value } in section.rest() {
            self.setting(key, line, to_json(value));
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

    pub(super) fn is_enabled(&self) -> Option<bool> {
        self.keys.get("enabled").and_then(Json::as_bool)
    }

    /// Returns `entry` with this patch applied.
    pub(super) fn apply_to(&self, entry: &VerifierEntry) -> Result<VerifierEntry, serde_json::Error> {
        let mut json = serde_json::to_value(entry)?;
        for (key, value) in &self.keys {
            json[key] = value.clone();
        }
        if self.config.contains_key("command") && !self.keys.contains_key("mode") {
            json["mode"] = VerifierMode::Shell.to_string().into();
        }
        for (key, value) in &self.config {
            json["config"][key] = value.clone();
        }
        serde_json::from_value(json)
    }
}

/// Returns a value of an unknown setting as it is.
fn to_json(value: Value) -> Json {
    match value {
        Value::Null | Value::Date => Json::Null,
        Value::Bool(flag) => flag.into(),
        Value::Int(number) => i64::try_from(number).map_or(Json::Null, Json::from),
        Value::Float(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::List(items) => items.into_iter().map(|item| to_json(item.value)).collect(),
        Value::Map(entries) => entries.into_iter().map(|entry| (entry.key, to_json(entry.value))).collect(),
    }
}

/// Returns the problem of an unknown setting.
pub(super) fn unknown_setting(key: &str) -> String {
    unknown_key(key, &SETTINGS.map(|(known, ..)| known))
}

fn flag_schema() -> Json {
    json!({ "type": "boolean" })
}

fn words_schema<C: VariantNames>() -> Json {
    json!({ "enum": C::VARIANTS })
}

fn flag(value: &Value) -> Result<Json, String> {
    flag_of(value).map(Json::from)
}

fn text(value: &Value) -> Result<Json, String> {
    text_of(value).map(Json::from)
}

fn word<W: ToString, E: ToString>(value: &Value, check: impl FnOnce(&str) -> Result<W, E>) -> Result<Json, String> {
    check(text_of(value)?.trim()).map(|word| word.to_string().into()).map_err(|error| error.to_string())
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
    items.iter().map(|item| word(&item.value, name)).collect()
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

//! The file of a task, Markdown with front matter: read, with every problem at once, rendered, and the template of a new one.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_norway::{Mapping, Value as Yaml};
use superstep_base::gather;
use superstep_base::settings::{Problems, SettingEntry, SettingNode, SettingsSection, Value, expected, text_of};

use super::config::VerifierPatch;
use super::id::{IdError, SpecId, branch};
use super::policy::Policy;
use super::problem::SpecError;
use super::spec::{AgentOptions, Constraint, GitOptions, NextTask, Origin, Relationships, TaskSpec};
use super::yaml;
use crate::findings::Fingerprint;

impl TaskSpec {
    /// Parses a task from Markdown with YAML front matter. `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with every problem at once: missing or unknown keys, values of the wrong kind or beyond their
    /// maxima.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let problems = Problems::default();
        let made = parts(text, &problems)
            .and_then(|(front, body)| yaml::section(front, &problems).and_then(|root| spec(root, body)));
        SpecError::check(problems, file, made)
    }
}

const NO_FRONT: &str = "must start with front matter: a line `---`, then `id: …` and `title: …`, then a line `---`";

/// Splits a file into its front matter, including the opening fence, and its body.
fn parts<'t>(text: &'t str, problems: &Problems) -> Option<(&'t str, &'t str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut end = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == "---";
        match index {
            0 if !is_fence => break,
            1.. if is_fence => return Some((&text[..end], text[end + line.len()..].trim())),
            _ => end += line.len(),
        }
    }
    let problem = if end == 0 { NO_FRONT } else { "the front matter has no end; close it with a line `---`" };
    problems.add(1, "", problem);
    None
}

fn spec(mut root: SettingsSection<'_>, body: &str) -> Option<TaskSpec> {
    let origin = root.section("origin").map(origin);
    let id = root.required("id", if origin.is_some() { child_id } else { own_id });
    let title = root.required("title", |title| Ok::<_, String>(title.to_owned()));
    let constraints = read_constraints(&mut root);
    let acceptance = root.texts("acceptance").unwrap_or_default();
    let policy = root.section("policy").map(Policy::read).unwrap_or_default();
    let verifier_overrides = root.section("verifier_overrides").map(overrides).unwrap_or_default();
    let mut relationships = root.section("relationships").map(relationships).unwrap_or_default();
    relationships.origin = origin.flatten();
    let do_agent = root.section("do_agent").map(do_agent).unwrap_or_default();
    let git = root.section("git").map(git).unwrap_or_default();
    root.end();
    let (description, id, title) = (body.to_owned(), id?, title?);
    let spec = TaskSpec {
        id,
        title,
        description,
        acceptance,
        constraints,
        policy,
        verifier_overrides,
        relationships,
        do_agent,
        git,
    };
    Some(spec)
}

fn own_id(text: &str) -> Result<SpecId, IdError> {
    text.parse()
}

fn child_id(text: &str) -> Result<SpecId, IdError> {
    text.to_owned().try_into()
}

fn overrides(section: SettingsSection<'_>) -> BTreeMap<String, VerifierPatch> {
    gather(section.sections().into_iter().map(|(id, _, patch)| (id, VerifierPatch::read(patch))))
}

/// Reads a list of sentences, or a map from names to values or lists of values.
fn read_constraints(root: &mut SettingsSection<'_>) -> Vec<Constraint> {
    let Some((line, value)) = root.any("constraints") else { return Vec::new() };
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => named_constraints(root, None, items),
        Value::Map(entries) => entries.into_iter().flat_map(|entry| constraint(root, entry)).collect(),
        other => {
            root.wrong(line, "constraints", expected("a list or a map", &other));
            Vec::new()
        }
    }
}

fn constraint(root: &SettingsSection<'_>, entry: SettingEntry) -> Vec<Constraint> {
    let SettingEntry { key, line, value } = entry;
    match value {
        Value::List(items) => named_constraints(root, Some(key), items),
        value => named_constraints(root, Some(key), vec![SettingNode { line, value }]),
    }
}

fn named_constraints(root: &SettingsSection<'_>, name: Option<String>, items: Vec<SettingNode>) -> Vec<Constraint> {
    let key = name.as_ref().map_or("constraints".to_owned(), |name| format!("constraints.{name}"));
    let texts = items.iter().filter_map(|item| root.item(&key, item));
    texts.map(|text| Constraint { name: name.clone(), text }).collect()
}

fn relationships(mut section: SettingsSection<'_>) -> Relationships {
    let made = Relationships {
        parent_id: section.line("parent_id"),
        parent_snapshot: section.text("parent_snapshot"),
        next_ids: section.texts("next_ids").unwrap_or_default(),
        next_tasks: next_tasks(&mut section),
        origin: None,
    };
    section.end();
    made
}

/// Reads the next tasks, each a text or a map.
fn next_tasks(section: &mut SettingsSection<'_>) -> Vec<NextTask> {
    let items = section.list("next_tasks").unwrap_or_default();
    items.into_iter().filter_map(|item| next_task(section, item)).collect()
}

fn next_task(section: &SettingsSection<'_>, item: SettingNode) -> Option<NextTask> {
    if !matches!(item.value, Value::Map(_)) {
        let title = section.item("next_tasks", &item)?;
        return Some(NextTask { id: None, title, description: String::new() });
    }
    let mut item = section.inner("next_tasks", item)?;
    let (id, description) = (item.line("id"), item.text("description").unwrap_or_default());
    let title = item.required("title", |title| Ok::<_, String>(title.to_owned()));
    item.end();
    Some(NextTask { id, title: title?, description })
}

fn do_agent(mut section: SettingsSection<'_>) -> AgentOptions {
    let made = AgentOptions {
        allowed_tools: section.texts("allowed_tools").unwrap_or_default(),
        permission_mode: section.word("permission_mode", yaml::choice_of),
        max_turns: section.count("max_turns", 1..=u32::MAX),
        driver: section.line("driver"),
        model: section.line("model"),
    };
    section.end();
    made
}

fn git(mut section: SettingsSection<'_>) -> GitOptions {
    let default = GitOptions::default();
    let made = GitOptions {
        branch: section.word("branch", branch),
        commit_on_success: section.flag("commit_on_success").unwrap_or(default.commit_on_success),
        attempts: section.word("attempts", yaml::choice_of).unwrap_or_default(),
    };
    section.end();
    made
}

/// Reads the split that created a task; `fingerprint` is one fingerprint or a list.
fn origin(mut section: SettingsSection<'_>) -> Option<Origin> {
    let parent_id = section.required("parent_id", child_id);
    let one = |value: &Value| text_of(value).map(|text| vec![text.to_owned()]);
    let fingerprints = match section.is_list("fingerprint") {
        true => section.texts("fingerprint"),
        false => section.value("fingerprint", one).map(|(_, one)| one),
    };
    let attempt = section.count("attempt", 0..=u32::MAX).unwrap_or_default();
    let reason = section.text("reason").unwrap_or_default();
    let files = section.texts("files").unwrap_or_default();
    let findings = section.texts("findings").unwrap_or_default();
    section.end();
    let fingerprints = fingerprints.unwrap_or_default().into_iter().map(Fingerprint::from).collect();
    Some(Origin { parent_id: parent_id?, fingerprints, attempt, reason, files, findings })
}

/// The serialized front matter.
#[derive(Serialize)]
struct Front<'s> {
    id: &'s SpecId,
    title: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<Constraints>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    acceptance: &'s [String],
    policy: &'s Policy,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verifier_overrides: &'s BTreeMap<String, VerifierPatch>,
    #[serde(skip_serializing_if = "is_default")]
    relationships: Relationships,
    #[serde(skip_serializing_if = "is_default")]
    do_agent: AgentOptions,
    #[serde(skip_serializing_if = "is_default")]
    git: GitOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'s Origin>,
}

/// The serialized constraints.
#[derive(Serialize)]
#[serde(untagged)]
enum Constraints {
    List(Vec<String>),
    Map(Mapping),
}

impl TaskSpec {
    /// Returns the task as Markdown with front matter, which [`parse`](Self::parse) reads back as the same task.
    #[must_use]
    pub fn render(&self) -> String {
        let mut relationships = self.relationships.clone();
        let front = Front {
            id: &self.id,
            title: &self.title,
            constraints: constraints(&self.constraints),
            acceptance: &self.acceptance,
            policy: &self.policy,
            verifier_overrides: &self.verifier_overrides,
            origin: relationships.origin.take().and(self.relationships.origin.as_ref()),
            relationships,
            do_agent: self.do_agent.clone(),
            git: self.git.clone(),
        };
        let front = serde_norway::to_string(&front).unwrap_or_default();
        format!("---\n{front}---\n\n{}\n", self.description)
    }

    /// Returns the text of a new task file: required keys, and every other key with its default as a comment.
    #[must_use]
    pub fn template(id: &SpecId) -> String {
        TEMPLATE.replace("{id}", id.as_str())
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns constraints as a map if all have names, otherwise as a list.
fn constraints(all: &[Constraint]) -> Option<Constraints> {
    let named = || all.iter().map(|constraint| Some((constraint.name.as_deref()?, constraint.text.as_str())));
    match named().collect::<Option<Vec<_>>>() {
        _ if all.is_empty() => None,
        None => Some(Constraints::List(all.iter().map(sentence).collect())),
        Some(named) => Some(Constraints::Map(mapping(&named))),
    }
}

/// Returns a map from each name to its texts.
fn mapping(named: &[(&str, &str)]) -> Mapping {
    let texts =
        |name: &str| named.iter().filter(|(other, _)| *other == name).map(|(_, text)| *text).collect::<Vec<_>>();
    let value = |name: &str| match texts(name).as_slice() {
        [text] => Yaml::from(*text),
        texts => Yaml::from(texts.to_vec()),
    };
    named.iter().map(|(name, _)| (Yaml::from(*name), value(name))).collect()
}

fn sentence(constraint: &Constraint) -> String {
    match &constraint.name {
        Some(name) => format!("{name}: {}", constraint.text),
        None => constraint.text.clone(),
    }
}

const TEMPLATE: &str = "\
---
id: {id}
title: What is to be done, in one line
acceptance:                        # what must be true at the end, and can be seen in the files
  - The first criterion
constraints:                       # what the work must respect: a list, or a map such as `language: Rust`
  - Change no public name

# The keys below have their defaults.
# policy:
#   max_attempts: 3                # turns of the agent, the first included; at most 10
#   max_depth: 3                   # at this depth a task is not split any more; at most 5
#   split_on_repeat_errors: 2      # split when an error was seen in so many attempts; at most 5
#   warn_triggers_retry: false     # warnings are worth another attempt
#   max_children: 5                # of one split; at most 10
#   parallel_children: 1           # at the same time; at most 10
# verifier_overrides:              # by id: parts of an entry of verifiers.yml
#   test:
#     config:
#       timeout_sec: 120           # at most 600
# relationships:
#   parent_id: an-id               # default: none, as for the next three
#   parent_snapshot: the parent in a few words
#   next_ids: [an-id]
#   next_tasks:
#     - What comes next
# do_agent:                        # default: as the profile says
#   allowed_tools: [read, write]
#   permission_mode: acceptEdits   # default, acceptEdits, plan, bypassPermissions
#   max_turns: 100                 # requests to the model in one attempt
#   driver: api
#   model: a-model
# git:
#   branch: a-branch               # default: as the profile says
#   commit_on_success: true        # one commit when the task is done
#   attempts: refs                 # commits of attempts: refs, branch
---

What is to be done, and why, in as many words as it takes.
";

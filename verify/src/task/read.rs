//! Parses Markdown with front matter into a task, and reports every problem at once.

use std::collections::BTreeMap;

use super::id::{IdError, SpecId, branch};
use super::patch::VerifierPatch;
use super::policy::Policy;
use super::problem::{Problems, SpecError};
use super::section::{Section, expected, text_of};
use super::spec::{AgentOptions, Constraint, GitOptions, NextTask, Origin, Relationships, TaskSpec};
use super::yaml::{Entry, Node, Value};
use crate::findings::Fingerprint;

impl TaskSpec {
    /// Parses a task from Markdown with YAML front matter. `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with every problem at once: missing or unknown keys, values of the wrong kind or beyond their
    /// maxima.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let problems = Problems::new(file);
        let made = parts(text, &problems)
            .and_then(|(front, body)| Section::of_text(front, &problems).and_then(|root| spec(root, body)));
        problems.end(made)
    }
}

const NO_FRONT: &str = "must begin with front matter: a line `---`, then `id: …` and `title: …`, then a line `---`";

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

fn spec(mut root: Section<'_>, body: &str) -> Option<TaskSpec> {
    let origin = root.section("origin").map(origin);
    let id = root.required("id", if origin.is_some() { child_id } else { own_id });
    let title = root.required("title", |title| Ok::<_, String>(title.to_owned()));
    let constraints = constraints(&mut root);
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

fn overrides(section: Section<'_>) -> BTreeMap<String, VerifierPatch> {
    section.sections().into_iter().map(|(id, patch)| (id, VerifierPatch::read(patch))).collect()
}

/// Reads a list of sentences, or a map from names to values or lists of values.
fn constraints(root: &mut Section<'_>) -> Vec<Constraint> {
    let Some((line, value)) = root.any("constraints") else { return Vec::new() };
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => named(root, None, items),
        Value::Map(entries) => entries.into_iter().flat_map(|entry| constraint(root, entry)).collect(),
        other => {
            root.wrong(line, "constraints", expected("a list or a map", &other));
            Vec::new()
        }
    }
}

fn constraint(root: &Section<'_>, entry: Entry) -> Vec<Constraint> {
    let Entry { key, line, value } = entry;
    match value {
        Value::List(items) => named(root, Some(key), items),
        value => named(root, Some(key), vec![Node { line, value }]),
    }
}

fn named(root: &Section<'_>, name: Option<String>, items: Vec<Node>) -> Vec<Constraint> {
    let key = name.as_ref().map_or("constraints".to_owned(), |name| format!("constraints.{name}"));
    let texts = items.iter().filter_map(|item| root.item(&key, item));
    texts.map(|text| Constraint { name: name.clone(), text }).collect()
}

fn relationships(mut section: Section<'_>) -> Relationships {
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
fn next_tasks(section: &mut Section<'_>) -> Vec<NextTask> {
    let items = section.list("next_tasks").unwrap_or_default();
    items.into_iter().filter_map(|item| next_task(section, item)).collect()
}

fn next_task(section: &Section<'_>, item: Node) -> Option<NextTask> {
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

fn do_agent(mut section: Section<'_>) -> AgentOptions {
    let made = AgentOptions {
        allowed_tools: section.texts("allowed_tools").unwrap_or_default(),
        permission_mode: section.choice("permission_mode"),
        max_turns: section.count("max_turns", 1..=u32::MAX),
        driver: section.line("driver"),
        model: section.line("model"),
    };
    section.end();
    made
}

fn git(mut section: Section<'_>) -> GitOptions {
    let default = GitOptions::default();
    let made = GitOptions {
        branch: section.word("branch", branch),
        commit_on_success: section.flag("commit_on_success").unwrap_or(default.commit_on_success),
        attempts: section.choice("attempts").unwrap_or_default(),
    };
    section.end();
    made
}

/// Reads the split that created a task; `fingerprint` is one fingerprint or a list.
fn origin(mut section: Section<'_>) -> Option<Origin> {
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

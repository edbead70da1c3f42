//! `verifiers.yml`: stakeholders, and patches of verifiers' entries.

use serde::{Deserialize, Serialize};

use super::id::name;
use super::patch::VerifierPatch;
use super::problem::{Problems, SpecError};
use super::section::Section;

/// An owner of verifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        let problems = Problems::new(file);
        let made = Section::of_text(text, &problems).map(|root| Self::read(root, file));
        problems.end(made)
    }

    fn read(mut root: Section<'_>, file: &str) -> Self {
        let stakeholders = items(&mut root, "stakeholders", stakeholder);
        let verifiers = items(&mut root, "verifiers", verifier);
        unique(&root, "stakeholders", stakeholders.iter().map(|(line, stakeholder)| (*line, stakeholder.id.as_str())));
        unique(&root, "verifiers", verifiers.iter().map(|(line, (id, _))| (*line, id.as_str())));
        root.end();
        Self { file: file.to_owned(), stakeholders: without_lines(stakeholders), verifiers: without_lines(verifiers) }
    }
}

/// Reads a list of maps, each with its line.
fn items<T>(root: &mut Section<'_>, key: &'static str, read: fn(Section<'_>) -> Option<T>) -> Vec<(usize, T)> {
    let list = root.list(key).unwrap_or_default();
    let sections = list.into_iter().filter_map(|item| root.inner(key, item));
    sections.filter_map(|section| Some((section.line, read(section)?))).collect()
}

fn without_lines<T>(items: Vec<(usize, T)>) -> Vec<T> {
    items.into_iter().map(|(_, item)| item).collect()
}

fn unique<'i>(root: &Section<'_>, key: &str, ids: impl Iterator<Item = (usize, &'i str)>) {
    let mut seen: Vec<(usize, &str)> = Vec::new();
    for (line, id) in ids {
        match seen.iter().find(|(_, other)| *other == id) {
            Some((first, _)) => root.wrong(line, key, format!("`{id}` was already written on line {first}")),
            None => seen.push((line, id)),
        }
    }
}

fn stakeholder(mut section: Section<'_>) -> Option<Stakeholder> {
    let id = section.required("id", name);
    let title = section.line("name");
    section.end();
    let id = id?;
    Some(Stakeholder { name: title.unwrap_or_else(|| id.clone()), id })
}

fn verifier(mut section: Section<'_>) -> Option<(String, VerifierPatch)> {
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

//! The input of a verifier as plain data: the task and its files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::{Constraint, NextTask, Relationships, TaskSpec};

/// The work of an attempt, as the input of a verifier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifierJob {
    /// The task.
    pub task: VerifierTask,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The absolute path of the folder with the files of the attempt.
    pub folder: PathBuf,
    /// The id of the git tree before the task.
    pub base: String,
    /// The id of the git tree of the attempt.
    pub tree: String,
    /// The difference between the two.
    pub changes: Changes,
    /// The `config` of the verifier's entry in `verifiers.yml`.
    pub config: Value,
}

/// The difference between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The unified diff, as `git diff` prints it.
    pub diff: String,
    /// Set if the diff exceeds the policy's limit: `diff` then ends early, at the end of a line.
    pub is_cut: bool,
    /// The paths of the changed files from the root of the repository, sorted, including deleted ones.
    pub files: Vec<String>,
    /// The keys of this process that the attempt added to files.
    pub keys: Vec<KnownKey>,
}

/// The value of a key variable of this process, found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownKey {
    /// The path of the file from the root of the repository.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The name of the variable.
    pub variable: String,
}

/// A task as verifiers see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifierTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its description, in Markdown.
    pub description: String,
    /// Its acceptance criteria.
    pub acceptance: Vec<String>,
    /// Its constraints.
    pub constraints: Vec<String>,
    /// The task that it is a part of.
    pub parent: Option<Neighbour>,
    /// The tasks after it.
    pub next: Vec<Neighbour>,
}

/// A task related to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its id.
    pub id: String,
    /// A description: its title, its text; may be empty.
    pub text: String,
}

impl From<&TaskSpec> for VerifierTask {
    fn from(spec: &TaskSpec) -> Self {
        let around = &spec.relationships;
        Self {
            id: spec.id.to_string(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            acceptance: spec.acceptance.clone(),
            constraints: spec.constraints.iter().map(in_words).collect(),
            parent: parent(around),
            next: next_tasks(around),
        }
    }
}

fn in_words(Constraint { name, text }: &Constraint) -> String {
    name.as_ref().map_or_else(|| text.clone(), |name| format!("{name}: {text}"))
}

fn parent(around: &Relationships) -> Option<Neighbour> {
    let id = around.parent_id.clone()?;
    Some(Neighbour { id, text: around.parent_snapshot.clone().unwrap_or_default() })
}

/// Returns the described tasks, then those of which only the id is known.
fn next_tasks(around: &Relationships) -> Vec<Neighbour> {
    let described = around.next_tasks.iter().map(|NextTask { id, title, description }| Neighbour {
        id: id.clone().unwrap_or_else(|| title.clone()),
        text: format!("{title}\n{description}").trim().to_owned(),
    });
    let mut next: Vec<Neighbour> = described.collect();
    for id in &around.next_ids {
        if !next.iter().any(|known| known.id == *id) {
            next.push(Neighbour { id: id.clone(), text: String::new() });
        }
    }
    next
}

//! A task as its author wrote it: data, without any file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::SpecId;
use super::patch::VerifierPatch;
use super::policy::Policy;
use crate::findings::Fingerprint;

/// A task: what is to be reached, how one can tell, and within which limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Its id.
    pub id: SpecId,
    /// Its name, one line.
    pub title: String,
    /// The text below the front matter.
    #[serde(default)]
    pub description: String,
    /// The acceptance criteria.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// What the work must respect.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    /// Its limits.
    #[serde(default)]
    pub policy: Policy,
    /// Changes of verifiers for this task, by the verifier's id.
    #[serde(default)]
    pub verifier_overrides: BTreeMap<String, VerifierPatch>,
    /// Its place among other tasks.
    #[serde(default)]
    pub relationships: Relationships,
    /// How its agent works.
    #[serde(default)]
    pub do_agent: AgentOptions,
    /// What becomes of its commits.
    #[serde(default)]
    pub git: GitOptions,
}

/// Something that the work must respect: a sentence, or a value with a name, `language: Rust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// Its name, where `constraints` is a map.
    #[serde(default)]
    pub name: Option<String>,
    /// The constraint.
    pub text: String,
}

/// The place of a task among other tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relationships {
    /// The task of which it is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The parent in a few words, or the state of the repository that the parent saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_snapshot: Option<String>,
    /// The ids of the tasks that come next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_ids: Vec<String>,
    /// The tasks that come next, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_tasks: Vec<NextTask>,
    /// The split that made this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A task that comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextTask {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is.
    pub title: String,
    /// What is to be done in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The split that made a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The id of the task that was split.
    pub parent_id: SpecId,
    /// The errors that the task is to remove.
    #[serde(rename = "fingerprint")]
    pub fingerprints: Vec<Fingerprint>,
    /// The attempt of the parent after which it was split.
    pub attempt: u32,
    /// Why it was split.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The files that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The errors in words, a line each: verifier, place, message, fingerprint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// How the agent of a task works. What is not given is as the profile says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentOptions {
    /// The only tools that it may use; empty: those of its driver.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// What it may do without being asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The most requests to the model in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What an agent may do without being asked, in the words of agents that know permissions.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum PermissionMode {
    /// As the driver does by itself: `default`.
    #[serde(rename = "default")]
    #[strum(serialize = "default")]
    OfDriver,
    /// It may edit files.
    AcceptEdits,
    /// It may edit files; another word for `acceptEdits`.
    Edit,
    /// It may read files.
    Plan,
    /// It may do everything.
    BypassPermissions,
}

/// What becomes of the commits of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitOptions {
    /// The branch on which the work is done; none: as the profile says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// `true` if the branch gets a commit when the task is done. Default: `true`.
    pub commit_on_success: bool,
    /// Where the attempts are kept.
    pub attempts: Attempts,
}

impl Default for GitOptions {
    fn default() -> Self {
        Self { branch: None, commit_on_success: true, attempts: Attempts::Refs }
    }
}

/// Where the commits of attempts are kept.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Attempts {
    /// Under `refs/superstep`; the branch gets one commit when the task is done.
    #[default]
    Refs,
    /// On the branch, a commit for each attempt.
    Branch,
}

impl TaskSpec {
    /// Returns a task with nothing but an id, a title and a description.
    pub fn new(id: SpecId, title: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            description: description.into(),
            acceptance: Vec::new(),
            constraints: Vec::new(),
            policy: Policy::default(),
            verifier_overrides: BTreeMap::new(),
            relationships: Relationships::default(),
            do_agent: AgentOptions::default(),
            git: GitOptions::default(),
        }
    }

    /// Returns what is to be reached: the description, or the title of a task without one.
    #[must_use]
    pub fn goal(&self) -> &str {
        if self.description.trim().is_empty() { &self.title } else { &self.description }
    }

    /// Returns a hash of goal and acceptance criteria, 64 hexadecimal digits. Upper and lower case, spaces, and the order of
    /// the criteria make no difference.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut criteria: Vec<String> = self.acceptance.iter().map(|criterion| plain(criterion)).collect();
        criteria.sort();
        criteria.insert(0, plain(self.goal()));
        sha256(&criteria)
    }
}

/// Returns a text in lower case, with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns the SHA-256 of texts that hold no null character.
pub(crate) fn sha256(parts: &[String]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, parts.join("\0").as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

//! A task as its author wrote it. Plain data, without a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::config::VerifierPatch;
use super::id::SpecId;
use super::policy::Policy;
use crate::findings::Fingerprint;

/// A task: its goal, acceptance criteria and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskSpec {
    /// Its id.
    pub id: SpecId,
    /// The name, one line.
    pub title: String,
    /// The text below the front matter.
    #[serde(default)]
    pub description: String,
    /// The acceptance criteria.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// The constraints on the work.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    /// Its limits.
    #[serde(default)]
    pub policy: Policy,
    /// Changes to verifiers for this task, by verifier id.
    #[serde(default)]
    pub verifier_overrides: BTreeMap<String, VerifierPatch>,
    /// Its relations to other tasks.
    #[serde(default)]
    pub relationships: Relationships,
    /// The settings of its agent.
    #[serde(default)]
    pub do_agent: AgentOptions,
    /// The settings of its commits.
    #[serde(default)]
    pub git: GitOptions,
}

/// A constraint on the work: a sentence, or a named value such as `language: Rust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// Its name, if `constraints` is a map.
    #[serde(default)]
    pub name: Option<String>,
    /// The constraint.
    pub text: String,
}

/// The relations of a task to other tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Relationships {
    /// The id of the parent task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// A summary of the parent, or the state of the repository at its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_snapshot: Option<String>,
    /// The ids of the tasks after this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_ids: Vec<String>,
    /// Descriptions of the tasks after this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_tasks: Vec<NextTask>,
    /// The split that created this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A task after this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextTask {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title.
    pub title: String,
    /// The description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The split that created a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The id of the task that was split.
    pub parent_id: SpecId,
    /// The errors to remove.
    #[serde(rename = "fingerprint")]
    pub fingerprints: Vec<Fingerprint>,
    /// The attempt of the parent after which it was split.
    pub attempt: u32,
    /// The reason for the split.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The files concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The errors in words, one per line: verifier, place, message, fingerprint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// The settings of a task's agent. Unset ones come from the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentOptions {
    /// The only tools it may use; empty: those of its driver.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// The actions it may take without approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The maximum number of requests to the model in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

words! {
    "camelCase"
    /// The actions that an agent may take without approval, in the terms of agents with permissions.
    pub enum PermissionMode {
        /// The driver's default: `default`.
        #[serde(rename = "default")]
        #[strum(serialize = "default")]
        OfDriver,
        /// It may edit files.
        AcceptEdits,
        /// It may edit files; a synonym of `acceptEdits`.
        Edit,
        /// It may read files.
        Plan,
        /// It may do everything.
        BypassPermissions,
    }
}

/// The settings of a task's commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GitOptions {
    /// The branch of the work; `None`: as in the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Set if the branch gets a commit when the task is done. Default: `true`.
    pub commit_on_success: bool,
    /// The location of attempts' commits.
    pub attempts: Attempts,
}

impl Default for GitOptions {
    fn default() -> Self {
        Self { branch: None, commit_on_success: true, attempts: Attempts::Refs }
    }
}

words! {
    "lowercase"
    /// The location of attempts' commits.
    #[derive(Default)]
    pub enum Attempts {
        /// Under `refs/superstep`; the branch gets one commit when the task is done.
        #[default]
        Refs,
        /// On the branch, one commit for each attempt.
        Branch,
    }
}

impl TaskSpec {
    /// Returns a task with default settings.
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

    /// Returns the goal: the description, or the title of a task without one.
    #[must_use]
    pub fn goal(&self) -> &str {
        if self.description.trim().is_empty() { &self.title } else { &self.description }
    }

    /// Returns a hash of goal and acceptance criteria, 64 hexadecimal digits. Case, whitespace and the order of the
    /// criteria make no difference.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut criteria: Vec<String> = self.acceptance.iter().map(|criterion| plain(criterion)).collect();
        criteria.sort();
        criteria.insert(0, plain(self.goal()));
        sha256(criteria.join("\0").as_bytes())
    }
}

/// Returns a text in lower case, with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    superstep_base::text::hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

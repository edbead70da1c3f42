//! A decision, and its record in `decision.json`.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::over::{Override, OverrideNote};
use crate::findings::{Counts, Fingerprint};

/// The name of the rule for a task whose split was rejected.
pub(super) const SPLIT: &str = "split";

/// The ruling of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The decision.
    pub kind: Kind,
    /// The reason, in words.
    pub reason: String,
}

impl Ruling {
    /// Returns a ruling with its reason.
    pub fn new(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

/// The decision on a task after an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The kind of decision.
    #[serde(rename = "decision")]
    pub kind: Kind,
    /// The reason, in words, prefixed with the name of the rule.
    pub reason: String,
    /// The name of the rule.
    pub rule: String,
    /// The errors repeated in several attempts; for a split, those that its children must cover.
    pub repeated: Vec<Fingerprint>,
    /// The decision that an override replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Kind>,
}

impl Decision {
    /// Returns the decision on a task whose proposed splits were all rejected, by the rule `split`.
    pub fn unsplit(problem: impl Display) -> Self {
        let reason = format!("{SPLIT}: {problem}");
        Self { kind: Kind::GiveUp, reason, rule: SPLIT.to_owned(), repeated: Vec::new(), was: None }
    }
}

/// The contents of a `decision.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The attempt.
    #[serde(flatten)]
    pub about: RecordedAttempt,
    /// The decision; its `was` is recorded only in `override`.
    #[serde(flatten)]
    pub decision: Decision,
    /// The number of findings of each severity.
    pub counts: Counts,
    /// The person who overrode the decision, with the reason.
    #[serde(rename = "override")]
    pub over: Option<OverrideNote>,
    /// The id of the verified tree.
    pub tree: Option<String>,
    /// The id of the attempt's commit.
    pub commit: Option<String>,
    /// The time of the decision.
    pub at: String,
}

/// The identification of an attempt in `decision.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAttempt {
    /// The id of the task.
    pub task_id: String,
    /// The id of the run.
    pub run_id: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The depth of the task.
    pub depth: u32,
}

impl DecisionRecord {
    /// Returns the record of a decision at a time, without tree and commit.
    #[must_use]
    pub fn new(about: RecordedAttempt, decision: Decision, over: Option<&Override>, counts: Counts, at: &str) -> Self {
        let over = over.map(|over| OverrideNote { was: decision.was, ..over.note.clone() });
        let decision = Decision { was: None, ..decision };
        Self { about, decision, counts, over, tree: None, commit: None, at: at.to_owned() }
    }
}

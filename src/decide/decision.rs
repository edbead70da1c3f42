//! What was decided, and how it is written to `decision.json`.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::over::{Override, OverrideNote};
use crate::findings::{Counts, Fingerprint};

/// The rule about a task that could not be split.
pub(super) const SPLIT: &str = "split";

/// What a rule decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What becomes of the task.
    pub kind: Kind,
    /// Why, in words.
    pub reason: String,
}

impl Ruling {
    /// Returns a ruling with its reason.
    pub fn new(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

/// What becomes of a task after an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What becomes of it.
    #[serde(rename = "decision")]
    pub kind: Kind,
    /// Why, in words that begin with the name of the rule.
    pub reason: String,
    /// The name of the rule.
    pub rule: String,
    /// The errors that were seen in several attempts; of a split, those that its children must cover.
    pub repeated: Vec<Fingerprint>,
    /// What an override replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Kind>,
}

impl Decision {
    /// Returns the decision on a task whose every proposed split was refused, by the rule `split`.
    pub fn unsplit(problem: impl Display) -> Self {
        let reason = format!("{SPLIT}: {problem}");
        Self { kind: Kind::GiveUp, reason, rule: SPLIT.to_owned(), repeated: Vec::new(), was: None }
    }
}

/// The contents of a `decision.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The attempt that was decided on.
    #[serde(flatten)]
    pub about: RecordedAttempt,
    /// What was decided; `was` is in `override` alone.
    #[serde(flatten)]
    pub decision: Decision,
    /// The findings by their severity.
    pub counts: Counts,
    /// The person who decided, and why.
    #[serde(rename = "override")]
    pub over: Option<OverrideNote>,
    /// The id of the tree that was verified.
    pub tree: Option<String>,
    /// The id of the commit of the attempt.
    pub commit: Option<String>,
    /// The time of the decision.
    pub at: String,
}

/// The attempt that a `decision.json` is about.
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
    /// Returns the record of a decision, at a time, without tree and commit.
    #[must_use]
    pub fn new(about: RecordedAttempt, decision: Decision, over: Option<&Override>, counts: Counts, at: &str) -> Self {
        let over = over.map(|over| OverrideNote { was: decision.was, ..over.note.clone() });
        let decision = Decision { was: None, ..decision };
        Self { about, decision, counts, over, tree: None, commit: None, at: at.to_owned() }
    }
}

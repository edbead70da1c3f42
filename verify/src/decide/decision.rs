//! A decision on a task, a person's decision in place of the rules, and their record in `decision.json`.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::findings::{Counts, Fingerprint};

words! {
    "SCREAMING_SNAKE_CASE"
    /// A decision on a task after an attempt. In JSON and text its name is in capitals: `GIVE_UP`.
    #[derive(PartialOrd, Ord)]
    pub enum DecisionKind {
        /// The task is done.
        Done,
        /// The agent tries again.
        Retry,
        /// The task is split into smaller tasks.
        Split,
        /// The task ends without success; a person chooses how to continue.
        GiveUp,
        /// The task ends without success.
        Fail,
        /// A person decides.
        Ask,
    }
}

/// The name of the rule for a task whose split was rejected.
pub(super) const SPLIT: &str = "split";

/// The decision on a task after an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptDecision {
    /// The kind of decision.
    #[serde(rename = "decision")]
    pub kind: DecisionKind,
    /// The reason, in words, prefixed with the name of the rule.
    pub reason: String,
    /// The name of the rule.
    pub rule: String,
    /// The errors repeated in several attempts; for a split, those that its children must cover.
    pub repeated: Vec<Fingerprint>,
    /// The decision that an override replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<DecisionKind>,
}

impl AttemptDecision {
    /// Returns the decision on a task whose proposed splits were all rejected, by the rule `split`.
    pub fn split_rejected(problem: impl Display) -> Self {
        let reason = format!("{SPLIT}: {problem}");
        Self { kind: DecisionKind::GiveUp, reason, rule: SPLIT.to_owned(), repeated: Vec::new(), was: None }
    }
}

/// The contents of a `decision.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The attempt.
    #[serde(flatten)]
    pub about: AttemptId,
    /// The decision; its `was` is recorded only in `override`.
    #[serde(flatten)]
    pub decision: AttemptDecision,
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
pub struct AttemptId {
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
    pub fn new(about: AttemptId, decision: AttemptDecision, over: Option<&Override>, counts: Counts, at: &str) -> Self {
        let over = over.map(|over| OverrideNote { was: decision.was, ..over.note.clone() });
        let decision = AttemptDecision { was: None, ..decision };
        Self { about, decision, counts, over, tree: None, commit: None, at: at.to_owned() }
    }
}

/// A person's decision in place of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Override {
    /// The decision.
    pub decision: DecisionKind,
    /// The author, time and reason.
    #[serde(flatten)]
    pub note: OverrideNote,
}

/// The author, time and reason of an override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideNote {
    /// The person.
    pub by: String,
    /// The reason.
    pub why: String,
    /// The time, in the format of the run.
    pub at: String,
    /// The decision that it replaces.
    #[serde(default)]
    pub was: Option<DecisionKind>,
}

/// An invalid override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// There is no reason.
    #[error("an override needs a reason")]
    NoReason,
    /// This decision is not available to a person.
    #[error("`{decision}` is not a decision of a person")]
    NotAllowed {
        /// The decision.
        decision: String,
    },
}

impl OverrideError {
    /// Returns a suggestion for fixing the error.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoReason => "add `--why TEXT`; it is stored with the decision",
            Self::NotAllowed { .. } => "choose DONE, RETRY, SPLIT or FAIL",
        }
    }
}

impl Override {
    /// Returns an override by a person at a time.
    ///
    /// # Errors
    ///
    /// [`OverrideError`] without a reason, and for decisions other than DONE, RETRY, SPLIT and FAIL.
    pub fn new(decision: &str, why: &str, by: &str, at: &str) -> Result<Self, OverrideError> {
        let why = why.trim().to_owned();
        let kind = decision
            .parse::<DecisionKind>()
            .ok()
            .filter(|kind| !matches!(kind, DecisionKind::GiveUp | DecisionKind::Ask));
        let Some(kind) = kind else { return Err(OverrideError::NotAllowed { decision: decision.to_owned() }) };
        if why.is_empty() {
            return Err(OverrideError::NoReason);
        }
        let note = OverrideNote { by: by.to_owned(), why, at: at.to_owned(), was: None };
        Ok(Self { decision: kind, note })
    }
}

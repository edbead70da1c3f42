//! The attempts of a task, reduced to what decisions need. Their size does not depend on the output of verifiers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::findings::Fingerprint;

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// The author of the change to the tree.
    pub kind: AttemptKind,
    /// The id of the verified tree.
    #[serde(default)]
    pub tree: Option<String>,
    /// The fingerprints of its errors.
    #[serde(default)]
    pub errors: BTreeSet<Fingerprint>,
    /// The findings of `progress` on this attempt.
    #[serde(default)]
    pub stalls: BTreeSet<Fingerprint>,
}

/// The author of the change to the tree in an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The agent, in a turn: it counts against the policy's limit.
    #[default]
    Turn,
    /// The children of a split; the parent's verifiers run on their result.
    Children,
    /// Nobody: a person overrode a decision.
    Override,
}

/// The attempts of one task, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The id of the tree before the task.
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    pub(super) attempts: Vec<Attempt>,
}

impl Attempt {
    /// Returns an attempt without errors.
    #[must_use]
    pub fn new(number: u32, kind: AttemptKind, tree: Option<String>) -> Self {
        Self { number, kind, tree, errors: BTreeSet::new(), stalls: BTreeSet::new() }
    }

    /// Returns every fingerprint that can count as repeated.
    fn seen(&self) -> impl Iterator<Item = &Fingerprint> {
        self.errors.iter().chain(&self.stalls)
    }
}

impl History {
    /// Returns the empty history of a task that starts from a tree.
    #[must_use]
    pub fn of(base: Option<String>) -> Self {
        Self { base, attempts: Vec::new() }
    }

    /// Returns a history of recorded attempts, oldest first.
    #[must_use]
    pub fn with(base: Option<String>, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        Self { base, attempts: attempts.into_iter().collect() }
    }

    /// Returns the attempts, oldest first.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns the newest attempt.
    #[must_use]
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Returns the number of the agent's turns.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.kind == AttemptKind::Turn).count()
    }

    /// Returns the number of the agent's turns since the task was split; `None` if it was not split.
    #[must_use]
    pub fn turns_since_split(&self) -> Option<usize> {
        let split = self.attempts.iter().rposition(|attempt| attempt.kind == AttemptKind::Children)?;
        let since = self.attempts.iter().skip(split);
        Some(since.filter(|attempt| attempt.kind == AttemptKind::Turn).count())
    }

    /// Returns `true` if the task was split.
    #[must_use]
    pub fn was_split(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.kind == AttemptKind::Children)
    }

    /// Returns the numbers of the attempts with an error; overrides do not count.
    #[must_use]
    pub fn seen_in(&self, error: &Fingerprint) -> Vec<u32> {
        let worked = self.attempts.iter().filter(|attempt| attempt.kind != AttemptKind::Override);
        let seen = worked.filter(|attempt| attempt.seen().any(|seen| seen == error));
        seen.map(|attempt| attempt.number).collect()
    }

    /// Returns the errors of the newest attempt that occur in at least `threshold` attempts, including that one.
    /// Repetition within an attempt makes no difference, and the attempts need not be consecutive.
    #[must_use]
    pub fn repeated(&self, threshold: u32) -> Vec<Fingerprint> {
        let errors = self.last().into_iter().flat_map(Attempt::seen);
        errors.filter(|error| self.seen_in(error).len() >= threshold.max(1) as usize).cloned().collect()
    }

    /// Returns the tree before the newest attempt.
    pub(super) fn tree_before(&self) -> Option<&str> {
        match self.attempts.as_slice() {
            [_] => self.base.as_deref(),
            [.., before, _] => before.tree.as_deref(),
            [] => None,
        }
    }
}

//! The attempts of a task, as far as decisions need them. Its size does not depend on how much verifiers print.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::findings::Fingerprint;

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// Who changed the tree.
    pub kind: AttemptKind,
    /// The id of the tree that was verified.
    #[serde(default)]
    pub tree: Option<String>,
    /// The errors that were seen.
    #[serde(default)]
    pub errors: BTreeSet<Fingerprint>,
    /// The findings of `progress` on this attempt.
    #[serde(default)]
    pub stalls: BTreeSet<Fingerprint>,
}

/// Who changed the tree in an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The agent, in a turn: it counts among the attempts of the policy.
    #[default]
    Turn,
    /// The children of a split; the parent's verifiers run over their result.
    Children,
    /// Nobody: a person overrode what was decided.
    Override,
}

/// The attempts of one task, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The id of the tree on which the task began.
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

    /// Returns everything that counts as repeated when it is seen often enough.
    fn seen(&self) -> impl Iterator<Item = &Fingerprint> {
        self.errors.iter().chain(&self.stalls)
    }
}

impl History {
    /// Returns the history of a task that begins on a tree.
    #[must_use]
    pub fn of(base: Option<String>) -> Self {
        Self { base, attempts: Vec::new() }
    }

    /// Returns a history of attempts that were recorded before, oldest first.
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

    /// Returns how many turns the agent had.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.kind == AttemptKind::Turn).count()
    }

    /// Returns how many turns the agent had since the task was split; `None` if it was not.
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

    /// Returns the numbers of the attempts in which an error was seen; one that was only overridden is none of its own.
    #[must_use]
    pub fn seen_in(&self, error: &Fingerprint) -> Vec<u32> {
        let worked = self.attempts.iter().filter(|attempt| attempt.kind != AttemptKind::Override);
        let seen = worked.filter(|attempt| attempt.seen().any(|seen| seen == error));
        seen.map(|attempt| attempt.number).collect()
    }

    /// Returns the errors of the newest attempt that were seen in at least `threshold` attempts, that one included. How often
    /// an error was seen in one attempt makes no difference, nor whether the attempts follow each other.
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

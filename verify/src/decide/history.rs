//! The attempts of a task, reduced to what decisions need, and lack of progress between them: alternating errors, an unchanged tree.
//! Their size does not depend on the output of verifiers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::weight;
use crate::findings::{Evidence, Finding, FindingKind, Fingerprint, Severity, Verdict, VerifierOutput};
use crate::task::{PROGRESS, Verifiers, sha256};

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PastAttempt {
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
pub struct AttemptHistory {
    /// The id of the tree before the task.
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    attempts: Vec<PastAttempt>,
}

impl PastAttempt {
    /// Returns an attempt without errors.
    #[must_use]
    pub fn new(number: u32, kind: AttemptKind, tree: Option<String>) -> Self {
        Self { number, kind, tree, errors: BTreeSet::new(), stalls: BTreeSet::new() }
    }

    /// Returns every fingerprint that can count as repeated.
    fn fingerprints(&self) -> impl Iterator<Item = &Fingerprint> {
        self.errors.iter().chain(&self.stalls)
    }
}

impl AttemptHistory {
    /// Returns the empty history of a task that starts from a tree.
    #[must_use]
    pub fn of(base: Option<String>) -> Self {
        Self { base, attempts: Vec::new() }
    }

    /// Returns a history of recorded attempts, oldest first.
    #[must_use]
    pub fn with(base: Option<String>, attempts: impl IntoIterator<Item = PastAttempt>) -> Self {
        Self { base, attempts: attempts.into_iter().collect() }
    }

    /// Adds an attempt with the errors of its outputs, and appends the output of the verifier `progress` to them if it
    /// has findings. Replaces the recorded attempt with the same number, and removes all later ones.
    pub fn record(&mut self, attempt: PastAttempt, outputs: &mut Vec<VerifierOutput>, verifiers: &Verifiers) {
        outputs.retain(|output| output.verifier != PROGRESS);
        let errors = weight::errors(outputs, verifiers);
        self.attempts.retain(|earlier| earlier.number < attempt.number);
        self.attempts.push(PastAttempt { errors, ..attempt });
        let Some(output) = progress(self) else { return };
        let stalls = output.findings.iter().map(|finding| finding.fingerprint.clone());
        self.attempts.last_mut().into_iter().for_each(|attempt| attempt.stalls = gather(stalls.clone()));
        outputs.push(output);
    }

    /// Returns the attempts, oldest first.
    #[must_use]
    pub fn attempts(&self) -> &[PastAttempt] {
        &self.attempts
    }

    /// Returns the newest attempt.
    #[must_use]
    pub fn last(&self) -> Option<&PastAttempt> {
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
        let seen = worked.filter(|attempt| attempt.fingerprints().any(|seen| seen == error));
        seen.map(|attempt| attempt.number).collect()
    }

    /// Returns the errors of the newest attempt that occur in at least `threshold` attempts, including that one.
    /// Repetition within an attempt makes no difference, and the attempts need not be consecutive.
    #[must_use]
    pub fn repeated_errors(&self, threshold: u32) -> Vec<Fingerprint> {
        let errors = self.last().into_iter().flat_map(PastAttempt::fingerprints);
        errors.filter(|error| self.seen_in(error).len() >= threshold.max(1) as usize).cloned().collect()
    }

    /// Returns the tree before the newest attempt.
    fn tree_before(&self) -> Option<&str> {
        match self.attempts.as_slice() {
            [_] => self.base.as_deref(),
            [.., before, _] => before.tree.as_deref(),
            [] => None,
        }
    }
}

/// Returns the output of the verifier `progress` on the newest attempt: the agent left the tree unchanged, or two sets
/// of errors alternate (A, B, A, B). `None` without findings, and for an attempt without errors, which is progress. The
/// findings are errors with fingerprints of their own: they can count as repeated, but no child can remove them.
fn progress(history: &AttemptHistory) -> Option<VerifierOutput> {
    let findings: Vec<Finding> = [unchanged_tree(history), alternating_errors(history)].into_iter().flatten().collect();
    let has_errors = history.last().is_some_and(|attempt| !attempt.errors.is_empty());
    (has_errors && !findings.is_empty()).then(|| VerifierOutput {
        verifier: PROGRESS.to_owned(),
        stakeholder: "architecture".to_owned(),
        stage: PROGRESS.to_owned(),
        severity: Severity::Error,
        verdict: Some(Verdict::Fail),
        findings,
        evidence: Evidence::default(),
        required: false,
        ms: 0,
        skipped: None,
    })
}

/// Returns a finding if the agent's turn left the tree unchanged.
fn unchanged_tree(history: &AttemptHistory) -> Option<Finding> {
    let last = history.last().filter(|attempt| attempt.kind == AttemptKind::Turn)?;
    let is_same = last.tree.is_some() && last.tree.as_deref() == history.tree_before();
    is_same.then(|| finding("the tree did not change", &["unchanged".to_owned()]))
}

/// Returns a finding if the last four attempts have the errors A, B, A, B.
fn alternating_errors(history: &AttemptHistory) -> Option<Finding> {
    let [.., first, second, third, last] = history.attempts() else { return None };
    let alternates = first.errors == third.errors && second.errors == last.errors && first.errors != second.errors;
    let message = format!(
        "the errors alternate: attempts {} and {} have the same ones, and so have attempts {} and {}",
        first.number, third.number, second.number, last.number
    );
    (alternates && !first.errors.is_empty()).then(|| finding(&message, &sorted_sets(first, second)))
}

/// Returns two sets of errors in sorted order, so that A, B, A, B and B, A, B, A have the same fingerprint.
fn sorted_sets(one: &PastAttempt, other: &PastAttempt) -> Vec<String> {
    let mut sets =
        [one, other].map(|attempt| attempt.errors.iter().map(Fingerprint::as_str).collect::<Vec<_>>().join(" "));
    sets.sort();
    ["alternating".to_owned()].into_iter().chain(sets).collect()
}

fn finding(message: &str, identity: &[String]) -> Finding {
    Finding {
        kind: FindingKind::NoProgress,
        severity: Severity::Error,
        message: message.to_owned(),
        evidence: Evidence::default(),
        fingerprint: Fingerprint::from(sha256(identity.join("\0").as_bytes()).chars().take(32).collect::<String>()),
    }
}

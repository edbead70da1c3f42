//! Detects lack of progress: alternating errors, or an unchanged tree.

use super::attempt::{Attempt, AttemptKind, History};
use super::weight;
use crate::findings::{Evidence, Finding, FindingKind, Fingerprint, Severity, Verdict, VerifierOutput};
use crate::task::{PROGRESS, Verifiers, sha256};

/// Returns the output of the verifier `progress` on the newest attempt: the agent left the tree unchanged, or two sets
/// of errors alternate (A, B, A, B). `None` without findings, and for an attempt without errors, which is progress. The
/// findings are errors with fingerprints of their own: they can count as repeated, but no child can remove them.
pub(super) fn progress(history: &History) -> Option<VerifierOutput> {
    let findings: Vec<Finding> = [unchanged(history), alternating(history)].into_iter().flatten().collect();
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
fn unchanged(history: &History) -> Option<Finding> {
    let last = history.last().filter(|attempt| attempt.kind == AttemptKind::Turn)?;
    let is_same = last.tree.is_some() && last.tree.as_deref() == history.tree_before();
    is_same.then(|| finding("the tree did not change", &["unchanged".to_owned()]))
}

/// Returns a finding if the last four attempts have the errors A, B, A, B.
fn alternating(history: &History) -> Option<Finding> {
    let [.., first, second, third, last] = history.attempts() else { return None };
    let alternates = first.errors == third.errors && second.errors == last.errors && first.errors != second.errors;
    let message = format!(
        "the errors alternate: attempts {} and {} have the same ones, and so have attempts {} and {}",
        first.number, third.number, second.number, last.number
    );
    (alternates && !first.errors.is_empty()).then(|| finding(&message, &both(first, second)))
}

/// Returns two sets of errors in sorted order, so that A, B, A, B and B, A, B, A have the same fingerprint.
fn both(one: &Attempt, other: &Attempt) -> Vec<String> {
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
        fingerprint: Fingerprint::from(sha256(identity).chars().take(32).collect::<String>()),
    }
}

impl History {
    /// Adds an attempt with the errors of its outputs, and appends the output of the verifier `progress` to them if it
    /// has findings. Replaces the recorded attempt with the same number, and removes all later ones.
    pub fn record(&mut self, attempt: Attempt, outputs: &mut Vec<VerifierOutput>, verifiers: &Verifiers) {
        outputs.retain(|output| output.verifier != PROGRESS);
        let errors = weight::errors(outputs, verifiers);
        self.attempts.retain(|earlier| earlier.number < attempt.number);
        self.attempts.push(Attempt { errors, ..attempt });
        let Some(output) = progress(self) else { return };
        let stalls = output.findings.iter().map(|finding| finding.fingerprint.clone());
        self.attempts.last_mut().into_iter().for_each(|attempt| attempt.stalls = stalls.clone().collect());
        outputs.push(output);
    }
}

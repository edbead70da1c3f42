//! Attempts that lead nowhere: errors that alternate, a tree that stays as it was.

use super::attempt::{Attempt, AttemptKind, History};
use super::weight;
use crate::findings::{Evidence, Finding, FindingKind, Fingerprint, Severity, Verdict, VerifierOutput};
use crate::spec::{PROGRESS, Verifiers, sha256};

/// Returns the output of the verifier `progress` on the newest attempt of a history, if there is anything to say: that the
/// agent left the tree as it was, or that two sets of errors alternate (A, B, A, B). Only of an attempt with errors: one
/// without any is progress. Its findings are errors with fingerprints of their own, so they count as repeated as others do, but
/// no child can remove them.
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

/// Returns the finding that the agent's turn left the tree as it was.
fn unchanged(history: &History) -> Option<Finding> {
    let last = history.last().filter(|attempt| attempt.kind == AttemptKind::Turn)?;
    let is_same = last.tree.is_some() && last.tree.as_deref() == history.tree_before();
    is_same.then(|| finding("the tree did not change", &["unchanged".to_owned()]))
}

/// Returns the finding that the last four attempts have the errors A, B, A, B.
fn alternating(history: &History) -> Option<Finding> {
    let [.., first, second, third, last] = history.attempts() else { return None };
    let alternates = first.errors == third.errors && second.errors == last.errors && first.errors != second.errors;
    let message = format!(
        "the errors alternate: attempts {} and {} have the same ones, and so have attempts {} and {}",
        first.number, third.number, second.number, last.number
    );
    (alternates && !first.errors.is_empty()).then(|| finding(&message, &both(first, second)))
}

/// Returns two sets of errors in an order of their own, so that A, B, A, B and B, A, B, A are the same.
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
    /// Adds an attempt with the errors that its outputs have, and adds the output of the verifier `progress` to them if there is anything
    /// to say. An attempt with the number of one that is there takes its place, and that of all later ones.
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

//! The effective severity of a verifier's output: its own severity, its entry in the configuration, and `--strict`.

use std::collections::BTreeSet;

use superstep_base::gather;

use crate::findings::{Finding, Fingerprint, Severity, Verdict, VerifierOutput, highest_severity};
use crate::task::{Criticality, Requirement, Stage, VerifierEntry, Verifiers};

/// Returns the effective severity of an output: the highest of its findings and of its own severity, which is an error
/// if its verdict is `fail`. Errors of an advisory verifier that is not required count as warnings; with `--strict`,
/// warnings count as errors. A skipped verifier counts as info.
#[must_use]
pub fn severity(output: &VerifierOutput, verifiers: &Verifiers) -> Severity {
    let gravest = highest_severity(&output.findings);
    let opinion = if output.verdict == Some(Verdict::Fail) { Severity::Error } else { output.severity };
    match output.skipped {
        Some(_) => Severity::Info,
        None => weigh(gravest.max(opinion), output, verifiers),
    }
}

fn weigh(severity: Severity, output: &VerifierOutput, verifiers: &Verifiers) -> Severity {
    let entry = verifiers.get(&output.verifier);
    let is_advice =
        entry.is_some_and(|entry| entry.gate.criticality == Criticality::Advisory) && !is_required(output, entry);
    match severity {
        Severity::Error if is_advice && !verifiers.strict => Severity::Warning,
        Severity::Warning if verifiers.strict => Severity::Error,
        other => other,
    }
}

/// True if the task cannot be done without the verifier of this output.
fn is_required(output: &VerifierOutput, entry: Option<&VerifierEntry>) -> bool {
    output.required || entry.is_some_and(|entry| entry.gate.required == Requirement::Yes)
}

/// Returns the fingerprints of the findings that count as errors.
pub(super) fn errors(outputs: &[VerifierOutput], verifiers: &Verifiers) -> BTreeSet<Fingerprint> {
    gather(error_findings(outputs, verifiers).map(|finding| finding.fingerprint.clone()))
}

/// Returns the findings that count as errors. For an output that is an error as a whole without any such finding, its
/// findings of the highest severity.
pub(super) fn error_findings<'o>(
    outputs: &'o [VerifierOutput],
    verifiers: &Verifiers,
) -> impl Iterator<Item = &'o Finding> {
    let failed = failed_outputs(outputs, verifiers);
    failed.flat_map(move |output| {
        let gravest = highest_severity(&output.findings);
        let counts = move |finding: &&Finding| weigh(finding.severity, output, verifiers) == Severity::Error;
        let own: Vec<&Finding> = output.findings.iter().filter(counts).collect();
        if own.is_empty() {
            output.findings.iter().filter(|finding| finding.severity == gravest).collect()
        } else {
            own
        }
    })
}

/// Returns the outputs that count as errors.
pub(super) fn failed_outputs<'o>(
    outputs: impl IntoIterator<Item = &'o VerifierOutput>,
    verifiers: &Verifiers,
) -> impl Iterator<Item = &'o VerifierOutput> {
    outputs.into_iter().filter(|output| severity(output, verifiers) == Severity::Error)
}

/// Returns the reasons why a task is not verified: required verifiers that failed, were skipped or did not run.
pub(super) fn unverified_reasons(outputs: &[VerifierOutput], verifiers: &Verifiers) -> Vec<String> {
    let required = outputs.iter().filter(|output| is_required(output, verifiers.get(&output.verifier)));
    let missing = verifiers.entries.iter().filter(|entry| is_missing(entry, outputs));
    let missing = missing.map(|entry| format!("required verifier `{}` did not run", entry.id));
    required.filter_map(|output| blocking_reason(output, verifiers)).chain(missing).collect()
}

/// Returns the reason why this output of a required verifier blocks the task.
fn blocking_reason(output: &VerifierOutput, verifiers: &Verifiers) -> Option<String> {
    let problem = match severity(output, verifiers) {
        _ if output.skipped.is_some() => "was skipped",
        Severity::Error => "failed",
        Severity::Info | Severity::Warning => return None,
    };
    Some(format!("required verifier `{}` {problem}", output.verifier))
}

/// True if a verifier that may be required has no output, which would show whether it is.
fn is_missing(entry: &VerifierEntry, outputs: &[VerifierOutput]) -> bool {
    entry.gate.required != Requirement::No && outputs.iter().all(|output| output.verifier != entry.id)
}

/// Returns `true` if a stage may run after these outputs: nothing failed in earlier stages. What failed in the stage
/// itself stops none of its other verifiers.
#[must_use]
pub fn may_run<'o>(stage: Stage, outputs: impl IntoIterator<Item = &'o VerifierOutput>, verifiers: &Verifiers) -> bool {
    let stops = |output: &VerifierOutput| match verifiers.get(&output.verifier) {
        Some(entry) => entry.place.stage < stage,
        None => true,
    };
    !failed_outputs(outputs, verifiers).any(stops)
}

/// Counts covered errors as info: for a child, the errors of its parent that another child covers. If no other error
/// remains, a failed verdict becomes a pass.
pub fn excuse_errors(output: &mut VerifierOutput, covered: &[Fingerprint]) {
    let is_excused =
        |finding: &&mut Finding| covered.contains(&finding.fingerprint) && finding.severity != Severity::Info;
    let excused =
        output.findings.iter_mut().filter(is_excused).map(|finding| finding.severity = Severity::Info).count();
    let gravest = highest_severity(&output.findings);
    if excused > 0 && gravest < Severity::Error {
        output.severity = gravest;
        output.verdict = output.verdict.map(|_| Verdict::Pass);
    }
}

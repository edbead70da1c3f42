//! The output of a verifier from its report: with fingerprints, limited, and without expected errors. Pure.

use superstep_base::moved::here;

use super::job::RunVerifier;
use super::result::VerifierResult;
use crate::decide::excuse;
use crate::findings::{Finding, Fingerprint, Identity, Normalizer, Severity, Verdict, VerifierOutput, VerifierReport};
use crate::spec::VerifierEntry;

/// The maximum length of a message or an excerpt, in bytes.
const LONGEST: usize = 8 * 1024;

impl RunVerifier {
    /// Returns a normalizer that knows the folders of the run.
    pub(super) fn normalizer(&self) -> Normalizer {
        let folders = [&self.folder.directory].into_iter().chain(&self.host.roots);
        let mut folders: Vec<_> = folders.flat_map(|folder| [folder.clone(), here(folder)]).collect();
        folders.dedup(); // most were not moved
        Normalizer::new(folders.iter().map(|folder| folder.to_string_lossy()))
    }

    /// Gives a finding the identity of a code and text, whatever its message and place are.
    pub(super) fn identified(&self, finding: Finding, code: &str, text: &str) -> Finding {
        let identity = Identity { verifier: &self.entry.id, kind: &finding.kind, file: None, code: Some(code), text };
        let fingerprint = Fingerprint::of(&identity, &self.normalizer());
        Finding { fingerprint, ..finding }
    }
}

/// Returns the output of a verifier.
pub(super) fn output(job: &RunVerifier, result: VerifierResult) -> VerifierOutput {
    let VerifierResult { mut report, ms, has_command, .. } = result;
    report.limit(job.entry.config.max_findings as usize);
    let normalizer = job.normalizer();
    report.findings.iter_mut().for_each(shorten);
    let identified = |finding: Finding| finding.identified(&job.entry.id, &normalizer);
    report.findings = report.findings.into_iter().map(identified).collect();
    let (severity, verdict) = judged(&report);
    let VerifierEntry { id, stakeholder, place, gate, .. } = &job.entry;
    let mut output = VerifierOutput {
        verifier: id.clone(),
        stakeholder: stakeholder.clone(),
        stage: place.stage.to_string(),
        severity,
        verdict,
        findings: report.findings,
        evidence: report.evidence,
        required: gate.required.holds(!job.task.acceptance.is_empty(), has_command),
        ms,
        skipped: None,
    };
    excuse(&mut output, &job.expected);
    output
}

fn shorten(finding: &mut Finding) {
    clip(&mut finding.message);
    finding.evidence.log.iter_mut().for_each(clip);
}

fn clip(text: &mut String) {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
}

/// Returns the severity of a report. A failing verdict counts as an error.
fn judged(report: &VerifierReport) -> (Severity, Option<Verdict>) {
    let gravest = report.findings.iter().map(|finding| finding.severity).max().unwrap_or_default();
    match report.verdict {
        Some(Verdict::Fail) => (Severity::Error, report.verdict),
        Some(Verdict::Pass) if gravest == Severity::Error => (gravest, Some(Verdict::Fail)),
        verdict => (report.severity.max(gravest), verdict),
    }
}

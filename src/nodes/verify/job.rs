//! A verifier to run, its result, and the output that is made of it: with fingerprints, limited, and without expected
//! errors. Pure; must not know how it runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;

use crate::decide::excuse_errors;
use crate::drivers::{NewLimits, Usage};
use crate::findings::{
    Finding, FindingKind, Fingerprint, Identity, Normalizer, Severity, Verdict, VerifierOutput, VerifierReport,
};
use crate::nodes::agent::AgentSpec;
use crate::nodes::git::{Base, Folder};
use crate::spec::VerifierEntry;
use crate::verifiers::VerifierTask;
use crate::workspace::TreeId;

/// The maximum length of a message or an excerpt, in bytes.
const LONGEST: usize = 8 * 1024;

/// A verifier to run, and the attempt to verify. Plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunVerifier {
    /// The verifier.
    pub entry: VerifierEntry,
    /// The task.
    pub task: VerifierTask,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The work tree.
    pub folder: Folder,
    /// Branch and files at the start of the task.
    pub base: Base,
    /// The files of the attempt; changes that the verifier makes to them are undone.
    pub tree: TreeId,
    /// The agent of a model verifier; its role is the verifier's id, and the verifier's settings take precedence.
    pub agent: AgentSpec,
    /// The part of this machine that verifiers get.
    pub host: VerifierHost,
    /// Errors that are expected to be fixed elsewhere: they count as infos.
    pub expected: Vec<Fingerprint>,
}

impl RunVerifier {
    /// Returns the key of an effect.
    pub(in crate::nodes) fn key(&self, of: &str) -> String {
        format!("verifier/{}/{of}", self.entry.id)
    }

    /// Returns a normalizer that knows the folders of the run.
    pub(super) fn normalizer(&self) -> Normalizer {
        let folders = [&self.folder.directory].into_iter().chain(&self.host.roots);
        let mut folders: Vec<_> = folders.flat_map(|folder| [folder.clone(), present_path(folder)]).collect();
        folders.dedup(); // most were not moved
        Normalizer::new(folders.iter().map(|folder| folder.to_string_lossy()))
    }

    /// Gives a finding the identity of a code and text, whatever its message and place are.
    pub(super) fn with_identity(&self, finding: Finding, code: &str, text: &str) -> Finding {
        let identity = Identity { verifier: &self.entry.id, kind: &finding.kind, file: None, code: Some(code), text };
        let fingerprint = Fingerprint::of(&identity, &self.normalizer());
        Finding { fingerprint, ..finding }
    }
}

/// The part of a machine that verifiers get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierHost {
    /// Variables of this process that commands get besides the usual ones.
    pub pass: Vec<String>,
    /// The folder for diffs that are too long for a prompt.
    pub long_diffs: PathBuf,
    /// Folders besides the work tree whose paths become relative in findings: the user's checkout.
    pub roots: Vec<PathBuf>,
}

/// Result of a verifier.
#[derive(Clone, Debug)]
pub struct VerifierRun {
    /// Its report.
    pub output: VerifierOutput,
    /// The usage of its model.
    pub usage: Usage,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// Notices for a person.
    pub notices: Vec<String>,
    /// Changes that it made to git's hooks or configuration; nothing may be run in git then.
    pub tampered: Vec<String>,
    /// True if the budget of the run is used up, and its model was not asked for that reason.
    pub is_spent: bool,
}

/// The result of a verifier, before its changes are undone.
#[derive(Debug, Default)]
pub(super) struct VerifierResult {
    pub(super) report: VerifierReport,
    pub(super) ms: u64,
    /// True if it is a command, and one was given or found.
    pub(super) has_command: bool,
    /// True if that command was found by the files of the attempt.
    pub(super) has_found: bool,
    pub(super) usage: Usage,
    pub(super) raised: NewLimits,
    pub(super) tampered: Vec<String>,
    pub(super) is_spent: bool,
}

/// Returns the finding that a verifier itself failed.
pub(super) fn failure(message: impl Into<String>) -> Finding {
    Finding::error(FindingKind::VerifierFail, message)
}

/// Returns the report of a failed verifier: it has no verdict on the work.
pub(super) fn failed_report(message: impl Into<String>) -> VerifierReport {
    VerifierReport { verdict: None, ..VerifierReport::of([failure(message)]) }
}

/// Returns the output of a verifier.
pub(super) fn output(job: &RunVerifier, result: VerifierResult) -> VerifierOutput {
    let VerifierResult { mut report, ms, has_command, .. } = result;
    report.limit(job.entry.config.max_findings as usize);
    let normalizer = job.normalizer();
    report.findings.iter_mut().for_each(shorten);
    let identified = |finding: Finding| finding.with_fingerprint(&job.entry.id, &normalizer);
    report.findings = report.findings.into_iter().map(identified).collect();
    let (severity, verdict) = severity_and_verdict(&report);
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
    excuse_errors(&mut output, &job.expected);
    output
}

fn shorten(finding: &mut Finding) {
    clip(&mut finding.message);
    finding.evidence.log.iter_mut().for_each(clip);
}

fn clip(text: &mut String) {
    *text = superstep_base::text::shorten(text, LONGEST);
}

/// Returns the severity of a report. A failing verdict counts as an error.
fn severity_and_verdict(report: &VerifierReport) -> (Severity, Option<Verdict>) {
    let gravest = report.findings.iter().map(|finding| finding.severity).max().unwrap_or_default();
    match report.verdict {
        Some(Verdict::Fail) => (Severity::Error, report.verdict),
        Some(Verdict::Pass) if gravest == Severity::Error => (gravest, Some(Verdict::Fail)),
        verdict => (report.severity.max(gravest), verdict),
    }
}

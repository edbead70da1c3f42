//! Reports: a verifier's own, and its whole output with stage and duration.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::evidence::Evidence;
use super::finding::{Finding, FindingKind, Severity};

/// The kind of the finding that counts those left out.
const MORE: &str = "MORE";

/// A verifier's report on one attempt: the part of [`VerifierOutput`] known to the verifier.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::{Finding, FindingKind, Severity, VerifierReport};
/// let short = Finding::warning(FindingKind::Style, "a name of one letter").at("src/main.rs", 3);
/// let report = VerifierReport::of([short]);
/// assert_eq!(report.severity, Severity::Warning);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierReport {
    /// The highest severity of its findings, or its own; `info` without any.
    #[serde(default)]
    pub severity: Severity,
    /// The overall verdict.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The findings, in the order of discovery. An empty fingerprint is filled in from the other fields.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The command and an excerpt of its output.
    #[serde(default)]
    pub evidence: Evidence,
}

impl VerifierReport {
    /// Returns a report without findings.
    #[must_use]
    pub fn pass() -> Self {
        Self { verdict: Some(Verdict::Pass), ..Self::default() }
    }

    /// Returns a report with the highest severity of the findings; without any it passes.
    #[must_use]
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        let severity = highest_severity(&findings);
        let verdict = if severity == Severity::Error { Verdict::Fail } else { Verdict::Pass };
        Self { severity, verdict: Some(verdict), findings, evidence: Evidence::default() }
    }

    /// Keeps at most this many findings, preferring severe ones, in order; another one counts those left out.
    pub fn limit(&mut self, most: usize) {
        let left = self.findings.len().saturating_sub(most);
        let is_limited = left == 1 && self.findings.last().is_some_and(is_more);
        if left == 0 || is_limited {
            return;
        }
        let mut ranks: Vec<(Reverse<Severity>, usize)> =
            self.findings.iter().enumerate().map(|(nth, finding)| (Reverse(finding.severity), nth)).collect();
        ranks.sort_unstable();
        let kept: BTreeSet<usize> = gather(ranks.into_iter().take(most).map(|(_, nth)| nth));
        let mut nth = 0..;
        self.findings.retain(|_| nth.next().is_some_and(|nth| kept.contains(&nth)));
        self.findings.push(more_finding(left));
    }

    /// Adds a finding, and raises the report's severity to it.
    pub fn push(&mut self, finding: Finding) {
        self.severity = self.severity.max(finding.severity);
        self.findings.push(finding);
    }
}

/// A verifier's overall verdict. It never ends a run by itself: `fail` counts as an error and stops later stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// No objection.
    Pass,
    /// The attempt must not pass.
    Fail,
    /// An opinion without consequences.
    Advisory,
}

/// A verifier's report on one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierOutput {
    /// The verifier's id.
    pub verifier: String,
    /// The id of the stakeholder who owns it.
    pub stakeholder: String,
    /// The stage in which it ran.
    pub stage: String,
    /// The highest severity of its findings, or its own; `info` without any.
    pub severity: Severity,
    /// Its overall verdict.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The findings, in the order of discovery.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The command and an excerpt of its output.
    #[serde(default)]
    pub evidence: Evidence,
    /// Set if the task cannot be done without it.
    #[serde(default)]
    pub required: bool,
    /// Its duration, in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// The reason why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
}

/// The reason why a verifier did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkipReason {
    /// `--skip-verifiers` named it.
    Flag,
}

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Errors.
    pub error: u64,
    /// Warnings.
    pub warning: u64,
    /// The rest.
    pub info: u64,
}

impl Counts {
    /// Counts the findings of `outputs`.
    #[must_use]
    pub fn of(outputs: &[VerifierOutput]) -> Self {
        outputs.iter().flat_map(|output| &output.findings).fold(Self::default(), |mut counts, finding| {
            match finding.severity {
                Severity::Error => counts.error += 1,
                Severity::Warning => counts.warning += 1,
                Severity::Info => counts.info += 1,
            }
            counts
        })
    }
}

/// Returns the finding that counts those left out.
pub(super) fn more_finding(count: usize) -> Finding {
    Finding::info(FindingKind::Other(MORE.to_owned()), format!("and {count} more findings"))
}

fn is_more(finding: &Finding) -> bool {
    matches!(&finding.kind, FindingKind::Other(name) if name == MORE)
}

/// Returns the highest severity of the findings; `info` without any.
pub(crate) fn highest_severity(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or_default()
}

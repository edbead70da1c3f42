//! A verifier's report before its stage and duration are known.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::finding::Finding;
use super::kind::FindingKind;
use super::severity::{Severity, Verdict};

/// The kind of the finding that counts those left out.
const MORE: &str = "MORE";

/// A verifier's report on one attempt: the part of [`VerifierOutput`](super::VerifierOutput) known to the verifier.
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
        let severity = gravest(&findings);
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
        let kept: BTreeSet<usize> = ranks.into_iter().take(most).map(|(_, nth)| nth).collect();
        let mut nth = 0..;
        self.findings.retain(|_| nth.next().is_some_and(|nth| kept.contains(&nth)));
        self.findings.push(more(left));
    }

    /// Adds a finding, and raises the report's severity to it.
    pub fn push(&mut self, finding: Finding) {
        self.severity = self.severity.max(finding.severity);
        self.findings.push(finding);
    }
}

/// Returns the finding that counts those left out.
pub(super) fn more(count: usize) -> Finding {
    Finding::info(FindingKind::Other(MORE.to_owned()), format!("and {count} more findings"))
}

fn is_more(finding: &Finding) -> bool {
    matches!(&finding.kind, FindingKind::Other(name) if name == MORE)
}

/// Returns the highest severity of the findings; `info` without any.
fn gravest(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or_default()
}

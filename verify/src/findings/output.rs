//! A verifier's whole report.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::finding::Finding;
use super::severity::{Severity, Verdict};

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
    pub skipped: Option<Skipped>,
}

/// The reason why a verifier did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Skipped {
    /// `--skip-verifiers` named it.
    Flag,
}

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

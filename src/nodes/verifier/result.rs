//! The result of a verifier, before its changes are undone. Pure.

use crate::drivers::{NewLimits, Usage};
use crate::findings::{Finding, FindingKind, VerifierReport};

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

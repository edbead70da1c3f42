//! The words of a verifier, and those about one that failed. Pure.

use crate::drivers::{NewLimits, Usage};
use crate::findings::{Finding, FindingKind, VerifierReport};

/// The words of a verifier, before its files are looked at.
#[derive(Debug, Default)]
pub(super) struct Said {
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

/// Returns the report of a verifier that failed: it has no opinion of the work.
pub(super) fn failed_report(message: impl Into<String>) -> VerifierReport {
    VerifierReport { verdict: None, ..VerifierReport::of([failure(message)]) }
}

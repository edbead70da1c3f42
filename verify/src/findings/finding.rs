//! A finding of a verifier.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, Lines};
use super::fingerprint::{Fingerprint, Identity};
use super::kind::FindingKind;
use super::normalizer::Normalizer;
use super::severity::Severity;

/// A finding of a verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: FindingKind,
    /// Its gravity.
    pub severity: Severity,
    /// The finding in words.
    pub message: String,
    /// The place and excerpt that show it.
    #[serde(default)]
    pub evidence: Evidence,
    /// Its identity across attempts; empty: not computed yet.
    #[serde(default)]
    pub fingerprint: Fingerprint,
}

impl Finding {
    /// Returns a finding without place and fingerprint.
    #[must_use]
    pub fn new(kind: FindingKind, severity: Severity, message: impl Into<String>) -> Self {
        let (evidence, fingerprint) = (Evidence::default(), Fingerprint::default());
        Self { kind, severity, message: message.into(), evidence, fingerprint }
    }

    /// Returns an error.
    #[must_use]
    pub fn error(kind: FindingKind, message: impl Into<String>) -> Self {
        Self::new(kind, Severity::Error, message)
    }

    /// Returns a warning.
    #[must_use]
    pub fn warning(kind: FindingKind, message: impl Into<String>) -> Self {
        Self::new(kind, Severity::Warning, message)
    }

    /// Returns an info.
    #[must_use]
    pub fn info(kind: FindingKind, message: impl Into<String>) -> Self {
        Self::new(kind, Severity::Info, message)
    }

    /// Sets the file, a path from the root of the repository, and the line, from 1.
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: u32) -> Self {
        self.evidence.file = Some(file.into());
        self.evidence.lines = Some(Lines::at(line));
        self
    }

    /// Sets the excerpt that shows it.
    #[must_use]
    pub fn log(mut self, excerpt: impl Into<String>) -> Self {
        self.evidence.log = Some(excerpt.into());
        self
    }

    /// Computes the fingerprint, if it is empty, from the file and the message.
    #[must_use]
    pub fn identified(mut self, verifier: &str, normalizer: &Normalizer) -> Self {
        if self.fingerprint.is_empty() {
            let (kind, file, text) = (&self.kind, self.evidence.file.as_deref(), self.message.as_str());
            let identity = Identity { verifier, kind, file, code: None, text };
            self.fingerprint = Fingerprint::of(&identity, normalizer);
        }
        self
    }
}

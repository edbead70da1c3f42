//! A finding: its kind, its severity, and its identity across attempts. Knows nothing of who reports it.

use std::fmt::{self, Display};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use superstep_base::text::{hex, start};

use super::evidence::{Evidence, Lines};
use super::normalizer::Normalizer;

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
    pub fn with_fingerprint(mut self, verifier: &str, normalizer: &Normalizer) -> Self {
        if self.fingerprint.is_empty() {
            let (kind, file, text) = (&self.kind, self.evidence.file.as_deref(), self.message.as_str());
            let identity = Identity { verifier, kind, file, code: None, text };
            self.fingerprint = Fingerprint::of(&identity, normalizer);
        }
        self
    }
}

/// The kind of a finding, in JSON its name in capitals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FindingKind {
    /// The code does not compile.
    BuildFail,
    /// A test fails.
    TestFail,
    /// An acceptance criterion is not or possibly not met.
    SpecDivergence,
    /// A risk for the parent task or for a later one.
    ContextRisk,
    /// A key or a token.
    Secret,
    /// A matter of style.
    Style,
    /// The verifier itself failed: it crashed, timed out, returned an invalid report, or changed the tree.
    VerifierFail,
    /// The attempts make no progress.
    NoProgress,
    /// A custom kind.
    #[serde(untagged)]
    Other(String),
}

impl FindingKind {
    /// Returns the name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::BuildFail => "BUILD_FAIL",
            Self::TestFail => "TEST_FAIL",
            Self::SpecDivergence => "SPEC_DIVERGENCE",
            Self::ContextRisk => "CONTEXT_RISK",
            Self::Secret => "SECRET",
            Self::Style => "STYLE",
            Self::VerifierFail => "VERIFIER_FAIL",
            Self::NoProgress => "NO_PROGRESS",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for FindingKind {
    /// Returns the kind with this name; an unknown name is a custom kind.
    fn from(name: String) -> Self {
        let known = [
            Self::BuildFail,
            Self::TestFail,
            Self::SpecDivergence,
            Self::ContextRisk,
            Self::Secret,
            Self::Style,
            Self::VerifierFail,
            Self::NoProgress,
        ];
        known.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::Other(name))
    }
}

words! {
    "lowercase"
    /// The severity of a finding, from [`Info`](Severity::Info) to [`Error`](Severity::Error); all that control flow uses.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Severity {
        /// Information without consequences.
        #[default]
        Info,
        /// Triggers a retry if the verifier is configured so.
        Warning,
        /// Triggers a retry, a split, or the end.
        Error,
    }
}

/// The length in bytes of the beginning of a text that is hashed.
const TEXT: usize = 4096;
/// The number of bytes of the hash.
const BYTES: usize = 16;

/// A hash of a finding without the parts that change from run to run: the same error on another line has the same
/// fingerprint. 32 hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

/// The parts of a finding that distinguish it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The id of the verifier.
    pub verifier: &'a str,
    /// Its kind.
    pub kind: &'a FindingKind,
    /// The file, absolute or relative to any folder.
    pub file: Option<&'a str>,
    /// The code of the error, the symbol or the name of the test, with its numbers.
    pub code: Option<&'a str>,
    /// The text, whose numbers are ignored.
    pub text: &'a str,
}

impl Fingerprint {
    /// Returns the fingerprint of a finding: the SHA-256 of its normalised parts, cut to 32 digits.
    ///
    /// ```
    /// # use superstep_verify as superstep;
    /// use superstep::findings::{FindingKind, Fingerprint, Identity, Normalizer};
    /// let normalizer = Normalizer::new(["/home/ada/tides"]);
    /// let identity = Identity {
    ///     verifier: "build",
    ///     kind: &FindingKind::BuildFail,
    ///     file: Some("src/main.rs"),
    ///     code: Some("E0308"),
    ///     text: "mismatched types in line 3",
    /// };
    /// let moved = Identity { file: Some("/home/ada/tides/src/main.rs"), text: "mismatched types in line 14", ..identity };
    /// assert_eq!(Fingerprint::of(&identity, &normalizer), Fingerprint::of(&moved, &normalizer));
    /// let other = Identity { code: Some("E0277"), ..identity };
    /// assert_ne!(Fingerprint::of(&identity, &normalizer), Fingerprint::of(&other, &normalizer));
    /// ```
    #[must_use]
    pub fn of(identity: &Identity<'_>, normalizer: &Normalizer) -> Self {
        let file = identity.file.map(|file| normalizer.normalize_path(file));
        let code = identity.code.map(|code| normalizer.normalize_code(code));
        let words = normalizer.normalize(start(identity.text, TEXT));
        let mut hash = Context::new(&SHA256);
        for part in
            [Some(identity.verifier), Some(identity.kind.name()), file.as_deref(), code.as_deref(), Some(&words)]
        {
            hash.update(&[u8::from(part.is_some())]);
            hash.update(&(part.map_or(0, str::len) as u64).to_le_bytes());
            hash.update(part.unwrap_or_default().as_bytes());
        }
        Self(hex(&hash.finish().as_ref()[..BYTES]))
    }

    /// Returns the first 8 characters, as shown in prompts and to people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// Returns whether it is not computed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the full text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Fingerprint {
    fn from(hash: String) -> Self {
        Self(hash)
    }
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

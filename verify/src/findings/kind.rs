//! The kinds of findings.

use serde::{Deserialize, Serialize};

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

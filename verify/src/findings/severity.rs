//! The severity of a finding, and a verifier's verdict.

use serde::{Deserialize, Serialize};

/// The severity of a finding, from [`Info`](Severity::Info) to [`Error`](Severity::Error); all that control flow uses.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Information without consequences.
    #[default]
    Info,
    /// Triggers a retry if the verifier is configured so.
    Warning,
    /// Triggers a retry, a split, or the end.
    Error,
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

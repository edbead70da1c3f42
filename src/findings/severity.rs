//! The gravity of a finding, and a verifier's opinion of the whole.

use serde::{Deserialize, Serialize};

/// The gravity of a finding, from [`Info`](Severity::Info) to [`Error`](Severity::Error). Control flow depends on it alone.
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
    /// Worth knowing; changes nothing.
    #[default]
    Info,
    /// A retry if the verifier asks for one on warnings.
    Warning,
    /// A retry, a split, or the end.
    Error,
}

/// A verifier's opinion of the whole. It never ends a run by itself: `fail` counts as an error and stops later stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// Nothing stands against it.
    Pass,
    /// It must not pass.
    Fail,
    /// An opinion that gates nothing.
    Advisory,
}

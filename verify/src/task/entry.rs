//! The configuration of a verifier: its owner, its order, and the effect of its findings.

use serde::{Deserialize, Serialize};

use super::settings::VerifierSettings;
use super::stage::Stage;

/// A configured verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifierEntry {
    /// The id.
    pub id: String,
    /// The id of the owning stakeholder.
    pub stakeholder: String,
    /// The kind of verifier.
    pub mode: Mode,
    /// The stage and order.
    #[serde(flatten)]
    pub place: Place,
    /// The effect of its findings.
    #[serde(flatten)]
    pub gate: Gate,
    /// The settings.
    pub config: VerifierSettings,
    /// Set if `--skip-verifiers` names it: it does not run, and its output has `skipped`.
    #[serde(default)]
    pub skipped: bool,
}

/// The kind of a verifier.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Mode {
    /// A command.
    Shell,
    /// A model with read access only.
    Model,
    /// Code that the program registers.
    Code,
}

/// The order in which a verifier runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The stage, which runs only if nothing failed in earlier stages.
    pub stage: Stage,
    /// The verifiers of the same stage that run before this one.
    pub after: Vec<String>,
}

/// The effect of a verifier's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The weight of its findings.
    pub criticality: Criticality,
    /// The condition under which a task cannot be done without it.
    pub required: Required,
    /// Set if its warnings trigger another attempt; `None`: as in the policy.
    pub warn_triggers_retry: Option<bool>,
    /// The effect of a failure.
    pub on_fail: OnFail,
}

/// The weight of a verifier's findings.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Criticality {
    /// If it fails, later stages do not run; the other verifiers of its own stage do.
    Blocker,
    /// The same: the word says how grave a failure is to a reader.
    Standard,
    /// Its errors count as warnings, unless it is required.
    Advisory,
}

/// The effect of a verifier's failure.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum OnFail {
    /// Another attempt, a split, or the end, by the rules.
    Retry,
    /// The task fails.
    Abort,
    /// A person decides.
    Human,
}

/// The condition under which a task cannot be done without a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Required {
    /// Always required.
    Yes,
    /// Never required.
    No,
    /// Required if the task has acceptance criteria.
    IfCriteria,
    /// Required if a command was configured or found.
    IfCommand,
}

/// The serialized form of [`Required`]: `true`, `false`, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Flag(bool),
    When(When),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    IfCriteria,
    IfCommand,
}

impl From<bool> for Required {
    fn from(is_required: bool) -> Self {
        if is_required { Self::Yes } else { Self::No }
    }
}

impl From<Written> for Required {
    fn from(written: Written) -> Self {
        match written {
            Written::Flag(flag) => flag.into(),
            Written::When(When::IfCriteria) => Self::IfCriteria,
            Written::When(When::IfCommand) => Self::IfCommand,
        }
    }
}

impl From<Required> for Written {
    fn from(required: Required) -> Self {
        match required {
            Required::Yes => Self::Flag(true),
            Required::No => Self::Flag(false),
            Required::IfCriteria => Self::When(When::IfCriteria),
            Required::IfCommand => Self::When(When::IfCommand),
        }
    }
}

impl Required {
    /// Returns `true` if the verifier is required for a task with or without criteria, with or without a command;
    /// becomes [`VerifierOutput::required`](crate::findings::VerifierOutput::required).
    #[must_use]
    pub fn holds(self, has_criteria: bool, has_command: bool) -> bool {
        match self {
            Self::Yes => true,
            Self::No => false,
            Self::IfCriteria => has_criteria,
            Self::IfCommand => has_command,
        }
    }
}

//! A verifier as it is configured: who owns it, when it runs, what its findings lead to.

use serde::{Deserialize, Serialize};

use super::settings::VerifierSettings;
use super::stage::Stage;

/// A configured verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifierEntry {
    /// Its id.
    pub id: String,
    /// The id of the stakeholder who owns it.
    pub stakeholder: String,
    /// How it verifies.
    pub mode: Mode,
    /// When it runs.
    #[serde(flatten)]
    pub place: Place,
    /// What its findings lead to.
    #[serde(flatten)]
    pub gate: Gate,
    /// Its settings.
    pub config: VerifierSettings,
    /// `true` if `--skip-verifiers` names it: it does not run, and its output has `skipped`.
    #[serde(default)]
    pub skipped: bool,
}

/// How a verifier verifies.
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
    /// By a command.
    Shell,
    /// By a model that may only read.
    Model,
    /// By code that the program registers.
    Code,
}

/// When a verifier runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its stage; a stage runs only if nothing failed in the stages before it.
    pub stage: Stage,
    /// The verifiers of the same stage that run before it.
    pub after: Vec<String>,
}

/// What the findings of a verifier lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// How much its findings weigh.
    pub criticality: Criticality,
    /// Whether a task can be done without it.
    pub required: Required,
    /// `true` if its warnings are worth another attempt; none: as the policy says.
    pub warn_triggers_retry: Option<bool>,
    /// What happens if it fails.
    pub on_fail: OnFail,
}

/// How much the findings of a verifier weigh.
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
    /// If it fails, nothing that comes after it runs, in its own stage neither.
    Blocker,
    /// If it fails, later stages do not run.
    Standard,
    /// Its errors count as warnings, unless it is required.
    Advisory,
}

/// What happens if a verifier fails.
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
    /// Another attempt, a split, or the end, as the rules say.
    Retry,
    /// The task fails.
    Abort,
    /// A person decides.
    Human,
}

/// Whether a task can be done without a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Required {
    /// It cannot.
    Yes,
    /// It can.
    No,
    /// It cannot if the task has acceptance criteria.
    IfCriteria,
    /// It cannot if a command was given or found.
    IfCommand,
}

/// [`Required`] as it is written: `true`, `false`, or a word.
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
    /// Returns `true` if the verifier is required of a task with or without criteria, with or without a command: what
    /// [`VerifierOutput::required`](crate::findings::VerifierOutput::required) is to be.
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

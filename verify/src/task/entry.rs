//! The configuration of a verifier: its owner, its stage and order, the effect of its findings, its settings.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superstep_base::near::meant_or_all;

/// A configured verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifierEntry {
    /// The id.
    pub id: String,
    /// The id of the owning stakeholder.
    pub stakeholder: String,
    /// The kind of verifier.
    pub mode: VerifierMode,
    /// The stage and order.
    #[serde(flatten)]
    pub place: ConfigPlace,
    /// The effect of its findings.
    #[serde(flatten)]
    pub gate: Gate,
    /// The settings.
    pub config: VerifierSettings,
    /// Set if `--skip-verifiers` names it: it does not run, and its output has `skipped`.
    #[serde(default)]
    pub skipped: bool,
}

words! {
    "lowercase"
    /// The kind of a verifier.
    pub enum VerifierMode {
        /// A command.
        Shell,
        /// A model with read access only.
        Model,
        /// Code that the program registers.
        Code,
    }
}

/// The order in which a verifier runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfigPlace {
    /// The stage, which runs only if nothing failed in earlier stages.
    pub stage: Stage,
    /// The verifiers of the same stage that run before this one.
    pub after: Vec<String>,
}

/// The effect of a verifier's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gate {
    /// The weight of its findings.
    pub criticality: Criticality,
    /// The condition under which a task cannot be done without it.
    pub required: Requirement,
    /// Set if its warnings trigger another attempt; `None`: as in the policy.
    pub warn_triggers_retry: Option<bool>,
    /// The effect of a failure.
    pub on_fail: OnFail,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            criticality: Criticality::Standard,
            required: Requirement::No,
            warn_triggers_retry: None,
            on_fail: OnFail::Retry,
        }
    }
}

words! {
    "lowercase"
    /// The weight of a verifier's findings.
    pub enum Criticality {
        /// If it fails, later stages do not run; the other verifiers of its own stage do.
        Blocker,
        /// The same: the word says how grave a failure is to a reader.
        Standard,
        /// Its errors count as warnings, unless it is required.
        Advisory,
    }
}

words! {
    "lowercase"
    /// The effect of a verifier's failure.
    pub enum OnFail {
        /// Another attempt, a split, or the end, by the rules.
        Retry,
        /// The task fails.
        Abort,
        /// A person decides.
        Human,
    }
}

/// The condition under which a task cannot be done without a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "RequirementForm", into = "RequirementForm")]
pub enum Requirement {
    /// Always required.
    Yes,
    /// Never required.
    No,
    /// Required if the task has acceptance criteria.
    IfCriteria,
    /// Required if a command was configured or found.
    IfCommand,
}

/// The serialized form of [`Requirement`]: `true`, `false`, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RequirementForm {
    Flag(bool),
    When(When),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    IfCriteria,
    IfCommand,
}

impl From<bool> for Requirement {
    fn from(is_required: bool) -> Self {
        if is_required { Self::Yes } else { Self::No }
    }
}

impl From<RequirementForm> for Requirement {
    fn from(written: RequirementForm) -> Self {
        match written {
            RequirementForm::Flag(flag) => flag.into(),
            RequirementForm::When(When::IfCriteria) => Self::IfCriteria,
            RequirementForm::When(When::IfCommand) => Self::IfCommand,
        }
    }
}

impl From<Requirement> for RequirementForm {
    fn from(required: Requirement) -> Self {
        match required {
            Requirement::Yes => Self::Flag(true),
            Requirement::No => Self::Flag(false),
            Requirement::IfCriteria => Self::When(When::IfCriteria),
            Requirement::IfCommand => Self::When(When::IfCommand),
        }
    }
}

impl Requirement {
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

/// A stage. Named stages have numbers too: `build` is 1, `alignment` 2, `bigpicture` 3, `style` 4; others are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Stage(u32);

const STAGES: [(&str, Stage); 4] = [
    ("build", Stage::BUILD),
    ("alignment", Stage::ALIGNMENT),
    ("bigpicture", Stage::BIG_PICTURE),
    ("style", Stage::STYLE),
];

/// The maximum number of a stage.
const LAST_STAGE: u32 = 1000;

impl Stage {
    /// The code compiles and its tests pass.
    pub const BUILD: Self = Self(1);
    /// The acceptance criteria are met.
    pub const ALIGNMENT: Self = Self(2);
    /// The work fits the parent and the next tasks.
    pub const BIG_PICTURE: Self = Self(3);
    /// The code reads well.
    pub const STYLE: Self = Self(4);
}

/// The error for an invalid stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a stage: name one, or write a number from 0 to {LAST_STAGE}{}", meant_or_all(text, &STAGES.map(|(name, _)| name)))]
#[non_exhaustive]
pub struct StageError {
    /// The text.
    pub text: String,
}

impl FromStr for Stage {
    type Err = StageError;

    fn from_str(text: &str) -> Result<Self, StageError> {
        let named = STAGES.iter().find(|(name, _)| *name == text).map(|(_, stage)| *stage);
        let numbered = || text.parse().ok().filter(|number| *number <= LAST_STAGE).map(Self);
        named.or_else(numbered).ok_or_else(|| StageError { text: text.to_owned() })
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match STAGES.iter().find(|(_, stage)| stage == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl TryFrom<String> for Stage {
    type Error = StageError;

    fn try_from(text: String) -> Result<Self, StageError> {
        text.parse()
    }
}

impl From<Stage> for String {
    fn from(stage: Stage) -> Self {
        stage.to_string()
    }
}

/// The settings of a verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VerifierSettings {
    /// The command of a shell verifier; `build` and `test` can find one themselves.
    pub command: Option<String>,
    /// The time limit in seconds. Default: 120; at most 600.
    pub timeout_sec: u32,
    /// The maximum number of findings. Default: 100; at most 1000.
    pub max_findings: u32,
    /// The maximum length of the diff in bytes. Default: 1 MiB; at most 10 MiB.
    pub max_diff_bytes: u32,
    /// The settings of a model verifier.
    #[serde(flatten)]
    pub model: ModelSettings,
    /// The custom settings of a verifier in code.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// The prompt and model of a model verifier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The prompt; `None`: the verifier's built-in prompt.
    pub prompt: Option<String>,
    /// The driver; `None`: the reviewer's.
    pub driver: Option<String>,
    /// The model; `None`: the driver's default.
    pub model: Option<String>,
    /// The number of acceptance criteria in one turn; `None`: all.
    pub acceptance_window: Option<u32>,
    /// The number of next tasks in the prompt; `None`: all.
    pub consider_next_tasks: Option<u32>,
}

impl Default for VerifierSettings {
    fn default() -> Self {
        Self {
            command: None,
            timeout_sec: 120,
            max_findings: 100,
            max_diff_bytes: 1 << 20,
            model: ModelSettings::default(),
            other: BTreeMap::new(),
        }
    }
}

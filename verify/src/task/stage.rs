//! The stages in which verifiers run.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superstep_base::near::meant_or_all;

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
#[error("`{text}` is no stage: name one, or write a number from 0 to {LAST_STAGE}{}", meant_or_all(text, &STAGES.map(|(name, _)| name)))]
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

//! The place and excerpt of a finding.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The place and excerpt that show a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// A path from the root of the repository, with `/`.
    #[serde(default)]
    pub file: Option<String>,
    /// The lines of `file`, from 1.
    #[serde(default)]
    pub lines: Option<Lines>,
    /// An excerpt of the output that shows it.
    #[serde(default)]
    pub log: Option<String>,
    /// The command that printed it.
    #[serde(default)]
    pub command: Option<String>,
}

/// A line or a range of lines, both ends included, counted from 1. Written as `3` or `3-5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Lines {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// Text that is neither `3` nor `3-5`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither a line such as `3` nor a range of lines such as `3-5`, counted from 1")]
#[non_exhaustive]
pub struct LinesError {
    /// The text.
    pub text: String,
}

impl Lines {
    /// Returns the single line `line`.
    #[must_use]
    pub fn at(line: u32) -> Self {
        Self { first: line, last: line }
    }
}

impl Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

impl FromStr for Lines {
    type Err = LinesError;

    fn from_str(text: &str) -> Result<Self, LinesError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let read = |part: &str| part.trim().parse::<u32>().ok().filter(|line| *line > 0);
        match (read(first), read(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(LinesError { text: text.to_owned() }),
        }
    }
}

impl From<Lines> for String {
    fn from(lines: Lines) -> Self {
        lines.to_string()
    }
}

impl TryFrom<String> for Lines {
    type Error = LinesError;

    fn try_from(text: String) -> Result<Self, LinesError> {
        text.parse()
    }
}

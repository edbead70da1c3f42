//! The id of a task: the number in its heading. Knows no plan.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of a task in its heading: `3`, `3a`, or `3.1` for a task below task or phase 3. One or two letters may
/// follow each number.
///
/// Leading zeros are dropped and letters are made lower case, so `Task 03A` and `Task 3a` are one id. An id is not an
/// index: a plan may start at 0, and have gaps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
pub struct TaskId(pub(super) String);

impl TaskId {
    /// Returns the id of the one task of a plan without task headings.
    pub(super) fn whole_plan() -> Self {
        Self("1".to_owned())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the parent task or phase: `3` for `3.1`.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('.').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Returns the last part of the id as a number and the rank of its letters: (1, 0) for `3.1`, (2, 1) for `2a`.
    /// `None` if the number overflows.
    pub(super) fn last_number(&self) -> Option<(u64, u32)> {
        let last = self.0.rsplit('.').next()?;
        let number = last.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let rank = last[number.len()..].bytes().fold(0, |rank, letter| rank * 26 + u32::from(letter - b'a') + 1);
        Some((number.parse().ok()?, rank))
    }
}

/// The maximum number of letters after a number.
const LETTERS: usize = 2;

/// Returns a part of an id without leading zeros, its letters in lower case.
pub(super) fn part(text: &str) -> Option<String> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - letters.len()];
    let is_suffix = letters.len() <= LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    if digits.is_empty() || !is_suffix {
        return None;
    }
    let trimmed = digits.trim_start_matches('0');
    let number = if trimmed.is_empty() { "0" } else { trimmed };
    Some(format!("{number}{}", letters.to_ascii_lowercase()))
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

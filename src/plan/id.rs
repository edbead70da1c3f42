//! The id of a task: the number in its heading. Knows no plan.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::PlanError;

/// The number of a task as its heading says it: `3`, or `3.1` for a task below task or phase 3.
///
/// Leading zeros are dropped, so `Task 03` and `Task 3` are one id. An id is not an index: a plan may start at 0, and
/// have gaps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

impl TaskId {
    /// Returns the id of the one task of a plan without task headings.
    pub(super) fn whole_plan() -> Self {
        Self("1".to_owned())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the task or phase that this one stands below: `3` of `3.1`.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('.').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Returns the last number of the id: 1 of `3.1`. `None` if it is too large to count with.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.0.rsplit('.').next()?.parse().ok()
    }
}

impl FromStr for TaskId {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let parts: Option<Vec<&str>> = text.split('.').map(number).collect();
        parts.map(|parts| Self(parts.join("."))).ok_or_else(|| PlanError::BadTaskId { text: text.to_owned() })
    }
}

/// Returns the digits without leading zeros.
fn number(digits: &str) -> Option<&str> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let trimmed = digits.trim_start_matches('0');
    Some(if trimmed.is_empty() { "0" } else { trimmed })
}

impl TryFrom<String> for TaskId {
    type Error = PlanError;

    fn try_from(text: String) -> Result<Self, PlanError> {
        text.parse()
    }
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

//! Names that are safe in paths, refs and on the command line.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length in bytes of an id in a file. Children's ids are longer.
const MAX_LEN: usize = 80;

/// The maximum length in bytes of a child's id.
const MAX_CHILD_LEN: usize = 120;

/// The id of a task, used in names of folders and refs: letters, digits, `-`, `_` and `.`, at most 80 of them; it
/// starts and ends with a letter, a digit or `_`, and has no `..` and no `.lock` at the end. The id of a child is its
/// parent's followed by `.1`, `.2` and so on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpecId(String);

/// The error for an invalid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}")]
#[non_exhaustive]
pub struct IdError {
    /// The text.
    pub text: String,
    /// The problem, and the rule.
    pub problem: String,
}

impl SpecId {
    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the child with this number, from 1.
    pub(super) fn child(&self, number: usize) -> Self {
        Self(format!("{}.{number}", self.0))
    }
}

impl FromStr for SpecId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        validate(text, MAX_LEN).map(Self)
    }
}

/// Validates a text as a name.
///
/// # Errors
/// [`IdError`] with the reason.
pub(super) fn validate(text: &str, max_len: usize) -> Result<String, IdError> {
    match problem_of(text, max_len) {
        None => Ok(text.to_owned()),
        Some(problem) => Err(IdError { text: text.to_owned(), problem }),
    }
}

/// Validates the name of a verifier or stakeholder, which follows the rules of ids.
///
/// # Errors
/// [`IdError`] with the reason.
pub(super) fn name(text: &str) -> Result<String, IdError> {
    validate(text, MAX_LEN)
}

fn problem_of(text: &str, max_len: usize) -> Option<String> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_edge = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.chars().all(is_safe) {
        return Some("may have only letters from a to z, digits, `-`, `_` and `.`".to_owned());
    }
    if !text.starts_with(is_edge) || !text.ends_with(is_edge) {
        return Some("must start and end with a letter, a digit or `_`".to_owned());
    }
    if text.contains("..") || text.to_ascii_lowercase().ends_with(".lock") {
        return Some("must not have `..`, nor `.lock` at its end: git refuses such names".to_owned());
    }
    (text.len() > max_len).then(|| format!("is longer than {max_len} characters"))
}

/// Validates the name of a branch by the rules of git.
pub(super) fn branch(text: &str) -> Result<String, String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_name = !text.contains(is_odd) && !text.contains("..") && !text.contains("@{") && !text.ends_with('.');
    let is_branch = is_name && !text.starts_with('-') && text.split('/').all(is_part);
    if is_branch { Ok(text.to_owned()) } else { Err(format!("`{text}` is not a name for a branch")) }
}

impl TryFrom<String> for SpecId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        validate(&text, MAX_CHILD_LEN).map(Self)
    }
}

impl From<SpecId> for String {
    fn from(id: SpecId) -> Self {
        id.0
    }
}

impl Display for SpecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

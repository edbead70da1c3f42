//! Names that are safe in paths, in refs and on the command line.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id that a person may write, in bytes. Children's ids are longer.
const LONGEST: usize = 80;

/// The longest id of a child.
const LONGEST_CHILD: usize = 120;

/// The id of a task. It names folders and refs: letters, digits, `-`, `_` and `.`, at most 80 of them; it begins and ends with
/// a letter, a digit or `_`, and has no `..` and no `.lock` at its end. The id of a child is its parent's with `.1`, `.2` and so
/// on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpecId(String);

/// A text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}")]
pub struct IdError {
    /// The text.
    pub text: String,
    /// What is wrong with it, and what is right.
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
        checked(text, LONGEST).map(Self)
    }
}

/// Returns a text that is safe as a name.
///
/// # Errors
/// [`IdError`] with the reason.
pub(super) fn checked(text: &str, longest: usize) -> Result<String, IdError> {
    match problem_of(text, longest) {
        None => Ok(text.to_owned()),
        Some(problem) => Err(IdError { text: text.to_owned(), problem }),
    }
}

/// Returns a name of a verifier or of a stakeholder, which follows the rules of ids.
///
/// # Errors
/// [`IdError`] with the reason.
pub(super) fn name(text: &str) -> Result<String, IdError> {
    checked(text, LONGEST)
}

fn problem_of(text: &str, longest: usize) -> Option<String> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_edge = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.chars().all(is_safe) {
        return Some("may have only letters from a to z, digits, `-`, `_` and `.`".to_owned());
    }
    if !text.starts_with(is_edge) || !text.ends_with(is_edge) {
        return Some("must begin and end with a letter, a digit or `_`".to_owned());
    }
    if text.contains("..") || text.to_ascii_lowercase().ends_with(".lock") {
        return Some("must not have `..`, nor `.lock` at its end: git refuses such names".to_owned());
    }
    (text.len() > longest).then(|| format!("is longer than {longest} characters"))
}

/// Returns a name that a branch may have, by the rules of git.
pub(super) fn branch(text: &str) -> Result<String, String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_name = !text.contains(is_odd) && !text.contains("..") && !text.contains("@{") && !text.ends_with('.');
    let is_branch = is_name && !text.starts_with('-') && text.split('/').all(is_part);
    if is_branch { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name for a branch")) }
}

impl TryFrom<String> for SpecId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        checked(&text, LONGEST_CHILD).map(Self)
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

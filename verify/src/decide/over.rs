//! A person's decision in place of the rules.

use serde::{Deserialize, Serialize};

use super::kind::Kind;

/// A person's decision in place of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The decision.
    pub decision: Kind,
    /// The author, time and reason.
    #[serde(flatten)]
    pub note: OverrideNote,
}

/// The author, time and reason of an override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideNote {
    /// The person.
    pub by: String,
    /// The reason.
    pub why: String,
    /// The time, in the format of the run.
    pub at: String,
    /// The decision that it replaces.
    #[serde(default)]
    pub was: Option<Kind>,
}

/// An invalid override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// There is no reason.
    #[error("an override needs a reason")]
    NoReason,
    /// This decision is not available to a person.
    #[error("`{decision}` is no decision of a person")]
    NotAllowed {
        /// The decision.
        decision: String,
    },
}

impl OverrideError {
    /// Returns a suggestion for fixing the error.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoReason => "add `--why TEXT`; it is kept with the decision",
            Self::NotAllowed { .. } => "choose DONE, RETRY, SPLIT or FAIL",
        }
    }
}

impl Override {
    /// Returns an override by a person at a time.
    ///
    /// # Errors
    ///
    /// [`OverrideError`] without a reason, and for decisions other than DONE, RETRY, SPLIT and FAIL.
    pub fn new(decision: &str, why: &str, by: &str, at: &str) -> Result<Self, OverrideError> {
        let why = why.trim().to_owned();
        let kind = decision.parse::<Kind>().ok().filter(|kind| !matches!(kind, Kind::GiveUp | Kind::Ask));
        let Some(kind) = kind else { return Err(OverrideError::NotAllowed { decision: decision.to_owned() }) };
        if why.is_empty() {
            return Err(OverrideError::NoReason);
        }
        let note = OverrideNote { by: by.to_owned(), why, at: at.to_owned(), was: None };
        Ok(Self { decision: kind, note })
    }
}

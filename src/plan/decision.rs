//! What a person decided about a plan. It knows neither how they were asked nor what follows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is to become of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// It is to be executed.
    Approve,
    /// It is to be dropped.
    Reject,
    /// It is to be written again, with the feedback in mind.
    Revise,
}

/// A person's verdict on a plan, what they said about it, and who they are.
///
/// ```
/// use superstep::plan::Decision;
/// let decision = Decision::reject("too large").by("ada");
/// assert_eq!(decision.to_string(), "rejected by ada: too large");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Decision {
    /// What is to become of the plan.
    pub verdict: Verdict,
    /// What they said; empty if nothing.
    pub feedback: String,
    /// Who decided, if they said.
    pub by: Option<String>,
}

impl Decision {
    /// Returns an approval.
    pub fn approve() -> Self {
        Self { verdict: Verdict::Approve, feedback: String::new(), by: None }
    }

    /// Returns a rejection.
    pub fn reject(feedback: impl Into<String>) -> Self {
        Self { verdict: Verdict::Reject, feedback: feedback.into(), by: None }
    }

    /// Returns the wish for a better plan.
    pub fn revise(feedback: impl Into<String>) -> Self {
        Self { verdict: Verdict::Revise, feedback: feedback.into(), by: None }
    }

    /// Says who decided.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.verdict {
            Verdict::Approve => "approved",
            Verdict::Reject => "rejected",
            Verdict::Revise => "sent back",
        })?;
        self.by.iter().try_for_each(|name| write!(f, " by {name}"))?;
        if self.feedback.is_empty() { Ok(()) } else { write!(f, ": {}", self.feedback) }
    }
}

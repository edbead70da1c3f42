//! A rule of decisions, and its ruling.

use super::case::Case;
use super::decision::DecisionKind;

/// A rule: a pure function of a [`Case`], with a name.
pub trait Rule: Send + Sync {
    /// Returns the name, as used in reasons and records.
    fn name(&self) -> &str;

    /// Returns the ruling on the task; `None` leaves it to the next rule.
    fn judge(&self, case: &Case<'_>) -> Option<Ruling>;
}

/// The ruling of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruling {
    /// The decision.
    pub kind: DecisionKind,
    /// The reason, in words.
    pub reason: String,
}

impl Ruling {
    /// Returns a ruling with its reason.
    pub fn new(kind: DecisionKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

/// Returns a rule from a function.
pub fn rule(
    name: impl Into<String>,
    judge: impl Fn(&Case<'_>) -> Option<Ruling> + Send + Sync + 'static,
) -> impl Rule + 'static {
    NamedRule { name: name.into(), judge }
}

struct NamedRule<F> {
    name: String,
    judge: F,
}

impl<F: Fn(&Case<'_>) -> Option<Ruling> + Send + Sync> Rule for NamedRule<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, case: &Case<'_>) -> Option<Ruling> {
        (self.judge)(case)
    }
}

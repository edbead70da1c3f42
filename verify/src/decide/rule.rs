//! The trait of decision rules.

use super::case::Case;
use super::decision::Ruling;

/// A rule: a pure function of a [`Case`], with a name.
pub trait Rule: Send + Sync {
    /// Returns the name, as used in reasons and records.
    fn name(&self) -> &str;

    /// Returns the ruling on the task; `None` leaves it to the next rule.
    fn judge(&self, case: &Case<'_>) -> Option<Ruling>;
}

impl<F: Fn(&Case<'_>) -> Option<Ruling> + Send + Sync> Rule for NamedRule<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, case: &Case<'_>) -> Option<Ruling> {
        (self.judge)(case)
    }
}

pub(super) struct NamedRule<F> {
    pub(super) name: String,
    pub(super) judge: F,
}

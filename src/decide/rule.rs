//! The trait of a rule of decisions.

use super::case::Case;
use super::decision::Ruling;

/// A rule: a pure function of a [`Case`], with a name.
pub trait Rule: Send + Sync {
    /// Returns the name, which reasons and records have.
    fn name(&self) -> &str;

    /// Returns what becomes of the task; `None` leaves it to the next rule.
    fn judge(&self, case: &Case<'_>) -> Option<Ruling>;
}

impl<F: Fn(&Case<'_>) -> Option<Ruling> + Send + Sync> Rule for Named<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, case: &Case<'_>) -> Option<Ruling> {
        (self.judge)(case)
    }
}

pub(super) struct Named<F> {
    pub(super) name: String,
    pub(super) judge: F,
}

//! The ordered list of decision rules.

use std::fmt::{self, Debug};
use std::sync::Arc;

use super::case::Case;
use super::decision::{AttemptDecision, DecisionKind, Override};
use super::rule::{Rule, Ruling};
use super::standard::{self, STANDARD};

/// Rules in order: the first that applies decides.
///
/// Whatever the rules return, a task is not DONE while a required verifier failed, was skipped or did not run, unless a
/// person overrode the decision; and it is not SPLIT at the maximum depth or twice. Such a ruling is ignored.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::decide::{Case, DecisionKind, Rules, Ruling, rule};
/// let patient = rule("patient", |case: &Case<'_>| {
///     let is_flaky = case.failed().iter().all(|output| output.verifier == "e2e");
///     (!case.failed().is_empty() && is_flaky).then(|| Ruling::new(DecisionKind::Retry, "`e2e` is flaky"))
/// });
/// let rules = Rules::standard().before("repeated", patient)?;
/// assert!(rules.names().contains(&"patient"));
/// # Ok::<(), superstep::decide::UnknownRule>(())
/// ```
#[derive(Clone)]
pub struct Rules {
    list: Vec<Arc<dyn Rule>>,
}

/// The error for an unknown rule name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{name}`; there are {}", names.join(", "))]
#[non_exhaustive]
pub struct UnknownRule {
    /// The name.
    pub name: String,
    /// The names of the rules.
    pub names: Vec<String>,
}

impl Rules {
    /// Returns the rules of [the table](super::table).
    #[must_use]
    pub fn standard() -> Self {
        Self { list: STANDARD.iter().map(|rule| Arc::new(*rule) as Arc<dyn Rule>).collect() }
    }

    /// Inserts a rule before the rule with this name.
    ///
    /// # Errors
    ///
    /// [`UnknownRule`] if there is no rule with this name.
    pub fn before(mut self, name: &str, rule: impl Rule + 'static) -> Result<Self, UnknownRule> {
        let Some(at) = self.list.iter().position(|rule| rule.name() == name) else {
            let names = self.names().into_iter().map(str::to_owned).collect();
            return Err(UnknownRule { name: name.to_owned(), names });
        };
        self.list.insert(at, Arc::new(rule));
        Ok(self)
    }

    /// Returns the names of the rules, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.list.iter().map(|rule| rule.name()).collect()
    }

    /// Decides on a case. Deterministic.
    #[must_use]
    pub fn decide(&self, case: &Case<'_>) -> AttemptDecision {
        let rulings = self.list.iter().filter_map(|rule| Some((rule.name(), rule.judge(case)?)));
        let rulings = rulings.map(|(name, ruling)| (name, possible_ruling(ruling, case)));
        let allowed = rulings.into_iter().find(|(_, ruling)| is_allowed(ruling.kind, case));
        let (name, ruling) = allowed.unwrap_or_else(|| standard::last(case));
        let was = case.over.map(|over| self.replaced_decision(over, case));
        let instead = was.map(|was| format!(" (in place of {was})")).unwrap_or_default();
        AttemptDecision {
            kind: ruling.kind,
            rule: name.to_owned(),
            reason: format!("{name}: {}{instead}", ruling.reason),
            repeated: if ruling.kind == DecisionKind::Split { case.to_cover() } else { case.repeated_errors() },
            was,
        }
    }

    /// Returns the decision that an override replaces: as recorded, otherwise as decided by the rules without it.
    fn replaced_decision(&self, over: &Override, case: &Case<'_>) -> DecisionKind {
        over.note.was.unwrap_or_else(|| self.decide(&Case { over: None, ..*case }).kind)
    }
}

/// Decides on a case by the standard rules.
#[must_use]
pub fn decide(case: &Case<'_>) -> AttemptDecision {
    Rules::standard().decide(case)
}

/// Turns a person's SPLIT into GIVE_UP if the task cannot be split, so that the decision is recorded anyway.
fn possible_ruling(ruling: Ruling, case: &Case<'_>) -> Ruling {
    let is_ordered =
        ruling.kind == DecisionKind::Split && case.over.is_some_and(|over| over.decision == DecisionKind::Split);
    match case.may_be_split() {
        Err(refusal) if is_ordered => Ruling::new(DecisionKind::GiveUp, format!("{}; {refusal}", ruling.reason)),
        _ => ruling,
    }
}

/// True if any rule may decide this.
fn is_allowed(kind: DecisionKind, case: &Case<'_>) -> bool {
    let overrides = || case.over.is_some_and(|over| over.decision == DecisionKind::Done);
    match kind {
        DecisionKind::Done => overrides() || case.unverified_reasons().is_empty(),
        DecisionKind::Split if case.over.is_some() => case.may_be_split().is_ok(),
        DecisionKind::Split => case.can_split().is_ok(),
        DecisionKind::Retry | DecisionKind::GiveUp | DecisionKind::Fail | DecisionKind::Ask => true,
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::standard()
    }
}

impl Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

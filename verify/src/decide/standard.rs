//! The standard rules as a table: the name, the condition and decision in words, and the function that implements them.

use super::case::{Case, SplitRefusal};
use super::decision::DecisionKind;
use super::rule::{Rule, Ruling};
use crate::findings::{Counts, Finding, Fingerprint, VerifierOutput};
use crate::task::OnFail;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandardRule {
    name: &'static str,
    when: &'static str,
    then: &'static str,
    judge: fn(&Case<'_>) -> Option<Ruling>,
}

/// The name of the rule for an exhausted budget.
pub(super) const BUDGET: &str = "budget";

/// The name of the rule for attempts granted by a person.
pub(super) const GRANTED: &str = "granted";

pub(super) const STANDARD: [StandardRule; 12] = [
    StandardRule {
        name: "override",
        when: "a person overrode the decision",
        then: "what the person decided",
        judge: override_ruling,
    },
    StandardRule { name: BUDGET, when: "the budget is used up", then: "GIVE_UP", judge: budget_ruling },
    StandardRule { name: "abort", when: "a verifier with `on_fail: abort` failed", then: "FAIL", judge: abort_ruling },
    StandardRule {
        name: "human",
        when: "a verifier with `on_fail: human` failed",
        then: "a person is asked",
        judge: human_ruling,
    },
    StandardRule {
        name: GRANTED,
        when: "a verifier failed, and a person granted more attempts",
        then: "RETRY",
        judge: granted_ruling,
    },
    StandardRule {
        name: "children",
        when: "a verifier failed after a split",
        then: "RETRY once, with the children's report; then GIVE_UP",
        judge: children_ruling,
    },
    StandardRule {
        name: "repeated",
        when: "an error of this attempt was seen in `split_on_repeat_errors` attempts",
        then: "SPLIT, or GIVE_UP at `max_depth` and for errors that no smaller task could remove",
        judge: repeated_ruling,
    },
    StandardRule {
        name: "retry",
        when: "a verifier failed, and attempts are left",
        then: "RETRY",
        judge: retry_ruling,
    },
    StandardRule { name: "exhausted", when: "a verifier failed", then: "GIVE_UP", judge: exhausted_ruling },
    StandardRule {
        name: "warnings",
        when: "a verifier with `warn_triggers_retry` has warnings, and attempts are left",
        then: "RETRY",
        judge: warnings_ruling,
    },
    StandardRule {
        name: "unverified",
        when: "a required verifier was skipped or did not run",
        then: "GIVE_UP; only an override makes it DONE",
        judge: unverified_ruling,
    },
    StandardRule { name: "done", when: "none of the above", then: "DONE", judge: done_ruling },
];

impl Rule for StandardRule {
    fn name(&self) -> &str {
        self.name
    }

    fn judge(&self, case: &Case<'_>) -> Option<Ruling> {
        (self.judge)(case)
    }
}

/// Returns the standard rules as a Markdown table, in order.
#[must_use]
pub fn table() -> String {
    let head = "| rule | when | decision |\n|---|---|---|\n".to_owned();
    let row = |rule: &StandardRule| format!("| `{}` | {} | {} |\n", rule.name, rule.when, rule.then);
    STANDARD.iter().map(row).fold(head, |table, row| table + &row)
}

/// Returns the ruling if no rule applies, or none that is allowed.
pub(super) fn last(case: &Case<'_>) -> (&'static str, Ruling) {
    let ruling = unverified_ruling(case).unwrap_or_else(|| Ruling::new(DecisionKind::GiveUp, "no rule applies"));
    ("unverified", ruling)
}

fn override_ruling(case: &Case<'_>) -> Option<Ruling> {
    let over = case.over?;
    Some(Ruling::new(over.decision, format!("{} decided {}: {}", over.note.by, over.decision, over.note.why)))
}

fn budget_ruling(case: &Case<'_>) -> Option<Ruling> {
    case.spent.map(|spent| Ruling::new(DecisionKind::GiveUp, format!("the budget is used up: {spent}")))
}

fn abort_ruling(case: &Case<'_>) -> Option<Ruling> {
    failed_with(OnFail::Abort, DecisionKind::Fail, case)
}

fn human_ruling(case: &Case<'_>) -> Option<Ruling> {
    failed_with(OnFail::Human, DecisionKind::Ask, case)
}

fn failed_with(on_fail: OnFail, kind: DecisionKind, case: &Case<'_>) -> Option<Ruling> {
    let failed = non_empty(case.failed_with(on_fail))?;
    Some(Ruling::new(kind, format!("{} failed with `on_fail: {on_fail}`", ids(&failed))))
}

fn granted_ruling(case: &Case<'_>) -> Option<Ruling> {
    let failed = non_empty(case.failed()).filter(|_| case.granted > 0)?;
    let granted = count(case.granted as usize, "more attempt");
    Some(Ruling::new(DecisionKind::Retry, format!("{} failed, and a person granted {granted}", ids(&failed))))
}

fn children_ruling(case: &Case<'_>) -> Option<Ruling> {
    let failed = non_empty(case.failed()).filter(|_| case.history.was_split())?;
    let failed = ids(&failed);
    Some(match case.turns_left() {
        0 => Ruling::new(
            DecisionKind::GiveUp,
            format!("{failed} failed after the split, and a task is split at most once"),
        ),
        _ => {
            Ruling::new(DecisionKind::Retry, format!("{failed} failed on the result of the children; one more attempt"))
        }
    })
}

fn repeated_ruling(case: &Case<'_>) -> Option<Ruling> {
    let repeated = non_empty(case.repeated_errors())?;
    let errors = repeated.iter().map(|error| error_in_words(error, case)).collect::<Vec<_>>().join("; ");
    let refusal = match case.can_split() {
        Err(refusal) => refusal.to_string(),
        Ok(()) if case.actionable(&repeated).is_empty() => SplitRefusal::NothingToSplit.to_string(),
        Ok(()) => return Some(Ruling::new(DecisionKind::Split, errors)),
    };
    Some(Ruling::new(DecisionKind::GiveUp, format!("{errors}; {refusal}")))
}

fn retry_ruling(case: &Case<'_>) -> Option<Ruling> {
    let failed = non_empty(case.failed()).filter(|_| case.turns_left() > 0)?;
    Some(Ruling::new(DecisionKind::Retry, format!("{} failed; {}", ids(&failed), attempts_left(case))))
}

fn exhausted_ruling(case: &Case<'_>) -> Option<Ruling> {
    let failed = non_empty(case.failed())?;
    let (turns, most) = (case.history.turns(), case.policy.max_attempts);
    Some(Ruling::new(DecisionKind::GiveUp, format!("{} failed; {turns} of {most} attempts are used up", ids(&failed))))
}

fn warnings_ruling(case: &Case<'_>) -> Option<Ruling> {
    let warned = non_empty(case.warned_outputs()).filter(|_| case.turns_left() > 0)?;
    Some(Ruling::new(
        DecisionKind::Retry,
        format!("{} has warnings with `warn_triggers_retry`; {}", ids(&warned), attempts_left(case)),
    ))
}

fn unverified_ruling(case: &Case<'_>) -> Option<Ruling> {
    let problems = non_empty(case.unverified_reasons())?;
    Some(Ruling::new(DecisionKind::GiveUp, format!("{}; only an override makes it DONE", problems.join("; "))))
}

fn done_ruling(case: &Case<'_>) -> Option<Ruling> {
    let warnings = Counts::of(case.outputs).warning;
    Some(Ruling::new(
        DecisionKind::Done,
        match warnings {
            0 => "no verifier failed".to_owned(),
            warnings => format!("no verifier failed; {}", count(warnings as usize, "warning")),
        },
    ))
}

fn non_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Returns the ids of verifiers as a list in words.
fn ids(outputs: &[&VerifierOutput]) -> String {
    words(outputs.iter().map(|output| format!("`{}`", output.verifier)))
}

/// Returns an error in words, with its attempts.
fn error_in_words(error: &Fingerprint, case: &Case<'_>) -> String {
    let findings = case.outputs.iter().flat_map(|output| &output.findings);
    let finding = findings.clone().find(|finding| finding.fingerprint == *error);
    let attempts = words(case.history.seen_in(error).iter().map(ToString::to_string));
    format!("{}{} was seen in attempts {attempts}", error.short(), finding.map(in_brackets).unwrap_or_default())
}

/// The maximum length of a message in a reason, in characters.
const MESSAGE: usize = 120;

fn in_brackets(finding: &Finding) -> String {
    let message: String = finding.message.lines().next().unwrap_or_default().chars().take(MESSAGE).collect();
    let file = finding.evidence.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
    format!(" ({file}{message})")
}

fn attempts_left(case: &Case<'_>) -> String {
    format!("{} left", count(case.turns_left(), "attempt"))
}

fn count(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

/// Returns `a`, `a and b`, or `a, b and c`.
fn words(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

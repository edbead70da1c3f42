//! Text for people that the workflows share: the question about a used-up budget with the commands that answer it, and the
//! lines at the end of a run that say what was made, how to look at it and how to merge it. Pure.

use std::path::Path;

use serde_json::{Value, json};
use superstep::drivers::{Account, RunLimits, Usage, dollars};
use superstep::nodes::{Base, BudgetReached};
use superstep::workspace::Head;
use superstep_base::moved::present_path;
use superstep_base::shell::shell_word;

/// Returns a number of things: `1 attempt`, `2 attempts`.
pub(super) fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Returns the cost and the tokens of a run, as far as they are known.
pub(super) fn usage_lines(usage: &Usage) -> Vec<String> {
    let cost = (usage.cost > 0).then(|| format!("cost: {}", dollars(usage.cost)));
    let tokens = (usage.tokens() > 0).then(|| format!("tokens: {}", usage.tokens()));
    cost.into_iter().chain(tokens).collect()
}

/// Returns the limits of a run, with what it has used of each.
pub(super) fn budget_lines(usage: Usage, limits: RunLimits) -> Vec<String> {
    let account = Account { spent: usage, worked_ms: usage.ms, limits };
    account.lines().into_iter().map(|line| format!("budget: {line}")).collect()
}

/// Describes the question about a used-up budget.
pub(super) fn describe_budget(question: &BudgetReached) -> String {
    let BudgetReached { spent, role, task, cost, tokens, unpriced, seconds, problem, .. } = question;
    let mut lines = vec![format!("the budget of the run is used up; {} cannot continue", turn(role, task))];
    lines.extend(spent.iter().map(|line| format!("  {line}")));
    let mut used = vec![];
    used.extend((*cost > 0).then(|| dollars(*cost)));
    used.push(format!("{tokens} tokens"));
    used.push(format!("{} of work by agents", time(*seconds)));
    lines.push(format!("used so far: {}", used.join(", ")));
    lines.extend((*unpriced > 0).then(|| format!("the cost of {unpriced} of these tokens is not known")));
    lines.extend(problem.iter().map(|problem| format!("the previous answer could not be applied: {problem}")));
    lines.push("`raise` sets new limits of the whole run, in dollars, tokens or time; what is done is kept".into());
    lines.join("\n")
}

fn turn(role: &str, task: &str) -> String {
    if task.is_empty() { format!("the {role}") } else { format!("the {role} of task {task}") }
}

fn time(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Returns the command that raises the limits that are reached, to twice what is used.
pub(super) fn budget_command(question: &BudgetReached) -> String {
    format!("resume --answer '{}'", raise_answer(question))
}

/// Returns an answer with limits of twice what is used.
fn raise_answer(question: &BudgetReached) -> Value {
    let mut limits = serde_json::Map::new();
    for reached in &question.reached {
        let limit = match reached.as_str() {
            "cost" => json!(cents(question.cost)),
            "tokens" => json!(round_up(question.tokens.saturating_mul(2).max(1))),
            _ => json!(format!("{}m", (question.seconds / 30).max(1) + 1)),
        };
        limits.insert(reached.clone(), limit);
    }
    json!({ "raise": limits })
}

/// Returns twice an amount in millionths, as dollars, rounded up to cents.
#[allow(clippy::cast_precision_loss, reason = "exact up to a billion dollars")]
fn cents(millionths: u64) -> f64 {
    round_up(millionths.saturating_mul(2).div_ceil(10_000).max(1)) as f64 / 100.0
}

/// Rounds a number up to two digits and zeros.
fn round_up(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number.div_ceil(unit) * unit
}

/// The work of a run, on its branch.
pub(crate) struct RunWork<'a> {
    /// The repository.
    pub(crate) repository: &'a Path,
    /// The start of the work.
    pub(crate) start: &'a Base,
    /// The position of HEAD before the work; none: unknown.
    pub(crate) came_from: Option<&'a Head>,
    /// The number of commits.
    pub(crate) commits: usize,
    /// True if the work is complete, and no unfinished files are in the checkout.
    pub(crate) is_complete: bool,
}

impl RunWork<'_> {
    /// Returns the lines; none without commits on a branch.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(branch) = self.start.at.branch.as_ref().filter(|_| self.commits > 0) else { return vec![] };
        let count = if self.commits == 1 { "1 commit".to_owned() } else { format!("{} commits", self.commits) };
        let own = shell_word(branch);
        let range = match &self.start.at.commit {
            Some(commit) => format!("{}..{own}", commit.short()),
            None => own.clone(),
        };
        let merge = match self.came_from {
            Some(Head::Branch { name, .. }) if name != branch => {
                self.git(&format!("switch {}", shell_word(name))) + " && " + &self.git(&format!("merge {own}"))
            }
            Some(Head::Unborn { name }) if name != branch => self.git(&format!("branch {} {own}", shell_word(name))),
            Some(_) | None => self.git(&format!("merge {own}")),
        };
        let mut lines = vec![
            format!("made: {count} on the branch {branch}"),
            format!("look at it: {}", self.git(&format!("log --patch {range}"))),
        ];
        lines.extend(self.is_complete.then(|| format!("merge it: {merge}")));
        lines
    }

    fn git(&self, words: &str) -> String {
        format!("git -C {} {words}", shell_word(&present_path(self.repository).display().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(reached: &[&str]) -> BudgetReached {
        BudgetReached {
            reached: reached.iter().map(|limit| (*limit).to_owned()).collect(),
            spent: vec!["cost: $5.0213 of $5.0000".into()],
            role: "developer".into(),
            task: "2".into(),
            cost: 5_021_300,
            tokens: 123_456,
            unpriced: 0,
            seconds: 754,
            problem: None,
        }
    }

    #[test]
    fn a_used_up_budget_is_text_with_dollars() {
        insta::assert_snapshot!(describe_budget(&question(&["cost"])), @r"
        the budget of the run is used up; the developer of task 2 cannot continue
          cost: $5.0213 of $5.0000
        used so far: $5.0213, 123456 tokens, 12 min 34 s of work by agents
        `raise` sets new limits of the whole run, in dollars, tokens or time; what is done is kept
        ");
        let unknown = BudgetReached { unpriced: 900, cost: 0, task: String::new(), ..question(&["tokens"]) };
        assert!(describe_budget(&unknown).contains("the cost of 900 of these tokens is not known"));
    }

    #[rstest::rstest]
    #[case(&["cost"], r#"{"raise":{"cost":11.0}}"#)]
    #[case(&["tokens"], r#"{"raise":{"tokens":250000}}"#)]
    #[case(&["cost", "wall"], r#"{"raise":{"cost":11.0,"wall":"26m"}}"#)]
    fn a_line_to_copy_raises_what_is_reached(#[case] reached: &[&str], #[case] answer: &str) {
        assert_eq!(budget_command(&question(reached)), format!("resume --answer '{answer}'"));
        serde_json::from_str::<superstep::nodes::AfterBudget>(answer).unwrap();
    }

    #[rstest::rstest]
    #[case(0, 0.01)]
    #[case(4_000, 0.01)]
    #[case(16_000, 0.04)]
    #[case(5_021_300, 11.0)]
    fn cents_are_rounded_up(#[case] used: u64, #[case] limit: f64) {
        assert!((cents(used) - limit).abs() < 1e-9, "{}", cents(used));
    }
}

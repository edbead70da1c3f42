//! The summary of a run, as text for people.

use std::collections::BTreeMap;

use superstep_base::moved::here;
use superstep_base::shell::shell_word;

use super::state::{ExecutionState, RunOutcome};
use super::tasks::{Mark, TaskLine};
use crate::drivers::{Account, Usage, dollars};
use crate::workflows::Role;
use crate::workflows::made::Made;
use crate::workflows::phased::phase_tree;

/// The advice for an unknown cost.
const UNPRICED: &str = "give the model's prices in `[prices.\"MODEL\"]` of the profile";

/// Summarizes a run: its plan, its tasks with marks, attempts, reviews, commits and costs, and its notices.
pub fn summary(state: &ExecutionState) -> String {
    let mut lines = vec![];
    lines.extend(state.issue.as_ref().map(|issue| format!("issue {}: {}", issue.id, issue.title)));
    lines.extend(state.goal.as_ref().map(|goal| format!("goal: {}", goal.replace('\n', " "))));
    lines.extend(state.plan_path.as_ref().map(|path| format!("plan: {}", path.display())));
    lines.extend(state.start.iter().filter_map(|base| Some(format!("branch: {}", base.at.branch.as_ref()?))));
    lines.extend(state.outcome.map(|outcome| format!("outcome: {}", outcome_text(outcome))));
    lines.extend(state.plan_feedback.as_ref().map(|feedback| format!("feedback: {}", feedback.replace('\n', " "))));
    lines.extend(tasks(&state.tasks));
    lines.extend(phase_tree(&state.phases, None));
    lines.extend(costs(state));
    if let Some(review) = &state.final_review {
        let verdict = if review.approved { "approved" } else { "not approved" };
        lines.push(format!("final review: {verdict}. {}", review.summary.replace('\n', " ")).trim_end().to_owned());
    }
    let skipped: Vec<&str> =
        state.tasks.iter().filter(|line| line.mark == Mark::Skipped).map(|line| &*line.id).collect();
    if state.outcome == Some(RunOutcome::Completed) && !skipped.is_empty() {
        lines.push(format!("skipped: task {}", skipped.join(", ")));
    }
    lines.extend(state.notices.iter().map(|notice| format!("note: {notice}")));
    lines.extend(work_lines(state));
    lines.join("\n")
}

/// Returns the lines about the work of a run that has ended, and about what it left unfinished.
fn work_lines(state: &ExecutionState) -> Vec<String> {
    let is_complete = state.outcome == Some(RunOutcome::Completed);
    let is_over = is_complete || matches!(state.outcome, Some(RunOutcome::Cancelled | RunOutcome::Failed));
    let Some(start) = state.start.as_ref().filter(|_| is_over) else { return vec![] };
    let of_tasks = state.tasks.iter().filter(|line| line.commit.is_some()).count();
    let subtasks = state.phases.iter().flat_map(|phase| &phase.subtasks);
    let commits = of_tasks + subtasks.filter(|subtask| subtask.commit.is_some()).count();
    let made =
        Made { repository: &state.working_dir, start, came_from: state.came_from.as_ref(), commits, is_complete }
            .lines();
    let mut lines = made;
    for kept in state.salvage.iter().chain(&state.phase.salvage).filter(|_| !is_complete) {
        let folder = shell_word(&here(&state.working_dir).display().to_string());
        lines.push(format!("unfinished work: git -C {folder} show {}", shell_word(kept)));
    }
    lines
}

fn outcome_text(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Halted => "halted: a person decides",
        RunOutcome::Rejected => "the plan was rejected",
        RunOutcome::Cancelled => "cancelled",
        RunOutcome::Failed => "failed",
    }
}

/// Returns a line for each task, in columns.
fn tasks(lines: &[TaskLine]) -> Vec<String> {
    let name = |line: &TaskLine| match line.title.as_str() {
        "" => format!("Task {}", line.id),
        title => format!("Task {}: {title}", line.id),
    };
    let width = lines.iter().map(|line| name(line).chars().count()).max().unwrap_or(0).min(60);
    let line = |line: &TaskLine| {
        let row = format!("{} {:width$}  {}", mark(line.mark), name(line), status_text(line));
        std::iter::once(row).chain(roles("    ", &line.used)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(line).collect()
}

/// Returns a line for each role with any usage.
fn roles(indent: &str, used: &BTreeMap<Role, Usage>) -> Vec<String> {
    let used = used.iter().filter(|(_, usage)| usage.tokens() > 0 || usage.cost > 0);
    used.map(|(role, usage)| format!("{indent}{}: {}", role.name(), spent(usage))).collect()
}

/// Returns tokens and cost, as far as it is known: `1234 tokens, $0.0060`.
fn spent(usage: &Usage) -> String {
    let tokens = format!("{} tokens", usage.tokens());
    match usage.cost {
        0 => tokens,
        cost => format!("{tokens}, {}", dollars(cost)),
    }
}

/// Returns the usage of the run, and its limits.
fn costs(state: &ExecutionState) -> Vec<String> {
    let usage = &state.usage;
    let mut lines = roles("", &state.used);
    if usage.cost > 0 {
        lines.push(format!("cost: {}", dollars(usage.cost)));
    }
    if usage.tokens() > 0 {
        lines.push(format!("tokens: {}", usage.tokens()));
    }
    let limits = state.raised.over(state.profile.budget);
    let account = Account { spent: *usage, worked_ms: usage.ms, limits };
    lines.extend(account.lines().into_iter().map(|line| format!("budget: {line}")));
    let unknown = state.profile.unknown_costs();
    let reason = match (unknown.is_empty(), usage.unpriced) {
        (true, 0) => return lines,
        (true, tokens) => format!("no server reported what {tokens} tokens cost; {UNPRICED}"),
        (false, _) => unknown.join("; "),
    };
    lines.push(format!("cost unknown: {reason}"));
    lines
}

fn mark(mark: Mark) -> char {
    match mark {
        Mark::Pending => '·',
        Mark::Running => '▶',
        Mark::Done => '✔',
        Mark::Skipped => '-',
        Mark::Halted => '✖',
    }
}

fn status_text(line: &TaskLine) -> String {
    let word = match line.mark {
        Mark::Pending => "pending",
        Mark::Running => "running",
        Mark::Done => "done",
        Mark::Skipped => "skipped",
        Mark::Halted => "halted",
    };
    let mut text = format!("{word:7}");
    if line.attempts > 0 {
        text.push_str(&format!("  {}, {}", counted(line.attempts, "attempt"), counted(line.reviews, "review")));
    }
    if let Some(commit) = &line.commit {
        text.push_str(&format!("  {}", commit.chars().take(9).collect::<String>()));
    }
    if line.cost > 0 {
        text.push_str(&format!("  {}", dollars(line.cost)));
    }
    text.trim_end().to_owned()
}

pub(super) fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

//! Text for people: the summary of a run, its questions with what an answer allows (the plan with its commands, the
//! findings on a task, the location of its work), and the preview of a plan without a run. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use superstep_base::moved::present_path;
use superstep_base::shell::shell_word;
use superstep_base::text::short_id;

use super::jobs::approval;
use super::state::{ExecutionState, RunOutcome};
use super::tasks::{Mark, TaskLine};
use crate::Role;
use crate::phases::phase_tree;
use crate::texts::{RunWork, budget_command, budget_lines, counted, describe_budget, usage_lines};
use superstep::drivers::{Usage, dollars};
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{HumanQuestion, NodeError, Reply};
use superstep::nodes::{
    AfterBudget, AfterHalt, ApprovePlan, BudgetReached, Halted, HaltedPhasePlace, PlanChanged, PlanChoice,
};
use superstep::plan::{Comment, CommentSeverity, Decision};

/// The advice for an unknown cost.
const UNPRICED: &str = "set the model's prices in `[prices.\"MODEL\"]` of the profile";

/// Summarizes a run: its plan, its tasks with marks, attempts, reviews, commits and costs, and its notices.
pub fn summary(state: &ExecutionState) -> String {
    let mut lines = vec![];
    lines.extend(state.request.issue.as_ref().map(|issue| format!("issue {}: {}", issue.id, issue.title)));
    lines.extend(state.source.goal.as_ref().map(|goal| format!("goal: {}", goal.replace('\n', " "))));
    lines.extend(state.source.plan_path.as_ref().map(|path| format!("plan: {}", path.display())));
    lines.extend(state.run.start.iter().filter_map(|base| Some(format!("branch: {}", base.at.branch.as_ref()?))));
    lines.extend(state.result.outcome.map(|outcome| format!("outcome: {}", outcome_text(outcome))));
    lines.extend(
        state.planning.plan_feedback.as_ref().map(|feedback| format!("feedback: {}", feedback.replace('\n', " "))),
    );
    lines.extend(tasks(&state.run.tasks));
    lines.extend(phase_tree(&state.phased.phases, None));
    lines.extend(costs(state));
    if let Some(review) = &state.result.final_review {
        let verdict = if review.approved { "approved" } else { "not approved" };
        lines.push(format!("final review: {verdict}. {}", review.summary.replace('\n', " ")).trim_end().to_owned());
    }
    let skipped: Vec<&str> =
        state.run.tasks.iter().filter(|line| line.mark == Mark::Skipped).map(|line| &*line.id).collect();
    if state.result.outcome == Some(RunOutcome::Completed) && !skipped.is_empty() {
        lines.push(format!("skipped: task {}", skipped.join(", ")));
    }
    lines.extend(state.result.notices.iter().map(|notice| format!("note: {notice}")));
    lines.extend(work_lines(state));
    lines.join("\n")
}

/// Returns the lines about the work of a run that has ended, and about what it left unfinished.
fn work_lines(state: &ExecutionState) -> Vec<String> {
    let is_complete = state.result.outcome == Some(RunOutcome::Completed);
    let is_over = is_complete || matches!(state.result.outcome, Some(RunOutcome::Cancelled | RunOutcome::Failed));
    let Some(start) = state.run.start.as_ref().filter(|_| is_over) else { return vec![] };
    let of_tasks = state.run.tasks.iter().filter(|line| line.commit.is_some()).count();
    let subtasks = state.phased.phases.iter().flat_map(|phase| &phase.subtasks);
    let commits = of_tasks + subtasks.filter(|subtask| subtask.commit.is_some()).count();
    let made = RunWork {
        repository: &state.request.working_dir,
        start,
        came_from: state.run.came_from.as_ref(),
        commits,
        is_complete,
    }
    .lines();
    let mut lines = made;
    for kept in state.judgement.salvage.iter().chain(&state.phased.phase.salvage).filter(|_| !is_complete) {
        let folder = shell_word(&present_path(&state.request.working_dir).display().to_string());
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
    used.map(|(role, usage)| format!("{indent}{}: {}", role.name(), usage_text(usage))).collect()
}

/// Returns tokens and cost, as far as it is known: `1234 tokens, $0.0060`.
fn usage_text(usage: &Usage) -> String {
    let tokens = format!("{} tokens", usage.tokens());
    match usage.cost {
        0 => tokens,
        cost => format!("{tokens}, {}", dollars(cost)),
    }
}

/// Returns the usage of the run, and its limits.
fn costs(state: &ExecutionState) -> Vec<String> {
    let usage = &state.result.usage;
    let mut lines = roles("", &state.result.used);
    lines.extend(usage_lines(usage));
    lines.extend(budget_lines(*usage, state.budget()));
    let unknown = state.request.profile.unknown_costs();
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
        text.push_str(&format!("  {}", short_id(commit)));
    }
    if line.cost > 0 {
        text.push_str(&format!("  {}", dollars(line.cost)));
    }
    text.trim_end().to_owned()
}

/// The maximum number of lines shown of a failed check's output.
const OUTPUT: usize = 20;

/// Describes the approval of a plan, with the plan and every command that an approval allows.
fn describe_approval(state: &ExecutionState, question: &ApprovePlan) -> String {
    let mut lines = vec![];
    section(&mut lines, "problems that prevent the plan from being executed", &bullets(&question.problems));
    section(&mut lines, "warnings", &bullets(&question.warnings));
    if let Some(plan) = &state.source.plan_markdown {
        let path = question.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
        section(&mut lines, &format!("the plan{path}"), &plan.lines().map(quote).collect::<Vec<_>>());
    }
    section(&mut lines, "its phases; tasks of one phase do not depend on each other", &phases(&question.phases));
    let mut commands = vec![];
    for task in &question.tasks {
        commands.push(format!("task {}: {}", task.id, task.title));
        commands.extend(task.verify.iter().flat_map(|command| indent("  $ ", command)));
    }
    section(&mut lines, "its tasks, and the commands that are run in a shell after each, if you approve", &commands);
    lines.join("\n")
}

/// Describes a task that did not pass, with its findings and the location of its work.
fn describe_halt(state: &ExecutionState, question: &Halted) -> String {
    let Halted { task, title, reason, cost, problem, changes, .. } = question;
    let spent = if *cost > 0 { format!("; it has cost {}", dollars(*cost)) } else { String::new() };
    let head = match &question.phase {
        Some(HaltedPhasePlace { phase, subtask: Some(id) }) => format!("phase {phase}, subtask {id}: {title}"),
        Some(HaltedPhasePlace { phase, subtask: None }) => format!("phase {phase}"),
        None => format!("task {task}: {title}"),
    };
    let mut lines = vec![
        head.trim_end_matches(": ").to_owned(),
        format!("attempts so far: {}{spent}", question.attempts),
        format!("why it stopped: {reason}"),
    ];
    lines.extend(problem.iter().map(|problem| format!("the previous answer could not be applied: {problem}")));
    section(&mut lines, "comments", &question.comments.iter().flat_map(comment).collect::<Vec<_>>());
    section(&mut lines, "checks that failed", &failed_checks(state));
    section(&mut lines, "changes", &changes.lines().map(str::to_owned).collect::<Vec<_>>());
    let folder = shell_word(&present_path(&state.request.working_dir).display().to_string());
    let kept: Vec<&str> = question.salvage.references().collect();
    if !kept.is_empty() {
        lines.push("its work is kept in git; show it with".into());
        lines.extend(kept.iter().map(|kept| format!("  git -C {folder} show {}", shell_word(kept))));
    }
    lines.join("\n")
}

/// Describes a changed plan file, with a diff if requested.
fn describe_change(question: &PlanChanged) -> String {
    let mut lines = vec![format!("{} has changed: it is not the plan that was approved", question.path)];
    lines.extend(question.problem.iter().map(|problem| format!("it cannot be adopted: {problem}")));
    let diff = question.diff.as_deref().unwrap_or_default();
    section(&mut lines, "differences", &diff.lines().map(str::to_owned).collect::<Vec<_>>());
    let commands: Vec<String> = question.verify.iter().flat_map(|command| indent("$ ", command)).collect();
    section(&mut lines, "the commands that are run in a shell if it is adopted", &commands);
    lines.join("\n")
}

impl HumanQuestion<ExecutionState> for ApprovePlan {
    fn decide(&self, reply: &Reply) -> Option<Decision> {
        Some(reply.into())
    }

    fn describe(&self, state: &ExecutionState) -> Option<String> {
        Some(describe_approval(state, self))
    }

    // The run asks again, and says why, if a decision cannot be followed: so it is no check.
    fn remarks(&self, answer: &Decision) -> Vec<String> {
        self.refuses(answer).into_iter().chain(self.remarks_on(answer)).collect()
    }

    fn draft(&self, state: &ExecutionState) -> Option<String> {
        state.source.plan_markdown.clone()
    }

    fn from_draft(text: String) -> Option<Decision> {
        Some(Decision::edit_plan(text))
    }
}

impl HumanQuestion<ExecutionState> for Halted {
    const EXIT_CODE: u8 = 11;

    fn decide(&self, reply: &Reply) -> Option<AfterHalt> {
        match reply.kind {
            ReplyKind::Approve => Some(AfterHalt::Accept),
            ReplyKind::Reject => Some(AfterHalt::Abort),
            ReplyKind::Revise => Some(AfterHalt::Retry { attempts: 1, note: reply.feedback.clone()? }),
        }
    }

    fn describe(&self, state: &ExecutionState) -> Option<String> {
        Some(describe_halt(state, self))
    }

    fn remarks(&self, answer: &AfterHalt) -> Vec<String> {
        answer.problem().into_iter().chain(answer.remarks()).collect()
    }

    fn draft(&self, state: &ExecutionState) -> Option<String> {
        state.source.plan_markdown.clone()
    }

    fn from_draft(markdown: String) -> Option<AfterHalt> {
        Some(AfterHalt::EditPlan { markdown })
    }
}

impl HumanQuestion<ExecutionState> for PlanChanged {
    fn decide(&self, reply: &Reply) -> Option<PlanChoice> {
        match reply.kind {
            ReplyKind::Approve => Some(PlanChoice::Adopt),
            ReplyKind::Reject => Some(PlanChoice::Keep),
            ReplyKind::Revise => None,
        }
    }

    fn describe(&self, _: &ExecutionState) -> Option<String> {
        Some(describe_change(self))
    }
}

impl HumanQuestion<ExecutionState> for BudgetReached {
    fn decide(&self, reply: &Reply) -> Option<AfterBudget> {
        AfterBudget::of(reply)
    }

    fn describe(&self, _: &ExecutionState) -> Option<String> {
        Some(describe_budget(self))
    }

    fn commands(&self, _: &ExecutionState) -> Vec<String> {
        vec![budget_command(self)]
    }
}

/// Returns a line for each phase: `1: task 1`, `2: tasks 2a, 2b`.
fn phases(phases: &[Vec<String>]) -> Vec<String> {
    let line = |(number, ids): (usize, &Vec<String>)| {
        let word = if ids.len() == 1 { "task" } else { "tasks" };
        format!("{number}: {word} {}", ids.join(", "))
    };
    (1..).zip(phases).map(line).collect()
}

fn section(lines: &mut Vec<String>, title: &str, inner: &[String]) {
    if !inner.is_empty() {
        lines.push(format!("{title}:"));
        lines.extend(inner.iter().map(|line| format!("  {line}").trim_end().to_owned()));
    }
}

fn bullets(texts: &[String]) -> Vec<String> {
    texts.iter().flat_map(|text| indent("- ", text)).collect()
}

/// Returns a text with a mark before its first line, and the others indented.
fn indent(mark: &str, text: &str) -> Vec<String> {
    let blank = " ".repeat(mark.len());
    text.lines().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { mark } else { &blank })).collect()
}

fn quote(line: &str) -> String {
    format!("| {line}")
}

/// Returns `major  src/lib.rs:3  The table is read twice. (c1)`, with the reason and the suggested fix.
fn comment(comment: &Comment) -> Vec<String> {
    let place = match (&comment.file, comment.line) {
        (Some(file), Some(line)) => format!("{file}:{line}  "),
        (Some(file), None) => format!("{file}  "),
        (None, _) => String::new(),
    };
    let id = if comment.id.is_empty() { String::new() } else { format!(" ({})", comment.id) };
    let severity =
        if comment.severity == CommentSeverity::None { String::new() } else { format!("{}  ", comment.severity) };
    let mut lines = indent("- ", &format!("{severity}{place}{}{id}", comment.issue.trim()));
    for (name, text) in [("why: ", &comment.why), ("fix: ", &comment.fix)] {
        lines.extend(indent(name, text.trim()).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn failed_checks(state: &ExecutionState) -> Vec<String> {
    let checks = state.attempt.checks.iter().filter(|check| !check.has_passed());
    let mut lines = vec![];
    for check in checks {
        lines.push(check.line());
        let output: Vec<&str> = check.output.lines().collect();
        lines.extend(output[output.len().saturating_sub(OUTPUT)..].iter().map(|line| format!("  {}", quote(line))));
    }
    lines
}

/// The preview of a plan. As JSON, the question that its approval would ask.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryPlan {
    /// The question.
    #[serde(flatten)]
    pub approval: ApprovePlan,
    #[serde(skip)]
    text: String,
}

impl DryPlan {
    pub(super) fn of(state: &ExecutionState) -> Result<Self, NodeError> {
        let approval = approval(state)?.question;
        let text = match (&state.source.plan_markdown, &state.request.issue) {
            (None, Some(issue)) => format!("an architect writes the plan for the issue {}: {}", issue.id, issue.title),
            _ => describe_approval(state, &approval),
        };
        Ok(Self { approval, text })
    }

    /// Returns the preview as text.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n", self.text.trim_end())
    }
}

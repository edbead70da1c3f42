//! Text for the person who answers the workflow's interrupts: the plan with its commands, the findings on a task, the
//! location of its work. Pure.

use superstep_base::moved::here;
use superstep_base::shell::shell_word;

use super::state::ExecutionState;
use crate::drivers::dollars;
use crate::nodes::{ApprovePlan, Halted, HaltedPhasePlace, PlanChanged};
use crate::plan::{Comment, Severity};

/// The maximum number of lines shown of a failed check's output.
const OUTPUT: usize = 20;

/// Describes the approval of a plan, with the plan and every command that an approval allows.
pub fn describe_approval(state: &ExecutionState, question: &ApprovePlan) -> String {
    let mut lines = vec![];
    section(&mut lines, "problems, which keep it from being carried out", &bullets(&question.problems));
    section(&mut lines, "warnings", &bullets(&question.warnings));
    if let Some(plan) = &state.plan_markdown {
        let path = question.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
        section(&mut lines, &format!("the plan{path}"), &plan.lines().map(quoted).collect::<Vec<_>>());
    }
    section(&mut lines, "its phases; tasks of one phase do not depend on each other", &phases(&question.phases));
    let mut commands = vec![];
    for task in &question.tasks {
        commands.push(format!("task {}: {}", task.id, task.title));
        commands.extend(task.verify.iter().flat_map(|command| indented("  $ ", command)));
    }
    section(&mut lines, "its tasks, and the commands that are run in a shell after each, if you approve", &commands);
    lines.join("\n")
}

/// Describes a task that did not pass, with its findings and the location of its work.
pub fn describe_halt(state: &ExecutionState, question: &Halted) -> String {
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
    lines.extend(problem.iter().map(|problem| format!("the answer before could not be followed: {problem}")));
    section(&mut lines, "comments", &question.comments.iter().flat_map(comment).collect::<Vec<_>>());
    section(&mut lines, "checks that failed", &failed(state));
    section(&mut lines, "changes", &changes.lines().map(str::to_owned).collect::<Vec<_>>());
    let folder = shell_word(&here(&state.working_dir).display().to_string());
    let kept: Vec<&str> = question.salvage.references().collect();
    if !kept.is_empty() {
        lines.push("its work is kept in git; look at all of it with".into());
        lines.extend(kept.iter().map(|kept| format!("  git -C {folder} show {}", shell_word(kept))));
    }
    lines.join("\n")
}

/// Describes a changed plan file, with a diff if requested.
pub fn describe_change(_: &ExecutionState, question: &PlanChanged) -> String {
    let mut lines = vec![format!("{} is another plan now than the one that was approved", question.path)];
    lines.extend(question.problem.iter().map(|problem| format!("it cannot be adopted: {problem}")));
    let diff = question.diff.as_deref().unwrap_or_default();
    section(&mut lines, "how it differs", &diff.lines().map(str::to_owned).collect::<Vec<_>>());
    let commands: Vec<String> = question.verify.iter().flat_map(|command| indented("$ ", command)).collect();
    section(&mut lines, "the commands that are run in a shell if it is adopted", &commands);
    lines.join("\n")
}

/// Returns the plan, which a person may edit instead of answering.
pub fn plan_to_edit<Q>(state: &ExecutionState, _: &Q) -> Option<String> {
    state.plan_markdown.clone()
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
    texts.iter().flat_map(|text| indented("- ", text)).collect()
}

/// Returns a text with a mark before its first line, and the others indented.
fn indented(mark: &str, text: &str) -> Vec<String> {
    let blank = " ".repeat(mark.len());
    text.lines().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { mark } else { &blank })).collect()
}

fn quoted(line: &str) -> String {
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
    let severity = if comment.severity == Severity::None { String::new() } else { format!("{}  ", comment.severity) };
    let mut lines = indented("- ", &format!("{severity}{place}{}{id}", comment.issue.trim()));
    for (name, text) in [("why: ", &comment.why), ("fix: ", &comment.fix)] {
        lines.extend(indented(name, text.trim()).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn failed(state: &ExecutionState) -> Vec<String> {
    let checks = state.checks.iter().filter(|check| !check.passed());
    let mut lines = vec![];
    for check in checks {
        lines.push(check.line());
        let output: Vec<&str> = check.output.lines().collect();
        lines.extend(output[output.len().saturating_sub(OUTPUT)..].iter().map(|line| format!("  {}", quoted(line))));
    }
    lines
}

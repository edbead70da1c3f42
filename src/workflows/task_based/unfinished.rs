//! The notes on a task that another plan postpones or drops: open comments, failed checks, its saved work. Pure.

use super::state::ExecutionState;
use super::summary::counted;
use super::tasks::{Mark, TaskLine, Unfinished};
use crate::plan::Plan;

impl Unfinished {
    /// Returns the notes on the current task; `salvage` is the reference that was just created for its work.
    pub(super) fn current(state: &ExecutionState, salvage: Option<&String>) -> Self {
        Self {
            task: state.line().id,
            comments: state.open_comments.clone(),
            failures: state.failures.clone(),
            last_review: state.last_review.clone(),
            salvage: salvage.cloned().or_else(|| state.salvage.clone()),
        }
    }

    fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.failures.is_empty() && self.salvage.is_none()
    }

    /// Describes the notes for people: `1 open comment, 2 failed checks; its work is in refs/..`.
    fn text(&self) -> String {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let comments = Some(number(self.comments.len())).filter(|&count| count > 0);
        let failures = Some(number(self.failures.len())).filter(|&count| count > 0);
        let counts = [comments.map(|n| counted(n, "open comment")), failures.map(|n| counted(n, "failed check"))];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let counts = if counts.is_empty() { String::new() } else { format!(", with {}", counts.join(" and ")) };
        let work = self.salvage.as_ref().map(|at| format!("; its work is kept as {at}")).unwrap_or_default();
        format!("{counts}{work}")
    }
}

/// Removes the notes on a task from the list; returns empty ones if there are none.
pub(super) fn take(list: &mut Vec<Unfinished>, task: &str) -> Unfinished {
    match list.iter().position(|entry| entry.task == task) {
        Some(at) => list.remove(at),
        None => Unfinished { task: task.to_owned(), ..Unfinished::default() },
    }
}

/// The notes on tasks that another plan keeps, and a notice for each task that it drops.
pub(super) struct SortedNotes {
    pub(super) kept: Vec<Unfinished>,
    pub(super) notices: Vec<String>,
}

/// Sorts the notes on tasks by another plan. `current` holds those on the current task; `None` if it is closed.
pub(super) fn sort(plan: &Plan, state: &ExecutionState, current: Option<Unfinished>) -> SortedNotes {
    let is_kept = |task: &str| plan.tasks().any(|known| known.id.as_str() == task);
    let closed_now = state.line().id;
    let mut known = state.unfinished.clone();
    known.retain(|entry| entry.task != closed_now);
    known.extend(current.clone());
    let is_open = |line: &&TaskLine| line.mark != Mark::Skipped && (current.is_some() || line.id != closed_now);
    let dropped = state.tasks.iter().filter(is_open).filter(|line| !is_kept(&line.id));
    let notices = dropped.map(|line| notice(line, known.iter().find(|entry| entry.task == line.id))).collect();
    known.retain(|entry| is_kept(&entry.task) && !entry.is_empty());
    SortedNotes { kept: known, notices }
}

fn notice(line: &TaskLine, known: Option<&Unfinished>) -> String {
    let title = if line.title.is_empty() { String::new() } else { format!(" ({})", line.title) };
    match line.mark {
        Mark::Done => format!("the new plan does not have task {}{title}, which is done: its commit stays", line.id),
        _ => format!("the new plan drops task {}{title}{}", line.id, known.map(Unfinished::text).unwrap_or_default()),
    }
}

//! What is known of a task that another plan puts off or drops: its open comments, its failed checks, where its work is. Pure.

use super::state::ExecutionState;
use super::summary::counted;
use super::tasks::{Mark, TaskLine, Unfinished};
use crate::plan::Plan;

impl Unfinished {
    /// The current task of a run that stops at it; `salvage` is where its work was kept just now.
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

    /// The same in words, for people: `1 open comment, 2 failed checks; its work is in refs/..`.
    fn told(&self) -> String {
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

/// Takes the entry of a task out of the list; an empty one if there is none.
pub(super) fn take(list: &mut Vec<Unfinished>, task: &str) -> Unfinished {
    match list.iter().position(|entry| entry.task == task) {
        Some(at) => list.remove(at),
        None => Unfinished { task: task.to_owned(), ..Unfinished::default() },
    }
}

/// The tasks about which something is known, as another plan leaves them: those that it keeps, and a notice for each task that
/// it drops.
pub(super) struct Sorted {
    pub(super) kept: Vec<Unfinished>,
    pub(super) notices: Vec<String>,
}

/// Sorts what is known of the tasks by another plan. `current` is what is known of the current task; none if it is closed.
pub(super) fn sorted(plan: &Plan, state: &ExecutionState, current: Option<Unfinished>) -> Sorted {
    let is_kept = |task: &str| plan.tasks().any(|known| known.id.as_str() == task);
    let closed_now = state.line().id;
    let mut known = state.unfinished.clone();
    known.retain(|entry| entry.task != closed_now);
    known.extend(current.clone());
    let is_open = |line: &&TaskLine| line.mark != Mark::Skipped && (current.is_some() || line.id != closed_now);
    let dropped = state.tasks.iter().filter(is_open).filter(|line| !is_kept(&line.id));
    let notices = dropped.map(|line| notice(line, known.iter().find(|entry| entry.task == line.id))).collect();
    known.retain(|entry| is_kept(&entry.task) && !entry.is_empty());
    Sorted { kept: known, notices }
}

fn notice(line: &TaskLine, known: Option<&Unfinished>) -> String {
    let title = if line.title.is_empty() { String::new() } else { format!(" ({})", line.title) };
    match line.mark {
        Mark::Done => format!("the new plan does not have task {}{title}, which is done: its commit stays", line.id),
        _ => format!("the new plan drops task {}{title}{}", line.id, known.map(Unfinished::told).unwrap_or_default()),
    }
}

//! The progress of a plan's tasks. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Role;
use superstep::drivers::Usage;
use superstep::graph::reducers::Keyed;
use superstep::plan::{Comment, CommentSeverity, Plan, TaskId};

/// A task and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskLine {
    /// Its number in the plan.
    pub id: String,
    /// The title.
    pub title: String,
    /// The status.
    pub mark: Mark,
    /// The number of attempts.
    pub attempts: u32,
    /// The number of reviews.
    pub reviews: u32,
    /// The commit with its work.
    pub commit: Option<String>,
    /// The cost in millionths of a dollar.
    pub cost: u64,
    /// The usage by role.
    #[serde(default)]
    pub used: BTreeMap<Role, Usage>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    Running,
    /// It is done.
    Done,
    /// Skipped by a person.
    Skipped,
    /// Waiting for a person.
    Halted,
}

/// A task that was started, and waits for the tasks that another plan put before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unfinished {
    /// The task's number in the plan.
    pub task: String,
    /// The review comments that are still open.
    #[serde(default)]
    pub comments: Vec<Comment>,
    /// The failed checks of its last attempt, with the end of their output.
    #[serde(default)]
    pub failures: Vec<String>,
    /// Its last review.
    #[serde(default)]
    pub last_review: Option<LastReview>,
    /// The git reference that holds the work of its last attempt.
    #[serde(default)]
    pub salvage: Option<String>,
}

/// A summary of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastReview {
    /// Set if the work passed.
    pub approved: bool,
    /// The findings.
    pub comments: Vec<Comment>,
    /// The highest severity.
    pub severity: CommentSeverity,
}

impl Mark {
    /// Returns whether it is done or skipped.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

impl Keyed for TaskLine {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Returns the tasks of a plan in execution order, before any is started; those not in `approved` are skipped.
pub(super) fn lines(plan: &Plan, approved: Option<&[TaskId]>) -> Vec<TaskLine> {
    let line = |task: superstep::plan::Task<'_>| {
        let is_approved = approved.is_none_or(|ids| ids.contains(task.id));
        let mark = if is_approved { Mark::Pending } else { Mark::Skipped };
        TaskLine::of(task.id.as_str(), task.title, mark)
    };
    plan.execution_order().into_iter().map(line).collect()
}

/// Returns the tasks of another plan: closed ones with the same number stay closed, and attempts stay counted.
pub(super) fn carry_over(plan: &Plan, before: &[TaskLine]) -> Vec<TaskLine> {
    let carry = |line: TaskLine| match before.iter().find(|known| known.id == line.id) {
        Some(known) if known.mark.is_closed() => known.clone(),
        Some(known) => TaskLine { title: line.title, mark: line.mark, ..known.clone() },
        None => line,
    };
    lines(plan, None).into_iter().map(carry).collect()
}

/// Returns the index of the first task at or after `from` that is not closed.
pub(super) fn next_open(lines: &[TaskLine], from: usize) -> Option<usize> {
    lines.iter().enumerate().skip(from).find(|(_, line)| !line.mark.is_closed()).map(|(index, _)| index)
}

/// Returns the index of the next open task after `current`, otherwise of the first open one before it, which another
/// plan may have added.
pub(super) fn next_after(lines: &[TaskLine], current: usize) -> Option<usize> {
    next_open(lines, current + 1).or_else(|| next_open(lines, 0).filter(|&index| index < current))
}

impl TaskLine {
    /// Adds the usage of a role's turn.
    pub(super) fn costing(mut self, role: Role, usage: Usage) -> Self {
        self.cost = self.cost.saturating_add(usage.cost);
        *self.used.entry(role).or_default() += usage;
        self
    }

    pub(super) fn of(id: &str, title: &str, mark: Mark) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            mark,
            attempts: 0,
            reviews: 0,
            commit: None,
            cost: 0,
            used: BTreeMap::new(),
        }
    }
}

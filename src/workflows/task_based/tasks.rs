//! Where each task of a plan stands. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drivers::{NewLimits, Usage};
use crate::graph::reducers::Keyed;
use crate::plan::{Comment, Plan, Severity, TaskId};
use crate::workflows::Role;

/// A task, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLine {
    /// Its number in the plan.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Where it stands.
    pub mark: Mark,
    /// How often it was worked on.
    pub attempts: u32,
    /// How often it was reviewed.
    pub reviews: u32,
    /// The commit it ended in.
    pub commit: Option<String>,
    /// What it has cost, in millionths of a dollar.
    pub cost: u64,
    /// What each role has used for it.
    #[serde(default)]
    pub used: BTreeMap<Role, Usage>,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It was not begun.
    #[default]
    Pending,
    /// It is worked on.
    Running,
    /// It is done.
    Done,
    /// A person put it aside.
    Skipped,
    /// It waits for a person.
    Halted,
}

/// A task that was worked on, and waits until the tasks that another plan puts before it are done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// A review in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastReview {
    /// Whether the work passed.
    pub approved: bool,
    /// What was found.
    pub comments: Vec<Comment>,
    /// How grave the gravest finding is.
    pub severity: Severity,
}

impl Mark {
    /// Returns whether there is nothing left to do.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

impl Keyed for TaskLine {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The tasks of a plan in the order of execution, before any is begun; those that are not among `approved` are skipped.
pub(super) fn lines(plan: &Plan, approved: Option<&[TaskId]>) -> Vec<TaskLine> {
    let line = |task: crate::plan::Task<'_>| {
        let is_approved = approved.is_none_or(|ids| ids.contains(task.id));
        let mark = if is_approved { Mark::Pending } else { Mark::Skipped };
        TaskLine::of(task.id.as_str(), task.title, mark)
    };
    plan.execution_order().into_iter().map(line).collect()
}

/// The tasks of another plan: what was done, or put aside, under the same number stays so, and what was tried stays counted.
pub(super) fn carried(plan: &Plan, before: &[TaskLine]) -> Vec<TaskLine> {
    let carry = |line: TaskLine| match before.iter().find(|known| known.id == line.id) {
        Some(known) if known.mark.is_closed() => known.clone(),
        Some(known) => TaskLine { title: line.title, mark: line.mark, ..known.clone() },
        None => line,
    };
    lines(plan, None).into_iter().map(carry).collect()
}

/// The index of the first task at or after `from` that is not closed.
pub(super) fn next_open(lines: &[TaskLine], from: usize) -> Option<usize> {
    lines.iter().enumerate().skip(from).find(|(_, line)| !line.mark.is_closed()).map(|(index, _)| index)
}

/// The index of the open task that comes after `current`: the next one behind it, else the first before it, which another
/// plan may have brought.
pub(super) fn next_after(lines: &[TaskLine], current: usize) -> Option<usize> {
    next_open(lines, current + 1).or_else(|| next_open(lines, 0).filter(|&index| index < current))
}

/// Adds what roles have used.
pub(crate) fn add_up(all: &mut BTreeMap<Role, Usage>, more: BTreeMap<Role, Usage>) {
    more.into_iter().for_each(|(role, usage)| *all.entry(role).or_default() += usage);
}

/// Keeps the later one of each limit.
pub(crate) fn later(limits: &mut NewLimits, new: NewLimits) {
    *limits = limits.later(new);
}

impl TaskLine {
    /// With what a role has used for it in a turn.
    pub(super) fn costing(mut self, role: Role, usage: Usage) -> Self {
        self.cost = self.cost.saturating_add(usage.cost);
        *self.used.entry(role).or_default() += usage;
        self
    }

    fn of(id: &str, title: &str, mark: Mark) -> Self {
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

//! Tasks that need a person's decision before they start, because a dependency was skipped. Pure.

use super::state::ExecutionState;
use super::tasks::{Mark, TaskLine};
use crate::plan::Plan;

/// Returns the reason why the task at `index` needs a decision before it starts, if any. Only `Depends on` lines count.
pub(super) fn blocked(plan: &Plan, tasks: &[TaskLine], index: usize) -> Option<String> {
    let line = tasks.get(index).filter(|line| !line.mark.is_closed() && plan.names_dependencies())?;
    let id = plan.tasks().find(|task| task.id.as_str() == line.id)?.id;
    let is_skipped = |needed: &str| tasks.iter().any(|line| line.id == needed && line.mark == Mark::Skipped);
    let needed = plan.dependencies(id);
    let skipped: Vec<&str> = needed.iter().map(|id| id.as_str()).filter(|id| is_skipped(id)).collect();
    match skipped.as_slice() {
        [] => None,
        [one] => Some(format!("it depends on task {one}, which was skipped")),
        several => Some(format!("it depends on the tasks {}, which were skipped", several.join(", "))),
    }
}

impl ExecutionState {
    /// Returns the reason why a task needs a decision before it starts; `tasks` are the tasks at that time.
    pub(super) fn blocked(&self, tasks: &[TaskLine], index: usize) -> Option<String> {
        blocked(&*self.plan().ok()?, tasks, index)
    }
}
